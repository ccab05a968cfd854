#pragma once

// What the user asked for.

#include <cstdint>
#include <string>
#include <vector>

#include "tools/common/url.h"

namespace ringload {

inline constexpr int exit_good = 0;
inline constexpr int exit_errors = 1;
inline constexpr int exit_usage = 2;
inline constexpr int exit_unreachable = 3;

struct Options {
  tools::Url url;
  std::string url_text;
  std::string method = "POST";
  std::string body;
  std::vector<std::string> fields;
  std::uint32_t connections = 32;
  std::uint32_t depth = 1;
  std::uint32_t threads = 1;
  double seconds = 5.0;
  double warmup = 0.5;
  double timeout = 10.0;       // to connect; and without any reply
  std::uint64_t requests = 0;  // 0: as many as fit into the time
  int pin = -1;                // first CPU, -1: the scheduler's choice
  int server_pid = 0;          // 0: not watched
  bool spin = false;           // never sleep
  bool json = false;
  bool show_request = false;
};

enum class Parsed : std::uint8_t { run, leave };

// Returns: leave with `exit_code` set when the program is done (--help) or the arguments are wrong,
// after saying so on stderr.
Parsed parse_options(int argc, char** argv, Options& options, int& exit_code);

}  // namespace ringload
