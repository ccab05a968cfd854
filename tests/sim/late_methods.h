#pragma once

// Methods that answer later, whose answers say who asked: the tag that each is called with.

#include <ringrpc/async.h>
#include <ringrpc/feed.h>

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "engine/rpc/table.h"
#include "engine/serve/hub.h"

namespace ringrpc::sim {

// How many publications each topic has had; they are numbered from 1.
using Publications = std::map<std::string, std::uint64_t>;

// Thread: one. Lifetime: may end before its worker, or behind it.
class LateMethods {
 public:
  static constexpr std::uint32_t count = 7;

  LateMethods();

  // later {tag, ms}, waits {tag, times, ms} (a coroutine), elsewhere {tag, how}, ticks {tag, count,
  // ms, size} and counts (the same as a coroutine), subscribe and unsubscribe {topic}.
  void add(rpc::Registry& registry, std::uint32_t which);

  // What another thread would do: answers one of the calls that wait for it.
  // Returns: whether there was one.
  bool answer_one(std::mt19937_64& random);
  // Publishes on one of the topics.
  void publish(std::mt19937_64& random);

  [[nodiscard]] const Publications& publications() const { return publications_; }
  [[nodiscard]] static serve::Hub& hub();

 private:
  std::vector<Deferred> held_;
  Publications publications_;
  Feed feed_;
};

}  // namespace ringrpc::sim
