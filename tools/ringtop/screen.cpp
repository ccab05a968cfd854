#include "tools/ringtop/screen.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

namespace ringtop {
namespace {

// Control sequences of ECMA-48, and xterm's of the second screen and the cursor.
constexpr const char* second_screen = "\x1b[?1049h\x1b[?25l";
constexpr const char* first_screen = "\x1b[?25h\x1b[?1049l";
constexpr const char* home = "\x1b[H";
constexpr const char* clear_line = "\x1b[K";
constexpr const char* clear_below = "\x1b[J";

}  // namespace

Screen::~Screen() {
  if (!terminal_ || !begun_) return;
  std::fputs(first_screen, stdout);
  std::fflush(stdout);
}

Window Screen::window() const {
  Window window;
  winsize size{};
  if (!terminal_ || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return window;
  if (size.ws_col != 0) window.columns = size.ws_col;
  window.rows = size.ws_row;
  return window;
}

bool Screen::show(const std::vector<std::string>& lines) {
  std::string text;
  if (terminal_) text += begun_ ? home : std::string(second_screen) + home;
  if (!terminal_ && begun_) text += "\n";
  begun_ = true;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    text += lines[i];
    if (terminal_) text += clear_line;
    // A line feed in the last row would move all others up.
    if (!terminal_ || i + 1 < lines.size()) text += "\n";
  }
  if (terminal_) text += clear_below;
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
         std::fflush(stdout) == 0;
}

}  // namespace ringtop
