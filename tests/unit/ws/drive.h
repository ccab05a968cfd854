#pragma once

// Feeds a decoder in parts and collects what it says.

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/ws/decoder.h"

namespace ringrpc::ws::test {

// A message (opcode text) or a control frame.
struct Said {
  Opcode opcode = Opcode::text;
  std::string payload;
  bool operator==(const Said&) const = default;
};

struct Heard {
  std::vector<Said> said;
  std::uint16_t close_code = 0;  // 0: not refused
  bool at_rest = true;           // nothing is begun
  bool operator==(const Heard&) const = default;
};

class Driver {
 public:
  explicit Driver(const Rules& rules) : rules_(rules) {}

  // Returns: false once it is refused.
  bool feed(std::string_view part) {
    // A block of its own, so that a sanitizer sees reads beyond it.
    const std::unique_ptr<char[]> block(new char[part.size()]);
    if (!part.empty()) std::memcpy(block.get(), part.data(), part.size());
    char* cursor = block.get();
    char* const end = cursor + part.size();
    for (;;) {
      switch (decoder_.next(cursor, end, rules_)) {
        case Decoder::Status::need_more:
          heard_.at_rest = decoder_.at_rest();
          return cursor == end;
        case Decoder::Status::piece:
          message_ += decoder_.piece();
          break;
        case Decoder::Status::message:
          heard_.said.push_back({Opcode::text, std::exchange(message_, {})});
          break;
        case Decoder::Status::control:
          heard_.said.push_back({decoder_.opcode(), std::string(decoder_.payload())});
          break;
        case Decoder::Status::refused:
          heard_.close_code = decoder_.close_code();
          heard_.at_rest = false;
          return false;
      }
    }
  }

  [[nodiscard]] const Heard& heard() const { return heard_; }

 private:
  Rules rules_;
  Decoder decoder_;
  std::string message_;
  Heard heard_;
};

// In parts: the first of `first` bytes, the others of `step`.
inline Heard hear(std::string_view bytes, const Rules& rules, std::size_t first, std::size_t step) {
  Driver driver(rules);
  for (std::size_t at = 0, size = first; at < bytes.size(); at += size, size = step) {
    if (!driver.feed(bytes.substr(at, size))) break;
  }
  return driver.heard();
}

inline Heard hear(std::string_view bytes, const Rules& rules) {
  return hear(bytes, rules, bytes.size(), bytes.size());
}

// The same with the short way for whole frames, as long as it goes.
inline Heard hear_whole(std::string_view bytes, const Rules& rules) {
  Heard heard;
  const std::unique_ptr<char[]> block(new char[bytes.size()]);
  if (!bytes.empty()) std::memcpy(block.get(), bytes.data(), bytes.size());
  char* cursor = block.get();
  char* const end = cursor + bytes.size();
  for (;;) {
    const WholeFrame frame = read_whole(cursor, end, rules);
    if (frame.kind == WholeFrame::Kind::other) break;
    if (frame.kind == WholeFrame::Kind::refused) {
      heard.close_code = frame.close_code;
      heard.at_rest = false;
      return heard;
    }
    heard.said.push_back({frame.opcode, std::string(frame.payload)});
    cursor += frame.size;
  }
  const Heard rest = hear({cursor, static_cast<std::size_t>(end - cursor)}, rules);
  heard.said.insert(heard.said.end(), rest.said.begin(), rest.said.end());
  heard.close_code = rest.close_code;
  heard.at_rest = rest.at_rest;
  return heard;
}

}  // namespace ringrpc::ws::test
