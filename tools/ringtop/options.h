#pragma once

// What the user asked ringtop for.

#include <cstdint>
#include <string>

#include "engine/client/target.h"

namespace ringtop {

struct Options {
  std::string url = "http://127.0.0.1:8080";
  ringrpc::client::Target target;  // of the URL, its path that of the counters
  std::uint32_t interval_ms = 1000;
  std::uint32_t count = 0;  // pictures; 0: no end
  bool once = false;
};

// Returns: an empty sentence and fills `out`, or the reason why the URL has no counters.
std::string read_target(const std::string& url, ringrpc::client::Target& out);

// Returns: true to go on; false with the exit code after saying why on stderr.
bool parse_arguments(int argc, const char* const* argv, Options& options, int& exit_code);

}  // namespace ringtop
