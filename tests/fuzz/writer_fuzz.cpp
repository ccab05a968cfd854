// Goal: what the writer writes reads back as what it was told, whatever memory it has, or it says
// that it is no JSON.
// Method: the input is a program for the writer: each byte calls one of its functions, with what
// follows as the value. A plain model keeps the brackets and the text; three writers with other
// memories must agree with it, and the reference parser with all of them.

#include <ringrpc/json_writer.h>
#include <ringrpc/limits.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/assert.h"
#include "tests/fuzz/reference.h"

namespace ringrpc::fuzz {
namespace {

constexpr std::size_t input_size_max = 4096;
constexpr std::size_t memory_size = 1u << 16;

// The writer's rules, once more: what may come next, and what stands there so far. Numbers with a
// fraction are taken over from the writer and checked by themselves.
struct Model {
  std::string text;
  std::string open;         // brackets
  bool wants_value = true;  // at the start, and behind a name
  bool is_first = true;     // in the innermost bracket
  bool valid = true;

  bool begin_value() {
    const bool in_array = open.ends_with('[');
    if (!wants_value && !in_array) return valid = false;
    if (!wants_value && !is_first) text += ',';
    wants_value = is_first = false;
    return true;
  }
  void value(std::string_view token) {
    if (begin_value()) text += token;
  }
  void begin(char bracket) {
    if (open.size() == limits::depth_max) valid = false;
    if (!valid || !begin_value()) return;
    text += bracket;
    open += bracket;
    is_first = true;
  }
  void end(char bracket) {
    const char opener = bracket == '}' ? '{' : '[';
    if (!open.ends_with(opener) || wants_value) {
      valid = false;
      return;
    }
    open.pop_back();
    text += bracket;
    is_first = false;
  }
  void member(std::string_view name) {
    if (!open.ends_with('{') || wants_value || !is_utf8(name)) {
      valid = false;
      return;
    }
    if (!is_first) text += ',';
    is_first = false;
    wants_value = true;
    text += quoted(name) + ":";
  }
  void string(std::string_view value_text) {
    if (!is_utf8(value_text)) valid = false;
    if (valid) value(quoted(value_text));
  }
  [[nodiscard]] bool complete() const { return valid && open.empty() && !wants_value; }
};

// The input, taken from its front.
struct Program {
  std::string_view rest;

