#pragma once

// What a client hears of answers that come later: over HTTP one response or one event stream, over
// a WebSocket frames, which are read strictly.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/ws/decoder.h"
#include "tests/fuzz/http_model.h"
#include "tests/fuzz/late_model.h"
#include "tests/support/conversation.h"

namespace ringrpc::fuzz {

// Compares the response that the bytes begin with, whose body is said later.
// `closes`: whether it says that the connection ends. `all`: nothing more comes behind the bytes.
struct LateMatch {
  testing::Match match;
  bool closes = false;
};
LateMatch match_late(const HttpAnswer& answer, const std::vector<std::string>& cancels,
                     const LateExcuses& excuses, std::string_view bytes, bool all);

// What has been said on a WebSocket, and what may have kept it from being answered.
struct FramesSaid {
  std::string_view bytes;
  ws::Rules rules;
  ModelLimits limits;
  LateExcuses excuses;
  bool cut = false;    // by a reset
  bool timed = false;  // its peer may have been given up
};

struct FramesHeard {
  std::string complaint;  // empty when all is as it should be
  bool ended = false;     // by a close frame
  std::uint64_t messages = 0;
  std::map<std::string, std::uint64_t> started;  // handlers that were asked for
};

// Compares what a client has heard with what it has said.
FramesHeard check_frames(const FramesSaid& said, std::string_view heard);

}  // namespace ringrpc::fuzz
