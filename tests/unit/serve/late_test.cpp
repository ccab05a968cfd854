// Goal: a call that is answered later is answered exactly once, by whoever holds its Deferred, and
// what it holds lives until then. Method: a server in memory, where a caller waits for the answer;
// other threads answer, drop, or outlive the server.

#include <gtest/gtest.h>
#include <ringrpc/limits.h>
#include <ringrpc/server.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/unit/serve/in_memory_calls.h"

namespace ringrpc {
namespace {

using testing::call;
using testing::limit_hits;
using testing::metric;
using testing::no_listener;
using testing::request;

// One thread that runs what it is given, in order.
class Worker {
 public:
  Worker() : thread_([this] { run(); }) {}
  ~Worker() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
      changed_.notify_all();
    }
    thread_.join();
  }
  void add(Deferred job) {
    std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
    changed_.notify_all();
  }
  void (*answer)(Deferred) = nullptr;

 private:
  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      Deferred job = std::move(jobs_.front());
      jobs_.erase(jobs_.begin());
      lock.unlock();
      answer(std::move(job));
      lock.lock();
    }
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Deferred> jobs_;
  bool stopping_ = false;
  std::thread thread_;
};

struct Views {
  std::string_view text;
  std::span<const std::int64_t> numbers;
  std::optional<Json> raw;
};

TEST(Late, AnotherThreadAnswersWithViewsThatStillLive) {
  Server server(no_listener());
  Worker worker;
  worker.answer = [](Deferred job) {
    Views in;
    if (job.decode(in)) job.answer(in);
  };
  server.method("views", [&worker](Call&, Deferred reply) { worker.add(std::move(reply)); });
  std::string numbers = "[1";
  for (int i = 2; i <= 300; ++i) numbers += "," + std::to_string(i);
  numbers += "]";
  const std::string params =
      R"({"text":"caf\u00e9 \n","numbers":)" + numbers + R"(,"raw":{"a":[1]}})";
  for (int i = 0; i < 50; ++i) {
    // The message's memory is another one's when the answer is made.
    std::string message = request("views", params);
    const std::string reply = call(server, message);
    ASSERT_EQ(reply, "{\"jsonrpc\":\"2.0\",\"result\":{\"text\":\"caf\xc3\xa9 \\n\",\"numbers\":" +
                         numbers + R"(,"raw":{"a":[1]}},"id":1})");
  }
  EXPECT_EQ(metric(server, "ringrpc_late_replies_total"), 50u);
}

