#pragma once

// A JSON-RPC 2.0 server: methods in, one endpoint out.
//
//   ringrpc::Server server({.listen = "127.0.0.1:8080"});
//   server.method("sum", [](const Sum& in) { return in.a + in.b; });
//   return server.run();
//
// Handlers, chosen by signature:
//   R(const P&), R(), R(Call&, const P&), R(Call&)   typed: P and R are reflected (fields.h), R may
//   be
//                                                    void or Result<R>
//   Co<R>(Call&, P), Co<R>(P), Co<R>(Call&), Co<R>() a coroutine: waits without a thread (co.h)
//   the same with a CoStream behind                  notifications first (co_stream.h)
//   void(Call&, Reply&)                              raw: params on demand, a writer for the result
//   void(Deferred), and the above with a Deferred    answered later, from any thread (async.h)
//   behind: (const P&, Deferred), (Call&, Deferred), (Call&, const P&, Deferred)
//   the same with a Stream                           notifications first (stream.h)
//
// Rules: views in params live until the handler returns; a handler runs on its connection's worker,
// many workers at the same time, and must not block (blocking() is for those that do); an exception
// that leaves it answers -32603 and never ends the process.

#include <ringrpc/call.h>
#include <ringrpc/co.h>
#include <ringrpc/co_stream.h>
#include <ringrpc/endpoint.h>
#include <ringrpc/limits.h>
#include <ringrpc/server_handler.h>
#include <ringrpc/server_options.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace ringrpc {

class Server {
 public:
  explicit Server(Options options = {});
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Adds a method, or replaces the one of that name. Any thread, also while serving, also inside a
  // handler; never waits. Requires: a name of 1 to 256 bytes that does not begin with "rpc."; the
  // call is ignored otherwise, with a line on stderr.
  template <typename F>
  Server& method(std::string_view name, F handler, MethodOptions options = {});

  // The same for a handler of level 1 or 2 that blocks: it runs on one of blocking_threads, with
  // params of its own. A call that finds blocking_queue_max others waiting answers -31001.
  template <typename F>
  Server& blocking(std::string_view name, F handler, MethodOptions options = {});

  // Returns: whether there was such a method. Calls that have begun end normally.
  bool remove(std::string_view name);

  // Serves the methods at another path as well, by other rules; `/rpc` replaces the rules of the
  // one that is always there, and of a path that is mounted twice the last rules count.
  // Requires: neither start() nor a call in memory came before; a path as requests spell it, that
  // the server does not use itself; at most 16 of them. The call is ignored otherwise, with a line
  // on stderr.
  Server& mount(std::string_view path, const EndpointOptions& options);

  // Serves until SIGTERM, SIGINT, or a SIGHUP that is not ignored, and stops gracefully. One line
  // on stderr tells what it listens on. Returns: the process's exit code: 0 clean, 1 forced after
  // the deadline, 2 bad options, 3 could not start.
  int run();

  // The same in pieces, for tests and for programs with a main loop of their own: workers run in
  // threads of their own and signals are left alone.
  // Returns: false when it could not start; error() says why and exit_code() is 2 or 3.
  bool start();
  // Whether start() would take the options. Binds nothing, but looks the listeners' names up.
  // Returns: false when it would not; error() says why and exit_code() is 2.
  bool check();
  int stop();
  [[nodiscard]] const std::string& error() const;
  [[nodiscard]] int exit_code() const;

  // Where a listener ended up, port 0 resolved; for a Unix socket its path, and port 0. Valid after
  // start().
  [[nodiscard]] std::string address(std::size_t listener = 0) const;
  [[nodiscard]] std::uint16_t port(std::size_t listener = 0) const;

  // The whole engine without sockets: one message in, its reply out (empty when there is none), by
  // the rules of `/rpc`.
  // It returns when each request in the message is answered, also by a handler that answers later.
  // A notification holds nobody up, as on a socket; but there is no thread of the engine here, so
  // what its handler waits for (a timer, another thread, a descriptor) goes on inside calls that
  // come after it, as a rule those of the same thread: at their beginning, and while they wait.
  // Any thread, at the same time too. The text is copied once, and counted, because 64 readable
  // bytes must stand behind it; call_padded() takes a text that has them and copies nothing.
  void call(std::string_view json, std::string& reply);
  void call_padded(std::string_view json, std::string& reply);

  // One HTTP request (head and body) in, the bytes of the response out. An incomplete request, or
  // bytes behind the first one, answer 400.
  void call_http(std::string_view request, std::string& response);
  void call_http_padded(std::string_view request, std::string& response);

  // The memory that the options ask for, one pool a line, with the total.
  [[nodiscard]] std::string plan() const;
  // What GET /metrics answers.
  [[nodiscard]] std::string metrics() const;
  // Times that a handler of each method started, over all workers, as a JSON object.
  [[nodiscard]] std::string calls_json() const;

 private:
  friend class Feed;
  struct Impl;
  void add(std::string_view name, const handlers::Handler& handler, const MethodOptions& options);

  std::unique_ptr<Impl> impl_;
};

template <typename F>
Server& Server::method(std::string_view name, F handler, MethodOptions options) {
  add(name, handlers::handler_of(std::move(handler), false), options);
  return *this;
}

template <typename F>
Server& Server::blocking(std::string_view name, F handler, MethodOptions options) {
  static_assert(!handlers::Shape<std::decay_t<F>>::deferred,
                "ringrpc: a blocking handler returns its answer; one with a Deferred is a method");
  static_assert(!handlers::Shape<std::decay_t<F>>::coroutine,
                "ringrpc: a coroutine is a method, and offloads what blocks in it");
  add(name, handlers::handler_of(std::move(handler), true), options);
  return *this;
}

}  // namespace ringrpc
