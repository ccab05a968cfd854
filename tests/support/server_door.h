#pragma once

// What a server keeps behind its public door, for tests that run its parts on a fake kernel.

#include <ringrpc/server.h>

#include "engine/serve/worker_options.h"

namespace ringrpc::testing {

// Lifetime: the server's.
serve::WorkerShared& shared_of(Server& server);
serve::WorkerOptions worker_options_of(Server& server);

}  // namespace ringrpc::testing
