#pragma once

// The parts of a head that both parsers share: what a field means, and the byte-by-byte lines that
// give every verdict but "this line is plain and good". Private to engine/http.

#include <ringrpc/limits.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "engine/http/field_kind.h"
#include "engine/http/request.h"

namespace ringrpc::http {

// The outcome of a step: go on, wait for more bytes, or refuse with that HTTP status.
enum class Verdict : std::uint16_t {
  accepted = 0,
  incomplete = 1,
  bad_request = 400,
  uri_too_long = 414,
  expectation_failed = 417,
  head_too_large = 431,
  not_implemented = 501,
  version_not_supported = 505,
};

// Whether a field of that kind is refused whatever its value: framing fields and those that name
// one thing come once, the two ways of framing exclude each other, and HTTP/1.0 has no chunks.
inline bool conflicts(FieldKind kind, const Request& out) {
  return (out.closed_kinds & bit(kind)) != 0;
}

// Decimal digits only, no leading zero, below 2^64.
bool read_content_length(std::string_view digits, std::uint64_t& length);

// A host with an optional port. When not ended, whether it can still become one.
bool is_host(std::string_view text, bool ended);

inline Span span_of(const Request& request, std::string_view text) {
  return {static_cast<std::uint16_t>(text.data() - request.base),
          static_cast<std::uint16_t>(text.size())};
}

// Appends to out.fields and does what the field means.
// Requires: a whole line: the name has token bytes only, the value has value bytes only and is
//           trimmed; both lie in the head at out.base; out.field_count < limits::head_fields_max.
Verdict apply_field(FieldKind kind, Field field, Request& out);

inline void record_field(Field field, Request& out) {
  out.fields[out.field_count] = field;
  ++out.field_count;
}

inline void record_host(Span value, Request& out) {
  out.closed_kinds |= bit(FieldKind::host);
  out.has_host = true;
  if (!out.absolute_form) out.host = value;
}

inline void record_content_length(Span value, Request& out) {
  out.closed_kinds |= bit(FieldKind::content_length) | bit(FieldKind::transfer_encoding);
  out.has_length = true;
  out.content_length_value = value;
}

inline void record_content_type(Span value, Request& out) {
  out.closed_kinds |= bit(FieldKind::content_type);
  out.content_type = value;
}

// Judges a line that ends before its CR LF, after its colon.
// Returns: incomplete or a refusal.
Verdict judge_partial_field(std::string_view name, std::string_view value, bool carriage_return,
                            const Request& out);

// The request line, after the empty line that may precede it.
Verdict read_request_line(const char*& cursor, const char* end, Request& out);

// One field line that does not start with CR.
// Requires: cursor < end.
Verdict read_field_line(const char*& cursor, const char* end, Request& out);

// The end of the head.
// Requires: cursor < end, and it points to CR.
inline Verdict finish_head(const char* cursor, const char* end, Request& out) {
  if (!out.has_host && out.version_minor != 0) return Verdict::bad_request;
  if (cursor + 1 == end) return Verdict::incomplete;
  if (cursor[1] != '\n') return Verdict::bad_request;
  out.close |= out.version_minor == 0 && !out.keep_alive;
  out.head_size = static_cast<std::uint32_t>(cursor + 2 - out.base);
  return Verdict::accepted;
}

// The vector parser; see parse_head.
// Requires: the processor has AVX2, BMI1 and BMI2.
HeadResult parse_head_avx2(const char* begin, const char* end, Request& out);

// All but the method, the version and the fields has a first value, and that is zero.
// PERF: one fill is 20 instructions less than a store for each member (parse_complete/small).
inline void start_head(const char* begin, Request& out) {
  static_assert(std::is_standard_layout_v<Request> && std::is_trivially_copyable_v<Request>);
  std::memset(static_cast<void*>(&out), 0, offsetof(Request, fields));
  out.base = begin;
}

// A head that fills its limit without an end has no room left to become valid.
inline HeadResult result_of(Verdict verdict, const char* begin, const char* end) {
  if (verdict == Verdict::accepted) return {HeadStatus::complete, 0};
  if (verdict != Verdict::incomplete) {
    return {HeadStatus::refused, static_cast<std::uint16_t>(verdict)};
  }
  if (end - begin < std::ptrdiff_t{limits::head_size_max}) return {HeadStatus::incomplete, 0};
  return {HeadStatus::refused, static_cast<std::uint16_t>(Verdict::head_too_large)};
}

inline const char* bounded_end(const char* begin, const char* end) {
  return end - begin > std::ptrdiff_t{limits::head_size_max} ? begin + limits::head_size_max : end;
}

}  // namespace ringrpc::http
