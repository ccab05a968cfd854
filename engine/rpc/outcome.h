#pragma once

// What a transport is told of an answer, so that it can frame it. The other thing that an endpoint
// and its transport share, the request's Head, is public: <ringrpc/call.h>.

#include <cstdint>

namespace ringrpc::rpc {

// How one message (a single one or a batch) was answered.
struct Outcome {
  bool has_body = false;     // false: notifications only; nothing is to be said
  bool from_method = false;  // the error came out of the method itself, its params included
  std::int32_t error = 0;    // the code, when the answer is a single error object
};

// How much one message's reply may hold. The owner of the reply's memory grows it up to size_max;
// once that has failed, `spent` is set and only error objects follow, for which
// limits::reply_overhead_max more may be taken.
struct Budget {
  std::uint32_t size_max = 0;
  bool spent = false;
};

// Which forms of a message an endpoint takes.
struct Profile {
  bool batches = true;
  bool positional_params = true;
};

}  // namespace ringrpc::rpc
