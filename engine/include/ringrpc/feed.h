#pragma once

// Topics: what one side publishes, every peer hears that has subscribed to it.
//
//   ringrpc::Feed feed(server);
//   server.method("prices.follow", [&feed](const Follow& in, ringrpc::Stream stream) {
//     feed.subscribe(std::move(stream), in.symbol);
//   });
//   ...
//   feed.publish("ACME", "prices.changed", Price{...});       // from any thread

#include <ringrpc/fields.h>
#include <ringrpc/json.h>
#include <ringrpc/limits.h>
#include <ringrpc/server.h>

#include <cstdint>
#include <string_view>
#include <utility>

namespace ringrpc {

struct FeedOptions {
  // What happens to a subscriber that has limits::unsent_size_max bytes unread: `drop` loses what
  // is published meanwhile, `coalesce` all of it but the last, `close` ends its connection, which
  // it notices. What is published waits for nobody but for a moment, in which who reads catches
  // up (limits::published_patience_ms): a subscriber must not hold up the others.
  WhenFull when_full = WhenFull::close;
};

// The topics of one server; another Feed of the same server has topics of its own.
// Thread: any, where nothing else is said.  Lifetime: within its server's.
// Cost:   a publication is encoded once, copied once for each worker that has subscribers, and
//         once into each of their connections. What waits for a worker counts toward
//         limits::late_memory_size_max.
class Feed {
 public:
  explicit Feed(Server& server, FeedOptions options = {});
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;

  // Subscribes the peer of a call, and answers it. On WebSocket, TCP, Unix sockets and stdio the
  // connection is subscribed until it ends, and the answer is true (false: it was already). Over
  // HTTP the call becomes an event stream, which begins at once and lives until its peer leaves or
  // cancels it; without one the answer is -31009. Too many subscriptions answer -31001 (limits.h).
  // Thread: the worker's, within the handler.
  void subscribe(Stream stream, std::string_view topic);

  // Ends a connection's subscription, and answers whether there was one.
  // Thread: the worker's, within the handler.
  void unsubscribe(Stream stream, std::string_view topic);

  // Sends a notification to every subscriber of a topic, in the order of the calls of publish().
  // Returns: Sent::no_room when a worker's memory for what waits is used up: its subscribers miss
  //          this one, which is counted, and the caller had better slow down. Sent::invalid as for
  //          Stream::notify(): nobody hears it. Otherwise Sent::yes, also when nobody listens.
  template <class P>
  Sent publish(std::string_view topic, std::string_view method, const P& params) {
    return publish_encoded(topic, method, fields::type_of<P>(), &params);
  }
  // The same with params that are JSON already, which is checked.
  Sent publish_json(std::string_view topic, std::string_view method, std::string_view params_json) {
    return publish(topic, method, Json(params_json));
  }

 private:
  Sent publish_encoded(std::string_view topic, std::string_view method,
                       const fields::TypeInfo& type, const void* params);

  Server& server_;
  const FeedOptions options_;
  const std::uint32_t id_;
};

}  // namespace ringrpc
