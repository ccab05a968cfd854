#include "engine/serve/line_reply.h"

#include <cstring>

#include "engine/base/assert.h"

namespace ringrpc::serve {
namespace {

// Returns: where the first CR or LF is, `end` without one.
char* find_break(char* begin, char* end) {
  if (void* line_feed = std::memchr(begin, '\n', static_cast<std::size_t>(end - begin))) {
    end = static_cast<char*>(line_feed);
  }
  if (void* carriage_return = std::memchr(begin, '\r', static_cast<std::size_t>(end - begin))) {
    end = static_cast<char*>(carriage_return);
  }
  return end;
}

// Returns: the new end.
[[gnu::cold, gnu::noinline]] char* drop_breaks(char* out, char* end) {
  for (const char* at = out; at != end; ++at) {
    *out = *at;
    if (*at != '\r' && *at != '\n') ++out;
  }
  return out;
}

}  // namespace

char* without_breaks(char* begin, char* end) {
  char* const first = find_break(begin, end);
  return first == end ? end : drop_breaks(first, end);
}

std::size_t end_line(ReplyRoom& room) {
  const JsonWriter& writer = room.writer();
  if (writer.overflowed()) return 0;
  const char* const end = without_breaks(room.begin(), room.begin() + writer.size());
  const std::size_t size = static_cast<std::size_t>(end - room.begin());
  if (!room.ensure(size, size + 1)) return 0;
  room.begin()[size] = '\n';
  return size + 1;
}

bool write_line(Outbox& outbox, OutList& out, std::string_view json) {
  Outbox::Room room = outbox.open(reply_room_min);
  if (room.empty()) return false;
  if (static_cast<std::size_t>(room.end - room.begin) <= json.size()) {
    const Outbox::Room larger = outbox.grow(room.begin, 0, json.size() + 1);
    if (larger.empty()) {
      outbox.abandon(room.begin);
      return false;
    }
    room = larger;
  }
  std::memcpy(room.begin, json.data(), json.size());
  char* end = without_breaks(room.begin, room.begin + json.size());
  *end++ = '\n';
  return outbox.commit(out, room.begin, static_cast<std::uint32_t>(end - room.begin));
}

std::string line_error(std::uint16_t status, std::string_view reason) {
  RINGRPC_ASSERT(status == 400 || status == 408 || status == 503, status);
  rpc::ErrorCode code = rpc::ErrorCode::overloaded;
  if (status == 400) code = rpc::ErrorCode::parse_error;
  if (status == 408) code = rpc::ErrorCode::timed_out;
  std::string text = R"({"jsonrpc":"2.0","error":)";
  // The cause is another than the one that the error has as a rule.
  const std::string_view object = rpc::error_object(code);
  text.append(object.substr(0, object.find(R"(,"data":)")));
  text.append(R"(,"data":{"reason":")").append(reason).append("\"");
  if (status == 503) text += R"(,"retryAfterMs":1000)";
  return text + R"(}},"id":null})";
}

}  // namespace ringrpc::serve
