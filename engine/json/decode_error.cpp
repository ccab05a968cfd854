#include <charconv>
#include <cstring>

#include "engine/json/decode.h"

namespace ringrpc::json {
namespace {

// The longest piece of a message that a path repeats.
constexpr std::size_t name_size_max = 64;
constexpr std::string_view dots = "...";

}  // namespace

void DecodeError::prepend(std::string_view piece) {
  if (cut_) return;
  // The dots always fit, since they were left room for.
  if (piece.size() + dots.size() > begin_) {
    cut_ = true;
    piece = dots;
  }
  begin_ = static_cast<std::uint16_t>(begin_ - piece.size());
  std::memcpy(path_.data() + begin_, piece.data(), piece.size());
}

void DecodeError::prepend_name(std::string_view name) {
  char text[1 + name_size_max + dots.size()] = {'.'};
  std::size_t size = name.size();
  if (size > name_size_max) {
    size = name_size_max;
    // Between two characters.
    while (size > 0 && (static_cast<unsigned char>(name[size]) & 0xC0) == 0x80) --size;
  }
  std::memcpy(text + 1, name.data(), size);
  std::size_t end = 1 + size;
  if (size < name.size()) {
    std::memcpy(text + end, dots.data(), dots.size());
    end += dots.size();
  }
  prepend({text, end});
}

void DecodeError::prepend_place(std::size_t place) {
  char text[24] = {'['};
  char* const end = std::to_chars(text + 1, text + sizeof text - 1, place).ptr;
  *end = ']';
  prepend({text, static_cast<std::size_t>(end + 1 - text)});
}

}  // namespace ringrpc::json
