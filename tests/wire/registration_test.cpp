// Goal: methods come and go while four workers serve them: each answer is one of a generation that
// could be current, readers wait for nobody, and what was replaced is freed. Method: one writer and
// several clients over HTTP, WebSocket and lines, on both backends; the writer keeps a history, and
// each client compares what it hears with the part of it that its call fell into.

#include <gtest/gtest.h>
#include <ringrpc/client.h>
#include <ringrpc/server.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <latch>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/wire/socket.h"

namespace ringrpc::testing {
namespace {

std::atomic<std::int64_t> made{0};
std::atomic<std::int64_t> ended{0};

// What a handler holds. Counted once, however often it is moved, and worthless once it has ended.
class State {
 public:
  explicit State(std::int64_t value) : value_(std::make_unique<std::int64_t>(value)) { ++made; }
  State(State&& other) noexcept = default;
  State& operator=(State&&) = delete;
  ~State() {
    if (value_ == nullptr) return;
    *value_ = -1;
    ++ended;
  }
  [[nodiscard]] std::int64_t value() const { return *value_; }

 private:
  std::unique_ptr<std::int64_t> value_;
};

constexpr std::size_t names = 6;
constexpr int error_no_method = -32601;

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::size_t changes = 600;
#else
constexpr std::size_t changes = 3000;
#endif

std::string name_of(std::size_t which) { return "method." + std::to_string(which); }

// Which methods there were after each change, and which generation of each; 0: not registered.
// Thread: the writer writes an entry, then moves `begun` past it, publishes, and moves `done`.
struct History {
  std::array<std::array<std::int64_t, names>, changes + 1> entries{};
  std::atomic<std::size_t> begun{0};
  std::atomic<std::size_t> done{0};
};

// The part of the history that a call fell into.
struct Span {
  std::size_t first;
  std::size_t last;
};

template <typename Fits>
bool fits_any(const History& history, Span span, Fits&& fits) {
  for (std::size_t i = span.first; i <= span.last; ++i) {
    if (fits(history.entries[i])) return true;
  }
  return false;
}

// Three kinds of handlers: at once, on the pool of threads, and a coroutine that waits.
void put(Server& server, std::size_t which, std::int64_t generation) {
  const std::string name = name_of(which);
  State state(generation);
  switch (which % 3) {
    case 0:
      server.method(name, [state = std::move(state)]() { return state.value(); });
      return;
    case 1:
      server.blocking(name, [state = std::move(state)]() { return state.value(); });
      return;
    default:
      server.method(name, [state = std::move(state)](Call& call) -> Co<std::int64_t> {
        const std::int64_t before = state.value();
        co_await call.after(1);
        co_return state.value() == before ? before : -2;
      });
  }
}

struct ListedMethod {
  std::string name;
};
struct Document {
  std::string openrpc;
  std::vector<ListedMethod> methods;
};

class Registration : public ::testing::TestWithParam<IoChoice> {
 protected:
  void SetUp() override {
    made = 0;
    ended = 0;
    Options options;
    options.listen = "127.0.0.1:0";
    options.more_listeners = {"tcp://127.0.0.1:0"};
    options.workers = 4;
    options.io = GetParam();
    options.pin = false;
    server_ = std::make_unique<Server>(options);
  }

  [[nodiscard]] std::string url(std::size_t transport) const {
    const std::string http = "127.0.0.1:" + std::to_string(server_->port(0)) + "/rpc";
    if (transport % 3 == 0) return "http://" + http;
    if (transport % 3 == 1) return "ws://" + http;
    return "tcp://127.0.0.1:" + std::to_string(server_->port(1));
  }

  // Changes one method after the other; keeps the history.
  void write(unsigned seed) {
    std::mt19937 random(seed);
    for (std::size_t i = 1; i <= changes; ++i) {
      auto& entry = history_.entries[i];
      entry = history_.entries[i - 1];
      const std::size_t which = random() % names;
      const bool removes = entry[which] != 0 && random() % 3 == 0;
      entry[which] = removes ? 0 : static_cast<std::int64_t>(i);
      history_.begun.store(i);
      if (removes) {
        if (!server_->remove(name_of(which))) ++bad_;
      } else {
        put(*server_, which, static_cast<std::int64_t>(i));
      }
      history_.done.store(i);
      // No more changes than calls: each of them has to be seen by somebody.
      const std::uint64_t calls = calls_.load();
      while (i % 8 == 0 && calls_.load() == calls && bad_.load() == 0) std::this_thread::yield();
    }
  }

  void call(Client& client, std::size_t which) {
    const std::size_t first = history_.done.load();
    const Answer<std::int64_t> answer = client.call<std::int64_t>(name_of(which));
    const Span span{first, history_.begun.load()};
    const bool none = answer.is_error() && answer.error().code == error_no_method;
    const bool right = (answer || none) && fits_any(history_, span, [&](const auto& entry) {
                         return entry[which] == (none ? 0 : *answer);
                       });
    if (right) {
      ++(none ? refused_ : answered_);
    } else if (++bad_ == 1) {
      ADD_FAILURE() << name_of(which) << " between changes " << span.first << " and " << span.last
                    << (answer ? " answers " + std::to_string(*answer)
                               : " fails: " + answer.sentence());
    }
  }

