#pragma once

// The messages of a server: JSON that is checked in full before anything of it is believed.

#include <ringrpc/client_answer.h>
#include <ringrpc/json.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "engine/json/index.h"
#include "engine/json/walk.h"

namespace ringrpc::client {

// One message, as views into its document.
struct ServerMessage {
  enum class Kind : std::uint8_t {
    invalid,       // no object, or one that is none of the others
    response,      // a result or an error, not both
    notification,  // a method without an id
    request,       // a method with an id: clients have no methods
  };

  Kind kind = Kind::invalid;
  std::string_view text;
  std::string_view id;  // the token; empty without
  std::string method;   // unescaped
  JsonValue params;
  JsonValue result;
  JsonValue error;  // an object with an integer for its code

  // Returns: whether it answers no call in particular.
  [[nodiscard]] bool idless() const { return id.empty() || id == "null"; }
  // Requires: it is a response.
  [[nodiscard]] JsonAnswer answer() const;
};

// A text that came, with its structure.
// Owns:     a padded copy of the text and an index, which grow with the largest text.
// Lifetime: views and values end with the next read().
class Document {
 public:
  Document();
  ~Document();

  // Returns: whether the text is JSON by RFC 8259, nested no deeper than limits::depth_max inside a
  // message. Requires: it has less than 2 GiB.
  bool read(std::string_view text);

  // Returns: the number of messages: elements of a batch, else 1. Requires: read() was true.
  [[nodiscard]] bool is_batch() const { return root().kind() == JsonValue::Kind::array; }
  [[nodiscard]] JsonValue root() const;
  [[nodiscard]] static ServerMessage message(JsonValue value);

 private:
  bool reserve(std::size_t size);

  std::string text_;  // between two brackets each, padded
  std::unique_ptr<json::Index> index_;
  std::size_t capacity_ = 0;  // of index_
};

// Returns: an error object's members; a code of 0 when there is none. Requires: it is an object.
[[nodiscard]] Error read_error(JsonValue error);
// Returns: the milliseconds of data.retryAfterMs in an error's data; 0 without.
[[nodiscard]] double retry_after_ms(const Error& error);

}  // namespace ringrpc::client
