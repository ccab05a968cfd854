#pragma once

// The worker of production on the fake kernel, instantiated once in fake_worker.cpp.

#include "engine/serve/worker.h"
#include "tests/support/fake_io.h"

namespace ringrpc::serve {

extern template class Worker<testing::FakeIo>;

}  // namespace ringrpc::serve

namespace ringrpc::sim {

using FakeWorker = serve::Worker<testing::FakeIo>;

}  // namespace ringrpc::sim
