#include "engine/serve/line_framing.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/base/assert.h"
#include "engine/http/chars.h"

namespace ringrpc::serve {
namespace {

// A line that comes in pieces gets room for so many times what has come: its length is not
// announced, so little buys little, and growing copies a third at most.
constexpr std::uint32_t line_room_factor = 4;

// Returns: bytes before the first LF, or `size` when there is none.
std::uint32_t line_size(const char* data, std::uint32_t size) {
  const void* end = std::memchr(data, '\n', size);
  if (end == nullptr) return size;
  return static_cast<std::uint32_t>(static_cast<const char*>(end) - data);
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

// The first line of a request, or the field that each one has: whoever sends these speaks HTTP.
bool is_http(std::string_view line) {
  const bool is_upper = line.front() >= 'A' && line.front() <= 'Z';
  if (is_upper && line.find(" HTTP/") != std::string_view::npos) return true;
  constexpr std::string_view host = "host:";
  return line.size() >= host.size() && http::equals_folded(line.substr(0, host.size()), host);
}

}  // namespace

Step LineFramer::next(Connection& connection, Input& input, Request& request,
                      std::uint64_t now_ms) {
  request.last = false;
  if (connection.partial != nullptr) [[unlikely]]
    settle(connection);
  while (connection.partial != nullptr) [[unlikely]] {
    const Step step = next_partial(connection, input, request, now_ms);
    if (step != Step::need_input || connection.partial != nullptr) return step;
  }
  if (connection.skips_line) [[unlikely]]
    skip(connection, input);
  while (input.size != 0) {
    const char* const line = input.data;
    const std::uint32_t size = line_size(line, input.size);
    if (size == input.size) return begin(connection, input, request, now_ms);
    input.consume(size + 1);
    const Step step = deliver({line, size}, request);
    if (step != Step::need_input) [[likely]]
      return step;
  }
  return Step::need_input;
}

// Returns: Step::need_input for a line that is skipped.
Step LineFramer::deliver(std::string_view line, Request& request) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.size() > options_.message_size_max) [[unlikely]]
    return refuse(request);
  if (line.empty() || (line.front() != '{' && line.front() != '[')) [[unlikely]]
    return deliver_other(line, request);
  request.head = nullptr;
  request.body = line;
  request.admission = {.target = Target::rpc, .mount = options_.mount};
  return Step::message;
}

// A line that begins as no message does: blanks, HTTP, or a message all the same.
[[gnu::cold, gnu::noinline]] Step LineFramer::deliver_other(std::string_view line,
                                                            Request& request) {
  if (is_blank(line)) return Step::need_input;
  if (is_http(line)) return broken(request, 400, "http", base::Counter::bad_heads);
  request.head = nullptr;
  request.body = line;
  request.admission = {.target = Target::rpc, .mount = options_.mount};
  return Step::message;
}

Step LineFramer::refuse(Request& request) {
  request.head = nullptr;
  request.admission = {.target = Target::none,
                       .mount = options_.mount,
                       .status = 413,
                       .code = rpc::ErrorCode::request_too_large,
                       .counter = base::Counter::limit_message_size};
  return Step::refused;
}

Step LineFramer::broken(Request& request, std::uint16_t status, std::string_view reason,
                        base::Counter counter) {
  options_.counters->add(counter);
  request.status = status;
  request.reason = reason;
  request.last = true;
  return Step::broken;
}

Step LineFramer::full(Request& request) {
  return broken(request, 503, "partial_pool_size", base::Counter::limit_partial_pool);
}

// Returns: whether a line that begins so is over the limit, whatever follows. A CR at its end may
// be a part of the line's end.
bool LineFramer::too_long(std::string_view begun) const {
  const std::size_t most = std::size_t{options_.message_size_max} + (begun.ends_with('\r') ? 1 : 0);
  return begun.size() > most;
}

// The line's end has not come yet.
Step LineFramer::begin(Connection& connection, Input& input, Request& request,
                       std::uint64_t now_ms) {
  if (too_long({input.data, input.size})) {
    connection.skips_line = true;
    input.consume(input.size);
    return refuse(request);
  }
  connection.partial = options_.pool->take(input.size);
  if (connection.partial == nullptr) return full(request);
  connection.partial->started_ms = now_ms;
  return append(connection, input, input.size) ? Step::need_input : full(request);
}

// Drops the rest of a line that was refused.
void LineFramer::skip(Connection& connection, Input& input) {
  RINGRPC_ASSERT(connection.partial == nullptr);
  if (input.size == 0) return;
  const std::uint32_t size = line_size(input.data, input.size);
  connection.skips_line = size == input.size;
  input.consume(connection.skips_line ? size : size + 1);
}

