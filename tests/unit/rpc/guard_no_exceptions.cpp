// Compiled with -fno-exceptions: a handler of a unit that cannot catch, calling one that throws.

#include "tests/unit/rpc/guard_no_exceptions.h"

namespace ringrpc {

struct Plain {
  explicit Plain(int& counter) : ended(counter) {}
  Plain(const Plain&) = delete;
  Plain& operator=(const Plain&) = delete;
  ~Plain() { ++ended; }
  int& ended;
};

std::int64_t call_without_exceptions(void (*thrower)(), int& ended) {
  // Its destructor may be skipped: that is the price of -fno-exceptions, and the process lives.
  const Plain plain(ended);
  thrower();
  return 7;
}

}  // namespace ringrpc
