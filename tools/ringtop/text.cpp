#include "tools/ringtop/text.h"

#include <cmath>
#include <cstdio>

namespace ringtop {
namespace {

std::string printed(double value, int digits, const char* unit) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f%s", digits, value, unit);
  return text;
}

struct Step {
  double size;
  const char* unit;
};

// Returns: the value in the largest unit that it reaches, so rounded that it does not seem to
// reach the next one.
template <std::size_t count>
std::string scaled(double value, const Step (&steps)[count], double next) {
  std::size_t i = 0;
  while (i + 1 < count && std::round(value / steps[i].size * 10) / 10 >= next) ++i;
  return printed(value / steps[i].size, 1, steps[i].unit);
}

}  // namespace

std::string amount(double value) {
  constexpr Step steps[] = {{1e3, "k"}, {1e6, "M"}, {1e9, "G"}, {1e12, "T"}};
  if (!std::isfinite(value)) return "?";
  if (value < 9.95) return printed(value, value == std::floor(value) ? 0 : 1, "");
  if (value < 999.5) return printed(value, 0, "");
  return scaled(value, steps, 1000);
}

std::string bytes(double value) {
  constexpr double k = 1024;
  constexpr Step steps[] = {
      {k, " KiB"}, {k * k, " MiB"}, {k * k * k, " GiB"}, {k * k * k * k, " TiB"}};
  if (!std::isfinite(value)) return "?";
  if (value < k - 0.5) return printed(value, 0, " B");
  return scaled(value, steps, k);
}

std::string duration(double seconds) {
  constexpr Step steps[] = {{1e-6, " us"}, {1e-3, " ms"}, {1, " s"}};
  if (!std::isfinite(seconds)) return "?";
  if (seconds < 999.5e-9) return printed(seconds * 1e9, 0, " ns");
  return scaled(seconds, steps, 1000);
}

std::string duration(const std::optional<Quantile>& quantile) {
  if (!quantile) return "-";
  return (quantile->beyond ? "> " : "") + duration(quantile->seconds);
}

std::string shown(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c >= ' ' && c <= '~') {
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else {
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\x%02X", static_cast<unsigned char>(c));
      out += escape;
    }
  }
  return out;
}

std::string cut(std::string text, std::size_t size) {
  if (text.size() <= size) return text;
  text.resize(size);
  if (size != 0) text.back() = '~';
  return text;
}

std::string right(std::string text, std::size_t size) {
  if (text.size() < size) text.insert(0, size - text.size(), ' ');
  return text;
}

std::string left(std::string text, std::size_t size) {
  if (text.size() < size) text.append(size - text.size(), ' ');
  return text;
}

}  // namespace ringtop
