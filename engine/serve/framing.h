#pragma once

// One whole HTTP request out of a connection's bytes: in the receive buffer when it came in one
// piece, else in a block of the pool where its pieces are put together once.

#include <ringrpc/limits.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "engine/base/counters.h"
#include "engine/http/request.h"
#include "engine/serve/connection.h"
#include "engine/serve/endpoint.h"
#include "engine/serve/head_memo.h"
#include "engine/serve/partial_pool.h"
#include "engine/serve/request.h"
#include "engine/serve/worker_options.h"

namespace ringrpc::serve {

// Thread: worker only. Cost: for a request in one piece, the parse of its head.
class Framer {
 public:
  struct Options {
    PartialPool* pool;
    base::Counters* counters;
    const http::HostPolicy* hosts;
    std::span<const Mount> mounts;
    std::uint32_t message_size_max;
    std::uint32_t drain_size_max = limits::drain_size_max;
    HeadLimits head = {};
    bool may_upgrade = true;
  };

  explicit Framer(const Options& options) : options_(options), memo_(options.message_size_max) {}

  // Takes from the input what the next step needs. Counts why bytes are broken.
  Step next(Connection& connection, Input& input, Request& request, std::uint64_t now_ms);

  // Returns: whether the connection may be paused: not in a body, whose bytes are counted as they
  // come and bring one reply at most.
  static bool may_keep(const Connection& connection) {
    const Partial* partial = connection.partial;
    return partial == nullptr || partial->head_size == 0 || partial->whole;
  }

  // Saves what is left of the input for later, because the connection is paused. What was kept is
  // to be read with an empty input first.
  // Requires: may_keep(). Returns: false when the pool is used up.
  bool keep(Connection& connection, Input& input);

  // Gives the connection's block back. Idempotent.
  void forget(Connection& connection);

 private:
  Step next_partial(Connection& connection, Input& input, Request& request, std::uint64_t now_ms);
  Step begin_head(Connection& connection, Input& input, Request& request, std::uint64_t now_ms);
  Step begin_body(Connection& connection, Input& input, Request& request, std::uint64_t now_ms);
  Step enter_body(Connection& connection, Input& input, Request& request, std::uint64_t now_ms);
  Step refuse(Connection& connection, Request& request);
  Step broken(Request& request, std::uint16_t status, base::Counter counter);
  Step full(Request& request);
  http::HeadResult parse(const char* begin, const char* end);
  [[nodiscard]] Admission admit_head() const;
  Step refuse_chunks(Request& request, const http::ChunkDecoder& chunks);
  Step read_head(Connection& connection, Input& input, Request& request, std::uint64_t now_ms);
  Step read_length(Connection& connection, Input& input, Request& request);
  Step read_chunks(Connection& connection, Input& input, Request& request);
  Step decode_kept_chunks(Connection& connection, Request& request);
  [[nodiscard]] bool too_large(const Partial& partial, std::size_t piece) const;
  Step refuse_chunked(Connection& connection, Request& request);
  void read_again(Partial& partial, Request& request);
  Step whole(Partial& partial, Request& request);
  void settle(Connection& connection);
  void drop(Connection& connection, Input& input);
  bool append(Connection& connection, Input& input, std::uint32_t count);

  Options options_;
  HeadMemo memo_;
  http::Request head_;  // of the last request that the memo did not know
  base::Counter head_counter_ = base::Counter::bad_heads;  // why the last refused head was
};

}  // namespace ringrpc::serve
