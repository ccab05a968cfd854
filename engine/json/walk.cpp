#include "engine/json/walk.h"

#include <ringrpc/limits.h>

namespace ringrpc::json {

bool check_fraction(const char* at) {
  if (*at == '.') {
    const char* const after = skip_digits(at + 1);
    if (after == at + 1) return false;
    at = after;
  }
  if (*at == 'e' || *at == 'E') {
    ++at;
    at += *at == '+' || *at == '-' ? 1 : 0;
    const char* const after = skip_digits(at);
    if (after == at) return false;
    at = after;
  }
  return is_delimiter(*at);
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

const std::uint32_t* skip_container(const Walk& walk, const std::uint32_t* at) {
  const char* const text = walk.text;
  std::uint64_t parents = 0;  // one bit for each open bracket around this one: set for an object
  std::uint32_t depth = 0;
  bool in_object = false;
  for (;;) {
    // A value begins at `at`.
    const char* const first = text + *at++;
    if (*first == '{' || *first == '[') {
      if (depth == limits::depth_max) return nullptr;
      ++depth;
      parents = parents << 1 | static_cast<std::uint64_t>(in_object);
      in_object = *first == '{';
      const char next = text[*at];
      if (next != (in_object ? '}' : ']')) {
        if (!in_object) continue;
        if (next != '"' || text[at[1]] != ':') return nullptr;
        at += 2;
        continue;
      }
    } else if (*first != '"' && !check_scalar(first)) {
      return nullptr;
    }
    // A value has ended, or an empty container is about to.
    for (;;) {
      const char next = text[*at++];
      if (next == ',') {
        if (!in_object) break;
        if (text[at[0]] != '"' || text[at[1]] != ':') return nullptr;
        at += 2;
        break;
      }
      if (next != (in_object ? '}' : ']') || at == walk.end) return nullptr;
      if (--depth == 0) return at;
      in_object = (parents & 1) != 0;
      parents >>= 1;
    }
  }
}

}  // namespace ringrpc::json
