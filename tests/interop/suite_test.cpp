// Goal: the public JSON parsing suite holds through the real server, wherever its text stands in a
// message, and nothing runs out of a text that is no JSON.
// Method: each case as the whole body, as params, as an element of params, as a member that nobody
// reads and as the id, over one kept connection to each backend. Every answer is compared byte for
// byte, and the handler counts itself. suite_cases.txt decides what the suite leaves open.

#include <gtest/gtest.h>
#include <ringrpc/server.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/wire/socket.h"

namespace ringrpc::testing {
namespace {

struct Case {
  std::string text;
  bool accepted = false;
  std::string as_body;  // the answer when the case is the whole body
};

constexpr std::string_view invalid_request = R"({"code":-32600,"message":"Invalid Request"})";
constexpr std::string_view invalid_params =
    R"({"code":-32602,"message":"Invalid params",)"
    R"("data":{"field":"","reason":"params must be an object or an array"}})";
constexpr std::string_view parse_error = R"({"code":-32700,"message":"Parse error"})";

std::string error(std::string_view body, std::string_view id) {
  return R"({"jsonrpc":"2.0","error":)" + std::string(body) + R"(,"id":)" + std::string(id) + "}";
}

std::string result(std::string_view value, std::string_view id) {
  return R"({"jsonrpc":"2.0","result":)" + std::string(value) + R"(,"id":)" + std::string(id) + "}";
}

// "one ID", or "array COUNT": an error without an id for each element.
std::string as_body(const std::string& answers) {
  if (answers.starts_with("one ")) return error(invalid_request, answers.substr(4));
  const int count = answers.starts_with("array ") ? std::stoi(answers.substr(6)) : 0;
  std::string all;
  for (int i = 0; i < count; ++i) all += (i == 0 ? "" : ",") + error(invalid_request, "null");
  return "[" + all + "]";
}

std::vector<std::string> columns(std::string line) {
  std::vector<std::string> parts;
  for (std::size_t at = line.find(" | "); at != line.npos; at = line.find(" | ")) {
    parts.push_back(line.substr(0, at));
    line.erase(0, at + 3);
  }
  parts.push_back(line);
  return parts;
}

// The suite with its verdicts. An open case, or an accepted one, that is not listed gets no verdict
// and so fails.
std::map<std::string, Case> read_suite() {
  std::map<std::string, Case> cases;
  for (const auto& entry : std::filesystem::directory_iterator(RINGRPC_JSON_TEST_SUITE)) {
    if (entry.path().extension() != ".json") continue;
    std::ifstream file(entry.path(), std::ios::binary);
    cases[entry.path().filename()].text = {std::istreambuf_iterator<char>(file), {}};
  }
  EXPECT_EQ(cases.size(), 318u);
  std::size_t listed = 0;
  std::ifstream file(RINGRPC_SUITE_CASES);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#")) continue;
    const std::vector<std::string> parts = columns(line);
    const bool open = line.starts_with("i_");
    EXPECT_EQ(parts.size(), open ? 4u : 3u) << line;
    EXPECT_TRUE(cases.contains(parts[0])) << line;
    EXPECT_TRUE(parts[1] == "accept" || (open && parts[1] == "refuse")) << line;
    cases[parts[0]].accepted = parts[1] == "accept";
    cases[parts[0]].as_body = as_body(parts[2]);
    ++listed;
  }
  for (const auto& [name, one] : cases) listed += name.starts_with("n_") ? 1 : 0;
  EXPECT_EQ(listed, cases.size()) << "suite_cases.txt has a line for each y_ and i_ case";
  return cases;
}

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  return text.substr(begin, text.find_last_not_of(" \t\r\n") + 1 - begin);
}

class JsonSuite : public ::testing::TestWithParam<IoChoice> {
 protected:
  void SetUp() override {
    Options options;
    options.listen = "127.0.0.1:0";
    options.workers = 1;
    options.io = GetParam();
    options.pin = false;
    server_ = std::make_unique<Server>(options);
    server_->method("echo", [this](Call& call, Reply& reply) {
      runs_.fetch_add(1);
      if (call.params().exists()) {
        reply.result().raw(call.params().raw());
      } else {
        reply.result().null();
      }
    });
    ASSERT_TRUE(server_->start()) << server_->error();
    socket_ = Socket(server_->port());
    ASSERT_TRUE(socket_.is_open());
  }

