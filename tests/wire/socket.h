#pragma once

// A client's socket, and what the tests of this folder ask of a server.

#include <ringrpc/server.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace ringrpc::testing {

// Thread: one.
class Socket {
 public:
  Socket() = default;
  // Connects to a port of 127.0.0.1, from an address of the loopback network ("127.0.0.2").
  explicit Socket(std::uint16_t port, const char* from = "127.0.0.1");
  // Connects to a path.
  explicit Socket(const std::string& path);
  Socket(Socket&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Socket& operator=(Socket&& other) noexcept;
  ~Socket();

  [[nodiscard]] bool is_open() const { return fd_ >= 0; }
  [[nodiscard]] int fd() const { return fd_; }
  // "127.0.0.2:41233"
  [[nodiscard]] std::string own_address() const;
  // Returns: whether all of it was taken by the kernel.
  bool write(std::string_view bytes);
  void finish();
  void reset();
  // Returns: the whole response, whose length is in its head; less when it ended before.
  std::string read_response();
  // Returns: what is there, or the first that comes.
  std::string read_some();
  // Returns: everything up to the end; ends with "<reset>" or "<nothing>" when it ended otherwise.
  std::string read_all();

 private:
  bool read_more(std::string& bytes);

  int fd_ = -1;
};

// A POST of this message to /rpc.
std::string post(std::string_view message);

// The value of a metric; 0 when it is not there.
std::uint64_t metric(const Server& server, std::string_view name);

// Returns: false when the metric does not get that value, or more with `at_least`, for very long.
bool wait_for(const Server& server, std::string_view name, std::uint64_t value,
              bool at_least = false);

// From one place to end a connection at to the next. Each byte has its turn; the thread sanitizer,
// to which the places are alike, sees every seventh.
#if defined(__SANITIZE_THREAD__)
inline constexpr std::size_t byte_step = 7;
#else
inline constexpr std::size_t byte_step = 1;
#endif

// Descriptors that this process has open.
std::size_t open_descriptors();

}  // namespace ringrpc::testing
