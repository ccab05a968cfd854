#pragma once

// What the ring is asked for, and what comes back from it.

#include <cstdint>

namespace ringrpc::io {

enum class UringOp : std::uint8_t {
  accept,
  receive,
  send,
  shut,
  close,
  cancel,
  wake,
  poll,
  watch,
  forget  // cancels a poll or a watch, whose own completion tells the rest
};

// A completion as the kernel writes it, without the flexible tail of its own type.
struct UringCompletion {
  std::uint64_t user_data;
  std::int32_t result;
  std::uint32_t flags;
};

}  // namespace ringrpc::io
