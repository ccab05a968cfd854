#pragma once

// Where the pictures go: a terminal's second screen, or plain text one below the other.

#include <string>
#include <vector>

#include "tools/ringtop/layout.h"

namespace ringtop {

// Owns: the terminal's second screen, from the first picture until it ends; the first one, with
//       what stood there, is back then.
class Screen {
 public:
  explicit Screen(bool terminal) : terminal_(terminal) {}
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  // Returns: the terminal's size as it is now; 80 columns without end for plain text.
  [[nodiscard]] Window window() const;
  // Returns: false when it cannot be written.
  bool show(const std::vector<std::string>& lines);

 private:
  bool terminal_;
  bool begun_ = false;
};

}  // namespace ringtop
