#pragma once

// JSON-RPC messages out of a JSON text: what each one asks for, and under which id.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "engine/base/status.h"
#include "engine/json/index.h"
#include "engine/json/walk.h"
#include "engine/rpc/prefix_memo.h"

namespace ringrpc::rpc {

enum class EnvelopeKind : std::uint8_t {
  call,
  notification,  // never answered, not even with an error
  invalid,       // -32600
  response,      // a `result` or `error` member and no `method`: an answer sent to us
};

enum class ParamsKind : std::uint8_t { absent, object, array, other };

enum class IdKind : std::uint8_t {
  absent,
  string,
  number,
  null,
  invalid,   // of another type, or given twice; the answer carries null
  too_long,  // over limits::id_size_max; likewise
};

// One message, a single one or an element of a batch.
// Lifetime: the views point into the text or the reader; valid until the reader's next read.
struct Envelope {
  std::string_view id;      // the token to echo, byte for byte; empty when the answer carries null
  std::string_view method;  // unescaped; empty when invalid or too long
  // Entries of the index: of the `params` value (both 0 if absent), and of the whole message.
  std::uint32_t params_first;
  std::uint32_t params_end;
  std::uint32_t first;
  std::uint32_t end;
  EnvelopeKind kind;
  ParamsKind params;
  IdKind id_kind;
  bool method_too_long;  // over limits::method_size_max: a method that nobody has (-32601)

  [[nodiscard]] bool has_id() const { return id_kind != IdKind::absent; }
};
static_assert(sizeof(Envelope) <= 64, "limits.h charges 64 bytes for each element of a batch");

enum class ReadStatus : std::uint8_t {
  parse_error,      // -32700
  single,           // envelope(0); an empty batch is one invalid message
  batch,            // envelope(0) to envelope(count - 1)
  batch_too_large,  // -31005; valid JSON, and nothing of it is to run
};

struct ReadResult {
  ReadStatus status;
  std::uint32_t count;  // envelopes that may be looked at

  bool operator==(const ReadResult&) const = default;
};

// Reads whole texts: the index, then one walk that checks the grammar of everything and catches
// the envelopes on its way. Nothing is reported before the last byte is checked, so what runs,
// runs out of a valid text.
// Owns:     the index, one envelope for each element of a batch, room for methods with escapes.
// Thread:   one owner.       Cost: read() never allocates and never recurses.
class Reader {
 public:
  Reader() = default;
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // Cold; once. The kernel is simdjson's, empty for the best (json::Index::reserve).
  // Fails: out of memory.
  base::Status reserve(std::uint32_t message_size_max, std::uint32_t batch_length_max,
                       std::string_view kernel = {});

  // Requires: size <= message_size_max, limits::padding readable bytes behind the text.
  ReadResult read(const char* text, std::uint32_t size);
  // The same answer from another program: byte by byte, without simdjson, with a grammar of its
  // own. The partner of read() in tests, and its stand-in where simdjson has no vector code.
  ReadResult read_portable(const char* text, std::uint32_t size);

  [[nodiscard]] const Envelope& envelope(std::uint32_t i) const { return envelopes_[i]; }
  [[nodiscard]] const json::Index& index() const { return index_; }
  // Returns: the entry of the value of `params`, for a cursor. Requires: params are not absent.
  [[nodiscard]] const std::uint32_t* params_position(const Envelope& envelope) const {
    return index_.positions() + envelope.params_first;
  }

  // Returns: bytes of address space that reserve() takes, for the memory plan.
  static std::size_t memory(std::uint32_t message_size_max, std::uint32_t batch_length_max);

 private:
  struct Message;

  ReadResult read_scalar();
  ReadResult read_batch(json::Walk walk);
  // Of the text that is one message.
  const std::uint32_t* read_single(json::Walk walk, const std::uint32_t* first);
  // Requires: `at` is the entry of a `{`. Returns: one past its `}`, or nullptr.
  const std::uint32_t* read_message(json::Walk walk, const std::uint32_t* at, Envelope& out);
  const std::uint32_t* read_known(const Prefix& known, const std::uint32_t* at, Message& message);
  void remember(Prefix& place, const Message& message) const;
  const std::uint32_t* read_members(const std::uint32_t* at, Message& message);
  const std::uint32_t* read_member(const std::uint32_t* at, Message& message);
  const std::uint32_t* read_more(const std::uint32_t* at, Message& message);
  const std::uint32_t* finish(const std::uint32_t* at, Message& message) const;
  // Each walks over its member's value. Returns: one past it, or nullptr.
  const std::uint32_t* take_member(std::uint32_t member, const std::uint32_t* value,
                                   Message& message);
  const std::uint32_t* take_version(const std::uint32_t* value, Message& message);
  const std::uint32_t* take_id(const std::uint32_t* value, Message& message);
  const std::uint32_t* take_method(const std::uint32_t* value, Message& message);
  const std::uint32_t* take_params(const std::uint32_t* value, Message& message);
  [[gnu::cold, gnu::noinline]] std::string_view unescape_method(std::string_view raw);

  json::Index index_;
  PrefixMemo prefixes_;
  std::unique_ptr<Envelope[]> envelopes_;  // one more than a batch may have, for what is over
  std::unique_ptr<char[]> methods_;
  std::size_t methods_size_ = 0;
  std::size_t methods_capacity_ = 0;
  std::uint32_t batch_length_max_ = 0;
};

}  // namespace ringrpc::rpc
