#pragma once

// Results into text, by the tables of <ringrpc/fields_info.h>: one encoder for every type.

#include <ringrpc/fields_info.h>
#include <ringrpc/json.h>

namespace ringrpc::json {

// Writes one value. Structs are objects in the order of declaration; empty optional members are
// left out, and are null elsewhere; empty raw text is null.
// Fails: by the writer's sticky flags: invalid for NaN, infinity, text that is not UTF-8, raw text
//        that is not JSON, enum values without a name, and more than limits::depth_max brackets;
//        overflowed.
// Cost:  one pass, no allocation.
void encode(const fields::TypeInfo& type, const void* value, JsonWriter& writer);

}  // namespace ringrpc::json
