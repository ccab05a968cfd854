#include "engine/base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace ringrpc::base {
namespace {

void print_value(const AssertValue& value) {
  switch (value.kind) {
    case AssertValue::Kind::none:
      return;
    case AssertValue::Kind::integer:
      std::fprintf(stderr, " [%lld]", static_cast<long long>(value.integer));
      return;
    case AssertValue::Kind::unsigned_integer:
      std::fprintf(stderr, " [%llu]", static_cast<unsigned long long>(value.unsigned_integer));
      return;
    case AssertValue::Kind::text:
      std::fprintf(stderr, " [%.*s]", static_cast<int>(value.text.size()), value.text.data());
      return;
  }
}

}  // namespace

void assert_failed(const char* expression, const char* file, int line, AssertValue first,
                   AssertValue second, AssertValue third) {
  std::fprintf(stderr, "ringrpc: assertion failed at %s:%d: %s", file, line, expression);
  print_value(first);
  print_value(second);
  print_value(third);
  std::fputc('\n', stderr);
  std::abort();
}

}  // namespace ringrpc::base
