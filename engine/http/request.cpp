#include "engine/http/request.h"

#include <atomic>

#include "engine/http/chars.h"
#include "engine/http/head.h"

namespace ringrpc::http {

namespace {

using ParseHead = HeadResult (*)(const char*, const char*, Request&);

ParseHead best_for_this_processor() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
      __builtin_cpu_supports("bmi2")) {
    return &parse_head_avx2;
  }
#endif
  return &parse_head_portable;
}

HeadResult choose_and_parse(const char* begin, const char* end, Request& out);

// Relaxed: whoever finds the first value chooses the same again.
constinit std::atomic<ParseHead> chosen{&choose_and_parse};

[[gnu::cold, gnu::noinline]] HeadResult choose_and_parse(const char* begin, const char* end,
                                                         Request& out) {
  const ParseHead best = best_for_this_processor();
  chosen.store(best, std::memory_order_relaxed);
  return best(begin, end, out);
}

}  // namespace

HeadResult parse_head(const char* begin, const char* end, Request& out) {
  return chosen.load(std::memory_order_relaxed)(begin, end, out);
}

Span Request::find_span(std::string_view lower_case) const {
  for (std::uint16_t i = 0; i < field_count; ++i) {
    if (equals_folded(view(fields[i].name), lower_case)) return fields[i].value;
  }
  return {};
}

}  // namespace ringrpc::http
