// A private member is refused.
// Expect: ringrpc: a type is neither a known container nor a plain struct

#include <ringrpc/fields.h>

class Params {
 public:
  [[nodiscard]] int value() const { return value_; }

 private:
  int value_ = 0;
#ifndef REFUSED
  friend RINGRPC_FIELDS(Params, value_)
#endif
};

const ringrpc::fields::TypeInfo& params = ringrpc::fields::type_of<Params>();
