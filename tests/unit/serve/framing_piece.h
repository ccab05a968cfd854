#pragma once

// Input for framers.

#include <ringrpc/limits.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

#include "engine/serve/framing.h"

namespace ringrpc::testing {

// A piece of input in memory of its own, with padding that misleads.
struct Piece {
  explicit Piece(std::string_view text)
      : bytes(std::make_unique<char[]>(text.size() + limits::padding)) {
    std::memcpy(bytes.get(), text.data(), text.size());
    std::memset(bytes.get() + text.size(), '\n', limits::padding);
    input = {bytes.get(), static_cast<std::uint32_t>(text.size())};
  }
  std::unique_ptr<char[]> bytes;
  serve::Input input;
};

}  // namespace ringrpc::testing
