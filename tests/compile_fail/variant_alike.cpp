// A variant of two alternatives that are both numbers is refused.
// Expect: ringrpc: two alternatives of a variant look alike in JSON

#include <ringrpc/fields.h>

#include <string>
#include <variant>

struct Params {
#ifdef REFUSED
  std::variant<int, double> value;
#else
  std::variant<int, std::string> value;
#endif
};

const ringrpc::fields::TypeInfo& params = ringrpc::fields::type_of<Params>();
