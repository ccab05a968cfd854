#pragma once

// A text with its structural index, as a handler's params have it.

#include <gtest/gtest.h>
#include <ringrpc/fields.h>
#include <ringrpc/json.h>
#include <ringrpc/limits.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/json/decode.h"
#include "engine/json/encode.h"
#include "engine/json/index.h"

namespace ringrpc::fields_test {

class Document {
 public:
  explicit Document(std::string_view text) : padded_(text) {
    const auto size = static_cast<std::uint32_t>(text.size());
    padded_.append(limits::padding, '7');  // Digits: a scan that runs on would change its answer.
    if (text.empty() || (text.back() != '}' && text.back() != ']')) padded_[size] = ' ';
    EXPECT_TRUE(index_.reserve(size).ok());
    EXPECT_TRUE(index_.build_portable(padded_.data(), size)) << text;
  }

  [[nodiscard]] JsonValue value() const { return JsonValue(padded_.data(), index_.positions()); }
  [[nodiscard]] bool holds(const char* at) const {
    return at >= padded_.data() && at < padded_.data() + padded_.size();
  }

 private:
  std::string padded_;
  json::Index index_;
};

// A document decoded into a T. Views into it live as long as this does.
template <class T>
struct Decoded {
  explicit Decoded(std::string_view text, json::DecodeOptions options = {},
                   std::size_t scratch_size = 4096)
      : document(text), memory(scratch_size), scratch(memory.data(), memory.size()) {
    ok = json::decode(fields::type_of<T>(), &value, document.value(), scratch, options, error);
  }

  // Returns: "path: reason" of a failure, "" of a success.
  [[nodiscard]] std::string failure() const {
    return ok ? "" : std::string(error.field()) + ": " + error.reason;
  }

  Document document;
  std::vector<char> memory;
  json::Scratch scratch;
  json::DecodeError error;
  T value{};
  bool ok = false;
};

// A value encoded; "invalid" when the writer says that it is no JSON.
template <class T>
std::string encoded(const T& value, std::size_t capacity = 1u << 16) {
  std::vector<char> memory(capacity);
  JsonWriter writer(memory.data(), memory.data() + memory.size());
  json::encode(fields::type_of<T>(), &value, writer);
  if (writer.overflowed()) return "overflowed";
  if (writer.invalid()) return "invalid";
  EXPECT_TRUE(writer.complete());
  return std::string(writer.view());
}

}  // namespace ringrpc::fields_test
