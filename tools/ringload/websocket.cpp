#include "tools/ringload/websocket.h"

#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <cstring>

#include "tools/ringload/reply_check.h"
#include "tools/ringload/request.h"

namespace ringload {

namespace {

constexpr unsigned char frame_key[4] = {0x5A, 0x3C, 0x96, 0xE1};
constexpr unsigned char final_bit = 0x80;
constexpr unsigned char text_first = final_bit | 1;
constexpr unsigned char mask_bit = 0x80;

void append_length(std::string& bytes, std::uint64_t length, unsigned char mask) {
  const int extended = length < 126 ? 0 : length <= 0xFFFF ? 2 : 8;
  const std::uint64_t shown = extended == 0 ? length : extended == 2 ? 126 : 127;
  bytes += static_cast<char>(shown | mask);
  for (int i = extended - 1; i >= 0; --i) bytes += static_cast<char>(length >> (8 * i));
}

}  // namespace

std::string make_handshake(const tools::Url& url, const std::vector<std::string>& extra) {
  std::vector<std::string> fields = {"Upgrade: websocket", "Connection: Upgrade",
                                     "Sec-WebSocket-Version: 13",
                                     "Sec-WebSocket-Key: cmluZ2xvYWQncyBrZXkgIQ=="};
  fields.insert(fields.end(), extra.begin(), extra.end());
  return make_request("GET", url, fields, {});
}

namespace {

std::string masked_frame(unsigned char first, std::string_view text) {
  std::string bytes(1, static_cast<char>(first));
  append_length(bytes, text.size(), mask_bit);
  for (const unsigned char byte : frame_key) bytes += static_cast<char>(byte);
  for (std::size_t i = 0; i < text.size(); ++i) {
    bytes += static_cast<char>(static_cast<unsigned char>(text[i]) ^ frame_key[i % 4]);
  }
  return bytes;
}

}  // namespace

std::string make_frame(std::string_view text) { return masked_frame(text_first, text); }

std::string make_pong(std::string_view payload) {
  return masked_frame(final_bit | opcode_pong, payload);
}

std::string close_text(std::string_view payload) {
  if (payload.size() < 2) return "without a code";
  const unsigned code =
      static_cast<unsigned char>(payload[0]) * 256u + static_cast<unsigned char>(payload[1]);
  return std::to_string(code) + (payload.size() > 2 ? " " : "") + excerpt(payload.substr(2));
}

HeadStatus read_frame_head(std::string_view bytes, ReplyHead& head) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  if (bytes.empty()) return HeadStatus::incomplete;
  const unsigned opcode = byte(0) ^ final_bit;
  const bool control = opcode == opcode_close || opcode == opcode_ping || opcode == opcode_pong;
  if (byte(0) != text_first && !control) return HeadStatus::bad;
  if (bytes.size() < 2) return HeadStatus::incomplete;
  if ((byte(1) & mask_bit) != 0) return HeadStatus::bad;
  if (control) {
    head = {.body_size = byte(1), .head_size = 2, .control = static_cast<std::uint8_t>(opcode)};
    return byte(1) < 126 ? HeadStatus::complete : HeadStatus::bad;
  }
  const std::uint32_t extended = byte(1) == 126 ? 2 : byte(1) == 127 ? 8 : 0;
  if (bytes.size() < 2 + extended) return HeadStatus::incomplete;
  head = {.body_size = byte(1), .head_size = 2 + extended, .status = 200, .json = true};
  if (extended != 0) head.body_size = 0;
  for (std::uint32_t i = 0; i < extended; ++i) head.body_size = head.body_size << 8 | byte(2 + i);
  return (head.body_size >> 48) == 0 ? HeadStatus::complete : HeadStatus::bad;
}

bool shake_hands(int fd, const std::string& handshake, std::uint64_t timeout_ns,
                 std::string& error) {
  const timeval patience{.tv_sec = static_cast<time_t>(timeout_ns / 1'000'000'000),
                         .tv_usec = static_cast<suseconds_t>(timeout_ns / 1'000 % 1'000'000)};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  const ssize_t sent = send(fd, handshake.data(), handshake.size(), MSG_NOSIGNAL);
  std::string answer;
  bool whole = sent == static_cast<ssize_t>(handshake.size());
  constexpr std::string_view blank_line = "\r\n\r\n";
  while (whole && !answer.ends_with(blank_line)) {
    char bytes[1024];
    const ssize_t size = recv(fd, bytes, sizeof(bytes), MSG_PEEK);
    whole = size > 0 && answer.size() < ReplyReader::head_size_max;
    if (!whole) break;
    // Frames may stand behind the answer: they are left for the load.
    const std::size_t before = answer.size();
    answer.append(bytes, static_cast<std::size_t>(size));
    if (const std::size_t end = answer.find(blank_line); end != answer.npos) {
      answer.resize(end + blank_line.size());
    }
    whole = recv(fd, bytes, answer.size() - before, 0) > 0;
    if (answer.size() >= 12 && !answer.starts_with("HTTP/1.1 101")) break;
  }
  const timeval none{};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &none, sizeof(none));
  if (whole && answer.starts_with("HTTP/1.1 101")) return true;
  error = "the server does not become a WebSocket";
  if (!answer.empty()) error += ": " + answer.substr(0, answer.find('\r'));
  return false;
}

}  // namespace ringload
