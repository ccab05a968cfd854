#include "tests/support/fake_io.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "engine/base/assert.h"

namespace ringrpc::testing {

using io::Event;
using io::EventKind;
using io::Handle;

namespace {

std::uint64_t checksum_of(const char* data, std::uint32_t size) {
  std::uint64_t sum = 0xCBF29CE484222325u;
  for (std::uint32_t i = 0; i < size; ++i) {
    sum = (sum ^ static_cast<unsigned char>(data[i])) * 0x100000001B3u;
  }
  return sum;
}

}  // namespace

base::Status FakeIo::start(const io::IoOptions& options) {
  RINGRPC_ASSERT(slots_.empty() && options.counters != nullptr);
  options_ = options;
  options_.listeners = {};
  slots_.resize(options.connections_max);
  for (std::uint32_t i = options.connections_max; i > 0; --i) free_slots_.push_back(i - 1);
  buffers_.resize(options.receive_buffers);
  for (std::uint32_t i = 0; i < options.receive_buffers; ++i) {
    const std::size_t bytes = options.receive_buffer_size + limits::padding;
    buffers_[i].bytes = std::make_unique<char[]>(bytes);
    std::memset(buffers_[i].bytes.get(), '"', bytes);
    free_buffers_.push_back(static_cast<std::uint16_t>(i));
  }
  return {};
}

// --- Down ----------------------------------------------------------------------------------------

FakeIo::Slot& FakeIo::slot_of(Handle handle) {
  RINGRPC_ASSERT(handle.slot < slots_.size(), handle.slot);
  Slot& slot = slots_[handle.slot];
  RINGRPC_ASSERT(slot.generation == handle.generation && "a handle of a former socket",
                 slot.generation, handle.generation);
  RINGRPC_ASSERT(slot.open && !slot.closing && "a socket that is closed", handle.slot);
  return slot;
}

char* FakeIo::buffer(std::uint16_t index) {
  RINGRPC_ASSERT(index < buffers_.size(), index);
  RINGRPC_ASSERT(buffers_[index].lent && "a buffer that is not lent", index);
  return buffers_[index].bytes.get();
}

void FakeIo::give(std::uint16_t index) {
  RINGRPC_ASSERT(index < buffers_.size(), index);
  RINGRPC_ASSERT(buffers_[index].lent && "given back a buffer that is not lent", index);
  buffers_[index].lent = false;
  --lent_count_;
  // The kernel may fill it again at once; whoever still looks at it sees that.
  std::memset(buffers_[index].bytes.get(), '}', options_.receive_buffer_size + limits::padding);
  given_.push_back(index);
}

void FakeIo::receive(Handle handle) {
  Slot& slot = slot_of(handle);
  RINGRPC_ASSERT(!slot.receiving && "a receive is armed already", handle.slot);
  slot.receiving = slot.armed = true;
}

void FakeIo::stop_receiving(Handle handle) {
  Slot& slot = slot_of(handle);
  RINGRPC_ASSERT(slot.receiving && "no receive to stop", handle.slot);
  slot.stopping = slot.armed;
}

void FakeIo::send(Handle handle, const char* data, std::uint32_t size) {
  Slot& slot = slot_of(handle);
  RINGRPC_ASSERT(!slot.sending && "a send is in flight already", handle.slot);
  RINGRPC_ASSERT(data != nullptr && size > 0, size);
  slot.sending = slot.in_flight = true;
  slot.data = data;
  slot.size = size;
  slot.checksum = checksum_of(data, size);
}

void FakeIo::shut(Handle handle, bool both) {
  Slot& slot = slot_of(handle);
  client_of(slot.client).server_fin = true;
  slot.shut_both |= both;
}

void FakeIo::close(Handle handle) {
  Slot& slot = slot_of(handle);
  RINGRPC_ASSERT(!slot.receiving && "closed while a receive is armed", handle.slot);
  RINGRPC_ASSERT(!slot.sending && "closed while a send is in flight", handle.slot);
  RINGRPC_ASSERT(!slot.watched && "closed while it is watched", handle.slot);
  slot.closing = true;
}

// --- The kernel's turn ---------------------------------------------------------------------------

void FakeIo::wait(std::int64_t timeout_ns) {
  RINGRPC_MAYBE(timeout_ns < 0);
  RINGRPC_ASSERT(!slots_.empty() && "wait before start");
  now_ns_ += 1000;
  options_.counters->add(base::Counter::enters);
  free_buffers_.insert(free_buffers_.end(), given_.begin(), given_.end());
  given_.clear();
  run_accepts();
  for (std::uint32_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].open && !strikes(faults_.delay)) run_socket(i);
  }
  run_polls();
  if (strikes(faults_.stale_event)) invent_stale_event();
  if (strikes(faults_.reorder)) shuffle_events();
  if (woken_.exchange(false, std::memory_order_acquire)) events_.push_back(Event{});
  deliverable_ = strikes(faults_.few_completions) ? up_to(4) : events_.size();
  if (deliverable_ < events_.size()) options_.counters->add(base::Counter::completion_overflows);
}

