#pragma once

// One loop on one core. Worker::turn() is the whole way of a request through the engine; each step
// is one header and one verb:
//
//   wait     engine/io/event.h          the backend submits what is queued and sleeps
//   receive  engine/io/event.h          completions become bytes, ends and new connections
//   frame    engine/serve/framing.h     one whole HTTP request (engine/http/request.h)
//            engine/serve/line_framing.h  or one line
//            engine/serve/ws_framing.h  or one message of a WebSocket
//   read     engine/rpc/envelope.h      the message is checked, its calls are found
//   find     engine/rpc/table.h         a method by name
//   answer   engine/rpc/answer.h        params decoded, the handler run, the reply written
//   later    engine/serve/late_desk.h    what was not answered at once joins its connection
//   send     engine/serve/outbox.h      what the turn wrote for a connection leaves in one piece

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "engine/base/counters.h"
#include "engine/base/histogram.h"
#include "engine/base/status.h"
#include "engine/io/event.h"
#include "engine/io/timer_wheel.h"
#include "engine/rpc/answer.h"
#include "engine/rpc/table.h"
#include "engine/serve/connection.h"
#include "engine/serve/endpoints.h"
#include "engine/serve/framing.h"
#include "engine/serve/late_desk.h"
#include "engine/serve/line_framing.h"
#include "engine/serve/outbox.h"
#include "engine/serve/partial_pool.h"
#include "engine/serve/responder.h"
#include "engine/serve/worker_options.h"
#include "engine/serve/ws_framing.h"

namespace ringrpc::serve {

// Owns:     everything of its connections; nothing is shared with other workers but the table.
// Thread:   the one that calls start(); counters, gauges and wake() are for anyone.
// Invariant: a connection holds buffers, a partial block, segments or an armed operation only
//           between accept and release(), the one function that gives everything back.
template <class Io>
class Worker {
 public:
  Worker(const WorkerOptions& options, WorkerShared& shared);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() = default;

  // Takes the listening sockets when it succeeds, and a connected one whose door is the last; -1:
  // none.
  base::Status start(std::span<const int> listeners, int adopted = -1);

  // Turns until the server has stopped and the last connection is gone, or is forced to end.
  // Returns: whether it ended by itself.
  bool run();

  void turn() {
    io_.wait(wait_ns());  // wait
    begin_turn();
    for (io::Event event; io_.next(event);) receive(event);  // receive
    if (late_.busy()) [[unlikely]]
      deliver();  // later
    while (Connection* connection = take_ready()) {
      while (frame(*connection)) {  // frame
        OpenReply reply(responder_, request_, peer_of(*connection));
        if (!reply.has_room()) [[unlikely]] {
          fail(*connection);
          continue;
        }
        rpc::Message message = answerer_.read(request_.body, endpoint_of(request_), reply.writer(),
                                              reply.budget());  // read
        for (std::uint32_t i = 0; i < message.count; ++i) {
          const rpc::Envelope& call = answerer_.envelope(i);
          const rpc::Method* method = table_->find(call.method);                    // find
          answerer_.answer(message, call, method, reply.origin(), reply.writer());  // answer
        }
        const rpc::Outcome& outcome = answerer_.end(message, reply.writer());
        if (message.late && late_.park(*connection, message, request_, reply)) [[unlikely]] {
          calls_ += message.count;
          continue;
        }
        answered(*connection, reply.finish(late_.out_of(*connection), outcome), message.count);
      }
      send(*connection);  // send
    }
    end_turn();
  }

  // Thread: any.
  void wake() { io_.wake(); }
  [[nodiscard]] const base::Counters& counters() const { return counters_; }
  [[nodiscard]] const Endpoints& endpoints() const { return endpoints_; }
  [[nodiscard]] const Gauges& gauges() const { return gauges_; }

  // For the simulation.
  [[nodiscard]] Io& io() { return io_; }
  [[nodiscard]] std::uint32_t connections() const { return connection_count_; }
  [[nodiscard]] const LateDesk& late() const { return late_; }
  [[nodiscard]] bool finished() const {
    return stopping_ && connection_count_ == 0 && !io_.accepting();
  }
  void check_invariants() const;

 private:
  [[nodiscard]] std::int64_t wait_ns() const;
  void begin_turn();
  void end_turn();

