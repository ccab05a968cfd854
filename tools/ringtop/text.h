#pragma once

// Figures and names as few characters, all of them printable ASCII.

#include <string>
#include <string_view>

#include "tools/ringtop/picture.h"

namespace ringtop {

// 3.2, 123, 12.3k, 4.5M, 1.2G: at most 6 characters up to 10^15.
std::string amount(double value);
// The same in bytes: 512 B, 1.5 KiB, 16.0 MiB. At most 10 characters up to 10^15.
std::string bytes(double value);
// 850 ns, 12.5 us, 3.4 ms, 1.2 s.
std::string duration(double seconds);
// "> 10.0 s" when it is beyond the histogram, "-" when nothing was counted.
std::string duration(const std::optional<Quantile>& quantile);

// Returns: the text with a backslash in front of each backslash, and all that is not printable
// ASCII as \n, \t, \r or \xNN.
std::string shown(std::string_view text);

// Returns: the text cut to so many characters; the last one is '~' when something was cut.
std::string cut(std::string text, std::size_t size);

// Returns: the text with blanks in front, or behind, up to so many characters.
std::string right(std::string text, std::size_t size);
std::string left(std::string text, std::size_t size);

}  // namespace ringtop
