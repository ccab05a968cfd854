#include "tests/spec/late_methods.h"

#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ringrpc::testing {
namespace {

struct Key {
  std::string key;
};

struct Release {
  std::string key;
  Json result;
};

struct Said {
  Json value;
};

struct Say {
  std::string key;
  Json value;
};

struct Pour {
  std::uint32_t count;
  std::uint32_t size;
};

struct Poured {
  std::uint32_t n;
  std::string_view text;
};

// So many notifications of that size, each when there is room for it.
void pour(Stream stream, std::uint32_t done, Pour in) {
  const std::string text(in.size, 'x');
  for (; done < in.count && !stream.stop_requested(); ++done) {
    if (stream.notify("poured", Poured{.n = done + 1, .text = text}) != Sent::no_room) continue;
    return std::move(stream).when_room(
        [done, in](Stream woken) { pour(std::move(woken), done, in); });
  }
  stream.stop_requested() ? stream.stop() : stream.answer(in.count);
}

// The calls that are held, by key. Thread: any.
class Held {
 public:
  void put(const std::string& key, Stream reply) {
    std::lock_guard lock(mutex_);
    calls_[key] = std::move(reply);
  }
  Stream take(const std::string& key) {
    std::lock_guard lock(mutex_);
    const auto found = calls_.find(key);
    if (found == calls_.end()) return {};
    Stream reply = std::move(found->second);
    calls_.erase(found);
    return reply;
  }
  // Returns: what became of a notification on the call that is held under that key.
  std::string say(const std::string& key, const Said& what) {
    std::lock_guard lock(mutex_);
    const auto found = calls_.find(key);
    if (found == calls_.end()) return "nobody";
    switch (found->second.notify("said", what)) {
      case Sent::yes:
        return "sent";
      case Sent::no_room:
        return "no room";
      case Sent::unwanted:
        return "unwanted";
      case Sent::invalid:
        return "invalid";
      case Sent::stopped:
        break;
    }
    return "stopped";
  }

 private:
  std::mutex mutex_;
  std::map<std::string, Stream> calls_;
};

void add_held(Server& server) {
  const auto held = std::make_shared<Held>();
  server.method("hold", [held](const Key& in, Deferred reply) {
    held->put(in.key, Stream(std::move(reply)));
  });
  server.method("open",
                [held](const Key& in, Stream stream) { held->put(in.key, std::move(stream)); });
  server.method("say", [held](const Say& in) { return held->say(in.key, {.value = in.value}); });
  server.method("release", [held](const Release& in) {
    Stream reply = held->take(in.key);
    if (!reply) return false;
    reply.answer(in.result);
    return true;
  });
  server.method("drop", [held](const Key& in) { return static_cast<bool>(held->take(in.key)); });
}

}  // namespace

void add_late(Server& server) {
  add_held(server);
  server.method("pour", [](const Pour& in, Stream stream) { pour(std::move(stream), 0, in); });
  server.method("throw.holding", [](Deferred) { throw std::runtime_error("as asked"); });
  server.method("throw.later", [](Deferred reply) {
    std::move(reply).after(1, [](Deferred) { throw std::runtime_error("as asked, later"); });
  });
  server.method("at.once", [](const Key& in, Deferred reply) { reply.answer(in.key); });
  server.method("fail.later", [](Deferred reply) {
    reply.error(1001, "Failed as asked", R"({"reason":"demo"})");
  });
  server.method("nan.later", [](Deferred reply) { reply.answer(0.0 / 0.0); });
  server.method("head.later", [](Call&, Deferred reply) {
    std::move(reply).after(0, [](Deferred woken) {
      Key in;
      if (!woken.decode(in)) return;
      const Head& head = woken.call().head();
      woken.answer(std::vector<std::string_view>{head.method(), head.path(), head.field(in.key)});
    });
  });
  server.blocking("blocking.echo", [](const Key& in) { return in.key; });
  server.blocking("blocking.throw", []() -> bool { throw std::runtime_error("on its thread"); });
}

}  // namespace ringrpc::testing
