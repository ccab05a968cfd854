#include "tests/support/server_door.h"

#include "engine/serve/server_impl.h"

namespace ringrpc {
namespace {

// An explicit instantiation may name a private member.
template <auto Member>
struct Door {
  friend auto& impl_of(Server& server) { return *(server.*Member); }
};
auto& impl_of(Server& server);
template struct Door<&Server::impl_>;

}  // namespace

namespace testing {

serve::WorkerShared& shared_of(Server& server) { return impl_of(server).shared; }
serve::WorkerOptions worker_options_of(Server& server) { return impl_of(server).worker_options(); }

}  // namespace testing
}  // namespace ringrpc
