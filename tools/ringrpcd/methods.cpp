#include "tools/ringrpcd/methods.h"

#include <ringrpc/feed.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace ringrpcd {
namespace {

// Codes of this application, outside the range that JSON-RPC keeps for itself.
constexpr int code_failed = 1001;
constexpr int code_overflow = 1002;

struct Sum {
  std::int64_t a;
  std::int64_t b;
};

struct OrderId {
  ringrpc::Json orderId;  // any token, given back as it came
};

struct Order {
  ringrpc::Json orderId;
  std::string_view status;
};

struct Blob {
  std::uint64_t bytes;
};

struct Sleep {
  std::uint32_t ms;
};

// Answers null when the time has passed, without holding the worker meanwhile.
void sleep_for(const Sleep& in, ringrpc::Deferred reply) {
  std::move(reply).after(in.ms, [](ringrpc::Deferred woken) {
    if (woken.stop_requested()) {
      woken.stop();
    } else {
      woken.answer();
    }
  });
}

struct Ticks {
  std::uint32_t count;
  std::uint32_t ms;
};

struct Tick {
  std::uint32_t n;
};

// Says `tick` every so often, and how often at the end.
void tick(ringrpc::Stream stream, std::uint32_t done, Ticks in) {
  if (stream.stop_requested()) return stream.stop();
  if (done == in.count) return stream.answer(in.count);
  std::move(stream).after(in.ms, [done, in](ringrpc::Stream woken) {
    if (!woken.stop_requested()) woken.notify("tick", Tick{.n = done + 1});
    tick(std::move(woken), done + 1, in);
  });
}

struct Topic {
  std::string topic;
};

struct Publish {
  std::string topic;
  ringrpc::Json value;
};

struct FeedEvent {
  std::string_view topic;
  ringrpc::Json value;
};

void add_feed(ringrpc::Server& server) {
  // Lives as long as the methods that use it.
  const auto feed = std::make_shared<ringrpc::Feed>(server);
  server.method("feed.subscribe", [feed](const Topic& in, ringrpc::Stream stream) {
    feed->subscribe(std::move(stream), in.topic);
  });
  server.method("feed.unsubscribe", [feed](const Topic& in, ringrpc::Stream stream) {
    feed->unsubscribe(std::move(stream), in.topic);
  });
  server.method("feed.publish", [feed](const Publish& in) {
    const FeedEvent event{.topic = in.topic, .value = in.value};
    return feed->publish(in.topic, "feed.event", event) == ringrpc::Sent::yes;
  });
}

void echo(ringrpc::Call& call, ringrpc::Reply& reply) {
  const ringrpc::JsonValue params = call.params();
  if (params.exists()) {
    reply.result().raw(params.raw());
  } else {
    reply.result().null();
  }
}

ringrpc::Result<std::int64_t> sum(const Sum& in) {
  std::int64_t total = 0;
  if (__builtin_add_overflow(in.a, in.b, &total)) {
    return ringrpc::Error{.code = code_overflow, .message = "Overflow"};
  }
  return total;
}

}  // namespace

void add_methods(ringrpc::Server& server, std::uint32_t reply_size_max) {
  server.method("echo", echo);
  server.method("sum", sum);
  server.method("orders.get", [](const OrderId& in) {
    return Order{.orderId = in.orderId, .status = "shipped"};
  });
  server.method("sleep", sleep_for);
  server.method("ticks",
                [](const Ticks& in, ringrpc::Stream stream) { tick(std::move(stream), 0, in); });
  add_feed(server);
  server.method("blob", [reply_size_max](ringrpc::Call& call, const Blob& in) {
    // What is larger than any reply is refused by the engine; it need not be larger still. Nobody
    // waits for the blob of a notification.
    const std::uint64_t bytes = call.is_notification() ? 0 : in.bytes;
    return std::string(std::min<std::uint64_t>(bytes, reply_size_max), 'x');
  });
  server.method("fail", []() -> ringrpc::Result<std::int64_t> {
    return ringrpc::Error{
        .code = code_failed, .message = "Failed as asked", .data = R"({"reason":"demo"})"};
  });
  server.method("crash", []() -> std::int64_t { throw std::runtime_error("crash was called"); });
  server.method("jobs.progress", [](ringrpc::Call&) {});
  server.method("stats.calls", [&server](ringrpc::Call&, ringrpc::Reply& reply) {
    reply.result().raw(server.calls_json());
  });
}

}  // namespace ringrpcd