  void discover(Client& client) {
    const std::size_t first = history_.done.load();
    const Answer<Document> answer = client.call<Document>("rpc.discover");
    const Span span{first, history_.begun.load()};
    const bool right = answer && fits_any(history_, span, [&](const auto& entry) {
                         std::vector<std::string> there;
                         for (std::size_t i = 0; i < names; ++i) {
                           if (entry[i] != 0) there.push_back(name_of(i));
                         }
                         std::vector<std::string> listed;
                         for (const ListedMethod& one : answer->methods) listed.push_back(one.name);
                         return listed == there;
                       });
    if (right) {
      ++discovered_;
    } else if (++bad_ == 1) {
      ADD_FAILURE() << "rpc.discover between changes " << span.first << " and " << span.last << ": "
                    << (answer ? "a set that never was" : answer.sentence());
    }
  }

  void use(std::size_t number, unsigned seed) {
    Client client(url(number));
    std::mt19937 random(seed + static_cast<unsigned>(number));
    while (history_.done.load() < changes && bad_.load() == 0) {
      if (random() % 8 == 0) {
        discover(client);
      } else {
        call(client, random() % names);
      }
      ++calls_;
    }
  }

  // Replaces a method until nothing that it replaced is left: a worker may still be at the end of
  // the turn of its last answer.
  bool everything_is_freed(std::int64_t registered) {
    for (int i = 0; i < 20'000; ++i) {
      put(*server_, 0, 1);
      if (made.load() - ended.load() == registered) return true;
      std::this_thread::yield();
    }
    return false;
  }

  std::unique_ptr<Server> server_;
  History history_;
  std::atomic<std::uint64_t> calls_{0}, answered_{0}, refused_{0}, discovered_{0}, bad_{0};
};

TEST_P(Registration, MethodsComeAndGoWhileFourWorkersServeThem) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  ASSERT_TRUE(server_->start()) << server_->error();
  std::vector<std::thread> clients;
  for (std::size_t i = 0; i < 6; ++i) {
    clients.emplace_back([this, i, seed] { use(i, seed); });
  }
  write(seed);
  for (std::thread& one : clients) one.join();
  EXPECT_EQ(bad_.load(), 0u);
  EXPECT_GT(answered_.load(), 0u);
  EXPECT_GT(refused_.load(), 0u);
  EXPECT_GT(discovered_.load(), 0u);

  put(*server_, 0, 1);
  std::int64_t registered = 1;
  for (std::size_t i = 1; i < names; ++i) registered += history_.entries[changes][i] != 0 ? 1 : 0;
  EXPECT_TRUE(everything_is_freed(registered))
      << made.load() << " made, " << ended.load() << " ended, " << registered << " registered";
  EXPECT_EQ(server_->stop(), 0);
  server_.reset();
  EXPECT_EQ(made.load(), ended.load());
}

// Holds the thread that destroys it, which is the one that registers.
class Gate {
 public:
  Gate(std::latch& reached, std::latch& opened) : reached_(&reached), opened_(&opened) {}
  Gate(Gate&& other) noexcept
      : reached_(std::exchange(other.reached_, nullptr)), opened_(other.opened_) {}
  Gate& operator=(Gate&&) = delete;
  ~Gate() {
    if (reached_ == nullptr) return;
    reached_->count_down();
    opened_->wait();
  }

 private:
  std::latch* reached_;
  std::latch* opened_;
};

TEST_P(Registration, CallsGoOnWhileAWriterIsHeldUpInsideARegistration) {
  std::latch reached(1);
  std::latch opened(1);
  server_->method("held", [gate = Gate(reached, opened)]() { return 1; });
  server_->method("steady", [state = State(7)]() { return state.value(); });
  ASSERT_TRUE(server_->start()) << server_->error();
  // The old handler's end holds it: the new one is current, and method() has not returned.
  std::thread writer([&] {
    while (!reached.try_wait()) server_->method("held", []() { return 2; });
  });
  reached.wait();
  for (std::size_t transport = 0; transport < 3; ++transport) {
    // More connections than workers, so that each of them serves some.
    for (int connection = 0; connection < 8; ++connection) {
      Client client(url(transport));
      EXPECT_EQ(client.call_json("steady").json(), "7");
      EXPECT_EQ(client.call_json("held").json(), "2");
      const Answer<Document> document = client.call<Document>("rpc.discover");
      EXPECT_EQ(document ? document->methods.size() : 0, 2u) << document.sentence();
    }
  }
  // Other writers, the counters and the calls of this program are not held up either.
  server_->method("more", []() { return 3; });
  EXPECT_NE(server_->metrics().find("method=\"more\"} 0"), std::string::npos);
  std::string reply;
  server_->call(R"({"jsonrpc":"2.0","id":1,"method":"more"})", reply);
  EXPECT_EQ(reply, R"({"jsonrpc":"2.0","result":3,"id":1})");
  EXPECT_TRUE(server_->remove("more"));
  opened.count_down();
  writer.join();
  EXPECT_EQ(server_->stop(), 0);
}

INSTANTIATE_TEST_SUITE_P(Backends, Registration,
                         ::testing::Values(IoChoice::uring, IoChoice::epoll), [](const auto& one) {
                           return one.param == IoChoice::uring ? "Uring" : "Epoll";
                         });

}  // namespace
}  // namespace ringrpc::testing
