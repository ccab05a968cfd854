#pragma once

// What happened between two looks at a server's counters.

#include <optional>
#include <string>
#include <vector>

#include "tools/ringtop/exposition.h"

namespace ringtop {

// One look. Times are seconds of a clock that only goes forward.
struct Look {
  double at_s = 0;
  Samples samples;
};

struct Rate {
  double per_s = 0;
  double total = 0;  // since the server's start
};

struct NamedRate {
  std::string name;
  Rate rate;
};

// Seconds, between the bounds of a histogram's bucket. With `beyond`, longer than the last bound.
struct Quantile {
  double seconds = 0;
  bool beyond = false;
};

struct Picture {
  bool has_rates = false;  // there is a look to compare with, and the same server's
  bool restarted = false;  // a counter went backwards
  double seconds = 0;      // between the looks

  Rate calls, errors, requests, notifications, refused;
  Rate bytes_in, bytes_out;
  Rate accepts, closes, events, late_calls, cancelled;
  Rate turns, enters, receives, sends, slow_turns;
  std::optional<Quantile> p50, p99;  // none: nothing was called
  double connections = 0;
  double in_flight = 0;
  double streams = 0;

  std::vector<NamedRate> methods;  // that were ever called, the busiest first; "": no such method
  std::vector<NamedRate> codes;    // errors that ever were, the most frequent first
  std::vector<NamedRate> limits;   // that were ever hit, the same
  std::vector<NamedRate> pools;    // bytes of memory, in `total`, the largest first
};

// `before` is null at the first look.
Picture compare(const Look* before, const Look& after);

// Returns: whether any counter is lower than it was, or gone.
bool went_backwards(const Samples& before, const Samples& after);

// Returns: the value that `part` (0 to 1) of what a histogram counted since `before` (null: ever)
// did not exceed, as if each bucket's events were spread evenly; none when it counted nothing.
std::optional<Quantile> quantile(const Samples* before, const Samples& after,
                                 std::string_view histogram, double part);

}  // namespace ringtop
