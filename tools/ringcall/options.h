#pragma once

// What the user asked ringcall for.

#include <ringrpc/client_options.h>

#include <string>
#include <vector>

namespace ringcall {

struct Arguments {
  std::vector<ringrpc::HttpField> headers;
  std::string url;
  std::string id;
  std::string method;
  std::string params;
  std::string message;  // a whole message, or the lines of a batch; empty when METHOD is a method
  double timeout_s = 30;
  unsigned retries = 0;
  bool whole = false;  // `message` holds what is to be sent
  bool batch = false;
  bool notify = false;
  bool follow = false;
  bool stay = false;
  bool raw = false;
  bool time = false;
  bool verbose = false;
};

// Reads stdin and files that the arguments name.
// Returns: true to go on; false with the exit code after saying why on stderr.
bool parse_arguments(int argc, const char* const* argv, Arguments& arguments, int& exit_code);

}  // namespace ringcall
