#pragma once

// How the engine reads bytes, in the words that the scripts of this folder compare.

#include <ringrpc/server.h>

#include <string>
#include <string_view>

namespace ringrpc::interop {

// Bytes as lower-case hex digits.
std::string hex(std::string_view bytes);

// All requests that a connection's bytes hold:
//   {"requests":[{"at","method","target","minor","headers":[[name,value]..],"body","close"}..],
//    "end":"clean|incomplete|refused","status","at","framer"}
// Texts are hex. `at` is where a request begins, the last one the first that is not whole. The
// requests are read by the parsers, and again by the framer in pieces; "framer" tells where these
// differ, if they do.
std::string read_http(std::string_view bytes);

// One text as the body of a call:
//   {"reply":HEX,"runs":N,"value":TEXT}
// The method is `see`. The value is that of the params of each call in turn, in a canonical form
// that node_json.mjs writes too.
class JsonReader {
 public:
  JsonReader();
  std::string read(std::string_view text);

 private:
  Server server_;
  int runs_ = 0;
  std::string value_;
};

}  // namespace ringrpc::interop
