// An HTTP server that answers nobody before all have asked.
// Usage: waiting_barrier PORT_FILE

#include <ringrpc/server.h>

#include <mutex>
#include <utility>
#include <vector>

namespace {

struct Arrive {
  std::size_t of;
};

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  ringrpc::Server server(
      {.listen = "127.0.0.1:0", .workers = 1, .port_file = arguments[1], .name = "barrier"});
  std::mutex mutex;
  std::vector<ringrpc::Deferred> waiting;
  server.method("arrive", [&](const Arrive& in, ringrpc::Deferred reply) {
    std::lock_guard lock(mutex);
    waiting.push_back(std::move(reply));
    if (waiting.size() < in.of) return;
    for (ringrpc::Deferred& one : waiting) one.answer(in.of);
    waiting.clear();
  });
  return server.run();
}
