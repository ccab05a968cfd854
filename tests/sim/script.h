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

struct Request {
  std::string bytes;
  bool silent = false;        // there is no answer, whatever `answer` says
  std::size_t head_size = 0;  // of bytes; the client waits there when it expects 100
  bool expects_continue = false;
  Answer answer;
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
    bad_head,   // ends the script
    closing,    // Connection: close or HTTP/1.0; ends the script
    count,
  };
  std::uint32_t weight[count] = {};

  static Weights swarm(std::mt19937_64& random);
  // The same without what only HTTP has.
  [[nodiscard]] Weights of_lines() const;
};

// Returns: up to `length` requests; one that ends the connection is the last. `name` makes the
// client's bodies its own, so that a reply on the wrong connection is seen.
std::vector<Request> make_script(std::mt19937_64& random, const Weights& weights,
                                 const ServerLimits& limits, const std::string& name,
                                 const std::string& peer, std::uint32_t length);

}  // namespace ringrpc::sim
