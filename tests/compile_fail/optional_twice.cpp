// An optional of an optional is refused.
// Expect: ringrpc: an optional of an optional has no place in JSON

#include <ringrpc/fields.h>

#include <optional>

struct Params {
  int first;
#ifdef REFUSED
  std::optional<std::optional<int>> value;
#else
  std::optional<int> value;
#endif
  int last;
};

const ringrpc::fields::TypeInfo& params = ringrpc::fields::type_of<Params>();
