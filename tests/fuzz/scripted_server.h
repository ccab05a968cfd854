#pragma once

// The worker of production on the fake kernel, and a script of bytes that up to four clients say to
// it. Bytes that no UTF-8 has are commands in between:
//
//   C0 what was said since the last command goes as the last frame of a text message, masked
//   C1 the same as a frame that is not the last   (a client that has said nothing yet asks for a
//                                                  WebSocket first)
//   F5 a turn   F6 the next client   F7 turns to rest   F8 its FIN   F9 its reset
//   FA it stops reading   FB it reads again   FC it reads once
//   FD three seconds pass, and the call that has been held longest is answered
//   FE the next byte is no command   FF the server begins to stop

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/http/hosts.h"
#include "engine/serve/responder.h"
#include "tests/fuzz/late_model.h"
#include "tests/fuzz/rpc_model.h"
#include "tests/sim/fake_worker.h"

namespace ringrpc::fuzz {

inline constexpr std::size_t script_size_max = 1u << 15;

struct Client {
  testing::FakeIo::ClientId id = 0;
  std::string sent;
  std::string heard;
  bool fin = false;
  bool reset = false;            // by itself, or it was never let in
  bool in_message = false;       // of its frames
  bool stopped_reading = false;  // at some time
};

// Methods, which are the same for every input: they take long to make.
struct House final : serve::Oracle {
  House();
  [[nodiscard]] bool ready() const override { return true; }
  [[nodiscard]] std::string metrics() const override { return "none\n"; }

  rpc::Registry registry;
  LateMethods late;
  http::HostPolicy hosts;
  std::vector<std::string> names;
};

// Lifetime: one input.
class ScriptedServer {
 public:
  // `choice`: limits and harmless faults.
  ScriptedServer(House& house, std::uint8_t choice, serve::Protocol protocol);

  // Plays the script; then everybody hears the rest.
  void play(std::string_view script);
  // Everybody leaves, the server stops. Asserts that nothing is left.
  void close();

  [[nodiscard]] const serve::WorkerOptions& options() const { return options_; }
  [[nodiscard]] ModelLimits model() const;
  [[nodiscard]] LateExcuses excuses() const;
  [[nodiscard]] const std::vector<Client>& clients() const { return clients_; }
  [[nodiscard]] bool at_end(const Client& client) { return io().client_at_end(client.id); }
  // So much time has passed that a client may have been given up, or asked whether it is there. A
  // server that stops has little patience.
  [[nodiscard]] bool timed() const { return passed_ns_ >= (stopping_ ? 1 : patience_ns); }
  [[nodiscard]] bool stopping() const { return stopping_; }
  [[nodiscard]] std::uint64_t counted(base::Counter counter) const {
    return worker_->counters().get(counter);
  }

  // Asserts that handlers started as often as they were asked for; that there was memory for all.
  // `certainly`: those whose answer was heard. `exact`: nobody was disturbed.
  void check_starts(std::map<std::string, std::uint64_t>& certainly,
                    std::map<std::string, std::uint64_t>& possibly, bool exact);

  [[noreturn]] static void complain(const Client& client, const std::string& what);

 private:
  static constexpr std::uint64_t ns_per_s = 1'000'000'000;
  static constexpr std::uint64_t patience_ns = 4 * ns_per_s;

  void choose(std::uint8_t choice);
  testing::FakeIo& io() { return worker_->io(); }
  void rest();
  void pass(std::uint64_t ns);
  bool pass_to_next();
  void next_client();
  void say(std::string& piece);
  void say_frame(std::string& piece, bool last);
  std::size_t hear(Client& client);
  void leave(Client& client, bool by_reset);
  void command(std::uint8_t byte, std::string& piece);

  House& house_;
  const serve::Protocol protocol_;
  serve::WorkerOptions options_;
  serve::WorkerShared shared_;
  std::unique_ptr<sim::FakeWorker> worker_;
  std::vector<Client> clients_;
  std::size_t at_ = 0;
  std::uint64_t passed_ns_ = 0;
  bool stopping_ = false;
};

}  // namespace ringrpc::fuzz
