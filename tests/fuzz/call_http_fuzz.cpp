// Goal: whatever request comes through Server::call_http(), exactly one whole response comes back,
// and a body that is answered is answered as Server::call() answers it.
// Method: the response is taken apart by a reader of its own; the body of the request is found
// without the engine's parser.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/assert.h"
#include "tests/fuzz/doors.h"
#include "tests/fuzz/http_model.h"
#include "tests/fuzz/reference.h"

namespace ringrpc::fuzz {
namespace {

// Requires: a request that was served. Returns: its body, by a simpler way than the engine's: an
// accepted head ends at its first empty line, behind the one that may come before it.
std::string body_of(std::string_view request) {
  if (request.starts_with("\r\n")) request.remove_prefix(2);
  const std::size_t end = request.find("\r\n\r\n");
  RINGRPC_ASSERT(end != request.npos, request);
  std::string head(request.substr(0, end));
  std::transform(head.begin(), head.end(), head.begin(),
                 [](unsigned char c) { return static_cast<char>(c < 128 ? std::tolower(c) : c); });
  request.remove_prefix(end + 4);
  if (head.find("\r\ntransfer-encoding:") == head.npos) return std::string(request);
  const Chunked chunked = read_chunked(request, Doors::message_size_max);
  RINGRPC_ASSERT(chunked.status == Chunked::Status::done, request);
  RINGRPC_ASSERT(chunked.consumed == request.size(), chunked.consumed, request.size());
  return chunked.body;
}

// Only these refuse before a body is read, and say so in JSON.
void check_refusal(const Response& response) {
  const std::optional<Value> value = parse_value(response.body, 8);
  RINGRPC_ASSERT(value && value->names.size() == 3, response.body);
  RINGRPC_ASSERT(value->names[1] == "error" && value->items[2].raw == "null", response.body);
}

void check(Doors& doors, std::string_view request) {
  std::string_view line = request.substr(request.starts_with("\r\n") ? 2 : 0);
  const bool head_only = line.starts_with("HEAD ");
  const bool post = line.starts_with("POST ");
  const Response response = check_response(doors.call_http(request), head_only);
  if (response.status == 200 && post) {
    RINGRPC_ASSERT(response.content_type == "application/json", response.content_type);
    const std::string body = body_of(request);
    RINGRPC_ASSERT(response.body == doors.call(body), response.body);
    check_reply(body, response.body);
  } else if (response.status == 204 && post) {
    RINGRPC_ASSERT(doors.call(body_of(request)).empty(), request);
  } else if (response.status >= 400 && !response.body.empty()) {
    check_refusal(response);
  } else if (response.status == 400) {
    RINGRPC_ASSERT(response.close, request);
  }
}

}  // namespace
}  // namespace ringrpc::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ringrpc::fuzz;
  static Doors* const doors = new Doors;  // for the life of the program
  if (size > 2 * Doors::message_size_max) return 0;
  check(*doors, {reinterpret_cast<const char*>(data), size});
  return 0;
}
