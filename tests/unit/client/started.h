#pragma once

// A call whose answer comes while the test plays the server.

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "tests/unit/client/peer.h"

namespace ringrpc::client_test {

class Started {
 public:
  explicit Started(Client& client, std::string_view params = "[2,3]", CallOptions options = {})
      : client_(client) {
    number = client.start<std::int64_t>(
        "sum", params, [this](Answer<std::int64_t> came) { answer_.emplace(std::move(came)); },
        std::move(options));
  }
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;

  [[nodiscard]] bool done() const { return answer_.has_value(); }
  Answer<std::int64_t>& wait() {
    if (!turn_until(client_, [&] { return done(); })) {
      ADD_FAILURE() << "no answer comes";
      answer_.emplace();
    }
    return *answer_;
  }

  CallNumber number = 0;

 private:
  Client& client_;
  std::optional<Answer<std::int64_t>> answer_;
};

// Retries that a test need not wait for.
inline ClientOptions fast(std::uint32_t retries = 0) {
  ClientOptions options;
  options.retries = retries;
  options.backoff_ms = 1;
  options.backoff_max_ms = 2;
  return options;
}

}  // namespace ringrpc::client_test
