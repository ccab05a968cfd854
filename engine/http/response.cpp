#include "engine/http/response.h"

#include <ringrpc/limits.h>

#include <array>
#include <cstring>

#include "engine/base/assert.h"

namespace ringrpc::http {

namespace {

constexpr std::string_view content_type_field = "Content-Type: ";
constexpr std::string_view fixed_fields = "X-Content-Type-Options: nosniff\r\nDate: ";
constexpr std::string_view length_field = "Content-Length: ";
constexpr std::string_view no_length = "         ";
constexpr std::string_view line_end = "\r\n";
constexpr std::uint32_t date_size = 29;

static_assert(no_length.size() == Heads::length_digits);
static_assert(limits::reply_size_max_max <= Heads::length_max);

constexpr std::size_t ok_date_at = std::string_view("HTTP/1.1 200 OK\r\n").size() +
                                   content_type_field.size() + media_json.size() + line_end.size() +
                                   fixed_fields.size();
static_assert(Heads::ok_size == ok_date_at + date_size + line_end.size() + length_field.size() +
                                    Heads::length_digits + 2 * line_end.size());

// The last four of a length field's digits, for lengths that need no more than three.
constexpr auto short_lengths = [] {
  std::array<std::array<char, 4>, 1000> table{};
  for (std::uint32_t length = 0; length < table.size(); ++length) {
    table[length] = {' ', ' ', ' ', ' '};
    std::uint32_t left = length;
    std::size_t at = table[length].size();
    do {
      table[length][--at] = static_cast<char>('0' + left % 10);
      left /= 10;
    } while (left != 0);
  }
  return table;
}();

struct Reason {
  std::uint16_t status;
  std::string_view phrase;
};

constexpr Reason reasons[] = {
    {100, "Continue"},
    {101, "Switching Protocols"},
    {200, "OK"},
    {202, "Accepted"},
    {204, "No Content"},
    {304, "Not Modified"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {426, "Upgrade Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {503, "Service Unavailable"},
    {505, "HTTP Version Not Supported"},
};

// Appends while there is room, and remembers when there was none.
class Output {
 public:
  Output(char* begin, std::uint32_t capacity) : begin_(begin), capacity_(capacity) {}

  void text(std::string_view bytes) {
    if (bytes.empty()) return;
    if (bytes.size() > capacity_ - size_) {
      overflow_ = true;
      return;
    }
    std::memcpy(begin_ + size_, bytes.data(), bytes.size());
    size_ += static_cast<std::uint32_t>(bytes.size());
  }

  void number(std::uint32_t value) {
    char digits[10];
    std::uint32_t at = sizeof digits;
    do {
      digits[--at] = static_cast<char>('0' + value % 10);
      value /= 10;
    } while (value != 0);
    text({digits + at, sizeof digits - at});
  }

  void field(std::string_view name, std::string_view value) {
    text(name);
    text(value);
    text(line_end);
  }

  [[nodiscard]] std::uint32_t size() const { return overflow_ ? 0 : size_; }

 private:
  char* begin_;
  std::uint32_t capacity_;
  std::uint32_t size_ = 0;
  bool overflow_ = false;
};

void two_digits(char* out, std::uint32_t value) {
  out[0] = static_cast<char>('0' + value / 10);
  out[1] = static_cast<char>('0' + value % 10);
}

// IMF-fixdate: "Sun, 06 Nov 1994 08:49:37 GMT".
void render_date(char* out, std::int64_t wall_seconds) {
  constexpr std::int64_t last = 253'402'300'799;  // the end of 9999
  constexpr std::uint32_t day_seconds = 86'400;
  const std::int64_t clamped = wall_seconds < 0 ? 0 : wall_seconds > last ? last : wall_seconds;
  const auto days = static_cast<std::uint32_t>(clamped / day_seconds);
  const auto seconds = static_cast<std::uint32_t>(clamped % day_seconds);
  // Years that begin in March end with the leap day; 400 of them are 146,097 days. 719,468 days lie
  // between the first March of year 0 and 1970.
  const std::uint32_t shifted = days + 719'468;
  const std::uint32_t era = shifted / 146'097;
  const std::uint32_t day_of_era = shifted % 146'097;
  const std::uint32_t year_of_era =
      (day_of_era - day_of_era / 1'460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const std::uint32_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::uint32_t month_from_march = (5 * day_of_year + 2) / 153;
  const std::uint32_t day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
  const std::uint32_t month = month_from_march < 10 ? month_from_march + 2 : month_from_march - 10;
  const std::uint32_t year = year_of_era + era * 400 + (month < 2 ? 1 : 0);

  constexpr std::string_view day_names = "ThuFriSatSunMonTueWed";  // 1970 began on a Thursday
  constexpr std::string_view month_names = "JanFebMarAprMayJunJulAugSepOctNovDec";
  std::memcpy(out, "Thu, 01 Jan 1970 00:00:00 GMT", date_size);
  std::memcpy(out, day_names.data() + std::size_t{days % 7} * 3, 3);
  two_digits(out + 5, day);
  std::memcpy(out + 8, month_names.data() + std::size_t{month} * 3, 3);
  two_digits(out + 12, year / 100);
  two_digits(out + 14, year % 100);
  two_digits(out + 17, seconds / 3'600);
  two_digits(out + 20, seconds / 60 % 60);
  two_digits(out + 23, seconds % 60);
}

}  // namespace

std::string_view reason_of(std::uint16_t status) {
  for (const Reason& reason : reasons) {
    if (reason.status == status) return reason.phrase;
  }
  return "Unknown";
}

Heads::Heads() {
  Output out(ok_, ok_size);
  out.text("HTTP/1.1 200 OK\r\n");
  out.field(content_type_field, media_json);
  out.text(fixed_fields);
  out.text("Thu, 01 Jan 1970 00:00:00 GMT\r\n");
  out.field(length_field, no_length);
  out.text(line_end);
  RINGRPC_ASSERT(out.size() == ok_size, out.size());
}

void Heads::set_time(std::int64_t wall_seconds) { render_date(ok_ + ok_date_at, wall_seconds); }

std::string_view Heads::date() const { return {ok_ + ok_date_at, date_size}; }

void Heads::patch_length(char* body, std::uint32_t length) {
  RINGRPC_ASSERT(length <= length_max, length);
  char* const field = body - 2 * line_end.size() - length_digits;
  RINGRPC_ASSERT(field[-1] == ' ' && field[length_digits] == '\r', field[-1]);
  // What is left of a longer number is blanked with the rest.
  std::memcpy(field, no_length.data(), length_digits);
  char* digit = field + length_digits;
  // PERF: most replies are short, and theirs are one load: 30 instructions less (bench/ladder).
  if (length < short_lengths.size()) [[likely]] {
    std::memcpy(digit - 4, short_lengths[length].data(), 4);
    return;
  }
  do {
    *--digit = static_cast<char>('0' + length % 10);
    length /= 10;
  } while (length != 0);
}

std::uint32_t Heads::write(char* out, std::uint32_t capacity, const ResponseHead& head) const {
  RINGRPC_ASSERT(head.status >= 100 && head.status <= 999, head.status);
  Output output(out, capacity);
  output.text("HTTP/1.1 ");
  output.number(head.status);
  output.text(" ");
  output.field(reason_of(head.status), {});
  const bool informational = head.status < 200;
  const bool has_body = !informational && head.status != 204 && head.status != 304;
  if (head.status != 100) {
    if (has_body && !head.content_type.empty()) {
      output.field(content_type_field, head.content_type);
    }
    output.text(fixed_fields);
    output.field(date(), {});
    if (!head.allow.empty()) output.field("Allow: ", head.allow);
    if (!head.authenticate.empty()) output.field("WWW-Authenticate: ", head.authenticate);
    if (head.retry_after_s != 0) {
      output.text("Retry-After: ");
      output.number(head.retry_after_s);
      output.text(line_end);
    }
    output.text(head.more_fields);
    if (head.close) output.field("Connection: ", "close");
    if (head.keep_alive && !head.close) output.field("Connection: ", "keep-alive");
  }
  if (has_body && head.chunked) output.field("Transfer-Encoding: ", "chunked");
  const bool has_length = has_body && !head.chunked && !head.until_close;
  if (has_length) output.field(length_field, no_length);
  output.text(line_end);
  if (has_length && output.size() != 0) patch_length(out + output.size(), head.length);
  return output.size();
}

}  // namespace ringrpc::http
