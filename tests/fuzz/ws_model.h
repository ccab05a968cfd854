#pragma once

// What a stream of WebSocket frames says, worked out slowly from all of its bytes.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/ws/decoder.h"
#include "tests/unit/ws/drive.h"

namespace ringrpc::fuzz {

struct WsVerdict {
  ws::test::Heard heard;
  std::size_t decided = 0;  // when refused: bytes through the one that decided it
};

WsVerdict read_frames(std::string_view bytes, const ws::Rules& rules);

}  // namespace ringrpc::fuzz
