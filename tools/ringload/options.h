#pragma once

// What the user asked for.

#include <cstdint>
#include <string>
#include <vector>

#include "tools/common/url.h"
#include "tools/ringload/schedule.h"
#include "tools/ringload/tape.h"

namespace ringload {

inline constexpr int exit_good = 0;
inline constexpr int exit_errors = 1;
inline constexpr int exit_usage = 2;
inline constexpr int exit_unreachable = 3;

struct Options {
  tools::Url url;
  std::string url_text;
  std::string method = "POST";
  std::vector<std::string> fields;

  std::vector<Body> bodies;       // one at least; more come from a file
  std::uint32_t batch = 0;        // calls in one body, 0: bodies are sent as they are
  std::uint64_t check_every = 0;  // 0: no full checks
  bool fresh_ids = false;

  std::uint32_t connections = 32;
  std::uint32_t depth = 1;
  std::uint32_t churn = 0;  // requests of one connection, 0: it stays
  std::uint32_t threads = 1;
  double spread = 0.0;  // seconds that opening the connections takes at least

  RatePlan rate;
  bool open_loop = false;

  double seconds = 5.0;
  double warmup = 0.5;
  double timeout = 10.0;       // to connect; and without any reply
  std::uint64_t requests = 0;  // 0: as many as fit into the time
  bool timed = true;           // the time ends the run; without: `requests` alone

  int pin = -1;        // first CPU, -1: the scheduler's choice
  int server_pid = 0;  // 0: not watched
  bool spin = false;   // never sleep
  bool json = false;
  bool progress = false;
  bool show_request = false;
  std::string spectrum_file;  // empty: none; "-": behind the report

  // Whether requests differ from each other, or their replies are looked at one by one.
  [[nodiscard]] bool tracked() const { return bodies.size() > 1 || fresh_ids || check_every != 0; }
};

enum class Parsed : std::uint8_t { run, leave };

// Returns: leave with `exit_code` set when the program is done (--help) or the arguments are wrong,
// after saying so on stderr.
Parsed parse_options(int argc, char** argv, Options& options, int& exit_code);

}  // namespace ringload
