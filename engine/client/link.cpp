#include "engine/client/link.h"

#include <poll.h>
#include <ringrpc/limits_client.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "engine/base/assert.h"
#include "engine/client/http_request.h"

namespace ringrpc::client {
Link::Item Link::fail(FailureKind kind, std::string sentence) {
  failure_ = kind;
  sentence_ = std::move(sentence);
  return Item::failed;
}

void Link::open() {
  RINGRPC_ASSERT(state_ == State::closed);
  state_ = State::connecting;
  std::string error;
  if (!socket_.open(target_, error)) fail(FailureKind::unreachable, std::move(error));
  if (socket_.state() == Socket::State::open) state_ = State::open;
}

void Link::close() {
  const bool websocket = target_.protocol == Protocol::websocket && announced_;
  if (websocket && failure_ == FailureKind::none) send_close(ws::close_code::normal);
  decoder_ = ws::Decoder();
  socket_.close();
  reader_.start();
  events_ = http::EventReader(options_.reply_size_max);
  in_ = std::string();
  body_ = std::string();
  piece_ = {};
  read_ = searched_ = 0;
  sentence_.clear();
  failure_ = FailureKind::none;
  given_ = 0;
  ended_ = 1;
  state_ = State::closed;
  announced_ = outstanding_ = body_said_ = greeted_ = false;
}

void Link::reset() {
  socket_.reset();
  close();
}

void Link::give(std::string_view bytes) {
  given_ += bytes.size();
  socket_.send(bytes);
}

void Link::send(std::string_view message, bool wants_events) {
  RINGRPC_ASSERT(state_ == State::open && !outstanding_);
  if (target_.protocol == Protocol::http) {
    const std::string head = post_head(target_, options_.headers, message.size(), wants_events);
    if (options_.trace) options_.trace(true, head, message);
    give(head);
    give(message);
    reader_.start();
    events_ = http::EventReader(options_.reply_size_max);
    body_.clear();
    outstanding_ = true;
    body_said_ = false;
  } else {
    if (options_.trace) options_.trace(true, {}, message);
    if (target_.protocol == Protocol::websocket) {
      send_frame(ws::Opcode::text, message);
    } else {
      give(message);
      give("\n");
    }
  }
  (void)socket_.flush();  // What failed is heard of when the answer does not come.
}

void Link::on_ready(short events) {
  if (failure_ != FailureKind::none) return;
  if (state_ == State::connecting) {
    std::string error;
    if (!socket_.connect_more(target_, error)) fail(FailureKind::unreachable, std::move(error));
    if (socket_.state() == Socket::State::open) state_ = State::open;
    return;
  }
  // What has come counts more than what cannot be sent: a server may refuse early and close.
  if ((events & (POLLIN | POLLHUP | POLLERR)) != 0) {
    RINGRPC_ASSERT(piece_.empty());  // All was taken before more is asked for.
    forget_read();
    std::size_t room = limits::client_receive_size_max;
    while (room > 0 && ended_ > 0) {
      const std::int64_t received = socket_.receive(in_, room);
      if (received == -EAGAIN) break;
      if (received > 0) room -= std::min(room, static_cast<std::size_t>(received));
      ended_ = std::min<std::int64_t>(received, 1);
    }
  }
  if (socket_.flush() != 0 && ended_ > 0 && (events & (POLLHUP | POLLERR)) != 0) ended_ = 0;
}

void Link::forget_read() {
  if (read_ == 0) return;
  in_.erase(0, read_);
  searched_ -= std::min(searched_, read_);
  read_ = 0;
}

Link::Item Link::take_end() {
  if (ended_ > 0) return Item::nothing;
  if (target_.way == Target::Way::process) {
    return fail(FailureKind::disconnected, socket_.end_program());
  }
  if (ended_ == 0) {
    return fail(FailureKind::disconnected, "the server closed the connection");
  }
  const std::string why = std::strerror(static_cast<int>(-ended_));
  return fail(FailureKind::disconnected, "the connection broke: " + why);
}

Link::Item Link::take(std::string_view& text) {
  text = {};
  if (failure_ != FailureKind::none) return Item::failed;
  if (state_ != State::open) return Item::nothing;
  if (!announced_ && target_.protocol == Protocol::websocket) {
    if (!greeted_) greet();
    return take_greeting();
  }
  if (!announced_) {
    announced_ = true;
    return Item::opened;
  }
  switch (target_.protocol) {
    case Protocol::http:
      return take_http(text);
    case Protocol::lines:
      return take_lines(text);
    case Protocol::websocket:
      return take_frames(text);
  }
  return Item::nothing;
}

Link::Item Link::take_lines(std::string_view& text) {
  while (true) {
    const std::size_t end = in_.find('\n', std::max(read_, searched_));
    const std::size_t size = std::min(end, in_.size()) - read_;
    if (size > options_.reply_size_max) {
      return fail(FailureKind::too_large, "a message is larger than reply_size_max");
    }
    if (end == std::string::npos) {
      searched_ = in_.size();
      return take_end();
    }
    text = std::string_view(in_).substr(read_, size);
    read_ = end + 1;
    if (text.ends_with('\r')) text.remove_suffix(1);
    if (text.find_first_not_of(" \t") == std::string_view::npos) continue;
    if (options_.trace) options_.trace(false, {}, text);
    return Item::message;
  }
}

}  // namespace ringrpc::client
