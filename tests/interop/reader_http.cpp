// The requests in a connection's bytes, read twice: by the parsers, which look at nothing but the
// framing, and by the framer of the server, which also decides what is served.

#include <ringrpc/limits.h>

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/http/chunks.h"
#include "engine/http/request.h"
#include "engine/serve/framing.h"
#include "tests/interop/reader.h"

namespace ringrpc::interop {
namespace {

constexpr std::string_view method_names[] = {"GET",   "HEAD",   "POST",    "PUT",
                                             "PATCH", "DELETE", "OPTIONS", "TRACE"};

// Bytes at the end of memory of their own, so that a checker sees who reads beyond the padding.
struct Block {
  explicit Block(std::string_view text) : bytes(new char[text.size() + limits::padding]) {
    if (!text.empty()) std::memcpy(bytes.get(), text.data(), text.size());
    std::memset(bytes.get() + text.size(), '\n', limits::padding);
  }
  std::unique_ptr<char[]> bytes;
};

std::string_view method_of(const http::Request& head) {
  return method_names[static_cast<int>(head.method)];
}

struct Whole {
  std::string text;      // the request as JSON
  std::string identity;  // what the framer must find too
  bool close = false;
};

Whole describe(const http::Request& head, const std::string& body, std::size_t at) {
  Whole whole;
  std::string fields;
  for (int i = 0; i < head.field_count; ++i) {
    const http::Field& field = head.fields[i];
    fields += fields.empty() ? "[\"" : ",[\"";
    fields += hex(head.view(field.name)) + "\",\"" + hex(head.view(field.value)) + "\"]";
  }
  whole.text = R"({"at":)" + std::to_string(at) + R"(,"method":")" + hex(method_of(head)) +
               R"(","target":")" + hex(head.view(head.target)) + R"(","minor":)" +
               std::to_string(head.version_minor) + R"(,"headers":[)" + fields + R"(],"body":")" +
               hex(body) + R"(","close":)" + (head.close ? "true}" : "false}");
  whole.identity = std::string(method_of(head)) + " " + std::string(head.view(head.target));
  whole.close = head.close;
  return whole;
}

struct Reading {
  std::vector<Whole> requests;
  std::vector<std::string> bodies;
  const char* end = "clean";
  int status = 0;
  std::size_t at = 0;
};

// Returns: the size of the body, or npos when it is not whole.
std::size_t read_body(const http::Request& head, std::string_view rest, std::string& body,
                      Reading& reading) {
  if (!head.chunked) {
    if (rest.size() < head.content_length) return std::string_view::npos;
    body = rest.substr(0, head.content_length);
    return body.size();
  }
  http::ChunkDecoder decoder;
  const char* cursor = rest.data();
  for (;;) {
    std::string_view piece;
    const http::ChunkDecoder::Status status =
        decoder.next(cursor, rest.data() + rest.size(), piece);
    if (status == http::ChunkDecoder::Status::piece) body += piece;
    if (status == http::ChunkDecoder::Status::refused) reading.status = decoder.http_status();
    if (status == http::ChunkDecoder::Status::done) {
      return static_cast<std::size_t>(cursor - rest.data());
    }
    if (status != http::ChunkDecoder::Status::piece) return std::string_view::npos;
  }
}

Reading read_by_parsers(std::string_view bytes) {
  Reading reading;
  while (reading.at < bytes.size()) {
    const std::string_view rest = bytes.substr(reading.at);
    const Block block(rest);
    http::Request head;
    const char* const begin = block.bytes.get();
    const http::HeadResult result = http::parse_head(begin, begin + rest.size(), head);
    reading.status = result.http_status;
    reading.end = result.status == http::HeadStatus::refused ? "refused" : "incomplete";
    if (result.status != http::HeadStatus::complete) return reading;
    std::string body;
    const std::size_t size = read_body(head, rest.substr(head.head_size), body, reading);
    reading.end = reading.status != 0 ? "refused" : "incomplete";
    if (size == std::string_view::npos) return reading;
    reading.requests.push_back(describe(head, body, reading.at));
    reading.bodies.push_back(body);
    reading.at += head.head_size + size;
    reading.end = "clean";
    if (head.close) return reading;
  }
  return reading;
}

// A difference between the parsers' reading and the framer's; empty when there is none.
std::string compare_framer(std::string_view bytes, const Reading& expected, std::size_t step) {
  serve::PartialPool pool(1u << 22);
  base::Counters counters;
  http::HostPolicy hosts;
  hosts.any_host = true;
  const serve::Mount mount{.path = "/rpc"};
  serve::Framer framer({.pool = &pool,
                        .counters = &counters,
                        .hosts = &hosts,
                        .mounts = {&mount, 1},
                        .message_size_max = limits::message_size_max});
  serve::Connection connection;
  serve::Request request;
  std::size_t found = 0;
  std::string difference;
  bool ended = false;
  for (std::size_t at = 0; at < bytes.size() && !ended && difference.empty(); at += step) {
    const std::string_view piece = bytes.substr(at, step);
    const Block block(piece);
    serve::Input input{block.bytes.get(), static_cast<std::uint32_t>(piece.size())};
    while (!ended && difference.empty()) {
      const serve::Step said = framer.next(connection, input, request, 1'000'000);
      if (said == serve::Step::need_input) break;
      if (said == serve::Step::go_on) continue;
      ended = request.last;
      if (said == serve::Step::broken) {
        if (expected.status != request.status) difference = "another status";
        break;
      }
      // A refused request is answered by its head, whatever becomes of its body.
      if (found == expected.requests.size()) {
        if (said == serve::Step::message) difference = "a request more";
        break;
      }
      const std::string identity = std::string(method_of(*request.head)) + " " +
                                   std::string(request.head->view(request.head->target));
      if (identity != expected.requests[found].identity) difference = "another request";
      if (said == serve::Step::message && request.body != expected.bodies[found]) {
        difference = "another body";
      }
      ++found;
    }
  }
  framer.forget(connection);
  if (difference.empty() && !ended && found < expected.requests.size()) difference = "fewer";
  return difference;
}

}  // namespace

std::string hex(std::string_view bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    text.push_back(digits[static_cast<unsigned char>(c) >> 4]);
    text.push_back(digits[static_cast<unsigned char>(c) & 15]);
  }
  return text;
}

std::string read_http(std::string_view bytes) {
  const Reading reading = read_by_parsers(bytes);
  std::string requests;
  for (const Whole& whole : reading.requests) {
    requests += (requests.empty() ? "" : ",") + whole.text;
  }
  std::string difference;
  for (const std::size_t step :
       {bytes.size() + 1, std::size_t{1}, std::size_t{1 + bytes.size() / 3}}) {
    if (difference.empty()) difference = compare_framer(bytes, reading, step);
  }
  return R"({"requests":[)" + requests + R"(],"end":")" + reading.end + R"(","status":)" +
         std::to_string(reading.status) + R"(,"at":)" + std::to_string(reading.at) +
         R"(,"framer":")" + difference + "\"}";
}

}  // namespace ringrpc::interop
