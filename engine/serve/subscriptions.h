#pragma once

// Who of one worker's connections listens to what.

#include <ringrpc/stream.h>

#include <atomic>
#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "engine/base/memory.h"
#include "engine/base/status.h"
#include "engine/rpc/publication.h"

namespace ringrpc::serve {

inline constexpr std::uint32_t no_subscription = 0;

// One listener of one topic. All zero is a free place.
struct Subscription {
  std::uint32_t next_of_topic;
  std::uint32_t previous_of_topic;
  std::uint32_t next_of_connection;  // or the next free place
  std::uint32_t connection;          // its slot
  const rpc::TopicName* topic;       // where the table keeps it
  rpc::LateCall* stream;             // over HTTP: the call whose event stream it is
  rpc::Publication* latest;          // which found no room; the subscription's share of it
  WhenFull when_full;
  bool slow = false;  // it found no room when it was last looked at
};

struct TopicHash {
  std::size_t operator()(const rpc::TopicName& topic) const {
    return std::hash<std::string_view>()(topic.name) ^ (std::size_t{topic.feed} << 32);
  }
};

// Owns:   the places, and a topic for as long as somebody listens to it.
// Thread: the worker's, but for count().
class Subscriptions {
 public:
  // Fails: no memory.
  base::Status start(std::uint32_t connections_max, std::uint32_t subscriptions_max);

  enum class Added : std::uint8_t { yes, already, full };
  Added add(std::uint32_t connection, rpc::LateCall* stream, const rpc::TopicName& topic,
            WhenFull when_full);
  // Returns: the subscription of a connection itself, not of one of its streams; none if it has
  // none.
  [[nodiscard]] std::uint32_t find(std::uint32_t connection, const rpc::TopicName& topic) const;
  // Requires: it keeps no publication.
  void remove(std::uint32_t subscription);

  // The lists.
  [[nodiscard]] std::uint32_t first_of(const rpc::TopicName& topic) const;
  [[nodiscard]] std::uint32_t first_of(std::uint32_t connection) const {
    return connections_[connection].first;
  }
  Subscription& operator[](std::uint32_t place) { return places_[place]; }
  const Subscription& operator[](std::uint32_t place) const { return places_[place]; }

  // Thread: any.
  [[nodiscard]] const std::atomic<std::uint32_t>& count() const { return count_; }
  [[nodiscard]] std::uint32_t taken() const { return count_.load(std::memory_order_relaxed); }

 private:
  struct Held {
    std::uint32_t first;
    std::uint32_t count;
  };

  base::ZeroedArray<Subscription> places_;
  base::ZeroedArray<Held> connections_;
  std::unordered_map<rpc::TopicName, std::uint32_t, TopicHash> topics_;  // the first of each
  std::uint32_t places_max_ = 0;
  std::uint32_t made_ = 0;
  std::uint32_t free_ = no_subscription;
  std::atomic<std::uint32_t> count_{0};
};

}  // namespace ringrpc::serve
