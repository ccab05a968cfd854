// What happens to connections beside requests and replies: churn, and silence.

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "tools/ringload/runner.h"

namespace ringload {

namespace {

// Closed connections keep their port for a minute: with many source addresses none is missed.
constexpr std::uint64_t connects_each_source = 1024;
constexpr std::uint64_t sources = 128;

}  // namespace

// The slow way to the next requests: where connections end after some, or requests have a time.
void Runner::refill(std::uint32_t slot, Connection& connection) {
  const Options& options = plan_.options;
  if (options.churn != 0 && connection.life_left == 0) {
    if (connection.unanswered == 0) recycle(slot, connection);
    return;
  }
  if (options.open_loop) return mark_free(slot, connection);
  std::uint64_t count =
      std::min<std::uint64_t>(options.depth - connection.unanswered, connection.life_left);
  count = std::min(count, requests_left_);
  connection.life_left -= static_cast<std::uint32_t>(count);
  make_requests(slot, connection, static_cast<std::uint32_t>(count), now_);
}

bool Runner::may_make_more() const {
  if (phase_ == Phase::over) return false;
  const bool by_time = plan_.options.requests == 0 && phase_ < Phase::draining;
  if (!plan_.options.open_loop) return phase_ < Phase::draining && requests_left_ != 0;
  return by_time || next_due_ != never;
}

void Runner::settled_all() {
  if (!may_make_more()) finish();
}

// Closes a connection that has had its requests. Its receive ends before it can be used again.
void Runner::recycle(std::uint32_t slot, Connection& connection) {
  if (!may_make_more()) return;
  connection.over = connection.special = true;
  connection.stage = Stage::closing;
  connection.mark_time = now_;
  ring_.shut(slot);
}

// Called when a receive or a send of an unused connection has ended: opens it again when it was the
// last of the two, and it was closed for that.
void Runner::reopen(std::uint32_t slot, Connection& connection) {
  if (connection.stage != Stage::closing) return;
  if (connection.send_size != 0 || connection.receiving) return;
  connection.stage = Stage::connecting;
  connection.mark_time = now_;
  const std::uint64_t source = 1 + (reconnects_++ / connects_each_source + index_) % sources;
  std::string error;
  const int fd = make_socket(plan_.target, static_cast<std::uint32_t>(source), error);
  const bool replaced = fd >= 0 && ring_.replace_socket(slot, fd);
  if (fd >= 0) close(fd);
  if (!replaced) return end(slot, connection, outcome_.unconnected);
  const auto* const address = reinterpret_cast<const sockaddr*>(&plan_.target.address);
  ring_.connect(slot, address, plan_.target.address_size);
}

void Runner::connected(std::uint32_t slot, std::int32_t result) {
  Connection& connection = connections_[slot];
  if (connection.stage != Stage::connecting) return;
  if (result < 0) return end(slot, connection, outcome_.unconnected);
  outcome_.connecting.record(now_ - connection.mark_time);
  ++outcome_.connects;
  connection.over = false;
  connection.special = tracked_;
  connection.receiving = true;
  connection.stage = Stage::up;
  connection.life_left = plan_.options.churn;
  connection.partial = Partial{};
  if (unanswered_ == 0) last_reply_ = now_;
  ring_.receive(slot);
  if (refill_ == Refill::slow) refill(slot, connection);
}

// Of pings that come faster than pongs leave, the last one is answered (RFC 6455, section 5.5.3).
void Runner::answer_ping(std::uint32_t slot, Connection& connection) {
  pongs_[slot].due = reader_.pong();
  connection.pong_due = true;
  if (connection.listed) return;
  connection.listed = true;
  due_.push_back(slot);
}

void Runner::send_pong(std::uint32_t slot, Connection& connection) {
  Pong& pong = pongs_[slot];
  pong.leaving.swap(pong.due);
  connection.pong_due = false;
  connection.pong_leaves = true;
  connection.send_offset = 0;
  connection.send_size = static_cast<std::uint32_t>(pong.leaving.size());
  ring_.send(slot, pong.leaving.data(), connection.send_size);
}

// Returns: the first byte of the send in flight.
const char* Runner::send_data(std::uint32_t slot, const Connection& connection) const {
  if (connection.pong_leaves) return pongs_.at(slot).leaving.data();
  return tracked_ ? plan_.tape.bytes().data() + connection.send_begin : plan_.requests.data();
}

// Returns: what changes with each reply while there are requests without one; then 0.
std::uint64_t Runner::mark_of(std::uint32_t slot, const Connection& connection) {
  if (connection.unanswered == 0) return 0;
  const std::uint32_t count = matched_ ? 1 : batch(slot, connection.batch_first).count;
  return (std::uint64_t{connection.batch_first} << 32) | count;
}

// Ends connections on which nothing has moved for the timeout.
void Runner::scan() {
  const auto timeout = nanoseconds(plan_.options.timeout);
  next_scan_ = now_ + std::max<std::uint64_t>(timeout / 16, Ring::tick_ms * 1'000'000);
  for (std::uint32_t slot = 0; slot < connections_.size(); ++slot) {
    Connection& connection = connections_[slot];
    if (connection.stage == Stage::down) continue;
    if (connection.stage == Stage::up) {
      const std::uint64_t mark = mark_of(slot, connection);
      if (mark == 0 || mark != connection.mark) {
        connection.mark = mark;
        connection.mark_time = now_;
      }
    }
    if (now_ - connection.mark_time > timeout) end(slot, connection, outcome_.timeouts);
  }
}

}  // namespace ringload
