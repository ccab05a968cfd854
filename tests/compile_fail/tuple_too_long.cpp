// A tuple of more than 64 elements is refused.
// Expect: ringrpc: a tuple has more than 64 elements

#include <ringrpc/fields.h>

#include <array>
#include <tuple>

#ifdef REFUSED
using Extra = std::array<int, 1>;
#else
using Extra = std::array<int, 0>;
#endif
using Params = decltype(std::tuple_cat(std::array<int, 64>(), Extra()));

const ringrpc::fields::TypeInfo& params = ringrpc::fields::type_of<Params>();
