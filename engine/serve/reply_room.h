#pragma once

// The memory of one reply while it is written: room in the outbox that grows with the writer.

#include <ringrpc/json_writer.h>
#include <ringrpc/limits.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "engine/rpc/errors.h"
#include "engine/rpc/outcome.h"
#include "engine/serve/outbox.h"

namespace ringrpc::serve {

// Bytes that a reply's frame may have: an HTTP head.
inline constexpr std::uint32_t frame_size_max = 512;
// Bytes that a writer may want beyond what it writes in the end. Whether a reply is too large is
// judged by what was written (rpc/answer.cpp).
inline constexpr std::uint32_t writer_slack = 64;
// Room that a reply starts with: its frame and the largest error of the engine.
inline constexpr std::uint32_t reply_room_min = 2048;
static_assert(reply_room_min >= rpc::error_reply_size_max + frame_size_max);

// Lifetime: on the stack of one pass of the turn; ends in exactly one commit() or abandon().
// Thread:   worker only.
class ReplyRoom {
 public:
  // The frame is what stands in front of the JSON; it does not count as reply.
  ReplyRoom(Outbox& outbox, std::uint32_t reply_size_max, std::uint32_t frame_size)
      : outbox_(outbox),
        room_(outbox.open(reply_room_min)),
        limit_(frame_size + reply_size_max + writer_slack),
        budget_{.size_max = reply_size_max},
        writer_(room_.begin, room_.begin + std::min<std::size_t>(room(), limit_), &ReplyRoom::grow,
                this) {}
  ReplyRoom(const ReplyRoom&) = delete;
  ReplyRoom& operator=(const ReplyRoom&) = delete;

  // Returns: false when memory was used up; nothing may be written then.
  [[nodiscard]] bool exists() const { return !room_.empty(); }

  [[nodiscard]] JsonWriter& writer() { return writer_; }
  [[nodiscard]] rpc::Budget& budget() { return budget_; }
  [[nodiscard]] char* begin() { return room_.begin; }

  // Makes room for `size` bytes in all, keeping the first `used`. Returns: whether there is.
  bool ensure(std::size_t used, std::size_t size) {
    if (room() >= size) return true;
    const Outbox::Room larger = outbox_.grow(room_.begin, static_cast<std::uint32_t>(used), size);
    if (larger.empty()) return false;
    room_ = larger;
    return true;
  }

  // Appends the first `size` bytes to the list. Returns: false when there was no memory for it.
  bool commit(OutList& out, std::size_t size) {
    return outbox_.commit(out, room_.begin, static_cast<std::uint32_t>(size));
  }
  void abandon() { outbox_.abandon(room_.begin); }

 private:
  [[nodiscard]] std::size_t room() const {
    return static_cast<std::size_t>(room_.end - room_.begin);
  }

  static bool grow(void* owner, JsonWriter& writer, std::size_t need) {
    ReplyRoom& reply = *static_cast<ReplyRoom*>(owner);
    const std::size_t size = writer.size() + need;
    const std::size_t limit =
        std::size_t{reply.limit_} + (reply.budget_.spent ? limits::reply_overhead_max : 0);
    if (size > limit || !reply.ensure(writer.size(), size)) return false;
    writer.relocate(reply.room_.begin, reply.room_.begin + std::min(limit, reply.room()));
    return true;
  }

  Outbox& outbox_;
  Outbox::Room room_;
  std::uint32_t limit_;  // bytes of frame and reply before the budget is spent
  rpc::Budget budget_;
  JsonWriter writer_;
};

}  // namespace ringrpc::serve