  std::uint8_t byte() {
    if (rest.empty()) return 0;
    const std::uint8_t value = static_cast<std::uint8_t>(rest[0]);
    rest.remove_prefix(1);
    return value;
  }
  std::uint64_t word() {
    std::uint64_t value = 0;
    for (int i = 0; i < 8; ++i) value = value << 8 | byte();
    return value;
  }
  std::string_view string() {
    const std::string_view text = rest.substr(0, byte());
    const std::string_view behind = rest.substr(0, text.size());
    rest.remove_prefix(behind.size());
    return behind;
  }
};

template <class Number>
Number bits_to(std::uint64_t bits) {
  Number number;
  std::memcpy(&number, &bits, sizeof(number));
  return number;
}

// A number's token is the writer's own, and must read back as the number.
template <class Number>
void write_real(JsonWriter& writer, Model& model, Number number) {
  const std::size_t before = writer.size();
  if constexpr (std::is_same_v<Number, float>) {
    writer.short_number(number);
  } else {
    writer.number(number);
  }
  if (!std::isfinite(number)) model.valid = false;
  if (!model.valid || !writer.ok()) {
    model.value("0");
    return;
  }
  std::string_view token = writer.view().substr(before);
  if (token.starts_with(',')) token.remove_prefix(1);
  const std::string copy(token);
  const Number back = std::is_same_v<Number, float>
                          ? static_cast<Number>(std::strtof(copy.c_str(), nullptr))
                          : static_cast<Number>(std::strtod(copy.c_str(), nullptr));
  RINGRPC_ASSERT(back == number && std::signbit(back) == std::signbit(number), copy);
  model.value(token);
}

void run(Program program, JsonWriter& writer, Model& to) {
  static constexpr std::string_view raws[] = {"null", "[1, 2]", R"({"a":"b"})", "-0.5e+3"};
  while (!program.rest.empty()) {
    switch (program.byte() % 14) {
      case 0:
        writer.begin_object(), to.begin('{');
        break;
      case 1:
        writer.end_object(), to.end('}');
        break;
      case 2:
        writer.begin_array(), to.begin('[');
        break;
      case 3:
        writer.end_array(), to.end(']');
        break;
      case 4:
      case 5: {
        const std::string_view name = program.string();
        // In memory of its own size, so that a checker sees its end.
        const std::unique_ptr<char[]> block(new char[name.size()]);
        std::copy(name.begin(), name.end(), block.get());
        writer.member({block.get(), name.size()}), to.member(name);
        break;
      }
      case 6:
      case 7: {
        const std::string_view text = program.string();
        const std::unique_ptr<char[]> block(new char[text.size()]);
        std::copy(text.begin(), text.end(), block.get());
        writer.string({block.get(), text.size()}), to.string(text);
        break;
      }
      case 8: {
        const std::int64_t number =
            static_cast<std::int64_t>(program.word()) >> (program.byte() % 64);
        writer.integer(number), to.value(std::to_string(number));
        break;
      }
      case 9: {
        const std::uint64_t number = program.word() >> (program.byte() % 64);
        writer.unsigned_integer(number), to.value(std::to_string(number));
        break;
      }
      case 10:
        write_real(writer, to, bits_to<double>(program.word()));
        break;
      case 11:
        write_real(writer, to, bits_to<float>(program.word()));
        break;
      case 12: {
        const std::uint8_t which = program.byte() % 6;
        if (which == 4) writer.null(), to.value("null");
        if (which == 5) writer.boolean(true), to.value("true");
        if (which < 4) writer.raw(raws[which]), to.value(raws[which]);
        break;
      }
      default:
        writer.boolean(false), to.value("false");
        break;
    }
    if (!to.valid) return;
  }
}

// Memory that grows by no more than it must, each time at a new place.
struct Growing {
  std::vector<std::unique_ptr<char[]>> pieces;

  static bool grow(void* owner, JsonWriter& writer, std::size_t need) {
    Growing& self = *static_cast<Growing*>(owner);
    const std::size_t size = writer.size() + need;
    self.pieces.push_back(std::make_unique<char[]>(size));
    std::copy_n(writer.begin(), writer.size(), self.pieces.back().get());
    writer.relocate(self.pieces.back().get(), self.pieces.back().get() + size);
    return true;
  }
};

void check(std::string_view input, std::size_t room) {
  static char* const memory = new char[memory_size];
  JsonWriter roomy(memory, memory + memory_size);
  Model model;
  run({input}, roomy, model);
  RINGRPC_ASSERT(!roomy.overflowed());
  RINGRPC_ASSERT(roomy.invalid() == !model.valid, model.valid, model.text);
  if (!model.valid) return;
  RINGRPC_ASSERT(roomy.view() == model.text, roomy.view(), model.text);
  RINGRPC_ASSERT(roomy.complete() == model.complete());
  RINGRPC_ASSERT(roomy.depth() == model.open.size());
  if (model.complete()) RINGRPC_ASSERT(parse_value(model.text, limits::depth_max).has_value());

  Growing pieces;
  JsonWriter growing(nullptr, nullptr, &Growing::grow, &pieces);
  Model again;
  run({input}, growing, again);
  RINGRPC_ASSERT(growing.ok() && growing.view() == model.text, growing.view(), model.text);

  const std::size_t size = room % (model.text.size() + 80);
  const std::unique_ptr<char[]> block(new char[size]);
  JsonWriter fixed(block.get(), block.get() + size);
  Model third;
  run({input}, fixed, third);
  RINGRPC_ASSERT(fixed.size() <= size && !fixed.invalid());
  if (fixed.overflowed()) {
    // It may want a little more than it writes.
    RINGRPC_ASSERT(size < model.text.size() + 64, size, model.text.size());
  } else {
    RINGRPC_ASSERT(fixed.view() == model.text, fixed.view(), model.text);
  }
}

}  // namespace
}  // namespace ringrpc::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2 || size > ringrpc::fuzz::input_size_max) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t room = static_cast<std::size_t>(data[0]) * 16 + data[1];
  ringrpc::fuzz::check(input.substr(2), room);
  return 0;
}
