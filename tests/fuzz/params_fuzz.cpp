// Goal: params of every shape become the values that the text says, or are refused for the reason
// and at the place that it has.
// Method: the input is the params of a message. A struct with a member of each kind is decoded from
// it and compared with what a slow reference makes of the same text; what was decoded is encoded,
// and decodes to the same again.

#include <ringrpc/fields.h>
#include <ringrpc/json.h>
#include <ringrpc/limits.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/assert.h"
#include "engine/json/decode.h"
#include "engine/json/encode.h"
#include "engine/rpc/envelope.h"
#include "tests/fuzz/reference.h"

namespace ringrpc::fuzz {
namespace {

namespace reasons = json::reasons;
using Kind = Value::Kind;

constexpr std::uint32_t text_size_max = 1u << 14;
constexpr std::size_t scratch_size = 16 * text_size_max;

// --- What is decoded -----------------------------------------------------------------------------

enum class Colour { red, green, dark_blue };

struct Item {
  std::int64_t x;
  std::optional<std::int16_t> y;
};

struct Sample {
  std::optional<bool> flag;
  std::optional<std::int8_t> tiny;
  std::optional<std::uint64_t> natural;
  std::optional<std::int64_t> whole;
  std::optional<double> real;
  std::optional<float> narrow;
  std::optional<std::string> text;
  std::optional<std::string_view> view;
  std::optional<Colour> colour;
  std::optional<Json> any;
  std::optional<Item> item;
  std::optional<std::vector<Item>> list_of_items;
  std::optional<std::vector<std::optional<std::string>>> holes;
  std::optional<std::map<std::string, std::int32_t>> table;
  std::optional<std::span<const std::uint16_t>> shorts;
};

// --- The reference -------------------------------------------------------------------------------

struct Complaint {
  std::string path;
  std::string reason;
  bool names_fit = true;  // no piece of the path is shortened

  bool say(const char* what) {
    reason = what;
    return false;
  }
  // Adds an outer part of the path.
  bool in(std::string_view name) {
    names_fit = names_fit && name.size() <= 64;
    path = "." + std::string(name) + path;
    return false;
  }
  bool at(std::size_t place) {
    path = "[" + std::to_string(place) + "]" + path;
    return false;
  }
};

class Reference {
 public:
  // Memory of spans, which hold nothing themselves.
  std::map<const void*, std::vector<std::uint16_t>> shorts;
  std::vector<std::unique_ptr<std::string>> texts;
  bool strict = false;
  Complaint wrong;

  bool params(const Value& value, Sample& out) {
    if (!value.is(Kind::array)) return read(value, out);
    const std::vector<std::string_view> names = names_of(out);
    for (std::size_t i = 0; i < value.items.size(); ++i) {
      if (i == names.size()) return wrong.say(reasons::too_many) || wrong.at(i);
      if (!member(i, value.items[i], out)) return wrong.at(i);
    }
    return true;
  }

 private:
  bool read(const Value& value, bool& out) {
    if (!value.is(Kind::boolean)) return wrong.say(reasons::not_boolean);
    out = value.raw == "true";
    return true;
  }

  template <class T>
    requires std::is_integral_v<T>
  bool read(const Value& value, T& out) {
    if (!value.is(Kind::number)) return wrong.say(reasons::not_integer);
    const Integer integer = integer_of(value.raw);
    if (!integer.is_whole) return wrong.say(reasons::not_integer);
    const __int128 number = integer.negative ? -static_cast<__int128>(integer.magnitude)
                                             : static_cast<__int128>(integer.magnitude);
    if (!integer.fits || number != static_cast<__int128>(static_cast<T>(number))) {
      return wrong.say(reasons::out_of_range);
    }
    out = static_cast<T>(number);
    return true;
  }

  bool read(const Value& value, double& out) {
    if (!value.is(Kind::number)) return wrong.say(reasons::not_number);
    out = std::strtod(std::string(value.raw).c_str(), nullptr);
    return std::isfinite(out) || wrong.say(reasons::out_of_range);
  }
  bool read(const Value& value, float& out) {
    if (!value.is(Kind::number)) return wrong.say(reasons::not_number);
    out = std::strtof(std::string(value.raw).c_str(), nullptr);
    return std::isfinite(out) || wrong.say(reasons::out_of_range);
  }

