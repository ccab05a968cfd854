#pragma once

// How the text of a block becomes bytes.

#include <map>
#include <string>
#include <string_view>

namespace ringrpc::testing {

// One line of an `each` block: "INPUT" or "INPUT ==> OUTPUT".
struct Variant {
  std::string line;
  int number = 0;

  // Returns: the text with <<each>> and <<out>> replaced.
  [[nodiscard]] std::string apply(std::string text) const;
};

// Replaces <<NAME>> for each name.
std::string with_texts(std::string text, const std::map<std::string, std::string>& texts);

// Replaces <<N*TEXT>>, <<N,TEXT>> (with commas between), <<N#TEXT>> (each # is the number of its
// copy) and <<x HEX HEX>>, inner ones first.
std::string expand(std::string_view source);

// The text of a `bytes` block: \r \n \t \0 \\ and \xHH; line ends of the file count for nothing.
std::string escaped_bytes(std::string_view text);

// The text of a `request` block: lines, an empty line, the body. "Content-Length: *" is filled in.
std::string request_bytes(std::string_view text);

// A POST to /rpc with this body.
std::string call_bytes(std::string_view message);

}  // namespace ringrpc::testing
