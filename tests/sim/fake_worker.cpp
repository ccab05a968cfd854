// The bodies of Worker for the fake kernel: the same text as production's, another type parameter.

#define RINGRPC_WORKER_BODIES_ONLY
#include "engine/serve/worker.cpp"  // NOLINT(bugprone-suspicious-include): bodies of a template
#include "tests/support/fake_io.h"

namespace ringrpc::serve {

template class Worker<testing::FakeIo>;

}  // namespace ringrpc::serve
