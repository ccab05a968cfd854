// Goal: no text makes the two readers of messages disagree, or touch what is not theirs.
// Method: the input is read over the index and byte by byte, each time with other bytes behind it;
// status, envelopes and index are compared. With more time than the seeded mutations of the unit
// tests, and guided by coverage.

#include <ringrpc/limits.h>

#include <cstdint>
#include <cstring>
#include <memory>

#include "engine/base/assert.h"
#include "engine/rpc/envelope.h"

namespace {

using ringrpc::rpc::Envelope;
using ringrpc::rpc::Reader;
using ringrpc::rpc::ReadResult;
using ringrpc::rpc::ReadStatus;

constexpr std::uint32_t text_size_max = 1u << 16;
constexpr std::uint32_t batch_length_max = 4;

Reader* make_reader() {
  Reader* const reader = new Reader;  // for the life of the program
  RINGRPC_ASSERT(reader->reserve(text_size_max, batch_length_max).ok());
  return reader;
}

// The text at the end of memory of its own, so that reads beyond the padding are seen.
struct Padded {
  Padded(const std::uint8_t* data, std::size_t size, int filler)
      : bytes(new char[size + ringrpc::limits::padding]) {
    if (size > 0) std::memcpy(bytes.get(), data, size);
    std::memset(bytes.get() + size, filler, ringrpc::limits::padding);
  }
  std::unique_ptr<char[]> bytes;
};

void expect_same(const Envelope& one, const Envelope& other) {
  RINGRPC_ASSERT(one.kind == other.kind, one.kind, other.kind);
  RINGRPC_ASSERT(one.id == other.id, one.id, other.id);
  RINGRPC_ASSERT(one.id_kind == other.id_kind, one.id_kind, other.id_kind);
  RINGRPC_ASSERT(one.method == other.method, one.method, other.method);
  RINGRPC_ASSERT(one.method_too_long == other.method_too_long);
  RINGRPC_ASSERT(one.params == other.params, one.params, other.params);
  RINGRPC_ASSERT(one.params_first == other.params_first, one.params_first, other.params_first);
  RINGRPC_ASSERT(one.params_end == other.params_end, one.params_end, other.params_end);
  RINGRPC_ASSERT(one.first == other.first, one.first, other.first);
  RINGRPC_ASSERT(one.end == other.end, one.end, other.end);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Reader* const walking = make_reader();
  static Reader* const portable = make_reader();
  if (size > text_size_max) return 0;
  const std::uint32_t text_size = static_cast<std::uint32_t>(size);
  const Padded twin_text(data, size, ' ');
  const ReadResult expected = portable->read_portable(twin_text.bytes.get(), text_size);
  for (const int filler : {'"', '}', '\\', '1'}) {
    const Padded text(data, size, filler);
    const ReadResult result = walking->read(text.bytes.get(), text_size);
    RINGRPC_ASSERT(result == expected, result.status, expected.status, filler);
    for (std::uint32_t i = 0; i < result.count; ++i) {
      expect_same(walking->envelope(i), portable->envelope(i));
    }
    if (result.status == ReadStatus::parse_error) continue;
    const std::uint32_t count = walking->index().count();
    RINGRPC_ASSERT(count == portable->index().count(), count, portable->index().count());
    RINGRPC_ASSERT(std::memcmp(walking->index().positions(), portable->index().positions(),
                               (count + 2) * sizeof(std::uint32_t)) == 0);
  }
  return 0;
}
