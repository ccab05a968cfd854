#pragma once

// Where a worker keeps what is answered later: its calls (rpc/late_calls.h), the messages that they
// are parts of (exchange.h), and the order in which replies leave a connection.

#include <ringrpc/limits.h>

#include <cstdint>
#include <string_view>

#include "engine/base/counters.h"
#include "engine/base/memory.h"
#include "engine/base/status.h"
#include "engine/rpc/answer.h"
#include "engine/rpc/late_calls.h"
#include "engine/serve/connection.h"
#include "engine/serve/exchange.h"
#include "engine/serve/framing.h"
#include "engine/serve/outbox.h"
#include "engine/serve/responder.h"
#include "engine/serve/subscriptions.h"

namespace ringrpc::serve {

class Hub;

// Owns:   the calls, exchanges and subscriptions of one worker.
// Thread: the worker's; answers come from any (LateCalls::push).
// Invariant: connection.late says whether it has exchanges; each has a call that is still to be
//           answered, so there are never more exchanges than calls.
class LateDesk {
 public:
  struct Options {
    Connection* connections = nullptr;  // by slot; outlive the desk
    Outbox* outbox = nullptr;
    Responder* responder = nullptr;
    base::Counters* counters = nullptr;
    std::uint32_t reply_size_max = 0;
    Hub* hub = nullptr;  // outlives the desk; null: nobody publishes
  };

  explicit LateDesk(const Options& options) : options_(options) {}
  ~LateDesk() { close(); }
  LateDesk(const LateDesk&) = delete;
  LateDesk& operator=(const LateDesk&) = delete;

  // Fails: no memory.
  base::Status start(rpc::LateCalls::Options options);
  // No answer is taken, and the waker not used, from here on. Idempotent.
  void close();

  // Requires: started.
  [[nodiscard]] rpc::LateCalls& calls() { return *calls_; }
  [[nodiscard]] const rpc::LateCalls& calls() const { return *calls_; }
  // Returns: whether something may come to a connection that it did not just ask for.
  [[nodiscard]] bool busy() const {
    return calls_->in_flight() != 0 || subscriptions_.taken() != 0 || calls_->has_posts();
  }

  // Returns: where the next reply of a connection goes: behind those that are still to come, where
  // replies keep the order of the requests.
  OutList& out_of(Connection& connection) {
    if (!connection.late || connection.protocol != Protocol::http) [[likely]]
      return connection.out;
    return exchanges_[lists_[slot_of(connection)].last].behind;
  }

  // Calls of a message have begun that are answered later. When some of them want an answer the
  // rest of its reply comes later, too, and this ends what there is of it.
  // Returns: whether that is so.
  bool park(Connection& connection, const rpc::Message& message, const Request& request,
            OpenReply& reply);

  // A turn delivers, maybe again.
  void begin_delivery(bool stopping, std::uint64_t now_ns);
  // Runs what is due, or takes one answer and puts it where it belongs.
  // Returns: a connection that has something to do, no_connection when nothing is left.
  std::uint32_t next(std::uint64_t now_ns);
  // Returns: whether the next turn has something to do, whatever comes; else when, 0 for never.
  [[nodiscard]] bool has_more() const {
    const bool publishes = fan_ != nullptr || published_first_ != nullptr;
    return calls_->has_posts() || (publishes && !fan_waits_);
  }
  [[nodiscard]] std::uint64_t next_ns() const;

  // The connection is gone: its calls are asked to stop, and what they answer will be dropped.
  void abandon(Connection& connection);
  // The connection hears no publication any more.
  void unsubscribe(Connection& connection) { drop_subscriptions(slot_of(connection), nullptr); }

  // Returns: whether a connection is to be read no further for now, which is counted; whether one
  // of which that was so may be read again.
  bool is_over(Connection& connection);
  [[nodiscard]] bool may_resume(const Connection& connection) const;

  // Notifications that waited for room in a connection have some.
  void pump(Connection& connection);
  // Returns: whether a silent connection needs a sign of life, which beat() writes.
  [[nodiscard]] bool beats(const Connection& connection) const;
  void beat(Connection& connection);
  // Returns: whether an event stream is open: then a peer's FIN is a disconnect.
  [[nodiscard]] bool has_stream(const Connection& connection) const;
  [[nodiscard]] std::uint32_t streams() const { return streams_; }
  [[nodiscard]] std::uint32_t subscriptions() const { return subscriptions_.taken(); }

  // Adds what waits here for a connection. Returns: how many exchanges it has.
  std::uint32_t add(Outbox::Held& held, std::uint32_t slot) const;
  [[nodiscard]] std::uint32_t exchanges() const { return exchanges_.taken(); }

