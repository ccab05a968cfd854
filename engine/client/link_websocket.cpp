// Link: the WebSocket handshake, and one message a frame after it.

#include <ringrpc/limits_client.h>
#include <sys/random.h>

#include <array>
#include <cstring>

#include "engine/base/assert.h"
#include "engine/client/http_request.h"
#include "engine/client/link.h"
#include "engine/http/chars.h"
#include "engine/ws/base64.h"
#include "engine/ws/close.h"
#include "engine/ws/handshake.h"
#include "engine/ws/mask.h"

namespace ringrpc::client {
namespace {

// Fills with bytes that no page or proxy can foresee (RFC 6455, section 10.3).
template <std::size_t size>
std::array<std::uint8_t, size> random_bytes() {
  std::array<std::uint8_t, size> bytes;
  static_assert(size <= 256, "more could be given in part");
  RINGRPC_ASSERT(getrandom(bytes.data(), size, 0) == ssize_t{size});
  return bytes;
}

bool lists(std::string_view value, std::string_view lower_case) {
  while (!value.empty()) {
    const std::size_t comma = std::min(value.find(','), value.size());
    if (http::equals_folded(http::trim(value.substr(0, comma)), lower_case)) return true;
    value.remove_prefix(std::min(comma + 1, value.size()));
  }
  return false;
}

}  // namespace

void Link::greet() {
  char key[ws::base64_size(ws::key_bytes)];
  const std::array<std::uint8_t, ws::key_bytes> random = random_bytes<ws::key_bytes>();
  ws::write_key(random, key);
  accept_.resize(ws::accept_size);
  ws::write_accept({key, sizeof key}, accept_.data());
  const std::string head = upgrade_head(target_, options_.headers, {key, sizeof key});
  if (options_.trace) options_.trace(true, head, {});
  socket_.send(head);
  (void)socket_.flush();
  reader_.start();
  greeted_ = true;
}

Link::Item Link::take_greeting() {
  const char* const begin = in_.data() + read_;
  const char* cursor = begin;
  std::string_view piece;
  const ResponseReader::Status status = reader_.next(cursor, in_.data() + in_.size(), piece);
  read_ += static_cast<std::size_t>(cursor - begin);
  if (status == ResponseReader::Status::need_more) {
    if (ended_ > 0) return Item::nothing;
    return fail(FailureKind::unreachable, "the server closed the connection instead of switching");
  }
  if (status == ResponseReader::Status::failed) {
    return fail(FailureKind::unreachable, reader_.sentence());
  }
  const ResponseHead& head = reader_.head();
  if (options_.trace) options_.trace(false, head.text, {});
  const bool good = reader_.switched() && lists(head.field("Upgrade"), "websocket") &&
                    lists(head.field("Connection"), "upgrade") &&
                    head.field("Sec-WebSocket-Accept") == accept_ &&
                    head.field("Sec-WebSocket-Extensions").empty() &&
                    head.field("Sec-WebSocket-Protocol").empty();
  if (!good) {
    return fail(FailureKind::unreachable,
                "the server refused the WebSocket: " + std::string(head.status_line()));
  }
  announced_ = true;
  return Item::opened;
}

void Link::send_frame(ws::Opcode opcode, std::string_view payload) {
  std::uint32_t key = 0;
  const std::array<std::uint8_t, sizeof key> random = random_bytes<sizeof key>();
  std::memcpy(&key, random.data(), sizeof key);
  char header[ws::header_size_max];
  const std::uint32_t size = ws::write_masked_header(header, opcode, true, payload.size(), key);
  std::string masked(payload);
  ws::mask(masked.data(), masked.size(), key);
  give({header, size});
  give(masked);
}

void Link::send_close(std::uint16_t code) {
  const char payload[] = {static_cast<char>(code >> 8), static_cast<char>(code & 0xFF)};
  send_frame(ws::Opcode::close, {payload, sizeof payload});
  (void)socket_.flush();
}

Link::Item Link::take_control() {
  const std::string_view payload = decoder_.payload();
  if (decoder_.opcode() == ws::Opcode::ping) {
    if (socket_.unsent() < limits::unsent_pongs_max) send_frame(ws::Opcode::pong, payload);
    (void)socket_.flush();
    return Item::nothing;
  }
  if (decoder_.opcode() != ws::Opcode::close) return Item::nothing;
  ws::Close close;
  const std::uint16_t refusal = ws::read_close(payload, close);
  send_close(refusal != 0 || close.code == ws::close_code::none ? ws::close_code::normal
                                                                : close.code);
  std::string sentence = "the server closed the WebSocket";
  if (refusal == 0 && close.code != ws::close_code::none) {
    sentence.append(": ").append(std::to_string(close.code)).append(" ").append(close.reason);
  }
  return fail(FailureKind::disconnected, std::move(sentence));
}

Link::Item Link::take_frames(std::string_view& text) {
  if (body_said_) body_.clear();
  body_said_ = false;
  const ws::Rules rules{.reader = ws::Side::client, .message_size_max = options_.reply_size_max};
  while (true) {
    char* const begin = in_.data() + read_;
    char* cursor = begin;
    const ws::Decoder::Status status = decoder_.next(cursor, in_.data() + in_.size(), rules);
    read_ += static_cast<std::size_t>(cursor - begin);
    switch (status) {
      case ws::Decoder::Status::need_more:
        return take_end();
      case ws::Decoder::Status::piece:
        body_.append(decoder_.piece());
        break;
      case ws::Decoder::Status::message:
        body_said_ = true;
        text = body_;
        if (options_.trace) options_.trace(false, {}, text);
        return Item::message;
      case ws::Decoder::Status::control:
        if (const Item item = take_control(); item != Item::nothing) return item;
        break;
      case ws::Decoder::Status::refused: {
        const std::uint16_t code = decoder_.close_code();
        send_close(code);
        if (code == ws::close_code::too_large) {
          return fail(FailureKind::too_large, "a message is larger than reply_size_max");
        }
        return fail(FailureKind::bad_reply, "the server broke the WebSocket's rules");
      }
    }
  }
}

}  // namespace ringrpc::client
