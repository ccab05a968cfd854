// The lines of a head, byte by byte: whatever the vector parser does not find plain and good ends
// up here, and only this file decides where a head goes wrong. Each decision depends on the bytes
// up to its own position alone, so a longer prefix can never change it.

#include "engine/base/assert.h"
#include "engine/http/chars.h"
#include "engine/http/head.h"

namespace ringrpc::http {

namespace {

// Twice the longest known method; longer tokens are not waited for.
constexpr std::ptrdiff_t method_size_max = 16;

struct KnownMethod {
  std::string_view name;
  Method method;
};

constexpr KnownMethod known_methods[] = {
    {"POST", Method::post},       {"GET", Method::get},     {"HEAD", Method::head},
    {"OPTIONS", Method::options}, {"PUT", Method::put},     {"PATCH", Method::patch},
    {"DELETE", Method::delete_},  {"TRACE", Method::trace},
};

Verdict read_method(const char*& cursor, const char* end, Request& out) {
  const char* p = cursor;
  while (p < end && is_token(*p)) {
    if (p - cursor == method_size_max) return Verdict::not_implemented;
    ++p;
  }
  if (p == end) return Verdict::incomplete;
  if (*p != ' ' || p == cursor) return Verdict::bad_request;
  const std::string_view name(cursor, static_cast<std::size_t>(p - cursor));
  cursor = p + 1;
  for (const KnownMethod& known : known_methods) {
    if (name == known.name) {
      out.method = known.method;
      return Verdict::accepted;
    }
  }
  if (name == "CONNECT") return Verdict::bad_request;
  if (name == "PRI") return Verdict::version_not_supported;  // the preface of HTTP/2
  return Verdict::not_implemented;
}

// The target, or what is there of it, in its form. Ended: a space follows.
// Returns: false when it cannot be, or become, a target.
bool read_target_form(std::string_view target, bool ended, Request& out) {
  constexpr std::string_view scheme = "http://";
  if (target.empty()) return !ended;
  if (target[0] == '/') {
    out.path = span_of(out, target.substr(0, target.find('?')));
    return true;
  }
  if (target[0] == '*') {
    out.path = span_of(out, target);
    return out.method == Method::options && target.size() == 1;
  }
  const std::string_view start = target.substr(0, scheme.size());
  if (!equals_folded(start, scheme.substr(0, start.size()))) return false;
  if (start.size() < scheme.size()) return !ended;

  const std::string_view rest = target.substr(scheme.size());
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?"));
  if (!is_host(authority, ended || authority.size() < rest.size())) return false;
  const std::string_view path = rest.substr(authority.size());
  out.absolute_form = true;
  out.host = span_of(out, authority);
  // Without a path it is "/", and there is one to point to in the scheme.
  out.path = path.empty() || path[0] == '?' ? span_of(out, start.substr(scheme.size() - 1))
                                            : span_of(out, path.substr(0, path.find('?')));
  return true;
}

Verdict read_target(const char*& cursor, const char* end, Request& out) {
  const char* const limit = end - cursor > std::ptrdiff_t{limits::target_size_max}
                                ? cursor + limits::target_size_max
                                : end;
  const char* p = cursor;
  while (p < limit && is_class(*p, chars::target)) ++p;
  const bool ended = p < end && *p == ' ';
  const std::string_view target(cursor, static_cast<std::size_t>(p - cursor));
  if (!read_target_form(target, ended, out)) return Verdict::bad_request;
  if (p == end) return Verdict::incomplete;
  if (!ended) {
    return is_class(*p, chars::target) ? Verdict::uri_too_long : Verdict::bad_request;
  }
  out.target = span_of(out, target);
  cursor = p + 1;
  return Verdict::accepted;
}

Verdict read_version(const char*& cursor, const char* end, Request& out) {
  // '0' stands for any digit.
  constexpr std::string_view shape = "HTTP/1.0\r\n";
  constexpr std::size_t major_at = 5;
  constexpr std::size_t minor_at = 7;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (cursor + i == end) return Verdict::incomplete;
    const char c = cursor[i];
    // Another major version has its verdict at once: what follows is in no form known here.
    if (i == major_at && is_digit(c) && c != '1') return Verdict::version_not_supported;
    if (shape[i] == '0' ? !is_digit(c) : c != shape[i]) return Verdict::bad_request;
  }
  out.version_minor = cursor[minor_at] == '0' ? 0 : 1;
  if (out.version_minor == 0) out.closed_kinds |= bit(FieldKind::transfer_encoding);
  cursor += shape.size();
  return Verdict::accepted;
}

}  // namespace

Verdict read_request_line(const char*& cursor, const char* end, Request& out) {
  const char* p = cursor;
  if (p < end && *p == '\r') {
    if (p + 1 == end) return Verdict::incomplete;
    if (p[1] != '\n') return Verdict::bad_request;
    p += 2;
  }
  Verdict verdict = read_method(p, end, out);
  if (verdict == Verdict::accepted) verdict = read_target(p, end, out);
  if (verdict == Verdict::accepted) verdict = read_version(p, end, out);
  cursor = p;
  return verdict;
}

Verdict read_field_line(const char*& cursor, const char* end, Request& out) {
  RINGRPC_ASSERT(cursor < end);
  if (out.field_count == limits::head_fields_max) return Verdict::head_too_large;
  const char* p = cursor;
  while (p < end && is_token(*p)) ++p;
  if (p == end) return Verdict::incomplete;
  if (*p != ':' || p == cursor) return Verdict::bad_request;
  const std::string_view name(cursor, static_cast<std::size_t>(p - cursor));

  const char* const value = ++p;
  while (p < end && is_value(*p)) ++p;
  const std::string_view text(value, static_cast<std::size_t>(p - value));
  if (p == end) return judge_partial_field(name, text, false, out);
  if (*p != '\r') return Verdict::bad_request;
  if (p + 1 == end) return judge_partial_field(name, text, true, out);
  if (p[1] != '\n') return Verdict::bad_request;
  cursor = p + 2;
  const FieldKind kind = classify(name.data(), static_cast<std::uint32_t>(name.size()));
  return apply_field(kind, {span_of(out, name), span_of(out, trim(text))}, out);
}

HeadResult parse_head_portable(const char* begin, const char* end, Request& out) {
  RINGRPC_ASSERT(begin <= end);
  end = bounded_end(begin, end);
  start_head(begin, out);
  const char* p = begin;
  Verdict verdict = read_request_line(p, end, out);
  while (verdict == Verdict::accepted) {
    if (p == end) return result_of(Verdict::incomplete, begin, end);
    if (*p == '\r') return result_of(finish_head(p, end, out), begin, end);
    verdict = read_field_line(p, end, out);
  }
  return result_of(verdict, begin, end);
}

}  // namespace ringrpc::http
