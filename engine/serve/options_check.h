#pragma once

// Whether a server's options are within the bounds that limits.h gives them.

#include <ringrpc/server.h>

#include <string>

namespace ringrpc::serve {

// Returns: a sentence about the first option that is wrong, empty when none is.
std::string check_options(const Options& options);

}  // namespace ringrpc::serve
