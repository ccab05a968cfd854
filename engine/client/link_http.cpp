// Link: responses of HTTP, whole bodies and event streams.

#include <cerrno>
#include <cstring>

#include "engine/base/assert.h"
#include "engine/client/link.h"

namespace ringrpc::client {

Link::Item Link::take_events(std::string_view& text) {
  const char* cursor = piece_.data();
  const char* const end = cursor + piece_.size();
  while (true) {
    const http::EventReader::Status status = events_.next(cursor, end);
    piece_ = {cursor, static_cast<std::size_t>(end - cursor)};
    switch (status) {
      case http::EventReader::Status::event:
        text = events_.data();
        if (text.empty()) continue;  // some servers begin with an empty one
        if (options_.trace) options_.trace(false, reader_.head().text, text);
        return Item::message;
      case http::EventReader::Status::need_more:
        return Item::nothing;
      case http::EventReader::Status::too_large:
        return fail(FailureKind::too_large, "an event is larger than reply_size_max");
    }
  }
}

Link::Item Link::take_http(std::string_view& text) {
  if (!outstanding_) {
    // Nobody asked: the end is the usual thing here, an answer (408, say) is the end as well.
    if (read_ < in_.size()) return fail(FailureKind::disconnected, "an answer without a request");
    return take_end();
  }
  while (true) {
    if (!piece_.empty()) {
      const Item item = take_events(text);
      if (item != Item::nothing) return item;
    }
    const char* const begin = in_.data() + read_;
    const char* cursor = begin;
    std::string_view piece;
    ResponseReader::Status status = reader_.next(cursor, in_.data() + in_.size(), piece);
    read_ += static_cast<std::size_t>(cursor - begin);
    if (status == ResponseReader::Status::need_more && ended_ <= 0) {
      if (ended_ < 0) return take_end();
      status = reader_.finish();
      if (status == ResponseReader::Status::failed) {
        return fail(FailureKind::disconnected, reader_.sentence());
      }
    }
    switch (status) {
      case ResponseReader::Status::need_more:
        return Item::nothing;
      case ResponseReader::Status::head:
        if (reader_.switched()) {
          return fail(FailureKind::bad_reply, "the server switched to another protocol");
        }
        if (!reader_.head().event_stream && reader_.announced_size() > options_.reply_size_max) {
          return fail(FailureKind::too_large, "the response's body is too large");
        }
        return Item::head;
      case ResponseReader::Status::piece:
        if (reader_.head().event_stream) {
          piece_ = piece;
        } else if (piece.size() > options_.reply_size_max - body_.size()) {
          return fail(FailureKind::too_large, "the response's body is too large");
        } else {
          body_.append(piece);
        }
        break;
      case ResponseReader::Status::done:
        if (!reader_.head().event_stream && !body_said_) {
          body_said_ = true;
          if (options_.trace) options_.trace(false, reader_.head().text, body_);
          text = body_;
          return Item::body;
        }
        outstanding_ = false;
        return Item::reply_end;
      case ResponseReader::Status::failed:
        return fail(FailureKind::bad_reply, reader_.sentence());
    }
  }
}

}  // namespace ringrpc::client