  bool read(const Value& value, std::string& out) {
    if (!value.is(Kind::string)) return wrong.say(reasons::not_string);
    out = value.text;
    return true;
  }
  bool read(const Value& value, std::string_view& out) {
    if (!value.is(Kind::string)) return wrong.say(reasons::not_string);
    out = *texts.emplace_back(std::make_unique<std::string>(value.text));
    return true;
  }
  bool read(const Value& value, Colour& out) {
    if (!value.is(Kind::string)) return wrong.say(reasons::not_string);
    constexpr std::string_view names[] = {"red", "green", "dark_blue"};
    for (int i = 0; i < 3; ++i) {
      if (value.text != names[i]) continue;
      out = static_cast<Colour>(i);
      return true;
    }
    return wrong.say(reasons::not_enumerator);
  }
  bool read(const Value& value, Json& out) {
    out = Json(value.raw);
    return true;
  }

  template <class T>
  bool read(const Value& value, std::optional<T>& out) {
    out.reset();
    return value.is(Kind::null) || read(value, out.emplace());
  }
  template <class T>
  bool read(const Value& value, std::vector<T>& out) {
    if (!value.is(Kind::array)) return wrong.say(reasons::not_array);
    for (std::size_t i = 0; i < value.items.size(); ++i) {
      if (!read(value.items[i], out.emplace_back())) return wrong.at(i);
    }
    return true;
  }
  bool read(const Value& value, std::span<const std::uint16_t>& out) {
    std::vector<std::uint16_t>& elements = shorts[&out];
    if (!read(value, elements)) return false;
    out = elements;
    return true;
  }
  bool read(const Value& value, std::map<std::string, std::int32_t>& out) {
    if (!value.is(Kind::object)) return wrong.say(reasons::not_object);
    for (std::size_t i = 0; i < value.items.size(); ++i) {
      const auto [element, is_new] = out.try_emplace(value.names[i]);
      if (!is_new) return wrong.say(reasons::duplicate) || wrong.in(value.raw_names[i]);
      if (!read(value.items[i], element->second)) return wrong.in(value.raw_names[i]);
    }
    return true;
  }

  template <class T>
    requires std::is_same_v<T, Sample> || std::is_same_v<T, Item>
  bool read(const Value& value, T& out) {
    if (!value.is(Kind::object)) return wrong.say(reasons::not_object);
    const std::vector<std::string_view> names = names_of(out);
    std::vector<bool> seen(names.size());
    for (std::size_t i = 0; i < value.items.size(); ++i) {
      std::size_t which = 0;
      while (which < names.size() && names[which] != value.names[i]) ++which;
      if (which == names.size()) {
        if (strict) return wrong.say(reasons::unknown) || wrong.in(value.raw_names[i]);
        continue;
      }
      if (seen[which]) return wrong.say(reasons::duplicate) || wrong.in(names[which]);
      seen[which] = true;
      if (!member(which, value.items[i], out)) return wrong.in(names[which]);
    }
    if (std::is_same_v<T, Item> && !seen[0]) return wrong.say(reasons::required) || wrong.in("x");
    return true;
  }

  static std::vector<std::string_view> names_of(const Item&) { return {"x", "y"}; }
  bool member(std::size_t which, const Value& value, Item& out) {
    return which == 0 ? read(value, out.x) : read(value, out.y);
  }

  static std::vector<std::string_view> names_of(const Sample&) {
    return {"flag",   "tiny", "natural", "whole",         "real",  "narrow", "text",  "view",
            "colour", "any",  "item",    "list_of_items", "holes", "table",  "shorts"};
  }
  bool member(std::size_t which, const Value& value, Sample& out) {
    switch (which) {
      case 0:
        return read(value, out.flag);
      case 1:
        return read(value, out.tiny);
      case 2:
        return read(value, out.natural);
      case 3:
        return read(value, out.whole);
      case 4:
        return read(value, out.real);
      case 5:
        return read(value, out.narrow);
      case 6:
        return read(value, out.text);
      case 7:
        return read(value, out.view);
      case 8:
        return read(value, out.colour);
      case 9:
        return read(value, out.any);
      case 10:
        return read(value, out.item);
      case 11:
        return read(value, out.list_of_items);
      case 12:
        return read(value, out.holes);
      case 13:
        return read(value, out.table);
      default:
        return read(value, out.shorts);
    }
  }
};

// --- The comparison ------------------------------------------------------------------------------

template <class T>
bool same(const T& a, const T& b) {
  return a == b;
}
bool same(double a, double b) { return a == b && std::signbit(a) == std::signbit(b); }
bool same(float a, float b) { return a == b && std::signbit(a) == std::signbit(b); }
bool same(const Json& a, const Json& b) { return a.text() == b.text(); }
bool same(const Item& a, const Item& b) { return a.x == b.x && a.y == b.y; }
bool same(const std::span<const std::uint16_t>& a, const std::span<const std::uint16_t>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}
bool same(const std::vector<Item>& a, const std::vector<Item>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Item& one, const Item& other) { return same(one, other); });
}
template <class T>
bool same(const std::optional<T>& a, const std::optional<T>& b) {
  return a.has_value() == b.has_value() && (!a.has_value() || same(*a, *b));
}
bool same(const Sample& a, const Sample& b) {
  return same(a.flag, b.flag) && same(a.tiny, b.tiny) && same(a.natural, b.natural) &&
         same(a.whole, b.whole) && same(a.real, b.real) && same(a.narrow, b.narrow) &&
         same(a.text, b.text) && same(a.view, b.view) && same(a.colour, b.colour) &&
         same(a.any, b.any) && same(a.item, b.item) && same(a.list_of_items, b.list_of_items) &&
         same(a.holes, b.holes) && same(a.table, b.table) && same(a.shorts, b.shorts);
}