// Returns: Step::need_input without a block when the line was skipped and the input is next.
Step LineFramer::next_partial(Connection& connection, Input& input, Request& request,
                              std::uint64_t now_ms) {
  Partial& partial = *connection.partial;
  if (!partial.unread) return go_on(connection, input, request);
  // What was kept may hold whole lines. Their time begins now.
  partial.started_ms = now_ms;
  while (partial.begin != partial.end) {
    const std::uint32_t kept = partial.end - partial.begin;
    const std::uint32_t size = line_size(partial.data() + partial.begin, kept);
    if (size == kept) {
      partial.unread = false;
      if (!too_long({partial.data() + partial.begin, size})) {
        return go_on(connection, input, request);
      }
      forget(connection);
      connection.skips_line = true;
      return refuse(request);
    }
    const Step step = deliver_kept(partial, size, 1, request);
    if (step != Step::need_input) return step;
    partial.begin += std::exchange(partial.message_size, 0);
  }
  forget(connection);
  return Step::need_input;
}

// The block holds the beginning of a line.
Step LineFramer::go_on(Connection& connection, Input& input, Request& request) {
  Partial& begun = *connection.partial;
  if (input.size == 0) return Step::need_input;
  const std::uint32_t size = line_size(input.data, input.size);
  const bool ends = size != input.size;
  const std::uint32_t have = begun.end - begun.begin;
  // One byte more than the longest line: its CR.
  if (std::uint64_t{have} + size > std::uint64_t{options_.message_size_max} + 1) {
    forget(connection);
    connection.skips_line = true;
    skip(connection, input);
    return refuse(request);
  }
  if (!append(connection, input, size)) return full(request);
  Partial& partial = *connection.partial;
  const std::uint32_t all = partial.end - partial.begin;
  if (!ends) {
    if (!too_long({partial.data() + partial.begin, all})) return Step::need_input;
    forget(connection);
    connection.skips_line = true;
    return refuse(request);
  }
  input.consume(1);
  const Step step = deliver_kept(partial, all, 0, request);
  if (step == Step::need_input) forget(connection);
  return step;
}

Step LineFramer::end(Connection& connection, Request& request) {
  if (connection.partial == nullptr) return Step::need_input;
  Partial& partial = *connection.partial;
  RINGRPC_ASSERT(!partial.unread && !partial.whole);
  const Step step = deliver_kept(partial, partial.end - partial.begin, 0, request);
  if (step == Step::need_input) forget(connection);
  return step;
}

// Delivers a line that stands at the block's begin, with so many bytes of its end behind it.
Step LineFramer::deliver_kept(Partial& partial, std::uint32_t size, std::uint32_t ending,
                              Request& request) {
  partial.message_size = size + ending;
  const Step step = deliver({partial.data() + partial.begin, size}, request);
  partial.whole = step != Step::need_input;
  return step;
}

// The answered line leaves; what was kept behind it is read next.
void LineFramer::settle(Connection& connection) {
  Partial& partial = *connection.partial;
  if (partial.whole) {
    partial.begin += partial.message_size;
    partial.message_size = 0;
    partial.whole = false;
    partial.unread = true;
  }
  if (partial.begin == partial.end) forget(connection);
}

void LineFramer::forget(Connection& connection) {
  options_.pool->give(connection.partial);
  connection.partial = nullptr;
}

bool LineFramer::append(Connection& connection, Input& input, std::uint32_t count) {
  Partial* partial = connection.partial;
  std::uint64_t moved = 0;
  if (partial->room() < count) {
    const std::uint32_t have = partial->end - partial->begin;
    const std::uint32_t most = options_.message_size_max + 1;
    const std::uint32_t left = most - std::min(have, most);
    const std::uint32_t wanted = std::min(left, (have + count) * line_room_factor);
    partial = options_.pool->grow(partial, std::max(count, wanted), moved);
    if (partial == nullptr) return false;
    connection.partial = partial;
  }
  std::memcpy(partial->data() + partial->end, input.data, count);
  partial->end += count;
  input.consume(count);
  options_.counters->add(base::Counter::bytes_copied, moved + count);
  return true;
}

bool LineFramer::keep(Connection& connection, Input& input) {
  if (connection.partial != nullptr) settle(connection);
  if (connection.skips_line) skip(connection, input);
  if (input.size == 0) return true;
  if (connection.partial == nullptr) connection.partial = options_.pool->take(input.size);
  if (connection.partial != nullptr) {
    connection.partial->unread = true;
    if (append(connection, input, input.size)) return true;
  }
  options_.counters->add(base::Counter::limit_partial_pool);
  return false;
}

}  // namespace ringrpc::serve
