// A consumer's client: client URL. Exits 0 when 2 + 3 is 5 there.

#include <ringrpc/client.h>

#include <cstdio>

struct Sum {
  std::int64_t a;
  std::int64_t b;
};

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  ringrpc::Client client(argv[1]);
  const auto sum = client.call<std::int64_t>("sum", Sum{2, 3});
  if (!sum) std::fprintf(stderr, "%s\n", sum.sentence().c_str());
  return sum && *sum == 5 ? 0 : 1;
}
