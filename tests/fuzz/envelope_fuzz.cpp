// Goal: no text makes the two readers of messages disagree, or touch what is not theirs, and both
// read what the rules say.
// Method: the input is read over the index and byte by byte, each time with other bytes behind it;
// status, envelopes and index are compared with each other, and with a slow reference.

#include <ringrpc/json.h>
#include <ringrpc/limits.h>

#include <cstdint>
#include <cstring>
#include <memory>

#include "engine/base/assert.h"
#include "engine/rpc/envelope.h"
#include "tests/fuzz/rpc_model.h"

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

using ringrpc::fuzz::Message;
using ringrpc::fuzz::Value;

// Whether the envelope says of the message what the rules say.
void expect_right(const Reader& reader, const char* text, const Envelope& envelope,
                  const Value& value) {
  using ringrpc::rpc::EnvelopeKind;
  using ringrpc::rpc::IdKind;
  using ringrpc::rpc::ParamsKind;
  const Message message = ringrpc::fuzz::judge(value);
  const EnvelopeKind kind = message.kind == Message::Kind::call ? EnvelopeKind::call
                            : message.kind == Message::Kind::notification
                                ? EnvelopeKind::notification
                            : message.kind == Message::Kind::invalid ? EnvelopeKind::invalid
                                                                     : EnvelopeKind::response;
  RINGRPC_ASSERT(envelope.kind == kind, envelope.kind, kind);
  RINGRPC_ASSERT(envelope.id == message.id, envelope.id, message.id);
  constexpr IdKind ids[] = {IdKind::absent, IdKind::string,  IdKind::number,
                            IdKind::null,   IdKind::invalid, IdKind::too_long};
  const IdKind id_kind = ids[static_cast<std::size_t>(message.id_kind)];
  RINGRPC_ASSERT(envelope.id_kind == id_kind, envelope.id_kind, id_kind);
  RINGRPC_ASSERT(text[reader.index().positions()[envelope.first]] == value.raw[0]);
  if (kind != EnvelopeKind::call && kind != EnvelopeKind::notification) return;
  RINGRPC_ASSERT(envelope.method == message.method, envelope.method, message.method);
  RINGRPC_ASSERT(envelope.method_too_long == message.method_too_long);
  const bool absent = message.params == nullptr;
  RINGRPC_ASSERT(absent == (envelope.params == ParamsKind::absent), envelope.params);
  if (absent) return;
  const ParamsKind params = message.params->is(Value::Kind::object)  ? ParamsKind::object
                            : message.params->is(Value::Kind::array) ? ParamsKind::array
                                                                     : ParamsKind::other;
  RINGRPC_ASSERT(envelope.params == params, envelope.params, params);
  const ringrpc::JsonValue found(text, reader.params_position(envelope));
  RINGRPC_ASSERT(found.raw() == message.params->raw, found.raw(), message.params->raw);
}

void compare_with_reference(const Reader& reader, const char* text, std::size_t size,
                            const ReadResult& result) {
  const std::string_view whole(text, size);
  const auto value = ringrpc::fuzz::parse_message(whole, ringrpc::limits::depth_max);
  RINGRPC_ASSERT(value.has_value() == (result.status != ReadStatus::parse_error), result.status);
  if (!value.has_value()) return;
  const bool is_batch = value->is(Value::Kind::array) && !value->items.empty();
  if (!is_batch) {
    RINGRPC_ASSERT(result.status == ReadStatus::single && result.count == 1, result.status);
    return expect_right(reader, text, reader.envelope(0), *value);
  }
  const bool too_large = value->items.size() > batch_length_max;
  const ReadStatus expected = too_large ? ReadStatus::batch_too_large : ReadStatus::batch;
  RINGRPC_ASSERT(result.status == expected, result.status, expected);
  if (too_large) return;
  RINGRPC_ASSERT(result.count == value->items.size(), result.count, value->items.size());
  for (std::uint32_t i = 0; i < result.count; ++i) {
    expect_right(reader, text, reader.envelope(i), value->items[i]);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Reader* const walking = make_reader();
  static Reader* const portable = make_reader();
  if (size > text_size_max) return 0;
  const std::uint32_t text_size = static_cast<std::uint32_t>(size);
  const Padded twin_text(data, size, ' ');
  const ReadResult expected = portable->read_portable(twin_text.bytes.get(), text_size);
  compare_with_reference(*portable, twin_text.bytes.get(), size, expected);
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
