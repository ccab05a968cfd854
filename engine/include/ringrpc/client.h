#pragma once

// A JSON-RPC 2.0 client over HTTP, WebSocket, TCP, Unix sockets and a program's stdio.
//
//   ringrpc::Client client("http://127.0.0.1:8080/rpc");
//   auto sum = client.call<std::int64_t>("sum", Sum{2, 3});
//   if (sum) std::printf("%ld\n", *sum); else std::puts(sum.sentence().c_str());
//
// URLs: http://HOST[:PORT][/PATH]   unix-http:PATH       POST to that path (/rpc over the socket)
//       ws://HOST[:PORT][/PATH]     unix-ws:PATH         WebSocket, one message a frame
//       tcp://HOST:PORT             unix:PATH            one message a line
//       stdio:COMMAND [ARGUMENT]...                      lines to and from a program, which the
//                                                        client starts and ends; 'quotes' group
//
// Params are structs, maps, tuples or vectors (fields.h), or JSON text; results are types of
// fields.h, ringrpc::Json for their text, or void.
//
// What is tried again, `retries` times at most, with exponential backoff, jitter, and at least the
// wait that the server asks for (Retry-After, data.retryAfterMs): HTTP 429 and 503, -31001 and
// -31002 (the server says that it did not run the call), a connection that could not be made
// (nothing was sent), and -32603 once (a defect of the server). -32602 and all other errors stand.
// A call that may have run is not repeated: when its connection ends before the answer, it fails
// with may_have_run, unless its options say that it is idempotent. Each try has a new id.
//
// A timeout and cancel() tell the server: `rpc.cancel` on stream transports, on HTTP the connection
// is reset (on unix-http closed, which servers may take for the end of requests only). An answer
// that comes later is dropped and counted.
//
// Thread: a client belongs to one thread at a time and has none of its own: bytes move while call()
//         and the others wait, and in poll() and run(). interrupt() may be called from any thread.
//         A host's name is looked up where a connection begins, and that blocks.
// Callbacks run inside these functions. They may start and cancel calls, not end the client; what
//         waits (call(), notify(), send(), exchange(), poll(), run(), Pending::get()) fails there.
// Errors: never by exceptions; those of callbacks are passed on (client_callback.h).

#include <ringrpc/client_answer.h>
#include <ringrpc/client_batch.h>
#include <ringrpc/client_callback.h>
#include <ringrpc/client_options.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ringrpc {

// A call that was started; never used again by the same client.
using CallNumber = std::uint64_t;

template <class R>
class Pending;

class Client {
 public:
  // Connects when there is something to send. A URL that cannot be used fails each call.
  explicit Client(std::string_view url, ClientOptions options = {});
  // Calls in flight are cancelled; their callbacks are not called.
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Returns: why the URL or the options cannot be used; empty when they can.
  [[nodiscard]] const std::string& error() const;

  // Calls and waits.
  template <class R, class P = client::NoParams>
  Answer<R> call(std::string_view method, const P& params = {}, CallOptions options = {}) {
    return Answer<R>(call_json(method, params, std::move(options)));
  }
  // Returns: the result as JSON text.
  template <class P = client::NoParams>
  JsonAnswer call_json(std::string_view method, const P& params = {}, CallOptions options = {}) {
    Exchange done = wait(method, client::params_of(params), false, std::move(options));
    client::rethrow();
    if (done.answers.empty()) return JsonAnswer::of_failure(std::move(done.failure));
    return std::move(done.answers.front());
  }
  // Sends a notification; waits until it is on its way, on HTTP for the status.
  template <class P = client::NoParams>
  Failure notify(std::string_view method, const P& params = {}, CallOptions options = {}) {
    Exchange done = wait(method, client::params_of(params), true, std::move(options));
    client::rethrow();
    return std::move(done.failure);
  }
  // Sends a batch and waits for its answers, which are in it then.
  // Returns: whether it was answered as a whole.
  bool send(Batch& batch, CallOptions options = {}) {
    const bool whole = wait(batch, std::move(options));
    client::rethrow();
    return whole;
  }
  // Sends a message as it is and waits for its reply, which may be any text. Requires: on lines a
  // text without line ends; those that it has become blanks.
  Exchange exchange(RawMessage message, CallOptions options = {}) {
    Exchange done = wait(std::move(message), std::move(options));
    client::rethrow();
    return done;
  }

  // Starts a call. `then` gets its Answer<R>, once, from poll() or another function that waits.
  template <class R, class Then, class P = client::NoParams>
  CallNumber start(std::string_view method, const P& params, Then then, CallOptions options = {}) {
    return begin_call(
        method, client::params_of(params),
        [then = std::move(then)](JsonAnswer&& answer) mutable {
          then(Answer<R>(std::move(answer)));
        },
        std::move(options));
  }
  // Starts a batch. `then` gets it back with its answers, for take().
  CallNumber start(Batch batch, Callback<void(Batch&&)> then, CallOptions options = {});
  // Starts a call whose answer is fetched later: client_pending.h.
  template <class R, class P = client::NoParams>
  Pending<R> begin(std::string_view method, const P& params = {}, CallOptions options = {}) {
    return Pending<R>(*this, method, client::params_of(params), std::move(options));
  }
  // Tells the server to stop the call, which fails as cancelled.
  // Returns: false when there is no such call any more.
  bool cancel(CallNumber number);

  // Moves what can be moved, waits up to timeout_ms for more (-1: as long as it takes, 0: not), and
  // calls back. Returns: whether calls are in flight.
  bool poll(int timeout_ms) {
    turn(timeout_ms);
    client::rethrow();
    return in_flight() > 0;
  }
  // Until no call is in flight. Returns: false when interrupted.
  bool run() {
    while (in_flight() > 0) {
      const bool whole = turn(-1);
      client::rethrow();
      if (!whole) return false;
    }
    return true;
  }
  // Ends the wait of poll() or run(), the next one if none is on. Any thread; signal handlers too.
  void interrupt();
  [[nodiscard]] std::size_t in_flight() const;
  // Returns: whether a connection is open, as far as the last turn saw.
  [[nodiscard]] bool connected() const;

  // Notifications that belong to no call.
  void on_notification(Callback<void(const Notification&)> handler);
  // Each time that a stream transport is connected, `again` from the second time on: subscriptions
  // ended with the connection, so this is where to start them anew.
  void on_connect(Callback<void(bool again)> handler);

  [[nodiscard]] const ClientStats& stats() const;

 private:
  template <class R>
  friend class Pending;
  class Impl;

  using Then = Callback<void(JsonAnswer&&)>;
  Exchange wait(std::string_view method, client::Params params, bool notification,
                CallOptions options);
  bool wait(Batch& batch, CallOptions options);
  Exchange wait(RawMessage message, CallOptions options);
  CallNumber begin_call(std::string_view method, client::Params params, Then then,
                        CallOptions options);
  // Forgets the callback, and cancels the call if it is in flight.
  void abandon(CallNumber number);
  // Turns until the flag is set. Returns: false when that cannot be, inside a callback.
  bool wait_for(const bool& flag);
  // Returns: false when it was interrupted, or cannot be, inside a callback.
  bool turn(int timeout_ms);

  std::unique_ptr<Impl> impl_;
};

}  // namespace ringrpc

#include <ringrpc/client_pending.h>