TEST(Late, ManyThreadsCallAndManyAnswer) {
  Server server(no_listener());
  std::vector<Worker> workers(3);
  for (Worker& worker : workers) {
    worker.answer = [](Deferred job) { job.answer(std::string(job.call().id())); };
  }
  std::atomic<std::size_t> next{0};
  server.method("id", [&](Call&, Deferred reply) {
    workers[next.fetch_add(1) % workers.size()].add(std::move(reply));
  });
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&, c] {
      for (int i = 0; i < 300; ++i) {
        const std::string id = std::to_string(c * 1000 + i);
        const std::string reply =
            call(server, R"([{"jsonrpc":"2.0","id":)" + id + R"(,"method":"id"}])");
        if (reply != R"([{"jsonrpc":"2.0","result":")" + id + R"(","id":)" + id + "}]") ++wrong;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST(Late, AMovedDeferredAnswersOnceAndAnEmptyOneNever) {
  Server server(no_listener());
  server.method("move", [](Call&, Deferred reply) {
    Deferred other;
    EXPECT_FALSE(other);
    other = std::move(reply);
    EXPECT_FALSE(reply);  // NOLINT: what is left of it is defined.
    Deferred last(std::move(other));
    last.answer(true);
    EXPECT_FALSE(last);
  });
  EXPECT_EQ(call(server, request("move", "{}")), R"({"jsonrpc":"2.0","result":true,"id":1})");
}

TEST(Late, ADeferredThatIsReplacedIsDropped) {
  Server server(no_listener());
  server.method("replace", [](Call&, Deferred reply) { reply = Deferred(); });
  EXPECT_EQ(call(server, request("replace", "{}")),
            R"({"jsonrpc":"2.0","error":{"code":-32603,"message":"Internal error"},"id":1})");
  EXPECT_EQ(metric(server, "ringrpc_calls_unanswered_total"), 1u);
}

TEST(Late, ARawReplyIsWrittenByHand) {
  Server server(no_listener());
  server.method("raw", [](Deferred reply) {
    JsonWriter& out = reply.reply().result();
    out.begin_array();
    for (int i = 0; i < 1000; ++i) out.integer(i);
    out.end_array();
    reply.send();
  });
  const std::string reply = call(server, request("raw", "{}"));
  EXPECT_TRUE(reply.starts_with(R"({"jsonrpc":"2.0","result":[0,1,2,)")) << reply;
  EXPECT_TRUE(reply.ends_with(R"(,998,999],"id":1})")) << reply;
}

TEST(Late, ATimerAnswersWithoutAThread) {
  Server server(no_listener());
  server.method("wait", [](Deferred reply) {
    std::move(reply).after(2, [](Deferred woken) {
      EXPECT_FALSE(woken.stop_requested());
      std::move(woken).after(1, [](Deferred again) { again.answer("done"); });
    });
  });
  EXPECT_EQ(call(server, request("wait", "{}")), R"({"jsonrpc":"2.0","result":"done","id":1})");
}

TEST(Late, ADeadlineAnswersAndTheLateReplyIsDropped) {
  Options options = no_listener();
  options.call_timeout_ms = 1;
  Server server(options);
  Deferred kept;
  StopReason seen = StopReason::none;
  server.method("keep", [&kept](Deferred reply) { kept = std::move(reply); });
  server.method("slow", [&seen](Deferred reply) {
    std::move(reply).after(3'600'000, [&seen](Deferred woken) {
      seen = woken.stop_reason();
      woken.stop();
    });
  });
  server.method(
      "own.time",
      [](Deferred reply) { std::move(reply).after(5, [](Deferred woken) { woken.answer(1); }); },
      {.timeout_ms = 3'600'000});
  const std::string late = R"({"jsonrpc":"2.0","error":{"code":-31003,"message":"Timed out",)"
                           R"("data":{"reason":"deadline"}},"id":1})";
  EXPECT_EQ(call(server, request("keep", "{}")), late);
  EXPECT_TRUE(kept.stop_requested());
  kept.answer(7);
  EXPECT_EQ(call(server, request("slow", "{}")), late);
  EXPECT_EQ(seen, StopReason::timed_out);
  EXPECT_EQ(call(server, request("own.time", "{}")), R"({"jsonrpc":"2.0","result":1,"id":1})");
  EXPECT_EQ(metric(server, "ringrpc_replies_dropped_total"), 2u);
}

TEST(Late, ADeferredMayOutliveItsServer) {
  Deferred kept;
  {
    Options options = no_listener();
    options.call_timeout_ms = 1;
    Server server(options);
    server.method("keep", [&kept](Deferred reply) { kept = std::move(reply); });
    call(server, request("keep", R"({"a":"b"})"));
  }
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept.call().params().raw(), R"({"a":"b"})");
  kept.answer(std::string(10'000, 'x'));
}

TEST(Late, WhatWaitsForATimerIsDestroyedWithItsServer) {
  struct Noted {
    explicit Noted(int* count) : count_(count) { ++*count_; }
    Noted(Noted&& source) noexcept : count_(std::exchange(source.count_, nullptr)) {}
    ~Noted() {
      if (count_ != nullptr) --*count_;
    }
    int* count_;
  };
  int alive = 0;
  {
    Options options = no_listener();
    Server server(options);
    server.method("sleep", [&alive](Deferred reply) {
      std::move(reply).after(3'600'000, [noted = Noted(&alive)](Deferred) {});
    });
    // A notification, so that nobody waits for it.
    EXPECT_EQ(call(server, R"({"jsonrpc":"2.0","method":"sleep"})"), "");
    EXPECT_EQ(alive, 1);
  }
  EXPECT_EQ(alive, 0);
}

TEST(Late, AMethodThatIsRemovedLivesUntilItsCallsEnd) {
  struct Life {
    ~Life() { *ended = true; }
    bool* ended;
  };
  bool ended = false;
  std::mutex mutex;
  std::condition_variable changed;
  bool go_on = false;
  Server server(no_listener());
  auto life = std::make_shared<Life>(Life{&ended});
  ended = false;
  server.blocking("long", [&, life]() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return go_on; });
    return !*life->ended;
  });
  life.reset();
  std::string reply;
  std::thread caller([&] { reply = call(server, request("long", "{}")); });
  while (metric(server, "ringrpc_late_calls_total") == 0) std::this_thread::yield();
  EXPECT_TRUE(server.remove("long"));
  server.method("other", [] {});
  EXPECT_FALSE(ended);
  {
    std::lock_guard lock(mutex);
    go_on = true;
    changed.notify_all();
  }
  caller.join();
  EXPECT_EQ(reply, R"({"jsonrpc":"2.0","result":true,"id":1})");
  // Whoever registers next takes the dead away.
  server.method("another", [] {});
  EXPECT_TRUE(ended);
}

