#include "engine/json/walk.h"

#include <ringrpc/limits.h>

#include <utility>

namespace ringrpc::json {
namespace {

// Told aside, because the walk's answer has no room for a reason and needs none but to count it.
thread_local bool met_depth_max = false;

}  // namespace

[[gnu::cold, gnu::noinline]] const std::uint32_t* note_too_deep() {
  met_depth_max = true;
  return nullptr;
}

bool take_too_deep() { return std::exchange(met_depth_max, false); }

const char* scan_fraction(const char* at) {
  if (*at == '.') {
    const char* const after = skip_digits(at + 1);
    if (after == at + 1) return nullptr;
    at = after;
  }
  if (*at == 'e' || *at == 'E') {
    ++at;
    at += *at == '+' || *at == '-' ? 1 : 0;
    const char* const after = skip_digits(at);
    if (after == at) return nullptr;
    at = after;
  }
  return is_delimiter(*at) ? at : nullptr;
}

bool check_root_scalar(std::string_view token) {
  if (token == "true" || token == "false" || token == "null") return true;
  const auto take = [&token](std::string_view any_of) {
    const bool there = !token.empty() && any_of.find(token[0]) != std::string_view::npos;
    if (there) token.remove_prefix(1);
    return there;
  };
  const auto take_digits = [&take] {
    bool any = false;
    while (take("0123456789")) any = true;
    return any;
  };
  take("-");
  if (!take("0") && !take_digits()) return false;
  if (take(".") && !take_digits()) return false;
  if (take("eE")) {
    take("+-");
    if (!take_digits()) return false;
  }
  return token.empty();
}

// Labels and jumps, because objects and arrays want code of their own: the branch predictor learns
// "what follows a member" apart from "what follows an element".
const std::uint32_t* skip_container(Walk walk, const std::uint32_t* at) {
  const char* const text = walk.text;
  std::uint64_t open = 0;  // one bit for each open bracket, the innermost lowest: set for an object
  std::uint32_t depth = 0;
  const char* value = text + *at++;

open_bracket:
  if (depth++ == limits::depth_max) [[unlikely]]
    return note_too_deep();
  if (*value == '[') {
    open = open << 1;
    if (text[*at] == ']') {
      ++at;
      goto closed;
    }
    goto element;
  }
  open = open << 1 | 1;
  if (text[*at] == '}') {
    ++at;
    goto closed;
  }

member:
  if (text[at[0]] != '"' || text[at[1]] != ':') return nullptr;
  value = text + at[2];
  at += 3;
  if (!check_plain(value)) {
    if (*value == '{' || *value == '[') goto open_bracket;
    return nullptr;
  }
after_member:
  value = text + *at++;
  if (*value == ',') goto member;
  if (*value == '}') goto closed;
  return nullptr;

element:
  value = text + *at++;
  if (!check_plain(value)) {
    if (*value == '{' || *value == '[') goto open_bracket;
    return nullptr;
  }
after_element:
  value = text + *at++;
  if (*value == ',') goto element;
  if (*value != ']') return nullptr;

closed:
  if (at == walk.end) return nullptr;
  if (--depth == 0) return at;
  open >>= 1;
  if ((open & 1) != 0) goto after_member;
  goto after_element;
}

}  // namespace ringrpc::json
