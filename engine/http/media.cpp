#include "engine/http/media.h"

#include "engine/http/chars.h"
#include "engine/http/request.h"

namespace ringrpc::http {

namespace {

struct Parameter {
  std::string_view name;
  std::string_view value;  // without its quotes, with its backslashes
};

// Reads a list of `type/subtype *( ; name=value )`, separated by commas, from left to right.
class MediaList {
 public:
  explicit MediaList(std::string_view text) : rest_(text) {}

  [[nodiscard]] bool at_end() const { return rest_.empty(); }

  // Takes `type/subtype` or a range.
  // Returns: an empty view when there is none.
  std::string_view type() {
    skip_blanks();
    const std::string_view start = rest_;
    if (token().empty() || !take('/') || token().empty()) return {};
    return start.substr(0, start.size() - rest_.size());
  }

  // Takes the next parameter of this element. Empty ones (`;;`) are skipped.
  // Returns: false when there is none or it is malformed; end_of_element() tells which.
  bool parameter(Parameter& parameter) {
    skip_blanks();
    if (!take(';')) return false;
    while (skip_blanks(), take(';')) {
    }
    parameter.name = token();
    if (parameter.name.empty()) return false;
    malformed_ = !take('=') || !(take('"') ? quoted(parameter.value) : unquoted(parameter.value));
    return !malformed_;
  }

  // Takes the comma behind this element.
  // Returns: false when something else is left, or a parameter was malformed.
  bool end_of_element() {
    skip_blanks();
    return !malformed_ && (rest_.empty() || take(','));
  }

  // Goes behind the next comma that is not in quotes.
  void skip_element() {
    malformed_ = false;
    while (!rest_.empty()) {
      const char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == ',') return;
      std::string_view ignored;
      if (c == '"') (void)quoted(ignored);
    }
  }

 private:
  void skip_blanks() { rest_ = trim_left(rest_); }

  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::string_view token() {
    std::size_t size = 0;
    while (size < rest_.size() && is_token(rest_[size])) ++size;
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  bool unquoted(std::string_view& value) {
    value = token();
    return !value.empty();
  }

  // Behind an opening quote. Returns: false when the closing one is missing; takes all then.
  bool quoted(std::string_view& value) {
    std::size_t i = 0;
    while (i < rest_.size() && rest_[i] != '"') i += rest_[i] == '\\' ? 2 : 1;
    const bool closed = i < rest_.size();
    value = rest_.substr(0, i);
    rest_.remove_prefix(closed ? i + 1 : rest_.size());
    return closed;
  }

  std::string_view rest_;
  bool malformed_ = false;
};

// "0", "0." and "0.000" exclude; what is no weight does not.
bool is_zero(std::string_view weight) {
  return !weight.empty() && weight.front() == '0' &&
         weight.find_first_not_of('0', weight.size() > 1 && weight[1] == '.' ? 2 : 1) ==
             weight.npos;
}

// What a list of ranges says about one media type, so far.
struct Preference {
  std::uint8_t precision = 0;  // of the range that decided: 1 for */*, 2 for type/*, 3 for the type
  bool accepted = false;

  void see(std::uint8_t range_precision, bool range_accepts) {
    if (range_precision < precision) return;
    accepted = range_accepts || (accepted && range_precision == precision);
    precision = range_precision;
  }
};

struct Preferences {
  Preference json;
  Preference event_stream;
};

void see_range(std::string_view type, bool accepts, Preferences& preferences) {
  if (equals_folded(type, "application/json")) preferences.json.see(3, accepts);
  if (equals_folded(type, "application/*")) preferences.json.see(2, accepts);
  if (type == "*/*") preferences.json.see(1, accepts);
  if (equals_folded(type, "text/event-stream")) preferences.event_stream.see(3, accepts);
}

void see_accept(std::string_view accept, Preferences& preferences) {
  MediaList list(accept);
  while (!list.at_end()) {
    const std::string_view type = list.type();
    bool accepts = true;
    Parameter parameter;
    while (list.parameter(parameter)) {
      if (equals_folded(parameter.name, "q")) accepts = !is_zero(parameter.value);
    }
    if (list.end_of_element()) {
      if (!type.empty()) see_range(type, accepts, preferences);
    } else {
      list.skip_element();
    }
  }
}

Preferences preferences_of(const Request& request) {
  Preferences preferences;
  for (std::uint16_t i = 0; i < request.field_count; ++i) {
    const Field& field = request.fields[i];
    if (equals_folded(request.view(field.name), "accept")) {
      see_accept(request.view(field.value), preferences);
    }
  }
  return preferences;
}

}  // namespace

MediaType media_type(std::string_view content_type) {
  if (content_type == "application/json") return MediaType::json;
  if (content_type.empty()) return MediaType::none;
  MediaList list(content_type);
  const std::string_view type = list.type();
  MediaType result = MediaType::unsupported;
  if (equals_folded(type, "application/json")) result = MediaType::json;
  if (equals_folded(type, "application/a2a+json")) result = MediaType::a2a_json;
  Parameter parameter;
  while (list.parameter(parameter)) {
    if (equals_folded(parameter.name, "charset") && !equals_folded(parameter.value, "utf-8")) {
      return MediaType::unsupported;
    }
  }
  return list.end_of_element() && list.at_end() ? result : MediaType::unsupported;
}

bool accepts_json(std::string_view accept) {
  if (accept.empty() || accept == "*/*" || accept == "application/json") return true;
  Preferences preferences;
  see_accept(accept, preferences);
  return preferences.json.accepted;
}

bool accepts_event_stream(std::string_view accept) {
  Preferences preferences;
  see_accept(accept, preferences);
  return preferences.event_stream.accepted;
}

bool accepts_json(const Request& request) {
  if (request.accept_count <= 1) return accepts_json(request.view(request.accept));
  return preferences_of(request).json.accepted;
}

bool accepts_event_stream(const Request& request) {
  if (request.accept_count <= 1) return accepts_event_stream(request.view(request.accept));
  return preferences_of(request).event_stream.accepted;
}

}  // namespace ringrpc::http
