// Tells how this engine reads bytes, for comparing with other readers: a case in hex on each line
// of stdin, a line of JSON about it on stdout. Usage: interop_reader http|json

#include "tests/interop/reader.h"

#include <cstdio>
#include <iostream>
#include <string>
#include <string_view>

namespace {

int nibble(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(nibble(hex[i]) * 16 + nibble(hex[i + 1])));
  }
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc == 2 ? argv[1] : "";
  if (what != "http" && what != "json") {
    std::fputs("usage: interop_reader http|json\n", stderr);
    return 2;
  }
  ringrpc::interop::JsonReader json;
  for (std::string line; std::getline(std::cin, line);) {
    const std::string bytes = from_hex(line);
    const std::string said = what == "http" ? ringrpc::interop::read_http(bytes) : json.read(bytes);
    std::puts(said.c_str());
  }
  return 0;
}
