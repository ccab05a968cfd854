#pragma once

// A picture as lines of text. Drawn for 80 columns; wider windows leave the rest empty.

#include <string>
#include <string_view>
#include <vector>

#include "tools/ringtop/picture.h"

namespace ringtop {

struct Window {
  std::size_t columns = 80;
  std::size_t rows = 0;  // 0: no end
};

// Returns: lines of printable ASCII, none longer than the window is wide, no more than it has rows.
// `news` stands in the second line: what went wrong, empty otherwise.
std::vector<std::string> draw(const Picture& picture, std::string_view url, std::string_view news,
                              Window window);

}  // namespace ringtop