// What decoding needs, made once for each text that is decoded at a time.
struct Room {
  Room() { RINGRPC_ASSERT(reader.reserve(text_size_max + 64, 4).ok()); }
  rpc::Reader reader;
  std::unique_ptr<char[]> scratch{new char[scratch_size]};
  std::unique_ptr<char[]> text{new char[text_size_max + 64 + limits::padding]};
};

// A message with these params, and what the engine decodes from it. Views live as long as its room.
struct Decoded {
  Decoded(Room& room, std::string_view params, bool strict) {
    rpc::Reader& reader = room.reader;
    std::string text;
    text = R"({"jsonrpc":"2.0","method":"m","params":)";
    text += params;
    text += "}";
    const std::uint32_t size = static_cast<std::uint32_t>(text.size());
    text.append(limits::padding, '8');
    std::copy(text.begin(), text.end(), room.text.get());
    const rpc::ReadResult result = reader.read(room.text.get(), size);
    const rpc::Envelope& envelope = reader.envelope(0);
    is_params = result.status == rpc::ReadStatus::single &&
                envelope.kind == rpc::EnvelopeKind::notification &&
                envelope.params != rpc::ParamsKind::absent;
    if (!is_params) return;
    json::Scratch scratch(room.scratch.get(), scratch_size);
    const JsonValue value(room.text.get(), reader.params_position(envelope));
    raw = value.raw();
    ok =
        json::decode(fields::type_of<Sample>(), &sample, value, scratch, {.strict = strict}, error);
  }

  json::DecodeError error;
  Sample sample{};
  std::string_view raw;
  bool is_params = false;
  bool ok = false;
};

void expect_round_trip(const Sample& sample) {
  constexpr std::size_t memory_size = 1u << 18;
  static char* const memory = new char[memory_size];
  JsonWriter writer(memory, memory + memory_size);
  json::encode(fields::type_of<Sample>(), &sample, writer);
  RINGRPC_ASSERT(writer.ok() && writer.complete());
  if (writer.size() > text_size_max) return;
  const std::optional<Value> parsed = parse_value(writer.view(), limits::depth_max);
  RINGRPC_ASSERT(parsed.has_value(), writer.view());
  static Room* const room = new Room;
  const Decoded again(*room, writer.view(), true);
  RINGRPC_ASSERT(again.ok, writer.view(), again.error.reason);
  RINGRPC_ASSERT(same(again.sample, sample), writer.view());
}

void check(std::string_view params, bool strict) {
  static Room* const room = new Room;
  const Decoded decoded(*room, params, strict);
  if (!decoded.is_params) return;
  const std::optional<Value> value = parse_value(decoded.raw, limits::depth_max);
  RINGRPC_ASSERT(value.has_value(), decoded.raw);
  Reference reference;
  reference.strict = strict;
  Sample expected{};
  const bool ok = reference.params(*value, expected);
  const Complaint& wrong = reference.wrong;
  RINGRPC_ASSERT(decoded.ok == ok, decoded.error.reason, wrong.reason, wrong.path);
  if (!ok) {
    RINGRPC_ASSERT(decoded.error.reason == wrong.reason, decoded.error.reason, wrong.reason);
    std::string_view path = wrong.path;
    if (path.starts_with('.')) path.remove_prefix(1);
    const bool fits = wrong.names_fit && path.size() <= 200;
    RINGRPC_ASSERT(!fits || decoded.error.field() == path, decoded.error.field(), path);
    return;
  }
  RINGRPC_ASSERT(same(decoded.sample, expected), decoded.raw);
  expect_round_trip(decoded.sample);
}

}  // namespace
}  // namespace ringrpc::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > ringrpc::fuzz::text_size_max) return 0;
  const std::string_view params(reinterpret_cast<const char*>(data), size);
  ringrpc::fuzz::check(params, false);
  ringrpc::fuzz::check(params, true);
  return 0;
}
