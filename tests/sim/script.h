#pragma once

// What a simulated client says, and what it must hear: requests with the answer that the model
// expects of each. The model knows the protocol, not the engine.

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace ringrpc::sim {

// The limits of one simulated server that answers depend on. Sizes are bytes.
struct ServerLimits {
  std::uint32_t message_size_max = 0;
  std::uint32_t reply_size_max = 0;
  std::uint32_t batch_length_max = 0;
  std::uint32_t event_size_max = 0;  // of a notification of a call
  bool is_short = false;  // of memory: calls are refused, of which only their ids tell which
};

// One answer as the model expects it.
struct Answer {
  int status = 200;
  std::string body;
  std::string or_body;  // as good, unless empty
  bool close = false;   // the connection ends after it
  // What runs, and how often, before this answer is written.
  std::map<std::string, std::uint32_t> started;
};

// What an answer that comes later may be, beside its body.
struct Later {
  bool is = false;
  std::string id = {};                  // the call's token
  std::vector<std::string> also = {};   // as good as the body
  std::vector<std::string> parts = {};  // of a batch: its entries, in any order
  // Notifications `tick` with this tag stand before it, over HTTP in an event stream.
  std::string tag = {};
  std::uint32_t ticks = 0;
  bool stream = false;
  // Its answer begins, or ends, what is heard of a topic.
  std::string topic = {};
  bool subscribes = false;
};

struct Request {
  std::string bytes;
  bool silent = false;        // there is no answer, whatever `answer` says
  std::size_t head_size = 0;  // of bytes; the client waits there when it expects 100
  bool expects_continue = false;
  Answer answer;
  Later later;
};

// Returns: the same message and its answer as lines of JSON; what only HTTP can say becomes a call.
// A message of which HTTP says that it was accepted has no answer, and is not the last.
std::vector<Request> as_lines(std::mt19937_64& random, const std::vector<Request>& http);

// Returns: the same as masked frames of a WebSocket, in parts here and there, with pings and pongs
// between; the first request is the handshake, and the last one may end it: the body of its answer
// is "close CODE" then.
std::vector<Request> as_messages(std::mt19937_64& random, const std::vector<Request>& http);

// How often a script draws each kind of request. A kind with weight 0 never comes.
struct Weights {
  enum Kind : std::uint8_t {
    single,  // a call that is answered with a result or an error
    notification,
    batch,
    not_json,
    large_body,  // over several receives
    large_reply,
    chunked,
    refused,  // unknown paths and methods, with bodies
    plain,    // health, OPTIONS
    expects,
    sometimes,  // a method that comes and goes
    later,      // answered by a timer, a coroutine, or elsewhere
    stream,     // with notifications before the answer
    cancel,     // a call, and some time later the wish that it stops
    late_batch,
    feed,      // not over HTTP
    bad_head,  // ends the script
    closing,   // Connection: close or HTTP/1.0; ends the script
    count,
  };
  std::uint32_t weight[count] = {};

  static Weights swarm(std::mt19937_64& random);
  // The same without what only HTTP has; and without what it has not.
  [[nodiscard]] Weights of_lines() const;
  [[nodiscard]] Weights of_http() const;
};

// Returns: up to `length` requests; one that ends the connection is the last. `name` makes the
// client's bodies its own, so that a reply on the wrong connection is seen.
std::vector<Request> make_script(std::mt19937_64& random, const Weights& weights,
                                 const ServerLimits& limits, const std::string& name,
                                 const std::string& peer, std::uint32_t length);

}  // namespace ringrpc::sim
