#pragma once

// The requests of a run in the order in which each connection sends them, ready-made, and what is
// expected of their replies. Connections begin at different places and go round.

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ringload {

// One line of a file of bodies.
struct Body {
  std::string text = {};  // one JSON value
  std::uint64_t weight = 1;
  std::string expected = {};  // the result as compact JSON; empty: any
};

// Reads lines "[WEIGHT] JSON [EXPECTED-RESULT]"; empty ones and those that begin with # are
// skipped. Returns: false with a sentence when a line is none.
bool read_bodies(std::string_view lines, std::vector<Body>& bodies, std::string& error);

// Returns: `text` with another id; unchanged when it is no object with an id.
std::string with_id(std::string_view text, std::string_view id);

// A call in a message, and the reply that it should get.
struct Call {
  std::string id;
  std::string expected;  // compact JSON; empty: any result
};

// Requests whose replies differ in nothing but the id of their one call.
struct Message {
  std::string text;
  std::vector<Call> calls;  // none: a notification, or what is no JSON-RPC
  bool batch = false;
};

Message make_message(const Body& body);
// All calls get ids that follow each other.
Message make_batch(std::span<const Body* const> bodies, std::uint64_t first_id = 1);
// Returns: an id that stands in two of the bodies that are arrays; empty when none does.
std::string id_of_two_arrays(const std::vector<Body>& bodies);

class Tape {
 public:
  struct Wish {
    std::vector<Body> bodies = {};  // at least one
    std::uint32_t batch = 0;        // calls in one message; 0: messages are sent as they are
    bool fresh_ids = false;         // each request on the tape has an id of its own
  };

  // `head` makes the bytes before a body. Requires: every text is JSON when batch or fresh_ids is
  // asked for.
  template <typename MakeRequest>
  void make(const Wish& wish, MakeRequest&& make_request) {
    plan(wish);
    for (Entry& entry : entries_) {
      const std::string id = wish.fresh_ids ? fresh_id(entry) : std::string();
      const Message& message = messages_[entry.message];
      entry.begin = bytes_.size();
      bytes_ += make_request(id.empty() ? message.text : with_id(message.text, id));
      entry.id =
          id.empty() && message.calls.size() == 1 && !message.batch ? message.calls[0].id : id;
      request_size_max_ = std::max<std::uint64_t>(request_size_max_, bytes_.size() - entry.begin);
    }
  }

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(entries_.size()); }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t request_size_max() const { return request_size_max_; }
  // Where a request begins; of position size(), the end of the last one.
  [[nodiscard]] std::uint64_t begin(std::uint32_t position) const {
    return position == entries_.size() ? bytes_.size() : entries_[position].begin;
  }
  [[nodiscard]] std::uint32_t next(std::uint32_t position) const {
    return position + 1 == entries_.size() ? 0 : position + 1;
  }
  [[nodiscard]] std::uint32_t message_index(std::uint32_t position) const {
    return entries_[position].message;
  }
  [[nodiscard]] const Message& message(std::uint32_t position) const {
    return messages_[entries_[position].message];
  }
  [[nodiscard]] std::size_t message_count() const { return messages_.size(); }
  // The token of the request's only call; empty for a batch or a notification.
  [[nodiscard]] std::string_view id(std::uint32_t position) const { return entries_[position].id; }

 private:
  struct Entry {
    std::uint64_t begin = 0;
    std::uint32_t message = 0;
    std::string id;
  };

  void plan(const Wish& wish);
  std::string fresh_id(const Entry& entry) const;

  std::vector<Message> messages_;
  std::vector<Entry> entries_;
  std::string bytes_;
  std::uint64_t request_size_max_ = 0;
};

}  // namespace ringload
