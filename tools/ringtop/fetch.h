#pragma once

// GET of a text over HTTP/1.1, on one connection that is kept.

#include <cstdint>
#include <string>

#include "engine/client/http_response.h"
#include "engine/client/socket.h"
#include "tools/ringtop/stop.h"

namespace ringtop {

// Thread: one. Cost: the text, of 16 MiB at most; the host is looked up for each new connection.
class Fetcher {
 public:
  // Both outlive this.
  Fetcher(const ringrpc::client::Target& target, const Stop& stop) : target_(target), stop_(stop) {}

  enum class Outcome : std::uint8_t { text, failed, stopped };

  // Asks once more when the connection of the last time ends without a byte: servers close those
  // that are idle. `out` is the text, or the sentence that says why there is none.
  Outcome get(std::string& out);

 private:
  Outcome try_once(std::string& out);
  Outcome exchange(std::uint64_t deadline_ns, std::string& out);
  // Returns: whether the response goes on; otherwise `outcome` and `out` are set.
  bool take(std::string& input, std::string& body, Outcome& outcome, std::string& out);
  [[nodiscard]] Outcome judge(std::string& body, std::string& out) const;

  const ringrpc::client::Target& target_;
  const Stop& stop_;
  ringrpc::client::Socket socket_;
  ringrpc::client::ResponseReader reader_;
};

}  // namespace ringtop
