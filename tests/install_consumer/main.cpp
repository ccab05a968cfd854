// A consumer's program: main.cpp LISTEN PORT_FILE. Built by run against an installed tree.

#include <ringrpc/server.h>

struct Sum {
  std::int64_t a;
  std::int64_t b;
};

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  ringrpc::Server server({.listen = argv[1], .port_file = argv[2]});
  server.method("sum", [](const Sum& in) { return in.a + in.b; });
  return server.run();
}
