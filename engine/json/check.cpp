#include "engine/json/check.h"

#include <ringrpc/limits.h>

#include <string>

#include "engine/json/byte_walk.h"
#include "engine/json/index.h"
#include "engine/json/text.h"
#include "engine/json/utf8.h"
#include "engine/json/walk.h"

namespace ringrpc::json {

bool is_json(std::string_view text) {
  if (text.size() > limits::message_size_max) return false;
  // Two brackets around it, so that the walk meets an end behind every value.
  std::string padded = "[[" + std::string(text) + "]]";
  const std::uint32_t size = static_cast<std::uint32_t>(padded.size());
  padded.append(limits::padding, ' ');
  Index index;
  if (!index.reserve(size).ok() || !index.build_portable(padded.data(), size)) return false;
  const std::uint32_t* const first = index.positions();
  const Walk walk{padded.data(), first + index.count()};
  if (padded[walk.end[-1]] != ']') return false;
  // One value inside the inner bracket, then nothing but the two closing ones.
  const std::uint32_t* const after = skip_value(walk, first + 2);
  take_too_deep();  // A user's own text is no peer's mistake.
  if (after == nullptr || after + 2 != walk.end) return false;
  return !index.has_backslash() ||
         check_escapes(padded.data() + index.first_backslash(), padded.data() + size);
}

bool is_one_value(std::string_view text) {
  if (!is_utf8(text)) return false;
  ByteWalk walk(text);
  ByteWalk::Value value;
  if (!walk.take_value(value)) return false;
  walk.peek();  // Steps over blanks.
  return walk.at_end();
}

bool is_structured(std::string_view value) {
  const std::size_t first = value.find_first_not_of(" \t\r\n");
  return first != value.npos && (value[first] == '{' || value[first] == '[');
}

}  // namespace ringrpc::json