TEST(Late, ABlockingHandlerThatDoesNotEndOutlivesItsServer) {
  std::mutex mutex;
  std::condition_variable changed;
  bool entered = false;
  bool go_on = false;
  bool ended = false;
  {
    Options options = no_listener();
    options.stop_timeout_ms = 20;
    Server server(options);
    server.blocking("block", [&](Call& running) {
      std::unique_lock lock(mutex);
      entered = true;
      changed.notify_all();
      changed.wait(lock, [&] { return go_on; });
      ended = running.params().raw() == "[1]";
      changed.notify_all();
    });
    // Nobody waits for a notification.
    EXPECT_EQ(call(server, R"({"jsonrpc":"2.0","method":"block","params":[1]})"), "");
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return entered; });
  }
  std::unique_lock lock(mutex);
  go_on = true;
  changed.notify_all();
  changed.wait(lock, [&] { return ended; });
}

TEST(Late, OneCallTooManyIsRefusedBeforeItsHandler) {
  Options options = no_listener();
  options.in_flight_per_connection_max = 2;
  Server server(options);
  int started = 0;
  server.method("wait", [&started](Deferred reply) {
    ++started;
    std::move(reply).after(1, [](Deferred woken) { woken.answer(); });
  });
  const std::string one = R"({"jsonrpc":"2.0","id":1,"method":"wait"})";
  const std::string reply = call(server, "[" + one + "," + one + "," + one + "]");
  EXPECT_EQ(started, 2);
  EXPECT_EQ(reply,
            R"([{"jsonrpc":"2.0","error":{"code":-31001,"message":"Overloaded","data":)"
            R"({"reason":"in_flight_per_connection","retryAfterMs":1000}},"id":1},)"
            R"({"jsonrpc":"2.0","result":null,"id":1},{"jsonrpc":"2.0","result":null,"id":1}])");
  EXPECT_EQ(limit_hits(server, "in_flight_per_connection"), 1u);
  EXPECT_EQ(limit_hits(server, "in_flight"), 0u);
}

// The reason in an error's data is the name that the limit has in the metrics.
TEST(Late, OneCallTooManyOfAWorkerIsRefusedForAReasonOfItsOwn) {
  Options options = no_listener();
  options.in_flight_max = 1;
  Server server(options);
  server.method("wait", [](Deferred reply) {
    std::move(reply).after(1, [](Deferred woken) { woken.answer(); });
  });
  const std::string reply = call(server, "[" + request("wait") + "," + request("wait") + "]");
  EXPECT_EQ(reply, R"([{"jsonrpc":"2.0","error":{"code":-31001,"message":"Overloaded","data":)"
                   R"({"reason":"in_flight","retryAfterMs":1000}},"id":1},)"
                   R"({"jsonrpc":"2.0","result":null,"id":1}])");
  EXPECT_EQ(limit_hits(server, "in_flight"), 1u);
  EXPECT_EQ(limit_hits(server, "in_flight_per_connection"), 0u);
}

TEST(Late, ParamsThatFindNoMemoryAreRefusedForThatReason) {
  Options options = no_listener();
  options.late_memory_size_max = limits::late_memory_size_max_min;
  Server server(options);
  server.method("wait", [](Deferred reply) { reply.answer(); });
  const std::string large = "[\"" + std::string(limits::late_memory_size_max_min, 'x') + "\"]";
  EXPECT_EQ(call(server, request("wait", large)),
            R"({"jsonrpc":"2.0","error":{"code":-31001,"message":"Overloaded","data":)"
            R"({"reason":"late_memory","retryAfterMs":1000}},"id":1})");
  EXPECT_EQ(limit_hits(server, "late_memory"), 1u);
  EXPECT_EQ(call(server, request("wait")), R"({"jsonrpc":"2.0","result":null,"id":1})");
}

