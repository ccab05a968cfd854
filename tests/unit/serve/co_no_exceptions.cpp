// Compiled with -fno-exceptions: coroutines that cannot catch, calling what throws.

#include "tests/unit/serve/co_no_exceptions.h"

namespace ringrpc {
namespace {

struct Counted {
  explicit Counted(int& counter) : ended(&counter) {}
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { ++*ended; }
  int* ended;
};

Co<int> child(void (*thrower)()) {
  thrower();
  co_return 1;
}

}  // namespace

void add_without_exceptions(Server& server, void (*thrower)(), int& ended) {
  server.method("co.throw", [thrower](Call&) -> Co<int> {
    thrower();
    co_return 1;
  });
  // What the thrower goes through is lost; those that await it end in order.
  server.method("co.throw.child", [thrower, &ended](Call&) -> Co<int> {
    const Counted counted(ended);
    co_return co_await child(thrower);
  });
  server.method("co.throw.later", [thrower, &ended](Call& call) -> Co<int> {
    const Counted counted(ended);
    co_await call.after(1);
    co_return co_await child(thrower);
  });
  server.method("co.throw.job", [thrower](Call& call) -> Co<int> {
    co_await call.offload([thrower] { thrower(); });
    co_return 1;
  });
  server.method("co.fine", [&ended](Call& call) -> Co<int> {
    const Counted counted(ended);
    co_await call.after(1);
    co_return co_await call.offload([] { return 7; });
  });
}

}  // namespace ringrpc
