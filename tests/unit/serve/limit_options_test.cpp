// Goal: each limit can be changed within its bounds, and a value outside of them ends the start
// with
//       exit code 2 and a sentence that names it.
// Method: a server without a listener, one option at a time: below, at, and above its bounds.

#include <gtest/gtest.h>
#include <ringrpc/server.h>

#include <cstdint>
#include <string>

namespace ringrpc {
namespace {

struct Bounded {
  const char* name;
  std::uint32_t Options::* option;
  std::uint64_t least;
  std::uint64_t most;
};

constexpr std::uint64_t no_bound = 0xFFFFFFFF;

const Bounded all[] = {
    {"connections_max", &Options::connections_max, 1, limits::connections_max_max},
    {"receive_buffers", &Options::receive_buffers, 2, limits::receive_buffers_max},
    {"message_size_max", &Options::message_size_max, limits::message_size_max_min,
     limits::message_size_max_max},
    {"reply_size_max", &Options::reply_size_max, limits::reply_size_max_min,
     limits::reply_size_max_max},
    {"batch_length_max", &Options::batch_length_max, 1, limits::batch_length_max_max},
    {"head_size_max", &Options::head_size_max, limits::head_size_max_min, limits::head_size_max},
    {"head_fields_max", &Options::head_fields_max, limits::head_fields_max_min,
     limits::head_fields_max},
    {"target_size_max", &Options::target_size_max, limits::target_size_max_min,
     limits::target_size_max},
    {"partial_pool_size", &Options::partial_pool_size,
     2 * limits::message_size_max + 2 * limits::head_size_max, limits::partial_pool_size_max},
    {"drain_size_max", &Options::drain_size_max, 0, limits::drain_size_max_max},
    {"head_timeout_ms", &Options::head_timeout_ms, limits::timeout_ms_min, limits::timeout_ms_max},
    {"idle_timeout_ms", &Options::idle_timeout_ms, limits::timeout_ms_min, limits::timeout_ms_max},
    {"body_grace_ms", &Options::body_grace_ms, limits::timeout_ms_min, limits::timeout_ms_max},
    {"body_rate_min", &Options::body_rate_min, limits::body_rate_min_min,
     limits::body_rate_min_max},
    {"stall_timeout_ms", &Options::stall_timeout_ms, limits::timeout_ms_min,
     limits::timeout_ms_max},
    {"linger_timeout_ms", &Options::linger_timeout_ms, limits::timeout_ms_min,
     limits::timeout_ms_max},
    {"stop_timeout_ms", &Options::stop_timeout_ms, 0, limits::timeout_ms_max},
    {"drain_delay_ms", &Options::drain_delay_ms, 0, limits::timeout_ms_max},
};

Options without_listener() {
  return {.listen = "", .workers = 1, .io = IoChoice::epoll, .pin = false};
}

void expect_refused(const Options& options, const char* name) {
  Server server(options);
  EXPECT_FALSE(server.start()) << name;
  EXPECT_EQ(server.exit_code(), 2) << name;
  EXPECT_EQ(server.error().find(std::string(name) + " is "), 0u) << server.error();
  EXPECT_NE(server.error().find("must be between"), std::string::npos) << server.error();
}

void expect_taken(Options options, const Bounded& bounded, std::uint64_t value) {
  options.*bounded.option = static_cast<std::uint32_t>(value);
  // The largest messages want their room in the pool too.
  if (bounded.option == &Options::message_size_max) {
    options.partial_pool_size = limits::partial_pool_size_max;
  }
  Server server(options);
  EXPECT_TRUE(server.start()) << bounded.name << " " << value << ": " << server.error();
  EXPECT_EQ(server.stop(), 0) << bounded.name << " " << value;
}

}  // namespace

TEST(LimitOptionsTest, ALimitOutsideOfItsBoundsIsRefusedWithASentence) {
  for (const Bounded& bounded : all) {
    Options options = without_listener();
    if (bounded.least > 0) {
      options.*bounded.option = static_cast<std::uint32_t>(bounded.least - 1);
      expect_refused(options, bounded.name);
    }
    ASSERT_LT(bounded.most, no_bound) << bounded.name;
    options.*bounded.option = static_cast<std::uint32_t>(bounded.most + 1);
    expect_refused(options, bounded.name);
  }
}

TEST(LimitOptionsTest, ALimitAtItsBoundsIsTaken) {
  for (const Bounded& bounded : all) {
    // A stop within no time is forced, which its own test holds.
    if (bounded.option != &Options::stop_timeout_ms) {
      expect_taken(without_listener(), bounded, bounded.least);
    }
    expect_taken(without_listener(), bounded, bounded.most);
  }
}

TEST(LimitOptionsTest, WorkersAndPollingHaveTheirBoundsToo) {
  Options options = without_listener();
  options.workers = limits::workers_max + 1;
  expect_refused(options, "workers");
  options.workers = 1;
  options.spin_us = limits::spin_us_max + 1;
  expect_refused(options, "spin_us");
}

TEST(LimitOptionsTest, ThePoolHoldsTwoOfTheLargestMessages) {
  Options options = without_listener();
  options.message_size_max = 1u << 20;
  options.partial_pool_size = (2u << 20) + 2 * limits::head_size_max - 1;
  expect_refused(options, "partial_pool_size");
}

}  // namespace ringrpc
