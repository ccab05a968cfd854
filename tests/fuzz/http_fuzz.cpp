// Goal: no bytes make the two head parsers differ, a verdict change with more input, or a chunked
// body depend on its splits or differ from what a plain reader makes of it.
// Method: the first byte of the input chooses what the rest is.

#include <ringrpc/limits.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "engine/base/assert.h"
#include "engine/http/chunks.h"
#include "engine/http/media.h"
#include "tests/fuzz/http_model.h"
#include "tests/unit/http/twins.h"

namespace {

using namespace ringrpc;        // NOLINT(google-build-using-namespace): a program of one file.
using namespace ringrpc::http;  // NOLINT(google-build-using-namespace)

void check_views(const Request& request) {
  RINGRPC_ASSERT(request.field_count <= limits::head_fields_max);
  for (int i = 0; i < request.field_count; ++i) {
    const Field& field = request.fields[i];
    RINGRPC_ASSERT(field.name.offset + field.name.size < request.head_size);
    RINGRPC_ASSERT(field.value.offset + field.value.size < request.head_size);
  }
  RINGRPC_ASSERT(!(request.chunked && request.has_length));
  RINGRPC_ASSERT(!request.view(request.path).empty());
  (void)accepts_json(request);
  (void)accepts_event_stream(request);
  (void)media_type(request.view(request.content_type));
}

void fuzz_head(std::string_view bytes) {
  HeadResult whole;
  Request request;
  const test::Padded all(bytes);
  RINGRPC_ASSERT(test::twins_agree(all, whole, request));
  std::size_t size = bytes.size();
  if (whole.status == HeadStatus::complete) {
    check_views(request);
    size = request.head_size;
  }
  // Every prefix of short heads, some of long ones; what follows it stays in the slack.
  const std::size_t stride = 1 + size / 256;
  bool refused = false;
  for (std::size_t cut = 0; cut < size; cut += stride) {
    HeadResult part;
    const test::Padded input(bytes.substr(0, cut), bytes.substr(cut));
    RINGRPC_ASSERT(test::twins_agree(input, part, request), cut);
    RINGRPC_ASSERT(part.status == HeadStatus::incomplete || part == whole, cut, part.http_status);
    RINGRPC_ASSERT(!refused || part.status == HeadStatus::refused, cut);
    refused = part.status == HeadStatus::refused;
  }
}

struct Decoded {
  std::string body;
  ChunkDecoder::Status status = ChunkDecoder::Status::need_more;
  std::uint16_t http_status = 0;
  std::size_t consumed = 0;
  bool operator==(const Decoded&) const = default;
};

// Decodes in parts: the first of `first` bytes, the others of `step`.
Decoded decode(std::string_view bytes, std::size_t step, std::size_t first) {
  Decoded decoded;
  ChunkDecoder decoder;
  for (std::size_t at = 0, size = first; at < bytes.size(); at += size, size = step) {
    const std::string_view part = bytes.substr(at, size);
    const std::unique_ptr<char[]> block(new char[part.size()]);
    std::memcpy(block.get(), part.data(), part.size());
    const char* cursor = block.get();
    std::string_view piece;
    do {
      const char* const before = cursor;
      decoded.status = decoder.next(cursor, block.get() + part.size(), piece);
      decoded.consumed += static_cast<std::size_t>(cursor - before);
      if (decoded.status == ChunkDecoder::Status::piece) decoded.body += piece;
    } while (decoded.status == ChunkDecoder::Status::piece);
    if (decoded.status != ChunkDecoder::Status::need_more) break;
  }
  decoded.http_status = decoder.http_status();
  return decoded;
}

// What the plain reader makes of it. Requires: nothing is too large.
Decoded reference(std::string_view bytes) {
  const fuzz::Chunked chunked = fuzz::read_chunked(bytes, ~std::uint64_t{0});
  Decoded decoded;
  decoded.body = chunked.body;
  decoded.http_status = static_cast<std::uint16_t>(chunked.http_status);
  decoded.consumed = chunked.consumed;
  if (chunked.status == fuzz::Chunked::Status::done) decoded.status = ChunkDecoder::Status::done;
  if (chunked.status == fuzz::Chunked::Status::refused) {
    decoded.status = ChunkDecoder::Status::refused;
  }
  return decoded;
}

void fuzz_chunks(std::string_view bytes) {
  const std::size_t all = bytes.size() + 1;
  const Decoded whole = decode(bytes, all, all);
  const Decoded expected = reference(bytes);
  RINGRPC_ASSERT(whole.status == expected.status, whole.status, expected.status);
  RINGRPC_ASSERT(whole.http_status == expected.http_status, whole.http_status);
  RINGRPC_ASSERT(whole.consumed == expected.consumed, whole.consumed, expected.consumed);
  RINGRPC_ASSERT(whole.body == expected.body, whole.body, expected.body);
  for (const std::size_t step : {1u, 2u, 3u, 7u, 8u, 9u, 31u, 100u}) {
    RINGRPC_ASSERT(decode(bytes, step, step) == whole, step);
  }
  // Cut in two: everywhere when it is short.
  const std::size_t stride = 1 + whole.consumed / 256;
  for (std::size_t cut = 1; cut < whole.consumed; cut += stride) {
    RINGRPC_ASSERT(decode(bytes, all, cut) == whole, cut);
  }
  if (whole.status != ChunkDecoder::Status::refused) return;
  // Refused at the byte that was read last, not later than it could be.
  const Decoded before = decode(bytes.substr(0, whole.consumed - 1), all, all);
  RINGRPC_ASSERT(before.status == ChunkDecoder::Status::need_more);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 4 == 0) {
    fuzz_chunks(bytes);
  } else {
    fuzz_head(bytes);
  }
  return 0;
}
