// The fake kernel's polls: descriptors of others, and peers that are watched for their end.

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "engine/base/assert.h"
#include "tests/support/fake_io.h"

namespace ringrpc::testing {

using io::Event;
using io::EventKind;
using io::Handle;

void FakeIo::watch(Handle handle) {
  Slot& slot = slot_of(handle);
  RINGRPC_ASSERT(!slot.watched && "watched already", handle.slot);
  slot.watched = slot.watching = true;
}

void FakeIo::stop_watching(Handle handle) {
  Slot& slot = slot_of(handle);
  RINGRPC_ASSERT(slot.watched && "not watched", handle.slot);
  slot.unwatched = slot.watching;
}

void FakeIo::poll(Handle name, int fd, std::uint32_t events) {
  RINGRPC_ASSERT(name.slot < options_.polls_max, name.slot);
  const bool taken = std::any_of(polls_.begin(), polls_.end(),
                                 [&](const Poll& poll) { return poll.name.slot == name.slot; });
  RINGRPC_ASSERT(!taken && "somebody polls by that name already", name.slot);
  // poll(2) passes over a negative one, and this one it refuses.
  const int asked = fd < 0 ? std::numeric_limits<int>::max() : fd;
  polls_.push_back({name, asked, static_cast<short>(events)});
}

void FakeIo::stop_polling(Handle name) {
  const auto found = std::find_if(polls_.begin(), polls_.end(),
                                  [&](const Poll& poll) { return poll.name == name; });
  if (found == polls_.end()) return;
  polls_.erase(found);
  // It may just have ended.
  if (strikes(faults_.stale_event)) {
    events_.push_back(
        Event{.kind = EventKind::polled, .result = POLLIN, .socket = name, .peer = {}});
  }
}

void FakeIo::run_watch(std::uint32_t index) {
  Slot& slot = slots_[index];
  Client& client = client_of(slot.client);
  if (slot.finished && strikes(faults_.reset_after_fin)) lose_connection(client);
  // Our own FIN behind the peer's ends a connection, too.
  const bool gone = client.reset || (client.fin && client.server_fin);
  if (!gone && !slot.unwatched) return;
  slot.watching = false;
  const bool asked = slot.unwatched && (!gone || strikes(50));
  events_.push_back(Event{.kind = EventKind::gone,
                          .result = asked          ? -ECANCELED
                                    : client.reset ? POLLHUP | POLLERR
                                                   : POLLHUP,
                          .socket = {index, slot.generation},
                          .peer = {}});
}

void FakeIo::run_polls() {
  for (std::size_t i = 0; i < polls_.size();) {
    const Poll poll = polls_[i];
    pollfd one{.fd = poll.fd, .events = poll.events, .revents = 0};
    ++i;
    if (strikes(faults_.delay) || ::poll(&one, 1, 0) == 0) continue;
    polls_.erase(polls_.begin() + static_cast<std::ptrdiff_t>(--i));
    events_.push_back(
        Event{.kind = EventKind::polled, .result = one.revents, .socket = poll.name, .peer = {}});
  }
}

}  // namespace ringrpc::testing