  // receive: worker.cpp
  void receive(const io::Event& event);
  void on_accepted(const io::Event& event);
  void refuse(Connection& connection);
  void lose(Connection& connection, std::int32_t error);
  void on_received(Connection& connection, const io::Event& event);
  void on_sent(Connection& connection, const io::Event& event);
  void on_gone(Connection& connection, std::int32_t result);
  Connection* connection_of(io::Handle handle);

  // frame: worker_frame.h
  bool frame(Connection& connection);
  Step next_step(Connection& connection);
  Step end_of_input(Connection& connection);
  void end_after_this(Connection& connection);
  bool keep(Connection& connection);
  bool next_input(Connection& connection);
  void give(std::uint16_t buffer);
  void drop_input(Connection& connection);
  void pause(Connection& connection);
  void answered(Connection& connection, bool ok, std::uint32_t calls);
  void fail(Connection& connection);
  void end_slow(Connection& connection);
  Peer peer_of(const Connection& connection) const;
  [[nodiscard]] const rpc::Endpoint& endpoint_of(const Request& request) const {
    return endpoints_[request.admission.mount];
  }

  // What a WebSocket has beside messages: worker_websocket.h
  void upgrade(Connection& connection);
  void become_websocket(Connection& connection);
  void end_websocket(Connection& connection, std::uint16_t code, std::string_view reason);
  void send_ping(Connection& connection);
  void send_pong(Connection& connection);

  // send and the ends of a connection: worker_ends.h, worker_limits.h, worker_deadlines.h
  void send(Connection& connection);
  void send_front(Connection& connection);
  void begin_close(Connection& connection);
  void settle(Connection& connection);
  void set_first_deadline(Connection& connection);
  void set_deadline(Connection& connection);
  void set_late_deadline(Connection& connection);
  bool keeps_time(Connection& connection) const;
  [[nodiscard]] std::uint64_t body_deadline_ms(const Partial& partial, std::uint64_t arrived) const;
  void on_deadline(Connection& connection);
  void release(Connection& connection);
  void begin_stop();

  // later: worker.cpp
  void deliver();
  rpc::LateCalls::Options late_options();

  Connection* take_ready();
  void make_ready(Connection& connection);
  // Slots of the connection table.
  [[nodiscard]] std::uint32_t places() const {
    return options_.connections_max + options_.refusals_max;
  }
  [[nodiscard]] std::uint32_t slot_of(const Connection& connection) const {
    return static_cast<std::uint32_t>(&connection - connections_.get());
  }
  [[nodiscard]] io::Handle handle_of(const Connection& connection) const {
    return {slot_of(connection), connection.generation};
  }

  // A forced end leaves connections. Their memory goes when the backend, which is made after this
  // and so ends before it, has given up what is in flight.
  struct Leftovers {
    Worker& worker;
    ~Leftovers();
  };

  const WorkerOptions options_;
  WorkerShared& shared_;
  base::Counters counters_;
  Endpoints endpoints_;
  Gauges gauges_;
  base::Epochs::Reader& reader_;
  const rpc::Table* table_ = nullptr;

  std::uint64_t now_ns_ = 0;
  std::uint64_t now_ms_ = 0;
  std::uint64_t wall_read_ms_ = 0;  // when the wall clock is to be read again
  std::uint32_t calls_ = 0;         // answered in this turn
  std::uint32_t lent_ = 0;          // receive buffers that have not been given back
  std::uint32_t connection_count_ = 0;
  std::uint32_t refused_count_ = 0;  // of them, the peers over connections_max
  bool stopping_ = false;
  std::uint64_t stopped_ms_ = 0;  // when stopping began

  PartialPool partials_;
  Outbox outbox_;
  Responder responder_;
  Framer framer_;
  LineFramer lines_;
  WsFramer websockets_;
  rpc::Answerer answerer_;
  bool delivered_again_ = false;  // in this turn
  io::TimerWheel wheel_;
  Request request_;
  Input input_;
  std::uint16_t input_buffer_ = no_input;
  std::unique_ptr<Connection[]> connections_;
  std::unique_ptr<std::uint16_t[]> input_next_;  // by buffer
  std::unique_ptr<std::uint32_t[]> input_size_;  // by buffer
  std::uint32_t ready_first_ = no_connection;
  std::uint32_t ready_last_ = no_connection;
  Leftovers leftovers_{*this};
  Io io_;
  LateDesk late_;  // ends before the backend, which answers wake
};

}  // namespace ringrpc::serve