bool FakeIo::next(Event& event) {
  if (events_.empty() || deliverable_ == 0) return false;
  --deliverable_;
  event = events_.front();
  events_.pop_front();
  if (event.kind >= EventKind::closed) return true;
  Slot& slot = slots_[event.socket.slot];
  if (slot.generation != event.socket.generation) return true;  // an invented one
  if (event.kind == EventKind::received && !event.more) {
    slot.receiving = false;
    slot.stopping = false;
  }
  if (event.kind == EventKind::gone) slot.watched = slot.unwatched = false;
  if (event.kind == EventKind::sent) {
    RINGRPC_ASSERT(checksum_of(slot.data, slot.size) == slot.checksum &&
                       "a send's bytes were changed before its event",
                   event.socket.slot);
    slot.sending = false;
  }
  return true;
}

void FakeIo::run_accepts() {
  while (!backlog_.empty() && !free_slots_.empty()) {
    if (strikes(faults_.accept_error)) {
      options_.counters->add(base::Counter::accept_errors);
      return;
    }
    const std::uint32_t index = free_slots_.back();
    free_slots_.pop_back();
    Slot& slot = slots_[index];
    RINGRPC_ASSERT(!slot.open, index);
    const std::uint32_t generation = slot.generation + 1;
    slot = Slot{};
    slot.generation = generation;
    slot.client = backlog_.front();
    slot.open = true;
    ++open_count_;
    const Client& client = client_of(slot.client);
    backlog_.pop_front();
    events_.push_back(Event{.kind = EventKind::accepted,
                            .result = static_cast<std::int32_t>(client.listener),
                            .socket = {index, generation},
                            .peer = client.peer});
  }
}

void FakeIo::run_socket(std::uint32_t index) {
  Slot& slot = slots_[index];
  if (slot.closing) return run_close(index);
  // Sends and receives complete independently, in either order.
  const bool send_first = (random_() & 1) != 0;
  if (send_first && slot.in_flight) run_send(index);
  if (slot.armed) run_receives(index);
  if (slot.in_flight) run_send(index);
  if (slot.watching) run_watch(index);
}

void FakeIo::run_receives(std::uint32_t index) {
  const Slot& slot = slots_[index];
  if (slot.stopping && strikes(50)) return end_receive(index, -ECANCELED);
  for (std::uint32_t i = 0; i < limits::receives_per_turn_max && slot.armed; ++i) {
    if (!receive_piece(index)) break;
  }
  if (slot.armed && slot.stopping) end_receive(index, -ECANCELED);
}

// One completion of an armed receive. Returns: false when there is nothing more in this turn.
bool FakeIo::receive_piece(std::uint32_t index) {
  Slot& slot = slots_[index];
  Client& client = client_of(slot.client);
  if (client.to_server.empty()) {
    if (client.reset) end_receive(index, -ECONNRESET);
    if (slot.armed && (client.fin || slot.shut_both)) end_receive(index, 0);
    return false;
  }
  if (strikes(faults_.receive_error)) {
    lose_connection(client);
    end_receive(index, strikes(50) ? -ECONNRESET : -ETIMEDOUT);
    return false;
  }
  if (free_buffers_.empty() || strikes(faults_.buffers_exhausted)) {
    options_.counters->add(base::Counter::buffers_exhausted);
    end_receive(index, -ENOBUFS);
    return false;
  }
  const std::uint16_t buffer = lend();
  std::uint32_t size = options_.receive_buffer_size;
  size = static_cast<std::uint32_t>(std::min<std::size_t>(size, client.to_server.size()));
  if (strikes(faults_.partial_receive)) size = up_to(size);
  std::memcpy(buffers_[buffer].bytes.get(), client.to_server.data(), size);
  client.to_server.erase(0, size);
  bytes_received_ += size;
  slot.armed = !strikes(faults_.end_receive);
  events_.push_back(Event{.kind = EventKind::received,
                          .more = slot.armed,
                          .buffer = buffer,
                          .result = static_cast<std::int32_t>(size),
                          .socket = {index, slot.generation},
                          .peer = {}});
  if (strikes(faults_.reset)) lose_connection(client);
  return size == options_.receive_buffer_size || strikes(faults_.partial_receive);
}

