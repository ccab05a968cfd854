#pragma once

// Messages whose reply is not complete yet, because calls of theirs are answered later.

#include <cstdint>

#include "engine/base/memory.h"
#include "engine/base/status.h"
#include "engine/rpc/endpoint.h"
#include "engine/serve/outbox.h"

namespace ringrpc::serve {

inline constexpr std::uint32_t no_exchange = 0;

// One message, from its reading to its whole reply. Where replies keep the order of the requests,
// one that is whole too early waits in the list behind the exchange before it. Owns:   the replies
// of a batch that are there already, and unsent bytes. Thread: worker only.
struct Exchange {
  std::uint32_t next;      // of its connection, in the order of the requests; or the next free one
  std::uint32_t previous;  // of its connection
  std::uint32_t pending;   // calls that have not been answered
  std::uint32_t connection;  // its slot
  bool batch;
  bool spent;      // the batch's reply has no more room
  bool last;       // the connection ends behind its reply
  bool old_http;   // HTTP/1.0
  bool events;     // its peer takes an event stream for it
  bool streaming;  // which has begun
  const rpc::Endpoint* endpoint;
  char* body;  // of a batch, without its closing bracket
  std::size_t body_size;
  std::size_t body_capacity;
  // Replies of later requests that are whole already. An empty list is not all zero: see take().
  OutList behind;
};

// The exchanges of one worker. Places are numbered from 1, so that 0 is none.
// Owns:   72 bytes for each call that may be in flight, touched by as many as there ever were.
// Thread: worker only.
class Exchanges {
 public:
  // Fails: no memory.
  base::Status start(std::uint32_t count) {
    count_ = count;
    return places_.make(std::size_t{count} + 1);
  }

  // Requires: fewer than count are taken.
  std::uint32_t take() {
    std::uint32_t place = free_;
    if (place != no_exchange) {
      free_ = places_[place].next;
    } else {
      place = ++made_;
    }
    ++taken_;
    places_[place] = {};
    places_[place].behind = OutList{};
    return place;
  }
  // Requires: taken, and what it owned has been given back.
  void give(std::uint32_t place) {
    places_[place].next = free_;
    free_ = place;
    --taken_;
  }

  Exchange& operator[](std::uint32_t place) { return places_[place]; }
  const Exchange& operator[](std::uint32_t place) const { return places_[place]; }
  [[nodiscard]] std::uint32_t taken() const { return taken_; }

 private:
  base::ZeroedArray<Exchange> places_;
  std::uint32_t count_ = 0;
  std::uint32_t made_ = 0;
  std::uint32_t free_ = no_exchange;
  std::uint32_t taken_ = 0;
};

// The exchanges of one connection, in the order of the requests. All zero is none.
struct ExchangeList {
  std::uint32_t first;
  std::uint32_t last;
  std::uint32_t behind;  // bytes behind all of them but the last
};

}  // namespace ringrpc::serve
