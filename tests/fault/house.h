#pragma once

// A whole worker on the fake kernel and its clock, for tests of limits: one conversation at a time,
// to the millisecond.

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/http/hosts.h"
#include "engine/rpc/table.h"
#include "engine/serve/responder.h"
#include "engine/serve/worker_options.h"
#include "tests/sim/fake_worker.h"

namespace ringrpc::testing {

// Thread: one. The methods are sum, echo, blob {bytes} and size.
class House final : public serve::Oracle {
 public:
  using ClientId = FakeIo::ClientId;

  explicit House(const serve::WorkerOptions& options = small());
  ~House() override;

  // A few connections and buffers: nothing here needs more. The first listener speaks HTTP, the
  // second one lines of JSON, and so does the third, whose peers are not held to timeouts.
  static serve::WorkerOptions small();

  ClientId connect(std::uint32_t listener = 0);
  // Writes, turns until nothing happens any more, and returns what has come back.
  std::string say(ClientId client, std::string_view bytes);
  // The same over a connection of its own, which ends afterwards.
  std::string ask(std::string_view bytes);
  void turn_until_idle();
  // Lets the time pass, and sees to what is due.
  void wait_ms(std::uint64_t ms);
  // The server begins to stop; and waits until it has.
  void begin_stop();
  void stop();

  FakeIo& io() { return worker_.io(); }
  [[nodiscard]] std::uint64_t count(base::Counter counter) const;
  [[nodiscard]] std::uint32_t connections() const { return worker_.connections(); }
  [[nodiscard]] const serve::Gauges& gauges() const { return worker_.gauges(); }
  [[nodiscard]] std::uint64_t started(std::string_view method) const;

  [[nodiscard]] bool ready() const override { return true; }
  [[nodiscard]] std::string metrics() const override { return "none\n"; }

 private:
  void add_methods();

  rpc::Registry registry_;
  http::HostPolicy hosts_;
  serve::WorkerShared shared_;
  sim::FakeWorker worker_;
};

// A POST of that body to /rpc, with further field lines (each with its CR LF).
std::string post_with(std::string_view fields, std::string_view body);
std::string call_sum();

// The status of the first response in the bytes; 0 when there is none.
int status_of(std::string_view bytes);

}  // namespace ringrpc::testing
