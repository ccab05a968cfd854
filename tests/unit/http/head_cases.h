#pragma once

// Heads as data: bytes in, verdict out. Good ones first, then the kinds of attacks by their rows:
// framing (F), sizes (R), and what other servers got wrong (H).

#include <string>
#include <vector>

namespace ringrpc::http::test {

struct HeadCase {
  std::string label;
  std::string bytes;
  int verdict;  // 0: complete; else the HTTP status
};

std::vector<HeadCase> head_cases();

// The usual call with these fields besides Host.
std::string head_with(const std::string& fields);

}  // namespace ringrpc::http::test
