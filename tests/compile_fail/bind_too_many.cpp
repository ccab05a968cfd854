// Binding more than 64 members is refused, though nobody gets there.
// Expect: between 1 and 64 members

#include <ringrpc/fields_bind.h>

struct Two {
  int first, second;
};

bool bound(Two& two) {
  const auto f = [](auto&... members) { return sizeof...(members) > 0; };
#ifdef REFUSED
  ringrpc::fields::detail::bind_members<65>(two, f);
#endif
  return ringrpc::fields::detail::bind_members<2>(two, f);
}
