#include "tests/sim/late_methods.h"

#include <ringrpc/co_stream.h>

#include <memory>
#include <utility>

#include "tests/support/add_method.h"
#include "tests/support/server_door.h"

namespace ringrpc::sim {
namespace {

constexpr std::uint32_t topics_count = 3;

struct Later {
  std::string tag;
  std::uint32_t ms;
};
struct Waits {
  std::string tag;
  std::uint32_t times;
  std::uint32_t ms;
};
// How: 0 an answer, 1 an error, else none.
struct Elsewhere {
  std::string tag;
  std::uint32_t how;
};
struct Ticks {
  std::string tag;
  std::uint32_t count;
  std::uint32_t ms;
  std::uint32_t size;
};
struct Topic {
  std::string topic;
};
struct Tick {
  std::string_view tag;
  std::uint32_t n;
  std::string pad;
};
struct Ticked {
  std::string_view tag;
  std::uint32_t n;
};
struct Published {
  std::string_view topic;
  std::uint64_t n;
};

void tick(Stream stream, std::uint32_t said, std::unique_ptr<Ticks> in) {
  while (said < in->count) {
    if (stream.stop_requested()) return stream.stop();
    if (stream.notify("tick", Tick{in->tag, said + 1, std::string(in->size, 'x')}) ==
        Sent::no_room) {
      return std::move(stream).when_room([said, in = std::move(in)](Stream woken) mutable {
        tick(std::move(woken), said, std::move(in));
      });
    }
    ++said;
    const std::uint32_t ms = in->ms;
    if (ms == 0) continue;
    return std::move(stream).after(ms, [said, in = std::move(in)](Stream woken) mutable {
      tick(std::move(woken), said, std::move(in));
    });
  }
  stream.answer(Ticked{in->tag, said});
}

Co<Result<std::string>> wait_often(Call& call, Waits in) {
  for (std::uint32_t i = 0; i < in.times; ++i) {
    if (!co_await call.after(in.ms)) co_return stop_error(call.stop_reason());
  }
  co_return in.tag;
}

Co<Result<Ticked>> count_up(Call& call, Ticks in, CoStream stream) {
  for (std::uint32_t n = 1; n <= in.count; ++n) {
    const Tick next{in.tag, n, std::string(in.size, 'x')};
    Sent sent = Sent::no_room;
    while (sent == Sent::no_room) sent = co_await stream.send("tick", next);  // No memory: again.
    if (sent == Sent::stopped || !co_await call.after(in.ms)) {
      co_return stop_error(call.stop_reason());
    }
  }
  co_return Ticked{in.tag, in.count};
}

// Feeds need a server, which lends them its hub.
Server& lender() {
  static Server server(Options{.listen = ""});
  return server;
}

}  // namespace

LateMethods::LateMethods() : feed_(lender(), {.when_full = WhenFull::drop}) {}

serve::Hub& LateMethods::hub() { return *testing::shared_of(lender()).hub; }

void LateMethods::add(rpc::Registry& registry, std::uint32_t which) {
  switch (which) {
    case 0:
      return testing::add_method(registry, "later", [](const Later& in, Deferred reply) {
        std::move(reply).after(in.ms, [](Deferred woken) {
          Later again;
          if (woken.stop_requested()) return woken.stop();
          if (woken.decode(again)) woken.answer(again.tag);
        });
      });
    case 1:
      return testing::add_method(registry, "waits", &wait_often);
    case 2:
      return testing::add_method(registry, "elsewhere", [this](const Elsewhere&, Deferred reply) {
        held_.push_back(std::move(reply));
      });
    case 3:
      return testing::add_method(registry, "ticks", [](const Ticks& in, Stream stream) {
        tick(std::move(stream), 0, std::make_unique<Ticks>(in));
      });
    case 4:
      return testing::add_method(registry, "counts", &count_up);
    case 5:
      return testing::add_method(registry, "subscribe", [this](const Topic& in, Stream stream) {
        feed_.subscribe(std::move(stream), in.topic);
      });
    default:
      return testing::add_method(registry, "unsubscribe", [this](const Topic& in, Stream stream) {
        feed_.unsubscribe(std::move(stream), in.topic);
      });
  }
}

bool LateMethods::answer_one(std::mt19937_64& random) {
  if (held_.empty()) return false;
  std::swap(held_[random() % held_.size()], held_.back());
  Deferred reply = std::move(held_.back());
  held_.pop_back();
  Elsewhere in;
  if (reply.stop_requested()) {
    reply.stop();
  } else if (reply.decode(in)) {
    if (in.how == 0) reply.answer(in.tag);
    if (in.how == 1) reply.error(1001, "failed");
  }
  return true;
}

void LateMethods::publish(std::mt19937_64& random) {
  const std::string topic = "t" + std::to_string(random() % topics_count);
  feed_.publish(topic, "published", Published{topic, ++publications_[topic]});
}

}  // namespace ringrpc::sim
