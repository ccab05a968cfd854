// Goal: the vector parser accepts exactly what the byte-by-byte parser accepts, and reads the same
// out of it. Method: heads put together at random from good and bad parts, then bytes changed; each
// judged by both with random slack, and at a few prefixes.

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "tests/unit/http/twins.h"

namespace ringrpc::http::test {

using std::string_view_literals::operator""sv;

namespace {

constexpr int heads = 200'000;

class HeadMaker {
 public:
  explicit HeadMaker(std::uint64_t seed) : random_(seed) {}

  std::string make() {
    std::string head = one_of(methods_) + " " + one_of(targets_) + filler() + " " +
                       (chance(10) ? one_of(versions_) : "HTTP/1.1") + "\r\n";
    if (chance(20)) head.insert(0, "\r\n");
    if (!chance(20)) head += "Host: " + one_of(hosts_) + "\r\n";
    for (std::uint64_t i = random_() % 6; i > 0; --i) {
      head += one_of(names_) + filler() + one_of(colons_) + one_of(values_) + filler() + "\r\n";
    }
    head += "\r\n";
    if (chance(2)) change(head);
    return head;
  }

  std::mt19937_64& random() { return random_; }

 private:
  bool chance(std::uint64_t one_in) { return random_() % one_in == 0; }

  template <std::size_t size>
  std::string one_of(const std::array<const char*, size>& parts) {
    return parts[random_() % size];
  }

  // Moves what follows to any position within a vector.
  std::string filler() { return chance(4) ? std::string(random_() % 70, 'a') : std::string(); }

  void change(std::string& head) {
    static constexpr std::string_view bytes = "\0\r\n\t :,;?\"/[]09aZ-_\x01\x1f\x7f\x80\xff"sv;
    for (std::uint64_t i = 1 + random_() % 3; i > 0; --i) {
      const std::size_t at = random_() % head.size();
      const char byte = bytes[random_() % bytes.size()];
      switch (random_() % 4) {
        case 0:
          head[at] = byte;
          break;
        case 1:
          head.insert(at, 1, byte);
          break;
        case 2:
          head.erase(at, 1);
          break;
        default:
          head[at] = static_cast<char>(random_());
      }
      if (head.empty()) head = "x";
    }
  }

  static constexpr std::array<const char*, 9> methods_ = {"POST",    "POST",   "POST", "GET", "GET",
                                                          "OPTIONS", "DELETE", "HEAD", "PUT"};
  static constexpr std::array<const char*, 7> targets_ = {
      "/", "/rpc", "/rpc?a", "/mcp", "*", "http://h:1/rpc?a", "http://h"};
  static constexpr std::array<const char*, 4> versions_ = {"HTTP/1.0", "HTTP/1.2", "HTTP/1.1",
                                                           "HTTP/2.0"};
  static constexpr std::array<const char*, 9> hosts_ = {
      "h", "127.0.0.1:8080", "[::1]:1", "localhost:", "h:65535", "h:99999", "h:1x", "", "h:123"};
  static constexpr std::array<const char*, 14> names_ = {
      "Content-Length", "content-type", "Transfer-Encoding", "Connection", "Expect", "Accept",
      "ORIGIN",         "Upgrade",      "Content-Encoding",  "X",          "Host",   "User-Agent",
      "Acceps",         "Tost"};
  static constexpr std::array<const char*, 6> colons_ = {": ", ":", ":\t", ":  ", " :", ": \t "};
  static constexpr std::array<const char*, 12> values_ = {"5",
                                                          "12345678",
                                                          "123456789",
                                                          "chunked",
                                                          "close",
                                                          "keep-alive, upgrade",
                                                          "application/json",
                                                          "",
                                                          "100-continue",
                                                          "h:1",
                                                          "18446744073709551616",
                                                          "a \t"};

  std::mt19937_64 random_;
};

TEST(HeadTwins, AgreeOnRandomHeadsAndTheirPrefixes) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  HeadMaker maker(seed);
  int complete = 0;
  for (int i = 0; i < heads; ++i) {
    const std::string head = maker.make();
    HeadResult whole;
    Request request;
    ASSERT_TRUE(twins_agree(Padded(head, random_slack(maker.random())), whole, request)) << head;
    complete += whole.status == HeadStatus::complete ? 1 : 0;
    const std::size_t cut = maker.random()() % head.size();
    HeadResult part;
    ASSERT_TRUE(twins_agree(Padded(head.substr(0, cut), head.substr(cut)), part, request)) << head;
    if (part.status != HeadStatus::incomplete) {
      ASSERT_EQ(part, whole) << head << " at " << cut;
    }
  }
  // Both kinds are there in number, or the test means little.
  EXPECT_GT(complete, heads / 10);
  EXPECT_LT(complete, heads - heads / 10);
}

}  // namespace

}  // namespace ringrpc::http::test
