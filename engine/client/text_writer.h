#pragma once

// JSON into a text that grows.

#include <ringrpc/json_writer.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

namespace ringrpc::client {

// Owns: the text, until take().
class TextWriter {
 public:
  TextWriter() : text_(room_at_first, '\0'), writer_(begin(), end(), &grow, this) {}
  TextWriter(const TextWriter&) = delete;
  TextWriter& operator=(const TextWriter&) = delete;

  [[nodiscard]] JsonWriter& writer() { return writer_; }
  // Returns: what was written; the writer is of no more use.
  [[nodiscard]] std::string take() {
    text_.resize(writer_.size());
    return std::move(text_);
  }

 private:
  static constexpr std::size_t room_at_first = 256;

  char* begin() { return text_.data(); }
  char* end() { return text_.data() + text_.size(); }
  static bool grow(void* owner, JsonWriter& writer, std::size_t need) {
    TextWriter& self = *static_cast<TextWriter*>(owner);
    self.text_.resize(std::max(2 * self.text_.size(), self.text_.size() + need));
    writer.relocate(self.begin(), self.end());
    return true;
  }

  std::string text_;
  JsonWriter writer_;
};

// In JSON, line ends stand between tokens only, and one message is one line.
inline void drop_line_ends(std::string& json) {
  std::erase_if(json, [](char c) { return c == '\r' || c == '\n'; });
}

}  // namespace ringrpc::client