  void TearDown() override {
    // One connection carried every case.
    EXPECT_EQ(metric(*server_, "ringrpc_accepts_total"), 1u);
    socket_ = Socket();
    EXPECT_EQ(server_->stop(), 0);
  }

  void expect(const std::string& name, const std::string& body, const std::string& answer,
              int handlers) {
    const int before = runs_.load();
    ASSERT_TRUE(socket_.write(post(body))) << name;
    const std::string response = socket_.read_response();
    ASSERT_TRUE(response.starts_with("HTTP/1.1 200 OK\r\n")) << name << ": " << response;
    const std::size_t end = response.find("\r\n\r\n");
    ASSERT_EQ(response.substr(end + 4), answer) << name;
    ASSERT_EQ(runs_.load() - before, handlers) << name;
  }

  // A call with `member` in the middle of it; it runs, or is an error with the call's own id.
  void expect_call(const std::string& name, const Case& one, const std::string& member,
                   const std::string& value, bool valid = true) {
    const std::string body = R"({"jsonrpc":"2.0",)" + member + R"(,"method":"echo","id":7})";
    if (!one.accepted) return expect(name, body, error(parse_error, "null"), 0);
    if (!valid) return expect(name, body, error(invalid_params, "7"), 0);
    expect(name, body, result(value, "7"), 1);
  }

  const std::map<std::string, Case> cases_ = read_suite();
  std::atomic<int> runs_ = 0;
  std::unique_ptr<Server> server_;
  Socket socket_;
};

TEST_P(JsonSuite, ACaseAsTheWholeBodyIsJsonAndNoRequestOrAParseError) {
  for (const auto& [name, one] : cases_) {
    expect(name, one.text, one.accepted ? one.as_body : error(parse_error, "null"), 0);
  }
}

TEST_P(JsonSuite, ACaseAsParamsRunsWhenItIsAnObjectOrAnArray) {
  for (const auto& [name, one] : cases_) {
    const std::string value = one.accepted ? trimmed(one.text) : "";
    const bool valid = value.starts_with("{") || value.starts_with("[");
    expect_call(name, one, R"("params":)" + one.text, value, valid);
  }
}

TEST_P(JsonSuite, ACaseAsAnElementOfParamsRunsWhenItIsJson) {
  for (const auto& [name, one] : cases_) {
    // Two elements, so that the file without a byte makes no array of none.
    const std::string params = "[0," + one.text + "]";
    expect_call(name, one, R"("params":)" + params, params);
  }
}

TEST_P(JsonSuite, ACaseThatNobodyReadsMustBeJsonToo) {
  for (const auto& [name, one] : cases_) {
    expect_call(name, one, R"("unread":)" + one.text, "null");
    expect_call(name, one, R"("params":{},"unread":{"a":[)" + one.text + ",1]}", "{}");
  }
}

TEST_P(JsonSuite, ACaseAsTheIdIsEchoedWhenItIsAScalar) {
  std::size_t echoed = 0;
  for (const auto& [name, one] : cases_) {
    const std::string body = R"({"jsonrpc":"2.0","id":)" + one.text + R"(,"method":"echo"})";
    if (!one.accepted) {
      expect(name, body, error(parse_error, "null"), 0);
      continue;
    }
    const std::string token = trimmed(one.text);
    const bool usable = token.find_first_of("{[tf") != 0 && token.size() <= limits::id_size_max;
    if (usable) {
      expect(name, body, result("null", token), 1);
      ++echoed;
    } else {
      expect(name, body, error(invalid_request, "null"), 0);
    }
  }
  EXPECT_GE(echoed, 5u);
}

std::string name_of(const ::testing::TestParamInfo<IoChoice>& info) {
  return info.param == IoChoice::uring ? "OverUring" : "OverEpoll";
}

INSTANTIATE_TEST_SUITE_P(Backends, JsonSuite, ::testing::Values(IoChoice::uring, IoChoice::epoll),
                         name_of);

}  // namespace
}  // namespace ringrpc::testing
