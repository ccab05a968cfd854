#pragma once

// One JSON value a line out of a connection's bytes: in the receive buffer when it came in one
// piece, else in a block of the pool where its pieces are put together once.
//
// A line ends with LF, before which one CR is dropped; the peer's end ends the last one. Lines of
// nothing but blanks are skipped. A request of HTTP ends the connection: a web page can have a
// browser send one to any port, with a body that is one of our lines.

#include <cstdint>
#include <string_view>

#include "engine/base/counters.h"
#include "engine/serve/connection.h"
#include "engine/serve/partial_pool.h"
#include "engine/serve/request.h"

namespace ringrpc::serve {

// Thread: worker only. Cost: for a line in one piece, the search for its end.
// Invariant: while a connection skips the rest of a line it holds no block; a block that is neither
//            unread nor whole holds the beginning of one line, without its end.
class LineFramer {
 public:
  struct Options {
    PartialPool* pool;
    base::Counters* counters;
    std::uint8_t mount;  // where the methods are served that lines call
    std::uint32_t message_size_max;
  };

  explicit LineFramer(const Options& options) : options_(options) {}

  // Takes from the input what the next step needs. A line over the limit is refused once, as soon
  // as that is known; its rest is dropped as it comes.
  Step next(Connection& connection, Input& input, Request& request, std::uint64_t now_ms);

  // The peer has ended: what stands there without an end is the last line.
  // Requires: next() has asked for input, and there is none.
  Step end(Connection& connection, Request& request);

  // Saves what is left of the input for later, because the connection is paused. What was kept is
  // to be read with an empty input first. Returns: false when the pool is used up.
  bool keep(Connection& connection, Input& input);

 private:
  Step next_partial(Connection& connection, Input& input, Request& request, std::uint64_t now_ms);
  Step begin(Connection& connection, Input& input, Request& request, std::uint64_t now_ms);
  Step go_on(Connection& connection, Input& input, Request& request);
  Step deliver(std::string_view line, Request& request);
  Step deliver_other(std::string_view line, Request& request);
  Step deliver_kept(Partial& partial, std::uint32_t size, std::uint32_t ending, Request& request);
  Step refuse(Request& request);
  Step broken(Request& request, std::uint16_t status, std::string_view reason,
              base::Counter counter);
  Step full(Request& request);
  static void skip(Connection& connection, Input& input);
  void settle(Connection& connection);
  void forget(Connection& connection);
  bool append(Connection& connection, Input& input, std::uint32_t count);
  [[nodiscard]] bool too_long(std::string_view begun) const;

  Options options_;
};

}  // namespace ringrpc::serve
