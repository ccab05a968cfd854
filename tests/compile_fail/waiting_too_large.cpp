// What waits for a timer is kept in the call, so it is small.
// Expect: ringrpc: what waits for a timer holds 48 bytes; keep the rest behind a pointer

#include <ringrpc/server.h>

struct Large {
  char bytes[64];
};

void add(ringrpc::Server& server) {
  server.method("m", [](ringrpc::Deferred reply) {
#ifdef REFUSED
    Large large{};
    std::move(reply).after(1, [large](ringrpc::Deferred woken) { woken.answer(large.bytes[0]); });
#else
    std::move(reply).after(1, [](ringrpc::Deferred woken) { woken.answer(1); });
#endif
  });
}
