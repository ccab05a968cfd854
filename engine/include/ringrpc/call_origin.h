#pragma once

// Where a call comes from: a part of call.h, which tells how long it lives.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace ringrpc {

namespace rpc {
class LateCalls;
}

// The other end of a connection.
struct Peer {
  std::array<std::uint8_t, 16> address = {};  // IPv4 is mapped (::ffff:a.b.c.d); Unix is all zero
  std::uint16_t port = 0;                     // host byte order

  // Returns: "127.0.0.1:41233", "[::1]:41233", or "local" for a peer without an address.
  [[nodiscard]] std::string text() const;
};

// The head of the request that carried a call. On transports without heads every field is absent.
class Head {
 public:
  using Find = std::string_view (*)(const void* source, std::string_view name);

  Head() = default;
  Head(std::string_view method, std::string_view path, const void* source, Find find)
      : method_(method), path_(path), source_(source), find_(find) {}

  [[nodiscard]] std::string_view method() const { return method_; }
  // Returns: the path as it came, without the query.
  [[nodiscard]] std::string_view path() const { return path_; }

  // Returns: the value of the first field of that name, without surrounding blanks; empty if
  // absent. Names are compared without regard to case (RFC 9110 section 5.1).
  [[nodiscard]] std::string_view field(std::string_view name) const {
    return find_ == nullptr ? std::string_view() : find_(source_, name);
  }

 private:
  friend class rpc::LateCalls;
  std::string_view method_;
  std::string_view path_;
  const void* source_ = nullptr;
  Find find_ = nullptr;
};

// Everything a transport tells of the message that it delivered.
struct Origin {
  Peer peer;
  std::string_view principal;  // empty until authentication is on
  Head head;
  std::uint64_t deadline_ms = 0;  // on the monotonic clock; 0 when the call has none
};

}  // namespace ringrpc
