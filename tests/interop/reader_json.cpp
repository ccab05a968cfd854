// JSON as a handler sees it, through the engine's own door for messages.

#include <bit>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>

#include "engine/json/text.h"
#include "tests/interop/reader.h"

namespace ringrpc::interop {
namespace {

std::string unescaped(std::string_view body) {
  std::string text(body.size(), '\0');
  text.resize(json::unescape(body, text.data(), text.size()));
  return text;
}

// n and the bits of the double, or n+ and n- when it is beyond one. An integer must agree.
std::string number(const JsonValue& value) {
  double real = 0;
  if (!value.get(real)) return value.raw().starts_with("-") ? "n-" : "n+";
  std::int64_t integer = 0;
  if (value.get(integer) && static_cast<double>(integer) != real) return "n and another integer";
  std::uint64_t natural = 0;
  if (value.get(natural) && static_cast<double>(natural) != real) return "n and another integer";
  char bits[24];
  std::snprintf(bits, sizeof bits, "n%016llx",
                static_cast<unsigned long long>(std::bit_cast<std::uint64_t>(real)));
  return bits;
}

// Strings in hex of their UTF-8; of members with one name the last; members by name. Bounded by the
// depth that the engine allows.
std::string canonical(const JsonValue& value) {
  bool truth = false;
  std::string text;
  std::map<std::string, std::string> members;
  switch (value.kind()) {
    case JsonValue::Kind::absent:
      return "";
    case JsonValue::Kind::null:
      return "z";
    case JsonValue::Kind::boolean:
      return value.get(truth) && truth ? "t" : "f";
    case JsonValue::Kind::number:
      return number(value);
    case JsonValue::Kind::string:
      return value.get(text) ? "s" + hex(text) : "s unread";
    case JsonValue::Kind::array:
      for (JsonValue::Entry e = value.first(); e; e = e.next()) text += canonical(e.value()) + ",";
      return "[" + text + "]";
    case JsonValue::Kind::object:
      for (JsonValue::Entry e = value.first(); e; e = e.next()) {
        members[hex(unescaped(e.raw_name()))] = canonical(e.value());
      }
      for (const auto& [name, one] : members) text += name + ":" + one + ",";
      return "{" + text + "}";
  }
  return "?";
}

}  // namespace

JsonReader::JsonReader() {
  server_.method("see", [this](Call& call, Reply& reply) {
    ++runs_;
    value_ += canonical(call.params()) + ";";
    reply.result().boolean(true);
  });
}

std::string JsonReader::read(std::string_view text) {
  runs_ = 0;
  value_.clear();
  std::string reply;
  server_.call(text, reply);
  return R"({"reply":")" + hex(reply) + R"(","runs":)" + std::to_string(runs_) + R"(,"value":")" +
         value_ + "\"}";
}

}  // namespace ringrpc::interop
