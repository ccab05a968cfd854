#include "engine/rpc/envelope.h"

#include <ringrpc/limits.h>

#include <algorithm>
#include <cerrno>
#include <new>

#include "engine/base/assert.h"
#include "engine/json/text.h"
#include "engine/rpc/envelope_names.h"
#include "engine/rpc/envelope_twin.h"

namespace ringrpc::rpc {

namespace {

// Fills in what a message left out, and its kind. An invalid one keeps its id, for the error's
// sake.
[[gnu::noinline]] void complete(std::uint32_t seen, std::uint32_t faults, Envelope& out) {
  if ((seen & member_id) == 0) {
    out.id = {};
    out.id_kind = IdKind::absent;
  }
  constexpr std::uint32_t required = member_jsonrpc | member_method;
  const bool valid = faults == 0 && (seen & required) == required;
  if (!valid || (seen & member_params) == 0) {
    out.params = ParamsKind::absent;
    out.params_first = 0;
    out.params_end = 0;
  }
  if (valid) {
    out.kind = (seen & member_id) != 0 ? EnvelopeKind::call : EnvelopeKind::notification;
    return;
  }
  const bool answer = (seen & (member_answer | member_method)) == member_answer;
  out.kind = answer ? EnvelopeKind::response : EnvelopeKind::invalid;
  out.method = {};
  out.method_too_long = false;
}

[[gnu::cold, gnu::noinline]] void drop_id(Envelope& out) {
  out.id = {};
  out.id_kind = IdKind::invalid;
}

// Of a value that is not even a message.
[[gnu::cold, gnu::noinline]] void set_invalid(Envelope& out, std::uint32_t first,
                                              std::uint32_t end) {
  complete(0, 0, out);
  out.first = first;
  out.end = end;
}

constexpr std::size_t methods_capacity(std::uint32_t message_size_max,
                                       std::uint32_t batch_length_max) {
  // Unescaped methods are shorter than the text; one more for what is over the batch's limit.
  return std::min<std::size_t>(message_size_max,
                               std::size_t{batch_length_max} * limits::method_size_max) +
         limits::method_size_max;
}

}  // namespace

base::Status Reader::reserve(std::uint32_t message_size_max, std::uint32_t batch_length_max,
                             std::string_view kernel) {
  RINGRPC_ASSERT(envelopes_ == nullptr);
  RINGRPC_ASSERT(batch_length_max > 0);
  base::Status status = index_.reserve(message_size_max, kernel);
  if (!status.ok()) return status;
  batch_length_max_ = batch_length_max;
  methods_capacity_ = methods_capacity(message_size_max, batch_length_max);
  // Neither array is touched here: pages come as batches and escapes need them.
  envelopes_.reset(new (std::nothrow) Envelope[std::size_t{batch_length_max} + 1]);
  methods_.reset(new (std::nothrow) char[methods_capacity_]);
  if (envelopes_ == nullptr || methods_ == nullptr) {
    return base::Status::failure(ENOMEM, "no memory for envelopes; lower batch_length_max");
  }
  return {};
}

std::size_t Reader::memory(std::uint32_t message_size_max, std::uint32_t batch_length_max) {
  return json::Index::memory(message_size_max) +
         (std::size_t{batch_length_max} + 1) * sizeof(Envelope) +
         methods_capacity(message_size_max, batch_length_max);
}

ReadResult Reader::read(const char* text, std::uint32_t size) {
  if (!index_.accelerated()) [[unlikely]]
    return read_portable(text, size);
  if (!index_.build(text, size)) [[unlikely]]
    return {ReadStatus::parse_error, 0};
  methods_size_ = 0;
  const std::uint32_t* const first = index_.positions();
  const json::Walk walk{text, first + index_.count()};
  const char last = text[walk.end[-1]];
  if (last != '}' && last != ']') [[unlikely]]
    return read_scalar();
  if (index_.has_backslash() && !json::check_escapes(text + index_.first_backslash(), text + size))
      [[unlikely]] {
    return {ReadStatus::parse_error, 0};
  }
  if (text[*first] == '{') [[likely]] {
    const std::uint32_t* const after = read_single(walk, first);
    if (after != walk.end) [[unlikely]]
      return {ReadStatus::parse_error, 0};
    return {ReadStatus::single, 1};
  }
  if (text[*first] == '[') return read_batch(walk);
  return {ReadStatus::parse_error, 0};
}

// A text that does not end in a bracket is JSON if it is one string, number or literal. Then it is
// a message, an invalid one.
[[gnu::cold, gnu::noinline]] ReadResult Reader::read_scalar() {
  const char* const text = index_.text();
  if (index_.count() != 1) return {ReadStatus::parse_error, 0};
  const char* const token = text + index_.positions()[0];
  const char* end = text + index_.size();
  while (json::is_blank(end[-1])) --end;
  bool valid = true;
  if (*token == '"') {
    valid = !index_.has_backslash() || json::check_escapes(text + index_.first_backslash(), end);
  } else {
    valid = json::check_root_scalar({token, static_cast<std::size_t>(end - token)});
  }
  if (!valid) return {ReadStatus::parse_error, 0};
  set_invalid(envelopes_[0], 0, 1);
  return {ReadStatus::single, 1};
}

// One message on its way through: what it has shown so far.
struct Reader::Message {
  const json::Walk walk;
  Envelope& out;
  std::uint32_t seen = 0;
  std::uint32_t faults = 0;              // the members that make the envelope invalid
  std::uint32_t seen_before_params = 0;  // the members up to them, once they have come
};

const std::uint32_t* Reader::read_message(json::Walk walk, const std::uint32_t* at, Envelope& out) {
  Message message{walk, out};
  return read_members(at, message);
}

const std::uint32_t* Reader::read_single(json::Walk walk, const std::uint32_t* first) {
  Message message{walk, envelopes_[0]};
  Prefix& place = prefixes_.place(walk.text);
  if (*first == 0 && place.begins(walk.text, index_.size()) && !index_.has_backslash()) [[likely]] {
    return read_known(place, first, message);
  }
  const std::uint32_t* const after = read_members(first, message);
  constexpr std::uint32_t wanted = member_method | member_params;
  if (after == walk.end && (message.seen_before_params & (wanted | member_id)) == wanted) {
    remember(place, message);
  }
  return after;
}

// The message from its params on: how it begins was read before.
inline const std::uint32_t* Reader::read_known(const Prefix& known, const std::uint32_t* at,
                                               Message& message) {
  message.out.first = 0;
  message.out.method = {message.walk.text + known.method_at, known.method_size};
  message.out.method_too_long = false;
  message.seen = known.seen;
  at = take_params(at + known.entries, message);
  if (at == nullptr) return nullptr;
  if (message.walk.text[at[0]] == ',' && is_id(message.walk.text + at[1])) [[likely]] {
    message.seen |= member_id;
    at = take_id(at + 3, message);
    if (at == nullptr) return nullptr;
  }
  return read_more(at, message);
}

// Keeps how a message begins whose params are behind its method, and its id behind both.
[[gnu::noinline]] void Reader::remember(Prefix& place, const Message& message) const {
  const Envelope& read = message.out;
  const char* const text = message.walk.text;
  if (read.kind != EnvelopeKind::call && read.kind != EnvelopeKind::notification) return;
  if (index_.positions()[0] != 0 || index_.has_backslash() || read.method_too_long) return;
  const std::uint32_t size = index_.positions()[read.params_first - 1] + 1;
  if (size < Prefix::size_min || size > Prefix::size_max) return;
  std::memcpy(place.bytes, text, size);
  place.size = static_cast<std::uint8_t>(size);
  place.entries = static_cast<std::uint8_t>(read.params_first);
  place.seen = static_cast<std::uint8_t>(message.seen_before_params);
  place.method_at = static_cast<std::uint8_t>(read.method.data() - text);
  place.method_size = static_cast<std::uint8_t>(read.method.size());
}

// From the message's `{` on.
inline const std::uint32_t* Reader::read_members(const std::uint32_t* at, Message& message) {
  message.out.first = static_cast<std::uint32_t>(at - index_.positions());
  if (message.walk.text[*++at] == '}') [[unlikely]] {
    return finish(at + 1, message);
  }
  at = read_member(at, message);
  return at != nullptr ? read_more(at, message) : nullptr;
}

inline const std::uint32_t* Reader::read_member(const std::uint32_t* at, Message& message) {
  const char* const text = message.walk.text;
  if (text[at[0]] != '"' || text[at[1]] != ':') return nullptr;
  std::uint32_t member = member_of(text + at[0] + 1);
  if (member == member_none && index_.has_backslash()) [[unlikely]] {
    member = escaped_member_of(message.walk, at);
  }
  return take_member(member, at + 2, message);
}

// From behind a member on.
inline const std::uint32_t* Reader::read_more(const std::uint32_t* at, Message& message) {
  for (;;) {
    const char next = message.walk.text[*at++];
    if (next == '}') return finish(at, message);
    if (next != ',') return nullptr;
    at = read_member(at, message);
    if (at == nullptr) return nullptr;
  }
}

inline const std::uint32_t* Reader::finish(const std::uint32_t* at, Message& message) const {
  message.out.end = static_cast<std::uint32_t>(at - index_.positions());
  if (((message.seen ^ member_all) | message.faults) == 0) [[likely]] {
    message.out.kind = EnvelopeKind::call;
  } else {
    complete(message.seen, message.faults, message.out);
  }
  return at;
}

inline const std::uint32_t* Reader::take_member(std::uint32_t member, const std::uint32_t* value,
                                                Message& message) {
  if ((message.seen & member) != 0) [[unlikely]] {
    // Twice: neither counts, and an id is not echoed.
    if (member == member_id) drop_id(message.out);
    message.faults |= member & ~member_answer;
    return json::skip_value(message.walk, value);
  }
  message.seen |= member;
  switch (member) {
    case member_jsonrpc:
      return take_version(value, message);
    case member_id:
      return take_id(value, message);
    case member_method:
      return take_method(value, message);
    case member_params:
      return take_params(value, message);
    default:  // an answer's members matter by being there
      return json::skip_value(message.walk, value);
  }
}

inline const std::uint32_t* Reader::take_version(const std::uint32_t* value, Message& message) {
  std::uint64_t word = 0;
  std::memcpy(&word, message.walk.text + *value, sizeof(word));
  if ((word & first_bytes(5)) == name_word("\"2.0\"")) [[likely]]
    return value + 1;
  const std::uint32_t* const after = json::skip_value(message.walk, value);
  if (after != nullptr && !is_version_with_escapes(message.walk, value, after)) {
    message.faults |= member_jsonrpc;
  }
  return after;
}

inline const std::uint32_t* Reader::take_id(const std::uint32_t* value, Message& message) {
  const char* const token = message.walk.text + *value;
  const char* end = nullptr;
  IdKind kind = IdKind::invalid;
  if (json::begins_number(*token)) {
    end = json::scan_number(token);
    if (end == nullptr) return nullptr;
    kind = IdKind::number;
  } else if (*token == '"') {
    end = json::end_before(message.walk, value + 1);
    kind = IdKind::string;
  } else {
    const std::uint32_t* const after = json::skip_value(message.walk, value);
    if (after == nullptr || *token != 'n') {
      message.faults |= member_id;
      drop_id(message.out);
      return after;
    }
    end = token + 4;
    kind = IdKind::null;
  }
  message.out.id = {token, end};
  message.out.id_kind = kind;
  if (end - token > static_cast<std::ptrdiff_t>(limits::id_size_max)) [[unlikely]] {
    message.out.id = {};
    message.out.id_kind = IdKind::too_long;
    message.faults |= member_id;
  }
  return value + 1;
}

inline const std::uint32_t* Reader::take_method(const std::uint32_t* value, Message& message) {
  const char* const token = message.walk.text + *value;
  if (*token != '"') [[unlikely]] {
    message.faults |= member_method;
    return json::skip_value(message.walk, value);
  }
  std::string_view name(token + 1, json::end_before(message.walk, value + 1) - 1);
  if (index_.has_backslash()) [[unlikely]]
    name = unescape_method(name);
  message.out.method = name;
  message.out.method_too_long = false;
  if (name.size() - 1 >= limits::method_size_max) [[unlikely]] {
    if (name.empty()) message.faults |= member_method;
    message.out.method = {};
    message.out.method_too_long = !name.empty();
  }
  return value + 1;
}

inline const std::uint32_t* Reader::take_params(const std::uint32_t* value, Message& message) {
  const char first = message.walk.text[*value];
  const std::uint32_t* after = nullptr;
  if (first == '{' || first == '[') [[likely]] {
    message.out.params = first == '{' ? ParamsKind::object : ParamsKind::array;
    after = json::skip_container(message.walk, value);
  } else {
    message.out.params = ParamsKind::other;
    after = json::skip_value(message.walk, value);
  }
  if (after == nullptr) return nullptr;
  message.seen_before_params = message.seen;
  message.out.params_first = static_cast<std::uint32_t>(value - index_.positions());
  message.out.params_end = static_cast<std::uint32_t>(after - index_.positions());
  return after;
}

std::string_view Reader::unescape_method(std::string_view raw) {
  if (raw.find('\\') == std::string_view::npos) return raw;
  // There is room for every envelope that is reported. Those beyond share the last place.
  const std::size_t start = std::min(methods_size_, methods_capacity_ - limits::method_size_max);
  char* const room = methods_.get() + start;
  const std::size_t size = json::unescape(raw, room, limits::method_size_max);
  // The spelling with escapes is longer still, so it is too long as well.
  if (size == SIZE_MAX) return raw;
  methods_size_ = start + size;
  return {room, size};
}

ReadResult Reader::read_batch(json::Walk walk) {
  constexpr ReadResult parse_error{ReadStatus::parse_error, 0};
  const std::uint32_t* const first = index_.positions();
  const std::uint32_t* at = first + 1;
  if (walk.text[*at] == ']') {
    if (at + 1 != walk.end) return parse_error;
    set_invalid(envelopes_[0], 0, 2);
    return {ReadStatus::single, 1};
  }
  std::uint32_t count = 0;
  for (;;) {
    Envelope& out = envelopes_[std::min(count, batch_length_max_)];
    if (walk.text[*at] == '{') [[likely]] {
      at = read_message(walk, at, out);
      if (at == walk.end) return parse_error;
    } else {
      const std::uint32_t* const value = at;
      at = json::skip_value(walk, at);
      if (at != nullptr) {
        set_invalid(out, static_cast<std::uint32_t>(value - first),
                    static_cast<std::uint32_t>(at - first));
      }
    }
    if (at == nullptr) return parse_error;
    ++count;
    const char next = walk.text[*at++];
    if (next == ']') break;
    if (next != ',') return parse_error;
  }
  if (at != walk.end) return parse_error;
  if (count > batch_length_max_) [[unlikely]]
    return {ReadStatus::batch_too_large, 0};
  return {ReadStatus::batch, count};
}

ReadResult Reader::read_portable(const char* text, std::uint32_t size) {
  if (!index_.build_portable(text, size)) return {ReadStatus::parse_error, 0};
  return read_bytes({text, size}, {.envelopes = envelopes_.get(),
                                   .batch_length_max = batch_length_max_,
                                   .methods = methods_.get(),
                                   .methods_capacity = methods_capacity_});
}

}  // namespace ringrpc::rpc
