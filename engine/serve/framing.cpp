#include "engine/serve/framing.h"

#include <ringrpc/limits.h>

#include <algorithm>
#include <cstring>

#include "engine/base/assert.h"

namespace ringrpc::serve {
namespace {

constexpr std::string_view head_end = "\r\n\r\n";

// A body that comes in pieces gets room for so many bytes at first, and later for so many times
// what has come: announcing is cheap, so it buys little, and growing copies a fifteenth at most.
constexpr std::uint32_t body_room_min = 16u << 10;
constexpr std::uint32_t body_room_factor = 16;

// Returns: how many bytes of the input belong to the head that the partial block begins: through
// the end of the empty line, or all of them. Looks three bytes back, where that end may have begun.
std::uint32_t head_bytes(Partial& partial, const Input& input) {
  const std::uint32_t have = partial.end - partial.begin;
  const std::uint32_t back = std::min<std::uint32_t>(have, 3);
  char joint[6];
  const std::uint32_t ahead = std::min<std::uint32_t>(input.size, 3);
  std::memcpy(joint, partial.data() + partial.end - back, back);
  std::memcpy(joint + back, input.data, ahead);
  const std::size_t across = std::string_view(joint, back + ahead).find(head_end);
  if (across != std::string_view::npos) return static_cast<std::uint32_t>(across) + 4 - back;
  const std::size_t within = std::string_view(input.data, input.size).find(head_end);
  const std::uint32_t count =
      within != std::string_view::npos ? static_cast<std::uint32_t>(within) + 4 : input.size;
  return std::min(count, limits::head_size_max - std::min(have, limits::head_size_max));
}

}  // namespace

Step Framer::next(Connection& connection, Input& input, Request& request, std::uint64_t now_ms) {
  if (connection.partial != nullptr) [[unlikely]]
    settle(connection);
  if (connection.drop_left != 0) [[unlikely]]
    drop(connection, input);
  if (connection.partial != nullptr) [[unlikely]] {
    return next_partial(connection, input, request, now_ms);
  }
  if (input.size == 0) return Step::need_input;
  if (const HeadMemo::Entry* known = memo_.find(input.data, input.size); known != nullptr)
      [[likely]] {
    request.head = &known->head;
    request.admission = known->admission;
  } else {
    const http::HeadResult head = parse(input.data, input.data + input.size);
    if (head.status == http::HeadStatus::refused) {
      return broken(request, head.http_status, head_counter_);
    }
    if (head.status == http::HeadStatus::incomplete) {
      return begin_head(connection, input, request, now_ms);
    }
    request.head = &head_;
    request.admission = admit_head();
    // No two keys are the same.
    if (request.admission.target != Target::websocket) memo_.remember(head_, request.admission);
  }
  request.last = request.head->close;
  const std::uint64_t size = request.head->head_size + request.head->content_length;
  if (request.admission.target == Target::none || request.head->chunked || size > input.size)
      [[unlikely]] {
    return begin_body(connection, input, request, now_ms);
  }
  request.body = {input.data + request.head->head_size, request.head->content_length};
  input.consume(static_cast<std::uint32_t>(size));
  return Step::message;
}

// The answered message leaves; what was kept behind it becomes the next one's beginning.
void Framer::settle(Connection& connection) {
  Partial& partial = *connection.partial;
  if (partial.whole) {
    partial.begin += partial.message_size;
    partial.head_size = partial.message_size = partial.body_left = 0;
    partial.chunked = partial.whole = false;
    partial.chunks = {};
    partial.unread = true;
  }
  if (partial.begin == partial.end && partial.head_size == 0) forget(connection);
}

void Framer::forget(Connection& connection) {
  if (connection.partial == nullptr) return;
  options_.pool->give(connection.partial);
  connection.partial = nullptr;
}

void Framer::drop(Connection& connection, Input& input) {
  if (connection.partial != nullptr) {
    Partial& partial = *connection.partial;
    const std::uint32_t kept = std::min(connection.drop_left, partial.end - partial.begin);
    partial.begin += kept;
    connection.drop_left -= kept;
    settle(connection);
  }
  const std::uint32_t count = std::min(connection.drop_left, input.size);
  if (connection.partial == nullptr) {
    input.consume(count);
    connection.drop_left -= count;
  }
}

Admission Framer::admit_head() const {
  return admit(head_, *options_.hosts, options_.mounts, options_.message_size_max,
               options_.may_upgrade);
}

Step Framer::broken(Request& request, std::uint16_t status, base::Counter counter) {
  options_.counters->add(counter);
  request.status = status;
  request.last = true;
  return Step::broken;
}

// The bytes were fine, but there is no room for them.
Step Framer::full(Request& request) {
  return broken(request, 503, base::Counter::limit_partial_pool);
}

// Parses a head into head_. One that the parser takes may be over limits that options have
// tightened; the order of the checks makes the verdict the same however the bytes arrive.
http::HeadResult Framer::parse(const char* begin, const char* end) {
  constexpr auto refused = http::HeadStatus::refused;
  const HeadLimits& most = options_.head;
  // What lies behind the largest head is no part of one, so it is not looked at.
  if (end - begin > std::ptrdiff_t{most.size_max}) end = begin + most.size_max;
  const http::HeadResult result = http::parse_head(begin, end, head_);
  if (result.status == refused) {
    head_counter_ = base::Counter::bad_heads;
    if (result.http_status == 414) head_counter_ = base::Counter::limit_target_size;
    // The parser refuses the field behind the last one that it takes.
    const bool fields = head_.field_count == limits::head_fields_max;
    if (result.http_status == 431) {
      head_counter_ = fields ? base::Counter::limit_head_fields : base::Counter::limit_head_size;
    }
    return result;
  }
  const bool whole = result.status == http::HeadStatus::complete;
  if (!whole && end - begin == std::ptrdiff_t{most.size_max}) {
    head_counter_ = base::Counter::limit_head_size;
    return {refused, 431};
  }
  if (whole && head_.target.size > most.target_size_max) {
    head_counter_ = base::Counter::limit_target_size;
    return {refused, 414};
  }
  if (whole && head_.field_count > most.fields_max) {
    head_counter_ = base::Counter::limit_head_fields;
    return {refused, 431};
  }
  return result;
}

Step Framer::refuse_chunks(Request& request, const http::ChunkDecoder& chunks) {
  base::Counter counter = base::Counter::bad_heads;
  if (chunks.http_status() == 431) counter = base::Counter::limit_trailer_size;
  if (chunks.extensions_too_large()) counter = base::Counter::limit_chunk_extension;
  return broken(request, chunks.http_status(), counter);
}

bool Framer::append(Connection& connection, Input& input, std::uint32_t count) {
  std::uint64_t moved = 0;
  Partial* partial = options_.pool->grow(connection.partial, count, moved);
  if (partial == nullptr) return false;
  connection.partial = partial;
  std::memcpy(partial->data() + partial->end, input.data, count);
  partial->end += count;
  input.consume(count);
  options_.counters->add(base::Counter::bytes_copied, moved + count);
  return true;
}

bool Framer::keep(Connection& connection, Input& input) {
  if (connection.partial != nullptr) settle(connection);
  if (input.size == 0) return true;
  if (connection.partial == nullptr) connection.partial = options_.pool->take(input.size);
  if (connection.partial != nullptr) {
    connection.partial->unread = true;
    if (append(connection, input, input.size)) return true;
  }
  options_.counters->add(base::Counter::limit_partial_pool);
  return false;
}

Step Framer::begin_head(Connection& connection, Input& input, Request& request,
                        std::uint64_t now_ms) {
  connection.partial = options_.pool->take(input.size);
  if (connection.partial == nullptr) return full(request);
  connection.partial->started_ms = now_ms;
  if (!append(connection, input, input.size)) return full(request);
  return Step::need_input;
}

// A whole head stands in the input, but not a whole message that may run.
Step Framer::begin_body(Connection& connection, Input& input, Request& request,
                        std::uint64_t now_ms) {
  const std::uint32_t head_size = request.head->head_size;
  if (request.admission.target == Target::none) {
    input.consume(head_size);
    return refuse(connection, request);
  }
  const std::uint64_t body = request.head->chunked ? input.size : request.head->content_length;
  const std::uint64_t room = std::min<std::uint64_t>(body, std::max(input.size, body_room_min));
  connection.partial = options_.pool->take(static_cast<std::uint32_t>(head_size + room));
  if (connection.partial == nullptr) return full(request);
  if (!append(connection, input, head_size)) return full(request);
  return enter_body(connection, input, request, now_ms);
}

Step Framer::refuse(Connection& connection, Request& request) {
  const http::Request& head = *request.head;
  const bool has_body = head.chunked || head.content_length != 0;
  // A handshake that is none: who knows what follows it.
  if (request.admission.status == 400) request.last = true;
  if (!has_body) return Step::refused;
  // The client that waits for "100 Continue" may send its body or not: only the end is safe.
  if (head.chunked || head.expect_continue || head.content_length > options_.drain_size_max) {
    request.last = true;
  } else {
    connection.drop_left = static_cast<std::uint32_t>(head.content_length);
  }
  return Step::refused;
}

// The head stands whole at the block's begin; kept bytes may follow it.
Step Framer::enter_body(Connection& connection, Input& input, Request& request,
                        std::uint64_t now_ms) {
  Partial& partial = *connection.partial;
  partial.head_size = request.head->head_size;
  partial.started_ms = now_ms;
  partial.unread = false;
  const std::uint32_t behind = partial.end - partial.begin - partial.head_size;
  const bool expects = request.head->expect_continue && behind == 0 && input.size == 0;
  if (request.head->chunked) {
    partial.chunked = true;
    partial.message_size = partial.head_size;
    if (behind != 0) return decode_kept_chunks(connection, request);
    return expects ? Step::go_on : read_chunks(connection, input, request);
  }
  const std::uint32_t length = static_cast<std::uint32_t>(request.head->content_length);
  partial.body_left = length - std::min(length, behind);
  partial.message_size = partial.head_size + std::min(length, behind);
  if (expects && length != 0) return Step::go_on;
  return read_length(connection, input, request);
}

Step Framer::next_partial(Connection& connection, Input& input, Request& request,
                          std::uint64_t now_ms) {
  Partial& partial = *connection.partial;
  if (partial.head_size == 0) return read_head(connection, input, request, now_ms);
  if (partial.chunked) return read_chunks(connection, input, request);
  return read_length(connection, input, request);
}

Step Framer::read_head(Connection& connection, Input& input, Request& request,
                       std::uint64_t now_ms) {
  for (;;) {
    Partial& partial = *connection.partial;
    if (!partial.unread) {
      if (input.size == 0) return Step::need_input;
      if (!append(connection, input, head_bytes(partial, input))) return full(request);
    }
    Partial& grown = *connection.partial;
    // What was kept came while nobody read it: its time begins now.
    if (grown.unread) grown.started_ms = now_ms;
    grown.unread = false;
    const char* begin = grown.data() + grown.begin;
    const http::HeadResult head = parse(begin, grown.data() + grown.end);
    if (head.status == http::HeadStatus::refused) {
      return broken(request, head.http_status, head_counter_);
    }
    if (head.status == http::HeadStatus::complete) break;
  }
  request.head = &head_;
  request.admission = admit_head();
  request.last = request.head->close;
  if (request.admission.target == Target::none) {
    connection.partial->begin += request.head->head_size;
    connection.partial->unread = true;
    return refuse(connection, request);
  }
  return enter_body(connection, input, request, now_ms);
}

Step Framer::read_length(Connection& connection, Input& input, Request& request) {
  const std::uint32_t count = std::min(connection.partial->body_left, input.size);
  if (connection.partial->room() < count) {
    const std::uint32_t come = connection.partial->message_size + count;
    const std::uint32_t wanted = std::min(connection.partial->body_left, come * body_room_factor);
    std::uint64_t moved = 0;
    Partial* larger = options_.pool->grow(connection.partial, wanted, moved);
    if (larger == nullptr) return full(request);
    connection.partial = larger;
    options_.counters->add(base::Counter::bytes_copied, moved);
  }
  if (count != 0 && !append(connection, input, count)) return full(request);
  Partial& partial = *connection.partial;
  partial.body_left -= count;
  partial.message_size += count;
  if (partial.body_left != 0) return Step::need_input;
  return whole(partial, request);
}

Step Framer::read_chunks(Connection& connection, Input& input, Request& request) {
  const char* cursor = input.data;
  const char* const end = input.data + input.size;
  for (;;) {
    std::string_view piece;
    const http::ChunkDecoder::Status status = connection.partial->chunks.next(cursor, end, piece);
    input.consume(static_cast<std::uint32_t>(cursor - input.data));
    if (status == http::ChunkDecoder::Status::refused) {
      return refuse_chunks(request, connection.partial->chunks);
    }
    if (too_large(*connection.partial, piece.size())) return refuse_chunked(connection, request);
    if (status == http::ChunkDecoder::Status::need_more) return Step::need_input;
    if (status == http::ChunkDecoder::Status::done) return whole(*connection.partial, request);
    const std::uint32_t size = static_cast<std::uint32_t>(piece.size());
    Input bytes{const_cast<char*>(piece.data()), size};
    if (!append(connection, bytes, size)) return full(request);
    connection.partial->message_size += size;
  }
}

// Returns: whether the body is over the limit, what its current chunk has announced included.
bool Framer::too_large(const Partial& partial, std::size_t piece) const {
  const std::uint64_t body = partial.message_size - partial.head_size;
  const std::uint64_t coming = partial.chunks.remaining();
  const std::uint64_t most = options_.message_size_max;
  return body + piece > most || coming > most - body - piece;
}

Step Framer::refuse_chunked(Connection& connection, Request& request) {
  read_again(*connection.partial, request);
  request.admission = {.target = Target::none,
                       .status = 413,
                       .code = rpc::ErrorCode::request_too_large,
                       .counter = base::Counter::limit_message_size};
  request.last = true;
  return Step::refused;
}

// Chunks that were kept while the connection was paused: decoded in place, since what they hold is
// shorter than they are; what follows the body moves up behind it.
Step Framer::decode_kept_chunks(Connection& connection, Request& request) {
  Partial& partial = *connection.partial;
  const char* cursor = partial.data() + partial.begin + partial.head_size;
  const char* const end = partial.data() + partial.end;
  char* out = partial.data() + partial.begin + partial.head_size;
  for (;;) {
    std::string_view piece;
    const http::ChunkDecoder::Status status = partial.chunks.next(cursor, end, piece);
    if (status == http::ChunkDecoder::Status::refused) {
      return refuse_chunks(request, partial.chunks);
    }
    if (too_large(partial, piece.size())) return refuse_chunked(connection, request);
    if (status != http::ChunkDecoder::Status::piece) {
      std::memmove(out, cursor, static_cast<std::size_t>(end - cursor));
      partial.end = static_cast<std::uint32_t>(out - partial.data() + (end - cursor));
      if (status == http::ChunkDecoder::Status::done) return whole(partial, request);
      return Step::need_input;
    }
    std::memmove(out, piece.data(), piece.size());
    out += piece.size();
    partial.message_size += static_cast<std::uint32_t>(piece.size());
  }
}

// The head was parsed when it came; parsing it again is cheaper than remembering it.
void Framer::read_again(Partial& partial, Request& request) {
  const char* begin = partial.data() + partial.begin;
  const http::HeadResult head = http::parse_head(begin, begin + partial.head_size, head_);
  RINGRPC_ASSERT(head.status == http::HeadStatus::complete, partial.head_size);
  request.head = &head_;
  request.last = head_.close;
}

Step Framer::whole(Partial& partial, Request& request) {
  read_again(partial, request);
  request.admission = admit_head();
  RINGRPC_ASSERT(request.admission.target != Target::none, request.admission.status);
  request.body = {partial.data() + partial.begin + partial.head_size,
                  partial.message_size - partial.head_size};
  partial.whole = true;
  return Step::message;
}

}  // namespace ringrpc::serve
