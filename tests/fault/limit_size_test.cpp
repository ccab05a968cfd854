// Goal: each limit on sizes and numbers holds exactly: at one less and at the limit a request is
//       served, at one more it is answered as the limit says, its method does not run, its counter
//       says so once, and the next peer is served.
// Method: a whole worker on the fake kernel; every case makes requests of n - 1, n and n + 1.

#include <gtest/gtest.h>
#include <ringrpc/limits.h>

#include <functional>
#include <string>

#include "tests/fault/house.h"

namespace ringrpc::testing {
namespace {

using base::Counter;
using Make = std::function<std::string(std::uint32_t n)>;

struct Limit {
  std::uint32_t n;
  Make request;      // of that size
  int status;        // over it
  const char* code;  // in the body, empty for none
  Counter counter;
  const char* method = "size";
  bool runs_over = false;  // the call itself is over its limit: it has run
};

std::string call(std::string_view method, std::string_view params, std::string_view id = "1") {
  std::string text = R"({"jsonrpc":"2.0","method":")";
  text.append(method).append(R"(","params":)").append(params).append(R"(,"id":)").append(id);
  return text + "}";
}

void expect_limit(const Limit& limit, const serve::WorkerOptions& options = House::small()) {
  House house(options);
  for (const std::uint32_t n : {limit.n - 1, limit.n}) {
    const std::string answer = house.ask(limit.request(n));
    EXPECT_EQ(status_of(answer), 200) << n << " " << answer.substr(0, 300);
    EXPECT_NE(answer.find("\"result\""), answer.npos) << n << " " << answer.substr(0, 300);
    EXPECT_EQ(house.count(limit.counter), 0u) << n;
  }
  const std::uint64_t before = house.started(limit.method);
  EXPECT_GT(before, 0u);
  const std::string answer = house.ask(limit.request(limit.n + 1));
  EXPECT_EQ(status_of(answer), limit.status) << answer.substr(0, 300);
  if (*limit.code != '\0') {
    EXPECT_NE(answer.find(limit.code), answer.npos) << answer.substr(0, 300);
    EXPECT_EQ(answer.find("\"result\""), answer.npos) << answer.substr(0, 300);
  }
  EXPECT_EQ(house.count(limit.counter), 1u);
  EXPECT_EQ(house.started(limit.method), before + (limit.runs_over ? 1 : 0));
  EXPECT_EQ(house.count(Counter::bad_heads), 0u);
  EXPECT_EQ(status_of(house.ask(call_sum())), 200);
}

std::string padded_to(std::string text, std::size_t size) {
  EXPECT_LE(text.size(), size);
  text.insert(text.size() - 1, std::string(size - text.size(), ' '));
  return text;
}

const std::string size_call = call("size", "[]");

}  // namespace

TEST(LimitSizeTest, ABodyIsHeldToMessageSizeMax) {
  serve::WorkerOptions options = House::small();
  for (const std::uint32_t n : {1024u, limits::message_size_max}) {
    options.message_size_max = n;
    expect_limit({n, [](std::uint32_t size) { return post_with("", padded_to(size_call, size)); },
                  413, "-31008", Counter::limit_message_size},
                 options);
  }
}

TEST(LimitSizeTest, AChunkedBodyIsHeldToItToo) {
  serve::WorkerOptions options = House::small();
  options.message_size_max = 5000;
  expect_limit(
      {5000,
       [](std::uint32_t size) {
         char digits[16];
         std::snprintf(digits, sizeof(digits), "%x", size);
         return "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                "Transfer-Encoding: chunked\r\n\r\n" +
                std::string(digits) + "\r\n" + padded_to(size_call, size) + "\r\n0\r\n\r\n";
       },
       413, "-31008", Counter::limit_message_size},
      options);
}

TEST(LimitSizeTest, AHeadIsHeldToHeadSizeMax) {
  const Make head_of = [](std::uint32_t size) {
    std::string bytes = post_with("X: \r\n", size_call);
    const std::size_t head = bytes.size() - size_call.size();
    return bytes.insert(bytes.find("X: ") + 3, std::string(size - head, 'y'));
  };
  serve::WorkerOptions options = House::small();
  for (const std::uint32_t n :
       {limits::head_size_max, limits::head_size_max_min, std::uint32_t{5000}}) {
    options.head.size_max = n;
    expect_limit({n, head_of, 431, "", Counter::limit_head_size}, options);
  }
}

TEST(LimitSizeTest, ItsFieldsAreHeldToHeadFieldsMax) {
  const Make fields_of = [](std::uint32_t count) {
    std::string fields;
    for (std::uint32_t i = 3; i < count; ++i) fields += "X: y\r\n";
    return post_with(fields, size_call);
  };
  serve::WorkerOptions options = House::small();
  for (const std::uint32_t n : {limits::head_fields_max, limits::head_fields_max_min}) {
    options.head.fields_max = n;
    expect_limit({n, fields_of, 431, "", Counter::limit_head_fields}, options);
  }
}