void FakeIo::end_receive(std::uint32_t index, std::int32_t result) {
  Slot& slot = slots_[index];
  RINGRPC_ASSERT(slot.armed, index);
  slot.armed = false;
  if (result == 0) slot.finished = true;
  events_.push_back(Event{.kind = EventKind::received,
                          .result = result,
                          .socket = {index, slot.generation},
                          .peer = {}});
}

void FakeIo::run_send(std::uint32_t index) {
  Slot& slot = slots_[index];
  Client& client = client_of(slot.client);
  RINGRPC_ASSERT(checksum_of(slot.data, slot.size) == slot.checksum &&
                     "a send's bytes were changed while it was in flight",
                 index);
  if (client.reset || slot.shut_both || client.server_fin) return end_send(index, -EPIPE);
  if (strikes(faults_.send_error)) {
    lose_connection(client);
    return end_send(index, strikes(50) ? -EPIPE : -ECONNRESET);
  }
  const std::size_t used = std::min(client.to_client.size(), client.window);
  std::size_t size = std::min<std::size_t>(slot.size, client.window - used);
  if (size == 0) return;  // no room: it stays in flight
  if (strikes(faults_.short_send)) size = up_to(size);
  client.to_client.append(slot.data, size);
  bytes_sent_ += size;
  end_send(index, static_cast<std::int32_t>(size));
}

void FakeIo::end_send(std::uint32_t index, std::int32_t result) {
  Slot& slot = slots_[index];
  slot.in_flight = false;
  events_.push_back(Event{
      .kind = EventKind::sent, .result = result, .socket = {index, slot.generation}, .peer = {}});
}

void FakeIo::run_close(std::uint32_t index) {
  Slot& slot = slots_[index];
  Client& client = client_of(slot.client);
  client.server_closed = true;
  client.server_fin = true;
  if (!client.to_server.empty()) client.reset = true;
  const Handle handle{index, slot.generation};
  events_.push_back(Event{.kind = EventKind::closed, .socket = handle, .peer = {}});
  slot.open = false;
  --open_count_;
  former_.push_back(handle);
  free_slots_.push_back(index);
}

// A completion of a slot's former socket, as a kernel might deliver it late: it carries a buffer
// or not, and the buffer is to be given back.
void FakeIo::invent_stale_event() {
  if (former_.empty()) return;
  const Handle handle = former_[random_() % former_.size()];
  Event event{.kind = EventKind::received, .result = -ECONNRESET, .socket = handle, .peer = {}};
  const std::uint64_t kind = random_() % 3;
  if (kind == 0) {
    event.kind = EventKind::sent;
    event.result = 17;
  } else if (kind == 1 && !free_buffers_.empty()) {
    event.buffer = lend();
    event.result = 5;
    event.more = true;
  }
  // Only once the slot lives on, behind its new socket's accepted event: before that the worker
  // could not tell it from a genuine one.
  if (slots_[handle.slot].generation != handle.generation) {
    events_.push_back(event);
  } else if (event.buffer != io::no_buffer) {
    buffers_[event.buffer].lent = false;
    --lent_count_;
    free_buffers_.push_front(event.buffer);
  }
}

// Lets neighbours of different sockets change places; what one socket tells stays in order.
void FakeIo::shuffle_events() {
  for (std::size_t round = 0; round < 4; ++round) {
    for (std::size_t i = 1; i < events_.size(); ++i) {
      const bool same_slot = events_[i - 1].socket.slot == events_[i].socket.slot;
      if (!same_slot && (random_() & 1) != 0) std::swap(events_[i - 1], events_[i]);
    }
  }
}

std::uint16_t FakeIo::lend() {
  const std::uint16_t index = free_buffers_.front();
  free_buffers_.pop_front();
  RINGRPC_ASSERT(!buffers_[index].lent, index);
  buffers_[index].lent = true;
  ++lent_count_;
  // Behind what is received lies what was there before: never what a parser may rely on.
  static constexpr std::string_view remains[] = {"}",  "\"", "0",  "]", "\r\n",
                                                 "e1", ",",  "\\", " ", "\xC3"};
  const std::string_view rest = remains[random_() % std::size(remains)];
  char* bytes = buffers_[index].bytes.get();
  const std::size_t size = options_.receive_buffer_size + limits::padding;
  // The pattern once, then what stands there behind itself, twice as much each time.
  std::size_t filled = std::min(rest.size(), size);
  std::memcpy(bytes, rest.data(), filled);
  for (; filled < size; filled += std::min(filled, size - filled)) {
    std::memcpy(bytes + filled, bytes, std::min(filled, size - filled));
  }
  return index;
}

}  // namespace ringrpc::testing