  // Bytes for each call that may be in flight, and for each connection; for the memory plan.
  static constexpr std::size_t call_size =
      sizeof(rpc::LateCall) + sizeof(Exchange) + 2 * (16 + 4) + 24;
  static constexpr std::size_t connection_size = 16 + sizeof(ExchangeList) + 8;

 private:
  [[nodiscard]] std::uint32_t slot_of(const Connection& connection) const {
    return static_cast<std::uint32_t>(&connection - options_.connections);
  }
  [[nodiscard]] std::uint32_t held(const Connection& connection) const;
  void count_behind(const Connection& connection, const OutList& out, std::uint32_t size_before);
  std::uint32_t time_out(rpc::LateCall& call);
  std::uint32_t deliver(rpc::Post& post);
  std::uint32_t deliver(rpc::LateCall& call);
  void finish(rpc::LateCall& call);
  void tell(rpc::LateCall& call, std::string_view text, const rpc::Outcome& outcome);
  void tell_error(rpc::LateCall& call, rpc::ErrorCode code, std::string_view reason = {});
  bool add_reply(Exchange& exchange, rpc::LateCall& call, std::string_view text);
  enum class Added : std::uint8_t { yes, too_large, no_memory };
  Added add_text(Exchange& exchange, std::string_view text);
  bool complete(std::uint32_t place, std::string_view text, rpc::Outcome outcome);
  void remove(std::uint32_t place);
  void fail(Connection& connection);
  // Returns: where what an exchange says goes: behind those before it, where order is kept.
  OutList& out_before(const Exchange& exchange, Connection& connection) {
    const bool waits = exchange.previous != no_exchange && connection.protocol == Protocol::http;
    return waits ? exchanges_[exchange.previous].behind : connection.out;
  }
  [[nodiscard]] Responder::LateFrame frame_of(const Exchange& exchange) const {
    return {.protocol = options_.connections[exchange.connection].protocol,
            .last = exchange.last,
            .old_http = exchange.old_http};
  }

  // Notifications: late_events.cpp.
  std::uint32_t deliver(rpc::LateEvent& event);
  void forget(rpc::LateEvent& event);
  void drop_events(rpc::LateCall& call);
  bool has_room(const Connection& connection, const rpc::LateCall* call) const;
  bool has_memory(std::size_t size) const;
  std::uint32_t retry();
  bool pump(rpc::LateCall& call, Connection& connection);
  void write(rpc::LateCall& call, Connection& connection, std::string_view text);
  bool begin(Exchange& exchange, Connection& connection);
  void say_alive(Exchange& exchange, Connection& connection);

  // Publications: late_feed.cpp.
  Subscriptions::Added subscribe(rpc::LateCall& call, const rpc::TopicName& topic,
                                 WhenFull when_full);
  bool unsubscribe(rpc::LateCall& call, const rpc::TopicName& topic);
  void drop_subscription(std::uint32_t place);
  // Of one event stream, or of the whole connection.
  void drop_subscriptions(std::uint32_t connection, const rpc::LateCall* stream);
  void keep(Subscription& one, rpc::Publication* publication);
  void free_unkept(rpc::Publication* publication);
  void add_published(rpc::Publication& publication);
  void begin_fan();
  void end_fan();
  void drop_published();
  [[nodiscard]] bool is_worth_waiting(const Subscription& one) const;
  std::uint32_t fan_out();
  void find_no_room(Subscription& one, Connection& connection);
  void tell(Subscription& one, Connection& connection, std::string_view text);
  bool pump_subscriptions(Connection& connection);

  const Options options_;
  rpc::LateCalls* calls_ = nullptr;
  Exchanges exchanges_;
  base::ZeroedArray<ExchangeList> lists_;  // by connection
  Subscriptions subscriptions_;
  // Publications in order, through next_post; all of them only while somebody listens.
  rpc::Publication* published_first_ = nullptr;
  rpc::Publication* published_last_ = nullptr;
  rpc::Publication* fan_ = nullptr;  // is being given to its subscribers
  std::uint32_t fan_next_ = no_subscription;
  std::uint32_t streams_ = 0;
  bool stopping_ = false;
  // The fan waits for a subscriber to read; how long it may go on to, and when that was last
  // counted.
  bool fan_waits_ = false;
  std::int64_t patience_ns_ = limits::published_patience_ms * std::int64_t{1'000'000};
  std::uint64_t counted_ns_ = 0;
  std::int64_t each_left_ = 0;  // bytes that this delivery may still give to each subscriber
  std::int64_t turn_left_ = 0;  // and to all
  // Notifications that wait for memory, with nothing unsent before them, are looked at again.
  bool starved_ = false;
  std::uint64_t retry_ns_ = 0;    // when; 0: none waits
  std::uint32_t retry_slot_ = 0;  // the next one
};

}  // namespace ringrpc::serve