TEST(LimitSizeTest, ATargetIsHeldToTargetSizeMax) {
  const Make target_of = [](std::uint32_t size) {
    std::string bytes = post_with("", size_call);
    return bytes.insert(bytes.find("/rpc") + 4, "?" + std::string(size - 5, 'q'));
  };
  serve::WorkerOptions options = House::small();
  for (const std::uint32_t n : {limits::target_size_max, limits::target_size_max_min}) {
    options.head.target_size_max = n;
    expect_limit({n, target_of, 414, "", Counter::limit_target_size}, options);
  }
}

TEST(LimitSizeTest, TheVerdictOnAHeadIsTheSameByteByByte) {
  serve::WorkerOptions options = House::small();
  options.head = {.size_max = 1024, .fields_max = 8, .target_size_max = 64};
  const std::string good = post_with("", size_call);
  std::string target = good;
  target.insert(target.find("/rpc") + 4, "?" + std::string(64, 'q'));
  const struct {
    std::string bytes;
    int status;
    Counter counter;
  } cases[] = {
      {post_with("X: " + std::string(1024, 'y') + "\r\n", size_call), 431,
       Counter::limit_head_size},
      {post_with("X: y\r\nX: y\r\nX: y\r\nX: y\r\nX: y\r\nX: y\r\n", size_call), 431,
       Counter::limit_head_fields},
      {target, 414, Counter::limit_target_size},
  };
  for (const auto& one : cases) {
    House house(options);
    const House::ClientId client = house.connect();
    std::string answer;
    for (const char byte : one.bytes) answer += house.say(client, {&byte, 1});
    EXPECT_EQ(status_of(answer), one.status) << answer;
    EXPECT_EQ(house.count(one.counter), 1u) << one.status;
    EXPECT_EQ(house.started("size"), 0u);
  }
}

TEST(LimitSizeTest, ChunkExtensionsAndTrailersAreCounted) {
  const std::string head =
      "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Transfer-Encoding: chunked\r\n\r\n";
  House house;
  std::string answer =
      house.ask(head + "2;a=" + std::string(limits::chunk_extension_size_max, 'x') + "\r\n[]\r\n");
  EXPECT_EQ(status_of(answer), 400) << answer;
  EXPECT_EQ(house.count(Counter::limit_chunk_extension), 1u);
  answer = house.ask(head + "2\r\n[]\r\n0\r\nX: " + std::string(limits::trailer_size_max, 'x'));
  EXPECT_EQ(status_of(answer), 431) << answer;
  EXPECT_EQ(house.count(Counter::limit_trailer_size), 1u);
  EXPECT_EQ(house.count(Counter::bad_heads), 0u);
}

TEST(LimitSizeTest, AReplyIsHeldToReplySizeMax) {
  serve::WorkerOptions options = House::small();
  for (const std::uint32_t n : {limits::reply_size_max_min, limits::reply_size_max}) {
    options.reply_size_max = n;
    const std::uint32_t frame =
        static_cast<std::uint32_t>(std::string(R"({"jsonrpc":"2.0","result":"","id":1})").size());
    expect_limit({n,
                  [frame](std::uint32_t size) {
                    const std::string bytes = std::to_string(size - frame);
                    return post_with("", call("blob", R"({"bytes":)" + bytes + "}"));
                  },
                  200, "-31004", Counter::limit_reply_size, "blob", true},
                 options);
  }
}

TEST(LimitSizeTest, NestingIsHeldToDepthMax) {
  expect_limit({limits::depth_max,
                [](std::uint32_t depth) {
                  return post_with("",
                                   call("size", std::string(depth, '[') + std::string(depth, ']')));
                },
                200, "-32700", Counter::limit_depth});
}

TEST(LimitSizeTest, OtherBadJsonIsNoNesting) {
  House house;
  const std::string deep = call("size", std::string(65, '[') + std::string(65, ']'));
  house.ask(post_with("", deep));
  EXPECT_EQ(house.count(Counter::limit_depth), 1u);
  for (const char* bad : {"{", "[[[", "{\"a\":}", "[1,]", "nul", "\xFF"}) {
    EXPECT_NE(house.ask(post_with("", bad)).find("-32700"), std::string::npos) << bad;
  }
  EXPECT_EQ(house.count(Counter::limit_depth), 1u);
}

TEST(LimitSizeTest, ABatchIsHeldToBatchLengthMax) {
  serve::WorkerOptions options = House::small();
  for (const std::uint32_t n : {3u, limits::batch_length_max}) {
    options.batch_length_max = n;
    expect_limit({n,
                  [](std::uint32_t length) {
                    std::string batch = "[" + size_call;
                    for (std::uint32_t i = 1; i < length; ++i) batch += "," + size_call;
                    return post_with("", batch + "]");
                  },
                  200, "-31005", Counter::limit_batch_length},
                 options);
  }
}

