#pragma once

// A fake kernel with the interface of a backend, for running a whole worker in one thread, from one
// seed, with faults and a clock of its own. It aborts when the worker breaks the contract of
// engine/io/event.h.
//
// The test plays the clients, and calls the worker's turn in between:
//
//   FakeIo& io = worker.io();
//   io.configure(seed, FakeFaults::swarm(seed));
//   FakeIo::ClientId client = io.connect(peer);
//   io.client_write(client, "POST ...");
//   do worker.turn(); while (!io.idle());
//   std::string answer = io.client_read(client);

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/io/event.h"
#include "engine/io/options.h"
#include "tests/support/fake_faults.h"

namespace ringrpc::testing {

// Owns:     everything; no descriptor, no memory of the kernel's.
// Thread:   one, but for wake().
class FakeIo {
 public:
  using ClientId = std::uint32_t;

  FakeIo() = default;
  FakeIo(const FakeIo&) = delete;
  FakeIo& operator=(const FakeIo&) = delete;

  // --- The worker's side: engine/io/event.h. Listeners are ignored. ---
  base::Status start(const io::IoOptions& options);
  void wait(std::int64_t timeout_ns);
  bool next(io::Event& event);
  [[nodiscard]] char* buffer(std::uint16_t index);
  void give(std::uint16_t index);
  void receive(io::Handle handle);
  void stop_receiving(io::Handle handle);
  void send(io::Handle handle, const char* data, std::uint32_t size);
  void shut(io::Handle handle, bool both);
  void close(io::Handle handle);
  void stop_accepting() { draining_ = true; }
  [[nodiscard]] bool accepting() const { return !draining_ || !backlog_.empty(); }
  // Descriptors are real ones, and what they are ready for is asked of the kernel.
  void watch(io::Handle handle);
  void stop_watching(io::Handle handle);
  void poll(io::Handle name, int fd, std::uint32_t events);
  void stop_polling(io::Handle name);
  void wake() { woken_.store(true, std::memory_order_release); }
  [[nodiscard]] std::uint32_t open_count() const { return open_count_; }
  [[nodiscard]] const char* mode() const { return "fake"; }
  // Moves by 1 us with each wait() and by advance() only: a timeout never fires by itself.
  [[nodiscard]] std::uint64_t now_ns() const { return now_ns_; }

  // --- The test's side ---
  void configure(std::uint64_t seed, const FakeFaults& faults);
  void advance(std::uint64_t ns) { now_ns_ += ns; }

  // A client knocks. Returns: its id, also when nobody listens any more (see client_gone).
  ClientId connect(const io::Address& peer, std::uint32_t listener = 0);
  void client_write(ClientId id, std::string_view bytes);
  // Returns: what has arrived since the last call.
  std::string client_read(ClientId id);
  void client_fin(ClientId id);
  void client_reset(ClientId id);
  // From now on the connection takes window bytes that client_read() has not fetched, and no more.
  void client_stop_reading(ClientId id, std::size_t window = 0);
  void client_resume_reading(ClientId id);
  // Returns: whether the server has sent its FIN or is gone: nothing more can be read.
  [[nodiscard]] bool client_at_end(ClientId id) const;
  // Returns: whether the client has seen a reset, or was refused. A server that closes with unread
  //          bytes, or to which bytes come after it has closed, resets.
  [[nodiscard]] bool client_gone(ClientId id) const;

  // Returns: whether wait() would find nothing to report until a client or the worker does
  // something.
  [[nodiscard]] bool idle() const;
  // Asserts that nothing is lent, open, in flight or waiting.
  void check_baseline() const;
  [[nodiscard]] std::uint32_t lent_count() const { return lent_count_; }
  // What went through the sockets, whoever has looked at it since.
  [[nodiscard]] std::uint64_t bytes_received() const { return bytes_received_; }
  [[nodiscard]] std::uint64_t bytes_sent() const { return bytes_sent_; }

 private:
  // Both ends of a connection.
  struct Client {
    io::Address peer;
    std::uint32_t listener = 0;
    std::string to_server;  // written, not received yet
    std::string to_client;  // sent, not read yet
    std::size_t window = ~std::size_t{0};
    bool fin = false;    // the client's, behind to_server
    bool reset = false;  // by anybody
    bool server_fin = false;
    bool server_closed = false;
  };

  // The worker sees an operation end when next() tells it, which is later than the kernel does.
  struct Slot {
    std::uint32_t generation = 0;
    ClientId client = 0;
    bool open = false;
    bool receiving = false;  // for the worker
    bool armed = false;      // for the kernel
    bool stopping = false;
    bool sending = false;    // for the worker
    bool in_flight = false;  // for the kernel
    bool closing = false;
    bool shut_both = false;
    bool finished = false;  // the worker was told of the peer's FIN
    bool watched = false;   // for the worker
    bool watching = false;  // for the kernel
    bool unwatched = false;
    const char* data = nullptr;  // the send's bytes and what they were
    std::uint32_t size = 0;
    std::uint64_t checksum = 0;
  };

  struct Buffer {
    std::unique_ptr<char[]> bytes;  // each with its own padding, so that a checker sees its end
    bool lent = false;
  };

  bool strikes(std::uint32_t weight) { return weight != 0 && random_() % 100 < weight; }
  std::uint32_t up_to(std::size_t most);  // 1 to most
  Slot& slot_of(io::Handle handle);
  Client& client_of(ClientId id);
  [[nodiscard]] const Client& client_of(ClientId id) const;
  void run_accepts();
  void run_socket(std::uint32_t index);
  void run_receives(std::uint32_t index);
  bool receive_piece(std::uint32_t index);
  void end_receive(std::uint32_t index, std::int32_t result);
  void run_send(std::uint32_t index);
  void end_send(std::uint32_t index, std::int32_t result);
  void run_watch(std::uint32_t index);
  void run_close(std::uint32_t index);
  void run_polls();
  void invent_stale_event();
  void shuffle_events();
  std::uint16_t lend();
  void lose_connection(Client& client);
  [[nodiscard]] bool has_work(const Slot& slot) const;

  std::mt19937_64 random_{1};
  FakeFaults faults_;
  io::IoOptions options_;
  std::uint64_t now_ns_ = 1'000'000'000;
  std::deque<Client> clients_;
  std::deque<ClientId> backlog_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_slots_;
  std::uint32_t open_count_ = 0;
  std::vector<Buffer> buffers_;
  std::deque<std::uint16_t> free_buffers_;
  std::vector<std::uint16_t> given_;  // until the next wait()
  std::uint32_t lent_count_ = 0;
  std::uint64_t bytes_received_ = 0;
  std::uint64_t bytes_sent_ = 0;
  struct Poll {
    io::Handle name;
    int fd;
    short events;
  };
  std::vector<Poll> polls_;
  std::deque<io::Event> events_;
  std::size_t deliverable_ = 0;     // of them, in this turn
  std::vector<io::Handle> former_;  // handles of closed sockets
  bool draining_ = false;
  std::atomic<bool> woken_ = false;
};

}  // namespace ringrpc::testing
