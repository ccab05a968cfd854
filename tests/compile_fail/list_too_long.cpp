// A list by hand of more than 64 fields is refused.
// Expect: ringrpc: a struct may have at most 64 fields

#include <ringrpc/fields.h>

struct Params {
  int value;
};
#define FIELD ringrpc::fields::field("value", &Params::value)
#define FOUR FIELD, FIELD, FIELD, FIELD
#define SIXTEEN FOUR, FOUR, FOUR, FOUR
#ifdef REFUSED
inline constexpr auto fields = ringrpc::fields::list(SIXTEEN, SIXTEEN, SIXTEEN, SIXTEEN, FIELD);
#else
inline constexpr auto fields = ringrpc::fields::list(SIXTEEN, SIXTEEN, SIXTEEN, SIXTEEN);
#endif