TEST(LimitSizeTest, AnIdIsHeldToIdSizeMax) {
  expect_limit({limits::id_size_max,
                [](std::uint32_t size) {
                  return post_with("",
                                   call("size", "[]", "\"" + std::string(size - 2, 'i') + "\""));
                },
                200, "-32600", Counter::limit_id_size});
}

TEST(LimitSizeTest, AMethodIsHeldToMethodSizeMax) {
  House house;
  for (const std::uint32_t n : {limits::method_size_max - 1, limits::method_size_max}) {
    const std::string answer = house.ask(post_with("", call(std::string(n, 'm'), "[]")));
    EXPECT_NE(answer.find("-32601"), answer.npos) << answer;
    EXPECT_EQ(house.count(Counter::limit_method_size), 0u) << n;
  }
  const std::string over(limits::method_size_max + 1, 'm');
  EXPECT_NE(house.ask(post_with("", call(over, "[]"))).find("-32601"), std::string::npos);
  EXPECT_EQ(house.count(Counter::limit_method_size), 1u);
}

TEST(LimitSizeTest, ARefusedBodyIsDroppedUpToDrainSizeMax) {
  serve::WorkerOptions options = House::small();
  for (const std::uint32_t n : {0u, 1000u, limits::drain_size_max}) {
    options.peer.drain_size_max = n;
    for (const std::uint32_t size : {n - std::min(n, 1u), n, n + 1}) {
      House house(options);
      const House::ClientId client = house.connect();
      const std::string body(size, 'x');
      const std::string refused =
          "POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(size) +
          "\r\n\r\n" + body;
      const std::string answer = house.say(client, refused + call_sum());
      EXPECT_EQ(status_of(answer), 404) << size;
      // Within the limit the connection goes on behind the body; over it nothing more is read.
      EXPECT_EQ(answer.find("\"result\":5") != answer.npos, size <= n) << size << " of " << n;
      EXPECT_EQ(house.io().client_at_end(client), size > n) << size << " of " << n;
    }
  }
}

TEST(LimitSizeTest, BytesBehindOurFinAreHeldToDrainSizeMax) {
  serve::WorkerOptions options = House::small();
  options.peer.drain_size_max = 5000;
  for (const std::uint32_t size : {4999u, 5000u, 5001u}) {
    House house(options);
    const House::ClientId client = house.connect();
    EXPECT_EQ(status_of(house.say(client, "NONSENSE\r\n")), 400);
    EXPECT_EQ(house.connections(), 1u);
    house.say(client, std::string(size, 'x'));
    const bool over = size > 5000;
    EXPECT_EQ(house.count(Counter::limit_drain_size), over ? 1u : 0u) << size;
    EXPECT_EQ(house.connections(), over ? 0u : 1u) << size;
  }
}

TEST(LimitSizeTest, PeersOverConnectionsMaxAreToldSo) {
  serve::WorkerOptions options = House::small();
  options.connections_max = 3;
  options.refusals_max = 2;
  House house(options);
  House::ClientId served[3];
  for (House::ClientId& client : served) client = house.connect();
  EXPECT_EQ(house.count(Counter::limit_connections), 0u);
  const House::ClientId fourth = house.connect();
  const std::string answer = house.say(fourth, call_sum());
  EXPECT_EQ(status_of(answer), 503) << answer;
  EXPECT_NE(answer.find("Retry-After: "), answer.npos) << answer;
  EXPECT_NE(answer.find("Connection: close"), answer.npos) << answer;
  EXPECT_TRUE(house.io().client_at_end(fourth));
  EXPECT_EQ(house.count(Counter::limit_connections), 1u);
  EXPECT_EQ(house.started("sum"), 0u);
  // The others are served, and so is who comes when one of them has left, while the refused one is
  // still being got rid of.
  for (const House::ClientId client : served)
    EXPECT_EQ(status_of(house.say(client, call_sum())), 200);
  house.io().client_fin(served[0]);
  house.turn_until_idle();
  const House::ClientId next = house.connect();
  EXPECT_EQ(status_of(house.say(next, call_sum())), 200);
  EXPECT_EQ(house.count(Counter::limit_connections), 1u);
}

TEST(LimitSizeTest, PeersOverThePlacesForRefusalsWaitForTheirs) {
  serve::WorkerOptions options = House::small();
  options.connections_max = 1;
  options.refusals_max = 2;
  House house(options);
  house.connect();
  House::ClientId over[5];
  for (House::ClientId& client : over) client = house.connect();
  EXPECT_EQ(house.count(Counter::limit_connections), 2u);
  EXPECT_EQ(house.io().client_read(over[4]), "");
  // The refused ones end after a linger at most, and two more get their answer each time.
  for (int i = 0; i < 3; ++i) house.wait_ms(limits::linger_timeout_ms + 2 * limits::timer_slot_ms);
  EXPECT_EQ(house.count(Counter::limit_connections), 5u);
  for (const House::ClientId client : over) {
    EXPECT_EQ(status_of(house.io().client_read(client)), 503);
  }
}

}  // namespace ringrpc::testing
