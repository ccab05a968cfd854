#pragma once

#include <cstdint>

namespace ringrpc {

// Calls the thrower from a unit that was built with -fno-exceptions.
std::int64_t call_without_exceptions(void (*thrower)(), int& ended);

}  // namespace ringrpc
