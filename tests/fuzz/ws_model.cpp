#include "tests/fuzz/ws_model.h"

#include <algorithm>
#include <optional>
#include <string>

namespace ringrpc::fuzz {
namespace {

using ws::Opcode;
using ws::Side;

// The rows of the Unicode standard's table 3-7: for each length, the ranges of its bytes.
struct Row {
  std::uint8_t size;
  std::uint8_t ranges[4][2];
};
constexpr Row rows[] = {
    {1, {{0x00, 0x7F}}},
    {2, {{0xC2, 0xDF}, {0x80, 0xBF}}},
    {3, {{0xE0, 0xE0}, {0xA0, 0xBF}, {0x80, 0xBF}}},
    {3, {{0xE1, 0xEC}, {0x80, 0xBF}, {0x80, 0xBF}}},
    {3, {{0xED, 0xED}, {0x80, 0x9F}, {0x80, 0xBF}}},
    {3, {{0xEE, 0xEF}, {0x80, 0xBF}, {0x80, 0xBF}}},
    {4, {{0xF0, 0xF0}, {0x90, 0xBF}, {0x80, 0xBF}, {0x80, 0xBF}}},
    {4, {{0xF1, 0xF3}, {0x80, 0xBF}, {0x80, 0xBF}, {0x80, 0xBF}}},
    {4, {{0xF4, 0xF4}, {0x80, 0x8F}, {0x80, 0xBF}, {0x80, 0xBF}}},
};

enum class Text { whole, part, bad };

Text judge(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t best = 0;  // the most bytes that some row agrees with
    bool whole = false;
    for (const Row& row : rows) {
      std::size_t good = 0;
      while (good < row.size && at + good < text.size()) {
        const std::uint8_t byte = static_cast<std::uint8_t>(text[at + good]);
        if (byte < row.ranges[good][0] || byte > row.ranges[good][1]) break;
        ++good;
      }
      const bool ended = at + good == text.size();
      if (good == row.size || ended) {
        if (good >= best) whole = good == row.size;
        best = std::max(best, good);
      }
    }
    if (best == 0) return Text::bad;
    if (!whole) return Text::part;
    at += best;
  }
  return Text::whole;
}

// One byte at a time; what is asked of each is written out where it stands.
class Model {
 public:
  Model(std::string_view bytes, const ws::Rules& rules) : bytes_(bytes), rules_(rules) {}

  WsVerdict run() {
    while (frame()) {
    }
    verdict_.heard.close_code = code_;
    verdict_.heard.at_rest = code_ == 0 && at_rest_;
    if (code_ != 0) verdict_.decided = at_;
    return verdict_;
  }

 private:
  std::optional<std::uint8_t> take() {
    if (at_ == bytes_.size()) return {};
    at_rest_ = false;
    return static_cast<std::uint8_t>(bytes_[at_++]);
  }

  bool refuse(std::uint16_t code) {
    code_ = code;
    return false;
  }

  // Returns: whether the frame is whole and another may follow.
  bool frame() {
    header_ = 2;
    const std::optional<std::uint8_t> first = take();
    if (!first) return false;
    final_ = (*first & 0x80) != 0;
    opcode_ = *first & 0x0F;
    if (*first & 0x70) return refuse(1002);
    if (opcode_ >= 11 || (opcode_ >= 3 && opcode_ <= 7)) return refuse(1002);
    if (opcode_ >= 8 && !final_) return refuse(1002);
    if (opcode_ == 0 && !in_message_) return refuse(1002);
    if ((opcode_ == 1 || opcode_ == 2) && in_message_) return refuse(1002);
    if (opcode_ == 2) return refuse(1003);
    const std::optional<std::uint8_t> second = take();
    if (!second) return false;
    const bool masked = (*second & 0x80) != 0;
    if (masked != (rules_.reader == Side::server)) return refuse(1002);
    if (!length(*second & 0x7F)) return false;
    std::uint8_t key[4] = {};
    for (int i = 0; masked && i < 4; ++i) {
      const std::optional<std::uint8_t> byte = take();
      if (!byte) return false;
      key[i] = *byte;
      ++header_;
    }
    return opcode_ >= 8 ? control(key) : data(key);
  }

  bool length(std::uint8_t shown) {
    length_ = shown;
    if (opcode_ >= 8 && shown > 125) return refuse(1002);
    if (shown < 126) return true;
    const int size = shown == 126 ? 2 : 8;
    length_ = 0;
    for (int i = 0; i < size; ++i) {
      const std::optional<std::uint8_t> byte = take();
      if (!byte) return false;
      length_ = length_ << 8 | *byte;
      ++header_;
      if (size == 8 && i == 0 && *byte >= 0x80) return refuse(1002);
      // What is still to come is at most all ones.
      std::uint64_t most = length_;
      for (int rest = i + 1; rest < size; ++rest) most = most << 8 | 0xFF;
      if (most < (size == 2 ? 126u : 65536u)) return refuse(1002);
    }
    return true;
  }

  bool too_fragmented() const {
    return frames_ > rules_.frames_max || overhead_ > size_ + rules_.overhead_max;
  }

  bool control(const std::uint8_t* key) {
    if (in_message_) {
      overhead_ += header_ + length_;
      if (too_fragmented()) return refuse(1008);
    }
    std::string payload;
    while (payload.size() < length_) {
      const std::optional<std::uint8_t> byte = take();
      if (!byte) return false;
      payload += static_cast<char>(*byte ^ key[payload.size() % 4]);
    }
    verdict_.heard.said.push_back({static_cast<Opcode>(opcode_), payload});
    at_rest_ = !in_message_;
    return true;
  }

  bool data(const std::uint8_t* key) {
    if (length_ > rules_.message_size_max - size_) return refuse(1009);
    size_ += length_;
    ++frames_;
    overhead_ += header_;
    in_message_ = true;
    if (too_fragmented()) return refuse(1008);
    for (std::uint64_t i = 0; i < length_; ++i) {
      const std::optional<std::uint8_t> byte = take();
      if (!byte) return false;
      text_ += static_cast<char>(*byte ^ key[i % 4]);
      // Only the end can have become bad: a code point has four bytes.
      const std::size_t from = good_;
      const Text judged = judge(std::string_view(text_).substr(from));
      if (judged == Text::bad) return refuse(1007);
      if (judged == Text::whole) good_ = text_.size();
    }
    if (!final_) return true;
    if (good_ != text_.size()) return refuse(1007);
    verdict_.heard.said.push_back({Opcode::text, text_});
    text_.clear();
    good_ = 0;
    size_ = overhead_ = 0;
    frames_ = 0;
    in_message_ = false;
    at_rest_ = true;
    return true;
  }

  std::string_view bytes_;
  const ws::Rules& rules_;
  WsVerdict verdict_;
  std::size_t at_ = 0;
  std::uint16_t code_ = 0;
  bool at_rest_ = true;
  bool in_message_ = false;
  bool final_ = false;
  std::uint8_t opcode_ = 0;
  std::uint64_t header_ = 0, length_ = 0;
  std::uint64_t size_ = 0, overhead_ = 0, frames_ = 0;
  std::string text_;
  std::size_t good_ = 0;  // bytes of it that are whole code points
};

}  // namespace

WsVerdict read_frames(std::string_view bytes, const ws::Rules& rules) {
  return Model(bytes, rules).run();
}

}  // namespace ringrpc::fuzz
