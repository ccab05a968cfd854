// Goal: no bytes make the WebSocket decoder depend on how they are cut, differ from a plain reader,
// or refuse later than it could; and handshake and close payloads never crash.
// Method: the first bytes of the input choose side and limits, the rest are frames. Frames of
// clients are mostly masked with zeros, so that mutations of their text stay what they are.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/assert.h"
#include "engine/ws/base64.h"
#include "engine/ws/close.h"
#include "engine/ws/decoder.h"
#include "engine/ws/handshake.h"
#include "engine/ws/mask.h"
#include "tests/fuzz/ws_model.h"
#include "tests/unit/ws/drive.h"

namespace {

using namespace ringrpc;      // NOLINT(google-build-using-namespace): a program of one file.
using namespace ringrpc::ws;  // NOLINT(google-build-using-namespace)

void fuzz_frames(std::string_view bytes, const Rules& rules) {
  const fuzz::WsVerdict expected = fuzz::read_frames(bytes, rules);
  RINGRPC_ASSERT(test::hear(bytes, rules) == expected.heard, expected.heard.close_code);
  RINGRPC_ASSERT(test::hear_whole(bytes, rules) == expected.heard, expected.heard.close_code);
  const std::size_t all = bytes.size() + 1;
  for (const std::size_t step : {1u, 2u, 3u, 5u, 7u, 15u, 64u, 127u}) {
    RINGRPC_ASSERT(test::hear(bytes, rules, step, step) == expected.heard, step);
  }
  const std::size_t stride = 1 + bytes.size() / 128;
  for (std::size_t cut = 1; cut < bytes.size(); cut += stride) {
    RINGRPC_ASSERT(test::hear(bytes, rules, cut, all) == expected.heard, cut);
  }
  if (expected.heard.close_code == 0) return;
  const std::string_view decided = bytes.substr(0, expected.decided);
  RINGRPC_ASSERT(test::hear(decided, rules) == expected.heard);
  const std::string_view before = decided.substr(0, decided.size() - 1);
  RINGRPC_ASSERT(test::hear(before, rules).close_code == 0, expected.decided);
}

void fuzz_mask(std::string_view bytes) {
  const std::uint32_t key = static_cast<std::uint32_t>(bytes.size()) * 0x9E3779B9;
  std::string expected(bytes);
  const bool ascii = mask_kernels().back().mask(expected.data(), expected.size(), key);
  for (const MaskKernel& kernel : mask_kernels()) {
    if (!kernel.supported()) continue;
    std::string masked(bytes);
    RINGRPC_ASSERT(kernel.mask(masked.data(), masked.size(), key) == ascii);
    RINGRPC_ASSERT(masked == expected);
  }
}

void fuzz_small(std::string_view bytes) {
  Close close;
  const std::uint16_t refusal = read_close(bytes, close);
  RINGRPC_ASSERT(refusal == 0 || refusal == 1002 || refusal == 1007, refusal);
  RINGRPC_ASSERT(refusal != 0 || bytes.empty() || may_be_sent(close.code), close.code);
  RINGRPC_ASSERT(base64_decoded_size(bytes) <= static_cast<std::ptrdiff_t>(bytes.size()));
  fuzz_mask(bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  if (data[0] == 0xFF) {
    fuzz_small(bytes);
    return 0;
  }
  Rules rules;
  rules.reader = (data[0] & 1) != 0 ? Side::client : Side::server;
  if ((data[0] & 2) != 0) rules.message_size_max = data[1];
  if ((data[0] & 4) != 0) rules.frames_max = 1 + data[1] / 16;
  if ((data[0] & 8) != 0) rules.overhead_max = 14 + data[1] / 4;
  fuzz_frames(bytes, rules);
  return 0;
}
