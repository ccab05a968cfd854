#pragma once

// The texts that a reply is made of beside its result. Shared by what is answered at once and what
// is answered later.

#include <ringrpc/call.h>
#include <ringrpc/limits.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "engine/rpc/errors.h"

namespace ringrpc::rpc {

inline constexpr std::string_view result_begin = R"({"jsonrpc":"2.0","result":)";
inline constexpr std::string_view id_begin = R"(,"id":)";
// Padded, as ids are.
inline constexpr char null_text[limits::padding] = "null";
inline constexpr std::string_view null_id(null_text, 4);

// Ends a reply object: its id and the closing brace. An empty id is null.
// Requires: an id is a view of a message, behind which limits::padding bytes are readable.
[[gnu::always_inline]] inline void write_id(std::string_view id, JsonWriter& out) {
  constexpr std::size_t chunk = 16;
  if (id.empty()) id = null_id;
  const std::size_t size = id_begin.size() + id.size() + 1;
  char* const begin = out.spare(size + chunk);
  if (begin == nullptr) [[unlikely]] {
    // Near the end of the room: exactly what is needed.
    out.bytes(id_begin);
    out.bytes(id);
    out.bytes("}");
    return;
  }
  std::memcpy(begin, id_begin.data(), id_begin.size());
  char* at = begin + id_begin.size();
  std::memcpy(at, id.data(), chunk);  // Most ids are shorter than this; it is overwritten.
  if (id.size() > chunk) [[unlikely]]
    std::memcpy(at, id.data(), id.size());
  at[id.size()] = '}';
  out.advance(size);
}

// A whole reply that is an error of the engine. A reason becomes `data {field, reason}`; that of
// -31001 is the limit that was hit, by its name in the metrics, and has no field.
// Requires: -31001 has one.
void write_error(ErrorCode code, std::string_view id, bool with_id, JsonWriter& out,
                 std::string_view reason = {});

// What a handler has left in its reply.
enum class ReplyEnd : std::uint8_t {
  whole,       // a result or an error, and its id
  overflowed,  // it does not fit
  no_json,     // NaN, none or two values, one that is not finished
};

// The engine's side of a Reply.
class ReplyAccess {
 public:
  // Ends what the handler has written: null where it wrote nothing, and the id.
  [[gnu::always_inline]] static ReplyEnd end(Reply& reply, std::string_view id, JsonWriter& out) {
    bool whole = true;
    if (reply.failed_) [[unlikely]] {
      // Whatever was written behind the error does not count.
      if (reply.fits_) out.rewind(reply.end_);
    } else {
      if (!reply.touched_) out.null();
      whole = out.complete();
    }
    write_id(id, out);
    if (out.overflowed()) [[unlikely]]
      return ReplyEnd::overflowed;
    return out.ok() && whole ? ReplyEnd::whole : ReplyEnd::no_json;
  }

  // Returns: the code of the error that the handler answered; 0 for a result.
  static std::int32_t error_code(const Reply& reply) { return reply.failed_ ? reply.code_ : 0; }
  static bool over_memory(const Reply& reply) { return reply.over_memory_; }
};

}  // namespace ringrpc::rpc
