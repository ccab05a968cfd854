#pragma once

// What a transport is told of an answer, so that it can frame it. The other thing that an endpoint
// and its transport share, the request's Head, is public: <ringrpc/call.h>.

#include <cstdint>
#include <string_view>

namespace ringrpc::rpc {

// How one message (a single one or a batch) was answered. Its body is what was written.
struct Outcome {
  bool has_body = false;            // false: notifications only; nothing is to be said
  bool from_method = false;         // the error came out of the method itself, its params included
  std::uint16_t status = 200;       // of HTTP; other transports have none
  std::int32_t error = 0;           // the code, when the answer is a single error object
  std::uint32_t retry_after_s = 0;  // 0: nothing is said of it
  // More header fields, whole lines, each with its CR LF; 128 bytes at most. Lifetime: until the
  // reply is finished.
  std::string_view fields = {};
};

// How much one message's reply may hold. The owner of the reply's memory grows it up to size_max;
// once that has failed, `spent` is set and only error objects follow, for which
// limits::reply_overhead_max more may be taken.
struct Budget {
  std::uint32_t size_max = 0;
  bool spent = false;
};

}  // namespace ringrpc::rpc
