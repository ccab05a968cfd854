// What the fields of a head mean. Both parsers come here with whole lines; a line that is still
// open is judged as far as it goes.

#include "engine/base/assert.h"
#include "engine/http/chars.h"
#include "engine/http/head.h"

namespace ringrpc::http {

namespace {

constexpr std::uint32_t port_max = 65'535;
constexpr std::size_t port_digits_max = 5;
// An IPv6 address with an embedded IPv4 address, in brackets.
constexpr std::size_t address_size_max = 47;

enum class Codings : std::uint8_t { malformed, open, chunked, unknown };

// A list of transfer codings. None that takes parameters is known here, so a ';' is malformed.
Codings read_codings(std::string_view text, bool ended) {
  bool unknown = false;
  std::size_t count = 0;
  std::size_t i = 0;
  while (true) {
    const std::size_t start = i;
    while (i < text.size() && is_token(text[i])) ++i;
    if (i == start) return i == text.size() && !ended ? Codings::open : Codings::malformed;
    unknown |= !equals_folded(text.substr(start, i - start), "chunked");
    ++count;
    while (i < text.size() && is_blank(text[i])) ++i;
    if (i == text.size()) break;
    if (text[i] != ',') return Codings::malformed;
    ++i;
    while (i < text.size() && is_blank(text[i])) ++i;
  }
  if (!ended) return Codings::open;
  if (unknown) return Codings::unknown;
  return count == 1 ? Codings::chunked : Codings::malformed;
}

// Calls see(token) for each element of a comma-separated list. What is no token is nobody's name.
template <typename See>
void for_each_element(std::string_view list, See see) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    see(trim(list.substr(0, comma)));
    if (comma == list.npos) return;
    list.remove_prefix(comma + 1);
  }
}

void read_connection(std::string_view value, Request& out) {
  for_each_element(value, [&out](std::string_view option) {
    if (equals_folded(option, "close")) out.close = true;
    if (equals_folded(option, "keep-alive")) out.keep_alive = true;
    if (equals_folded(option, "upgrade")) out.connection_upgrade = true;
  });
}

void read_upgrade(std::string_view value, Request& out) {
  for_each_element(value, [&out](std::string_view protocol) {
    if (equals_folded(protocol, "websocket")) out.upgrade_websocket = true;
  });
}

Verdict read_transfer_encoding(std::string_view value, Request& out) {
  switch (read_codings(value, true)) {
    case Codings::chunked:
      out.chunked = true;
      out.closed_kinds |= bit(FieldKind::transfer_encoding) | bit(FieldKind::content_length);
      return Verdict::accepted;
    case Codings::unknown:
      return Verdict::not_implemented;
    default:
      return Verdict::bad_request;
  }
}

Verdict read_expect(std::string_view value, Request& out) {
  if (out.version_minor == 0) return Verdict::accepted;
  if (!equals_folded(value, "100-continue")) return Verdict::expectation_failed;
  out.expect_continue = true;
  return Verdict::accepted;
}

}  // namespace

bool read_content_length(std::string_view digits, std::uint64_t& length) {
  constexpr std::size_t safe_digits = 19;  // 10^19 - 1 is below 2^64
  if (digits.empty() || (digits[0] == '0' && digits.size() > 1)) return false;
  if (digits.size() > safe_digits + 1) return false;
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const auto digit = static_cast<std::uint64_t>(static_cast<unsigned char>(digits[i])) - '0';
    if (digit > 9) return false;
    if (i == safe_digits && value > (UINT64_MAX - digit) / 10) return false;
    value = value * 10 + digit;
  }
  length = value;
  return true;
}

bool is_host(std::string_view text, bool ended) {
  if (text.empty()) return !ended;
  std::size_t i = 0;
  if (text[0] == '[') {
    i = 1;
    while (i < text.size() && is_class(text[i], chars::address)) ++i;
    if (i > address_size_max) return false;
    if (i == text.size()) return !ended;
    if (i == 1 || text[i] != ']') return false;
    ++i;
  } else {
    while (i < text.size() && is_class(text[i], chars::host)) ++i;
    if (i == 0) return false;
  }
  if (i == text.size()) return true;
  if (text[i] != ':') return false;
  const std::string_view port = text.substr(i + 1);
  if (port.size() > port_digits_max) return false;
  std::uint32_t number = 0;
  for (const char c : port) {
    if (!is_digit(c)) return false;
    number = number * 10 + static_cast<std::uint32_t>(c - '0');
  }
  return number <= port_max;
}

Verdict apply_field(FieldKind kind, Field field, Request& out) {
  RINGRPC_ASSERT(out.field_count < limits::head_fields_max, out.field_count);
  record_field(field, out);
  if (conflicts(kind, out)) return Verdict::bad_request;
  const std::string_view value = out.view(field.value);
  switch (kind) {
    case FieldKind::other:
      break;
    case FieldKind::host:
      if (!is_host(value, true)) return Verdict::bad_request;
      record_host(field.value, out);
      break;
    case FieldKind::content_length:
      if (!read_content_length(value, out.content_length)) return Verdict::bad_request;
      record_content_length(field.value, out);
      break;
    case FieldKind::content_type:
      record_content_type(field.value, out);
      break;
    case FieldKind::transfer_encoding:
      return read_transfer_encoding(value, out);
    case FieldKind::expect:
      return read_expect(value, out);
    case FieldKind::origin:
      out.closed_kinds |= bit(kind);
      out.origin = field.value;
      break;
    case FieldKind::accept:
      if (out.accept_count == 0) out.accept = field.value;
      if (out.accept_count < UINT8_MAX) ++out.accept_count;
      break;
    case FieldKind::connection:
      read_connection(value, out);
      break;
    case FieldKind::upgrade:
      read_upgrade(value, out);
      break;
    case FieldKind::content_encoding:
      out.content_encoded |= !value.empty() && !equals_folded(value, "identity");
      break;
  }
  return Verdict::accepted;
}

Verdict judge_partial_field(std::string_view name, std::string_view value, bool carriage_return,
                            const Request& out) {
  const FieldKind kind = classify(name.data(), static_cast<std::uint32_t>(name.size()));
  if (conflicts(kind, out)) return Verdict::bad_request;
  const std::string_view started = trim_left(value);
  const std::string_view text = trim_right(started);
  bool possible = true;
  if (kind == FieldKind::host) {
    // White space behind a host ends it: "[::1 " has lost its bracket.
    possible = is_host(text, carriage_return || text.size() < started.size());
  } else if (kind == FieldKind::content_length) {
    std::uint64_t length = 0;
    possible = text.empty() ? !carriage_return : read_content_length(text, length);
  } else if (kind == FieldKind::transfer_encoding) {
    possible = read_codings(text, carriage_return) != Codings::malformed;
  }
  return possible ? Verdict::incomplete : Verdict::bad_request;
}

}  // namespace ringrpc::http
