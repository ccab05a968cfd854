#include "tests/spec/co_methods.h"

#include <fcntl.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace ringrpc::testing {
namespace {

struct Key {
  std::string key;
};

struct Number {
  std::int64_t n;
};

struct Wake {
  std::string key;
  Json result;
};

class Pipe {
 public:
  Pipe() {
    if (pipe2(ends_, O_CLOEXEC | O_NONBLOCK) != 0) ends_[0] = ends_[1] = -1;
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    for (const int end : ends_) close(end);
  }
  [[nodiscard]] int out() const { return ends_[0]; }
  [[nodiscard]] int in() const { return ends_[1]; }

 private:
  int ends_[2];
};

// Those that wait, by key. Thread: any.
class Waiting {
 public:
  void put(const std::string& key, const Pipe* pipe) {
    std::lock_guard lock(mutex_);
    pipes_[key] = pipe;
  }
  void remove(const std::string& key, const Pipe* pipe) {
    std::lock_guard lock(mutex_);
    const auto found = pipes_.find(key);
    if (found != pipes_.end() && found->second == pipe) pipes_.erase(found);
  }
  bool wake(const std::string& key, std::string_view text) {
    std::lock_guard lock(mutex_);
    const auto found = pipes_.find(key);
    if (found == pipes_.end()) return false;
    const ssize_t written = write(found->second->in(), text.data(), text.size());
    pipes_.erase(found);
    return written == static_cast<ssize_t>(text.size());
  }

 private:
  std::mutex mutex_;
  std::map<std::string, const Pipe*> pipes_;
};

// A place among those that wait, for as long as it lives.
struct Place {
  Place(Waiting& all, const std::string& name, const Pipe* from)
      : waiting(all), key(name), pipe(from) {
    waiting.put(key, pipe);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() { waiting.remove(key, pipe); }
  Waiting& waiting;
  const std::string& key;
  const Pipe* pipe;
};

Co<Result<std::string>> text_of(Call& call, const Pipe& pipe) {
  std::string text;
  char bytes[1024];
  for (;;) {
    const ssize_t count = read(pipe.out(), bytes, sizeof(bytes));
    if (count > 0) {
      text.append(bytes, static_cast<std::size_t>(count));
    } else if (!text.empty()) {
      co_return text;
    } else if (!co_await call.readable(pipe.out())) {
      co_return stop_error(call.stop_reason());
    }
  }
}

void add_waits(Server& server) {
  const auto waiting = std::make_shared<Waiting>();
  server.method("co.wait", [waiting](Call& call, Key in) -> Co<Result<Json>> {
    const Pipe pipe;
    const Place place(*waiting, in.key, &pipe);
    const Result<std::string> text = co_await text_of(call, pipe);
    if (!text.ok()) co_return text.error();
    co_return Json(text.value());
  });
  server.method("co.wake",
                [waiting](const Wake& in) { return waiting->wake(in.key, in.result.text()); });
  server.method("co.pipe", [](Call& call, Key in) -> Co<Result<std::string>> {
    const Pipe pipe;
    if (!co_await call.writable(pipe.in())) co_return stop_error(call.stop_reason());
    if (write(pipe.in(), in.key.data(), in.key.size()) < 0) co_return Error{.code = 1002};
    co_return co_await text_of(call, pipe);
  });
  // Nobody writes into it; what it is ready for after that time.
  server.method("co.patience", [](Call& call, Number in) -> Co<std::vector<std::int64_t>> {
    const Pipe pipe;
    const std::uint32_t ms = static_cast<std::uint32_t>(in.n);
    std::vector<std::int64_t> ready;
    ready.push_back(co_await call.readable(pipe.out(), ms) ? 1 : 0);
    ready.push_back(static_cast<std::int64_t>(co_await call.ready(pipe.out(), Ready::both, ms)));
    ready.push_back(static_cast<std::int64_t>(co_await call.ready(pipe.in(), Ready::both, ms)));
    ready.push_back(co_await call.readable(-1, ms) ? 1 : 0);
    ready.push_back(co_await call.after(ms) ? 1 : 0);
    co_return ready;
  });
}

Co<std::int64_t> sum_to(Call& call, std::int64_t n) {
  if (n == 0) co_return 0;
  if (n % 3 == 0) co_await call.after(0);
  co_return n + co_await sum_to(call, n - 1);
}

Co<void> throws(Call& call) {
  co_await call.after(1);
  throw std::runtime_error("as asked, later");
}

}  // namespace

void add_coroutines(Server& server) {
  add_waits(server);
  server.method("co.at.once", [](Key in) -> Co<std::string> { co_return in.key; });
  server.method("co.sum.to", [](Call& call, Number in) -> Co<std::int64_t> {
    co_return co_await sum_to(call, in.n);
  });
  // Notifications, and then how many of them were wanted.
  server.method("co.count", [](Call& call, Number in, CoStream stream) -> Co<std::int64_t> {
    std::int64_t wanted = 0;
    for (std::int64_t n = 1; n <= in.n; ++n) {
      if (n % 2 == 0) co_await call.after(0);
      if (co_await stream.send("counted", Number{n}) == Sent::yes) ++wanted;
      if (!co_await stream.room()) break;
    }
    co_return wanted;
  });
  server.method("co.sleep", [](Call& call, Number in) -> Co<Result<void>> {
    if (co_await call.after(static_cast<std::uint32_t>(in.n))) co_return Result<void>();
    co_return stop_error(call.stop_reason());
  });
  server.method("co.anyway", [](Call& call) -> Co<std::string_view> {
    co_await call.after(3'600'000);
    co_return "all the same";
  });
  server.method("co.deaf", [](Call& call) -> Co<void> {
    for (;;) co_await call.after(3'600'000);
  });
  server.method("co.throw", [](Call&) -> Co<void> {
    throw std::runtime_error("as asked");
    co_return;
  });
  server.method("co.throw.later", [](Call& call) -> Co<void> { co_await throws(call); });
  server.method("co.fail", [](Call& call) -> Co<Result<std::int64_t>> {
    co_await call.after(0);
    co_return Error{.code = 1001, .message = "Failed as asked", .data = R"({"reason":"demo"})"};
  });
  server.method("co.nan", [](Call& call) -> Co<double> {
    co_await call.after(0);
    co_return 0.0 / 0.0;
  });
  server.method("co.head", [](Call& call, Key in) -> Co<std::vector<std::string_view>> {
    co_await call.after(0);
    const Head& head = call.head();
    co_return std::vector<std::string_view>{head.method(), head.path(), head.field(in.key)};
  });
  server.method("co.offload", [](Call& call, Key in) -> Co<std::string> {
    const std::string twice = co_await call.offload([&in] { return in.key + in.key; });
    co_return twice;
  });
  server.method("co.offload.throw", [](Call& call) -> Co<std::string> {
    std::string text;
    try {
      co_await call.offload([]() -> int { throw std::runtime_error("on its thread"); });
    } catch (const std::runtime_error& error) {
      text = error.what();
    }
    co_return text;
  });
}

}  // namespace ringrpc::testing
