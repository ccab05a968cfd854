#pragma once

// What became of a call: a result, an error of JSON-RPC, or no answer at all. For client.h.

#include <ringrpc/fields.h>
#include <ringrpc/json.h>
#include <ringrpc/result.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace ringrpc {

// Why there is no answer.
enum class FailureKind : std::uint8_t {
  none,
  not_sent,      // params that are no JSON, a URL that is none: the call is at fault
  unreachable,   // no connection, so nothing was sent
  disconnected,  // the connection ended before the answer
  timed_out,     // by this client's clock; a server's own timeout is an error, -31003
  cancelled,     // by cancel(), or by the client's end
  http_status,   // an HTTP response that holds no reply
  bad_reply,     // no JSON-RPC, no HTTP, or not of the type that was asked for
  too_large,     // over a limit of ClientOptions
  missing,       // a batch was answered, this call of it was not
};

struct Failure {
  FailureKind kind = FailureKind::none;
  std::string sentence = {};  // for people
  // Whether the server may have run the call: false is certain, true is not.
  bool may_have_run = false;

  explicit operator bool() const { return kind != FailureKind::none; }
};

// An answer whose result is JSON text.
// Lifetime: moving it keeps views of it valid; they end with the answer that they came into.
class [[nodiscard]] JsonAnswer {
 public:
  JsonAnswer() = default;  // a failure of no kind: not answered yet
  // Requires: json is one JSON value; it is copied.
  static JsonAnswer of_result(std::string_view json);
  static JsonAnswer of_error(Error error);
  static JsonAnswer of_failure(Failure failure);

  [[nodiscard]] bool ok() const { return kind_ == Kind::result; }
  explicit operator bool() const { return ok(); }
  // Returns: whether the server answered with an error object: see error().
  [[nodiscard]] bool is_error() const { return kind_ == Kind::error; }
  // Returns: whether there is no answer: see failure().
  [[nodiscard]] bool failed() const { return kind_ == Kind::failure; }

  // Returns: the result's text; empty unless ok().
  [[nodiscard]] std::string_view json() const {
    return {text_ == nullptr ? "" : text_.get() + 1, size_};
  }
  // Returns: code, message, and data as JSON text (empty without). The code is the contract.
  [[nodiscard]] const Error& error() const { return error_; }
  [[nodiscard]] const Failure& failure() const { return failure_; }
  // Returns: a sentence for people about what went wrong; empty when nothing did.
  [[nodiscard]] std::string sentence() const;

  // For Answer: decodes the result, or becomes a failure that says what does not fit.
  bool decode(const fields::TypeInfo& type, void* target);

 private:
  enum class Kind : std::uint8_t { failure, error, result };

  Kind kind_ = Kind::failure;
  std::unique_ptr<char[]> text_;     // the result between two brackets, padded
  std::size_t size_ = 0;             // of the result
  std::unique_ptr<char[]> scratch_;  // unescaped strings, elements of spans
  Error error_ = {};
  Failure failure_ = {};
};

// An answer whose result is a value of a reflected type (fields.h). A result of another shape is a
// failure (bad_reply); unknown members are ignored.
// Lifetime: as JsonAnswer: views in the value point into the answer.
template <class R>
class [[nodiscard]] Answer {
 public:
  Answer() = default;
  explicit Answer(JsonAnswer&& answer) : answer_(std::move(answer)) {
    if (!answer_.ok()) return;
    value_.emplace();
    if (!answer_.decode(fields::type_of<R>(), &*value_)) value_.reset();
  }

  [[nodiscard]] bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  [[nodiscard]] bool is_error() const { return answer_.is_error(); }
  [[nodiscard]] bool failed() const { return answer_.failed(); }

  // Requires: ok().
  [[nodiscard]] R& value() & { return *value_; }
  [[nodiscard]] const R& value() const& { return *value_; }
  // Moved out of an answer that ends here, so R must own what it holds.
  [[nodiscard]] R value() && { return std::move(*value_); }
  [[nodiscard]] R& operator*() & { return *value_; }
  [[nodiscard]] const R& operator*() const& { return *value_; }
  [[nodiscard]] R operator*() && { return std::move(*value_); }
  [[nodiscard]] R* operator->() { return &*value_; }
  [[nodiscard]] const R* operator->() const { return &*value_; }

  [[nodiscard]] const Error& error() const { return answer_.error(); }
  [[nodiscard]] const Failure& failure() const { return answer_.failure(); }
  [[nodiscard]] std::string sentence() const { return answer_.sentence(); }
  [[nodiscard]] std::string_view json() const { return answer_.json(); }

 private:
  JsonAnswer answer_;
  std::optional<R> value_;
};

// An answer whose result, whatever it is, says no more than that the call went well.
template <>
class [[nodiscard]] Answer<void> : public JsonAnswer {
 public:
  Answer() = default;
  explicit Answer(JsonAnswer&& answer) : JsonAnswer(std::move(answer)) {}
};

// A notification of the server: an event of a stream, or of a subscription.
// Lifetime: until the callback that got it returns.
struct Notification {
  std::string_view method;
  std::string_view params;  // JSON text; empty without
  std::string_view text;    // the whole message

  // Returns: the params as a struct; a failure when they are something else.
  template <class P>
  [[nodiscard]] Answer<P> as() const {
    return Answer<P>(JsonAnswer::of_result(params.empty() ? std::string_view("{}") : params));
  }
};

}  // namespace ringrpc