TEST(Late, RepliesOverTheLimitAreErrors) {
  Options options = no_listener();
  options.reply_size_max = 4096;
  Server server(options);
  struct Size {
    std::uint32_t bytes;
  };
  server.method("blob",
                [](const Size& in, Deferred reply) { reply.answer(std::string(in.bytes, 'x')); });
  // {"jsonrpc":"2.0","result":"","id":1} is 36 bytes.
  EXPECT_EQ(call(server, request("blob", "[4060]")).size(), 4096u);
  const std::string over = R"({"jsonrpc":"2.0","error":{"code":-31004,"message":"Reply too large",)"
                           R"("data":{"reason":"reply_size_max"}},"id":1})";
  EXPECT_EQ(call(server, request("blob", "[4061]")), over);
  EXPECT_EQ(call(server, request("blob", "[400000]")), over);
  const std::string batch =
      call(server, "[" + request("blob", "[3000]") + "," + request("blob", "[3000]") + "]");
  EXPECT_EQ(batch.size(), 3036 + over.size() + 3);
}

TEST(Late, BlockingCallsThatWaitAreHeldToBlockingQueueMax) {
  constexpr int most = 3;
  Options options = no_listener();
  options.blocking_threads = 1;
  options.blocking_queue_max = most;
  // They outlive the notifications' jobs.
  std::mutex mutex;
  std::condition_variable changed;
  int entered = 0;
  bool go_on = false;
  Server server(options);
  server.blocking("block", [&]() {
    std::unique_lock lock(mutex);
    ++entered;
    changed.notify_all();
    changed.wait(lock, [&] { return go_on; });
    return true;
  });
  const auto wait_for = [&](int count) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return entered == count; });
  };
  const std::string notification = R"({"jsonrpc":"2.0","method":"block"})";
  EXPECT_EQ(call(server, notification), "");
  wait_for(1);
  for (int i = 0; i < most; ++i) EXPECT_EQ(call(server, notification), "");
  EXPECT_EQ(limit_hits(server, "blocking_queue"), 0u);
  EXPECT_NE(call(server, request("block", "{}")).find("-31001"), std::string::npos);
  EXPECT_EQ(limit_hits(server, "blocking_queue"), 1u);
  {
    std::lock_guard lock(mutex);
    go_on = true;
    changed.notify_all();
  }
  wait_for(1 + most);
  EXPECT_EQ(call(server, request("block", "{}")), R"({"jsonrpc":"2.0","result":true,"id":1})");
}

TEST(Late, BlockingHandlersRunElsewhereAndOneTooManyIsRefused) {
  Options options = no_listener();
  options.blocking_threads = 1;
  options.blocking_queue_max = 1;
  // They outlive the notification's job.
  std::mutex mutex;
  std::condition_variable changed;
  int entered = 0;
  bool go_on = false;
  Server server(options);
  const std::thread::id mine = std::this_thread::get_id();
  server.blocking("block", [&]() {
    std::unique_lock lock(mutex);
    ++entered;
    changed.notify_all();
    changed.wait(lock, [&] { return go_on; });
    return std::this_thread::get_id() != mine;
  });
  std::string reply;
  std::thread first([&] { reply = call(server, request("block", "{}")); });
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return entered == 1; });
  }
  // A notification waits in the queue without its caller.
  EXPECT_EQ(call(server, R"({"jsonrpc":"2.0","method":"block"})"), "");
  EXPECT_EQ(call(server, request("block", "{}")),
            R"({"jsonrpc":"2.0","error":{"code":-31001,"message":"Overloaded","data":)"
            R"({"reason":"blocking_queue","retryAfterMs":1000}},"id":1})");
  EXPECT_EQ(limit_hits(server, "blocking_queue"), 1u);
  {
    std::lock_guard lock(mutex);
    go_on = true;
    changed.notify_all();
  }
  first.join();
  EXPECT_EQ(reply, R"({"jsonrpc":"2.0","result":true,"id":1})");
}

}  // namespace
}  // namespace ringrpc
