#include "engine/http/sse.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "engine/base/assert.h"

namespace ringrpc::http {
namespace {

constexpr std::string_view data_field = "data: ";
constexpr std::string_view name_field = "event: ";
constexpr std::string_view id_field = "id: ";
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

// Takes one line off the front. Returns: false when it was the last one.
bool take_line(std::string_view& rest, std::string_view& line) {
  const std::size_t end = rest.find_first_of("\r\n");
  line = rest.substr(0, end);
  if (end == std::string_view::npos) return false;
  const bool pair = rest.substr(end).starts_with("\r\n");
  rest.remove_prefix(end + (pair ? 2 : 1));
  return true;
}

char* append(char* out, std::string_view text) {
  if (!text.empty()) std::memcpy(out, text.data(), text.size());
  return out + text.size();
}

char* append_field(char* out, std::string_view field, std::string_view value) {
  out = append(out, field);
  out = append(out, value);
  *out = '\n';
  return out + 1;
}

}  // namespace

std::size_t event_size(const Event& event) {
  if (event.name.find_first_of("\r\n") != std::string_view::npos) return 0;
  if (event.id.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos) return 0;
  std::size_t size = 1;  // the empty line
  if (!event.name.empty()) size += name_field.size() + event.name.size() + 1;
  if (!event.id.empty()) size += id_field.size() + event.id.size() + 1;
  std::string_view rest = event.data;
  std::string_view line;
  bool more = true;
  while (more) {
    more = take_line(rest, line);
    size += data_field.size() + line.size() + 1;
  }
  return size;
}

char* write_event(const Event& event, char* out) {
  if (!event.name.empty()) out = append_field(out, name_field, event.name);
  if (!event.id.empty()) out = append_field(out, id_field, event.id);
  std::string_view rest = event.data;
  std::string_view line;
  bool more = true;
  while (more) {
    more = take_line(rest, line);
    out = append_field(out, data_field, line);
  }
  *out = '\n';
  return out + 1;
}

// Returns: false when that is too much.
bool EventReader::keep(std::string_view piece) {
  if (line_.starts_with(':')) return true;
  if (line_.empty() && piece.starts_with(':')) piece = piece.substr(0, 1);
  if (piece.size() > size_max_ - std::min(size_max_, line_.size())) return false;
  line_.append(piece);
  return true;
}

EventReader::Status EventReader::next(const char*& cursor, const char* end) {
  RINGRPC_ASSERT(cursor <= end);
  if (too_large_) return Status::too_large;
  if (dispatched_) {
    dispatched_ = false;
    data_.clear();
    name_.clear();
  }
  while (cursor != end) {
    if (after_return_) {
      after_return_ = false;
      if (*cursor == '\n') {
        ++cursor;
        continue;
      }
    }
    const std::string_view rest(cursor, static_cast<std::size_t>(end - cursor));
    const std::size_t size = std::min(rest.find_first_of("\r\n"), rest.size());
    if (!keep(rest.substr(0, size))) {
      too_large_ = true;
      return Status::too_large;
    }
    cursor += size;
    if (cursor == end) break;
    after_return_ = *cursor++ == '\r';
    end_line();
    if (data_.size() > size_max_) {
      too_large_ = true;
      return Status::too_large;
    }
    if (dispatched_) return Status::event;
  }
  return Status::need_more;
}

void EventReader::end_line() {
  std::string_view line = line_;
  if (first_line_ && line.starts_with(byte_order_mark)) line.remove_prefix(byte_order_mark.size());
  first_line_ = false;
  if (line.empty()) {
    dispatched_ = has_data_;
    if (!has_data_) name_.clear();
    has_data_ = false;
  } else if (const std::size_t colon = line.find(':'); colon != 0) {
    std::string_view value;
    if (colon != std::string_view::npos) value = line.substr(colon + 1);
    if (value.starts_with(' ')) value.remove_prefix(1);
    take_field(line.substr(0, colon), value);
  }
  line_.clear();
}

void EventReader::take_field(std::string_view name, std::string_view value) {
  if (name == "data") {
    if (has_data_) data_ += '\n';
    has_data_ = true;
    data_ += value;
  } else if (name == "event") {
    name_ = value;
  } else if (name == "id") {
    if (value.find('\0') == std::string_view::npos) id_ = value;
  } else if (name == "retry") {
    std::int64_t number = 0;
    const char* const last = value.data() + value.size();
    const auto [stop, code] = std::from_chars(value.data(), last, number);
    if (!value.empty() && value.front() != '-' && code == std::errc() && stop == last) {
      retry_ms_ = number;
    }
  }
}

}  // namespace ringrpc::http
