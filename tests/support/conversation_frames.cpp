#include "tests/support/conversation_frames.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <sstream>

#include "tests/support/conversation_text.h"

namespace ringrpc::testing {
namespace {

constexpr std::string_view handshake_key = "dGhlIHNhbXBsZSBub25jZQ==";
constexpr std::string_view handshake_accept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

const std::map<std::string_view, std::uint8_t> first_bytes = {
    {"text", 0x81}, {"binary", 0x82}, {"begin", 0x01}, {"more", 0x00},
    {"last", 0x80}, {"close", 0x88},  {"ping", 0x89},  {"pong", 0x8A}};

std::string with_length(std::uint8_t first, std::size_t size, bool masked) {
  std::string bytes(1, static_cast<char>(first));
  const int extended = size < 126 ? 0 : size <= 0xFFFF ? 2 : 8;
  const std::size_t shown_size = extended == 0 ? size : extended == 2 ? 126 : 127;
  bytes += static_cast<char>(shown_size | (masked ? 0x80 : 0));
  for (int i = extended - 1; i >= 0; --i) bytes += static_cast<char>(size >> (8 * i));
  return bytes;
}

// "CODE REASON"
std::string close_payload(std::string_view words) {
  if (words.empty()) return {};
  const std::size_t space = words.find(' ');
  const int code = std::stoi(std::string(words.substr(0, space)));
  std::string payload = {static_cast<char>(code >> 8), static_cast<char>(code & 0xFF)};
  if (space != words.npos) payload += expand(words.substr(space + 1));
  return payload;
}

struct Line {
  std::string_view kind;
  std::string_view rest;
};

Line split(std::string_view line) {
  const std::size_t space = line.find(' ');
  return {line.substr(0, space), space == line.npos ? "" : line.substr(space + 1)};
}

// One frame of a server. Returns: its size, 0 when it is not whole.
struct Frame {
  std::uint8_t first = 0;
  std::string_view payload;
  std::size_t size = 0;
};

Frame read_frame(std::string_view bytes) {
  Frame frame;
  if (bytes.size() < 2) return frame;
  frame.first = static_cast<std::uint8_t>(bytes[0]);
  std::size_t length = static_cast<std::uint8_t>(bytes[1]);
  const std::size_t extended = length == 126 ? 2 : length == 127 ? 8 : 0;
  if (bytes.size() < 2 + extended) return frame;
  if (extended != 0) length = 0;
  for (std::size_t i = 0; i < extended; ++i) {
    length = length << 8 | static_cast<std::uint8_t>(bytes[2 + i]);
  }
  if (bytes.size() - 2 - extended < length) return frame;
  frame.payload = bytes.substr(2 + extended, length);
  frame.size = 2 + extended + length;
  return frame;
}

// Returns: whether the frame is what the line says. The reason of a close counts when it is given.
bool is_frame(const Frame& frame, std::string_view line) {
  const Line words = split(line);
  const auto first = first_bytes.find(words.kind);
  if (first == first_bytes.end() || frame.first != first->second) return false;
  if (words.kind != "close") return frame.payload == expand(words.rest);
  const std::string payload = close_payload(words.rest);
  return payload.size() == 2 ? frame.payload.substr(0, 2) == payload : frame.payload == payload;
}

bool is_pong(std::string_view line) { return split(line).kind == "pong"; }

Match wrong_frame(std::string_view expected, std::string_view bytes) {
  return {.state = MatchState::wrong,
          .size = 0,
          .complaint = "frame " + shown(bytes) + "\n in place of " + shown(expected)};
}

}  // namespace

std::string handshake_bytes(std::string_view path) {
  return "GET " + std::string(path) +
         " HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
         "Sec-WebSocket-Key: " +
         std::string(handshake_key) + "\r\nSec-WebSocket-Version: 13\r\n\r\n";
}

ExpectedReply handshake_reply() {
  ExpectedReply reply;
  reply.status = 101;
  reply.fields = {"Connection: Upgrade", "Sec-WebSocket-Accept: " + std::string(handshake_accept),
                  "Upgrade: websocket"};
  return reply;
}

bool frames_bytes(std::string_view text, std::string& bytes) {
  std::istringstream lines{std::string(text)};
  std::uint32_t number = 0;
  for (std::string line; std::getline(lines, line); ++number) {
    const Line words = split(line);
    if (words.kind == "raw") {
      bytes += escaped_bytes(words.rest);
      continue;
    }
    const auto first = first_bytes.find(words.kind);
    if (first == first_bytes.end()) {
      bytes = "no frame: " + line;
      return false;
    }
    const std::string payload =
        words.kind == "close" ? close_payload(words.rest) : expand(words.rest);
    const std::uint32_t key_word = 0x3D21FA37u * (2 * number + 1);
    char key[4];
    std::memcpy(key, &key_word, 4);
    bytes += with_length(first->second, payload.size(), true) + std::string(key, 4);
    for (std::size_t i = 0; i < payload.size(); ++i) {
      bytes += static_cast<char>(payload[i] ^ key[i % 4]);
    }
  }
  return true;
}

std::vector<std::string> heard_frames(std::string_view text) {
  std::istringstream lines{std::string(text)};
  std::vector<std::string> frames;
  for (std::string line; std::getline(lines, line);) frames.push_back(line);
  return frames;
}

Match match_frames(const std::vector<std::string>& lines, std::string_view bytes, bool any_order) {
  std::vector<std::string> pongs;
  std::vector<std::string> others;
  for (const std::string& line : lines) (is_pong(line) ? pongs : others).push_back(line);
  std::size_t at = 0;
  while (!pongs.empty() || !others.empty()) {
    const Frame frame = read_frame(bytes.substr(at));
    if (frame.size == 0) return {};
    std::vector<std::string>& missing = frame.first == 0x8A ? pongs : others;
    const std::string_view next = missing.empty() ? "none" : std::string_view(missing.front());
    auto found = missing.begin();
    while (any_order && found != missing.end() && !is_frame(frame, *found)) ++found;
    if (found == missing.end() || !is_frame(frame, *found)) {
      return wrong_frame(next, bytes.substr(at));
    }
    missing.erase(found);
    at += frame.size;
  }
  return {.state = MatchState::matched, .size = at, .complaint = {}};
}

}  // namespace ringrpc::testing
