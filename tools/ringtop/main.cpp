// ringtop: a live server's counters in the terminal.

#include <unistd.h>

#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include "engine/base/clock.h"
#include "tools/common/command_line.h"
#include "tools/ringtop/fetch.h"
#include "tools/ringtop/layout.h"
#include "tools/ringtop/options.h"
#include "tools/ringtop/picture.h"
#include "tools/ringtop/screen.h"
#include "tools/ringtop/stop.h"

namespace {

using ringtop::Fetcher;
using ringtop::Look;
using ringtop::Options;
using ringtop::Picture;

constexpr std::uint64_t ns_per_ms = 1'000'000;

// Looks again and again, and shows what changed.
class Watch {
 public:
  explicit Watch(const Options& options)
      : options_(options),
        live_(!options.once && isatty(STDOUT_FILENO) == 1),
        count_(options.count != 0 || live_ ? options.count : 1),
        fetcher_(options.target, stop_),
        screen_(live_) {}

  // Returns: the exit code.
  int run() {
    for (;;) {
      std::string said;
      const Fetcher::Outcome outcome = look(said);
      const std::uint64_t next_ns =
          ringrpc::base::monotonic_ns() + options_.interval_ms * ns_per_ms;
      if (outcome == Fetcher::Outcome::stopped) return 0;
      if (outcome == Fetcher::Outcome::failed && !live_) {
        std::fprintf(stderr, "ringtop: %s\n", said.c_str());
        return tools::exit_unable;
      }
      if (outcome == Fetcher::Outcome::failed) said += "; trying again";
      const bool compared = outcome == Fetcher::Outcome::text && looks_ > 1;
      if ((live_ || compared) && !show(said)) return tools::exit_unable;
      if (compared && ++shown_ == count_) return 0;
      if (stop_.wait(-1, 0, next_ns) == ringtop::Stop::Wait::stopped) return 0;
    }
  }

 private:
  // Brings the picture up to date; `said` is the sentence of what went wrong.
  Fetcher::Outcome look(std::string& said) {
    std::string text;
    Fetcher::Outcome outcome = fetcher_.get(text);
    Look now;
    now.at_s = static_cast<double>(ringrpc::base::monotonic_ns()) / 1e9;
    if (outcome != Fetcher::Outcome::text) {
      said = std::move(text);
      return outcome;
    }
    if (const std::size_t line = ringtop::parse(text, now.samples); line != 0) {
      said = "line " + std::to_string(line) + " of the answer is no sample of a counter";
      return Fetcher::Outcome::failed;
    }
    if (!now.samples.contains("ringrpc_turns_total")) {
      said = "the answer has no counters of a ringrpc server";
      return Fetcher::Outcome::failed;
    }
    picture_ = ringtop::compare(last_ ? &*last_ : nullptr, now);
    last_ = std::move(now);
    ++looks_;
    return outcome;
  }

  bool show(const std::string& news) {
    return screen_.show(ringtop::draw(picture_, options_.url, news, screen_.window()));
  }

  const Options& options_;
  const bool live_;
  const std::uint32_t count_;
  const ringtop::Stop stop_;
  Fetcher fetcher_;
  ringtop::Screen screen_;
  std::optional<Look> last_;
  Picture picture_;
  std::uint64_t looks_ = 0;
  std::uint32_t shown_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  Options options;
  int exit_code = 0;
  if (!ringtop::parse_arguments(argc, argv, options, exit_code)) return exit_code;
  exit_code = Watch(options).run();
  return tools::finish("ringtop", exit_code);
}
