// A variant with a Json beside others is refused, since it may be any of them.
// Expect: ringrpc: two alternatives of a variant look alike in JSON

#include <ringrpc/fields.h>
#include <ringrpc/json.h>

#include <variant>
#include <vector>

struct Params {
#ifdef REFUSED
  std::variant<int, ringrpc::Json> value;
#else
  std::variant<int, std::vector<ringrpc::Json> > value;
#endif
};

const ringrpc::fields::TypeInfo& params = ringrpc::fields::type_of<Params>();
