#pragma once

// Cuts the bytes of a connection into replies, and checks each one.
//
// A server under load sends the same reply again and again, so the last whole good reply is kept
// and the next one is compared with it: one memcmp checks the status line, every field, the length
// and the body. Whatever differs (the Date field once a second) is read field by field.

#include <cstdint>
#include <string>
#include <string_view>

namespace ringload {

// What one connection has received of a reply that is not whole yet.
struct Partial {
  std::string bytes;       // from the first byte of the reply
  std::uint64_t size = 0;  // of the whole reply, once its head is complete; before that 0
  std::uint64_t left = 0;  // bytes of an unchecked large body still to come
};

struct ReplyCounts {
  std::uint64_t replies = 0;
  std::uint64_t status_errors = 0;  // neither 200, 202 nor 204
  std::uint64_t rpc_errors = 0;     // replies with a JSON-RPC error, or with JSON that is no answer
  std::uint64_t bodies_checked = 0;
  std::uint64_t bodies_unchecked = 0;  // large ones between two samples
};

struct ReplyHead {
  std::uint64_t body_size = 0;
  std::uint32_t head_size = 0;
  std::uint16_t status = 0;
  bool json = false;
};

enum class HeadStatus : std::uint8_t { complete, incomplete, bad };

// Reads the head of a reply at the front of `bytes`. A reply without Content-Length (and not 204)
// is bad: this generator frames by length only.
HeadStatus read_head(std::string_view bytes, ReplyHead& head);

// Thread: one for each load thread, shared by its connections.
// Cost:   one memcmp for each reply that is like the one before; about 0.2 us otherwise.
class ReplyReader {
 public:
  struct Fed {
    std::uint32_t replies = 0;  // completed by these bytes
    bool bad = false;           // the rest cannot be framed; the connection is of no use any more
  };

  // Takes the next bytes of a connection.
  Fed feed(Partial& partial, const char* data, std::size_t size);

  [[nodiscard]] const ReplyCounts& counts() const { return counts_; }

  static constexpr std::size_t head_size_max = 16u << 10;
  // Bodies up to this size are checked always, larger ones once in sample_every.
  static constexpr std::size_t checked_size_max = 8u << 10;
  static constexpr std::uint64_t sample_every = 1000;
  // Larger ones never: they would have to be kept whole.
  static constexpr std::uint64_t sampled_size_max = 64u << 20;

 private:
  // Both return the first byte that they did not take, or nullptr when the bytes are bad.
  const char* take_one(Partial& partial, const char* cursor, const char* end, Fed& fed);
  const char* resume(Partial& partial, const char* cursor, const char* end, Fed& fed);

  void begin_partial(Partial& partial, const ReplyHead& head, std::string_view bytes);
  bool wants_body(const ReplyHead& head);
  bool judge_status(const ReplyHead& head);
  void judge(const ReplyHead& head, std::string_view reply);

  std::string last_good_;  // a whole reply; empty before the first
  ReplyCounts counts_;
  std::uint64_t large_bodies_ = 0;
};

}  // namespace ringload
