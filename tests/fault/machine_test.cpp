// Goal: what the machine takes away is told apart, costs only those who need it, and comes back.
// Method: a server in a process of its own, with limits of its own; nothing of the machine is
//       changed. On both backends.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "tests/fault/child.h"
#include "tests/fault/house.h"
#include "tests/support/io_uring.h"

namespace ringrpc::testing {
namespace {

class Machine : public ::testing::TestWithParam<IoChoice> {
 protected:
  // Starts the child. Returns: false when there is nothing to test on this kernel.
  void start(Child::Setup setup) {
    setup.options.io = GetParam();
    child_ = std::make_unique<Child>(setup);
  }

  Child& child() { return *child_; }
  [[nodiscard]] bool is_uring() const { return GetParam() == IoChoice::uring; }
  [[nodiscard]] Options options() const { return Child::options(GetParam()); }

 private:
  std::unique_ptr<Child> child_;
};

void limit_descriptors(rlim_t count) {
  const rlimit limit{count, count};
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) _exit(77);
}

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

// Takes every descriptor that is left, and gives them back.
struct Hoard {
  std::vector<int> taken;
  std::int64_t take() {
    for (int fd = 0; (fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) taken.push_back(fd);
    return static_cast<std::int64_t>(taken.size());
  }
  std::int64_t give() {
    for (const int fd : taken) close(fd);
    taken.clear();
    return 0;
  }
};

std::uint64_t vm_size() {
  std::FILE* file = std::fopen("/proc/self/statm", "re");
  unsigned long pages = 0;
  const int read = std::fscanf(file, "%lu", &pages);
  std::fclose(file);
  return read == 1 ? std::uint64_t{pages} * 4096 : 0;
}

constexpr const char* small_sum = R"({"a":2,"b":3})";

std::string name_of(const ::testing::TestParamInfo<IoChoice>& info) {
  return info.param == IoChoice::uring ? "uring" : "epoll";
}

}  // namespace

TEST_P(Machine, FewDescriptorsAreALimitOfConnectionsAndPeersOverItAreToldSo) {
  start({.options = options(), .before = [] { limit_descriptors(96); }});
  RINGRPC_STARTED(child().port() != 0, GetParam(), child().start_line());
  constexpr int places = 96 - static_cast<int>(limits::descriptors_reserved);
  std::vector<Socket> peers;
  for (int i = 0; i < 2 * places; ++i) peers.emplace_back(child().port());
  int served = 0;
  int refused = 0;
  for (int i = 0; i < places + static_cast<int>(limits::refusals_max); ++i) {
    ASSERT_TRUE(peers[i].write(post(call_text("sum", small_sum))));
    const int status = status_of(peers[i].read_response());
    served += status == 200 ? 1 : 0;
    refused += status == 503 ? 1 : 0;
  }
  EXPECT_EQ(served, places);
  EXPECT_EQ(refused, static_cast<int>(limits::refusals_max));
  EXPECT_GE(Child::metric(peers[0], "ringrpc_limit_hits_total{limit=\"connections\"}"),
            limits::refusals_max);
  peers.clear();
  // A peer that meets the rest of the crowd is told so, and finds a place later.
  for (int status = 503; status == 503;) {
    Socket peer(child().port());
    status = status_of(call_over(peer, "sum", small_sum));
    ASSERT_TRUE(status == 200 || status == 503) << status;
  }
  EXPECT_EQ(child().stop(), 0);
  EXPECT_EQ(child().errors(), "");
}

TEST_P(Machine, WithoutADescriptorLeftPeersWaitWithoutABusyLoop) {
  Hoard hoard;
  const auto methods = [&hoard](Server& server) {
    server.method("take", [&hoard](Call&) { return hoard.take(); });
    server.method("give", [&hoard](Call&) { return hoard.give(); });
  };
  start({.options = options(), .before = [] { limit_descriptors(256); }, .methods = methods});
  RINGRPC_STARTED(child().port() != 0, GetParam(), child().start_line());
  Socket first(child().port());
  EXPECT_EQ(status_of(call_over(first, "take")), 200);
  Socket second(child().port());
  ASSERT_TRUE(second.write(post(call_text("sum", small_sum))));
  if (is_uring()) {
    // Direct descriptors are not the process's: who comes is served all the same.
    EXPECT_EQ(status_of(second.read_response()), 200);
    EXPECT_EQ(Child::metric(first, "ringrpc_accept_errors_total"), 0u);
    EXPECT_EQ(status_of(call_over(first, "give")), 200);
    EXPECT_EQ(child().stop(), 0);
    EXPECT_EQ(child().errors(), "");
    return;
  }
  // Each failed accept makes the pause longer, and between them it sleeps: what it enters the
  // kernel for is our own asking, which costs two entries at most, and the ends of its pauses.
  const std::uint64_t enters = Child::metric(first, "ringrpc_enters_total");
  std::uint64_t asked = 1;
  std::uint64_t errors = 0;
  for (; errors < 10; ++asked) {
    errors = Child::metric(first, "ringrpc_accept_errors_total");
    ASSERT_LT(asked, 1'000'000u);
  }
  const std::uint64_t entered = Child::metric(first, "ringrpc_enters_total") - enters;
  EXPECT_LE(entered, 3 * (asked + errors) + 10);
  EXPECT_EQ(status_of(call_over(first, "sum", small_sum)), 200);
  EXPECT_EQ(status_of(call_over(first, "give")), 200);
  EXPECT_EQ(status_of(second.read_response()), 200);
  EXPECT_EQ(child().stop(), 0);
  EXPECT_EQ(lines_of(child().errors()), 1u) << child().errors();
  EXPECT_NE(child().errors().find("no descriptor left in this process"), std::string::npos);
  EXPECT_NE(child().errors().find("ulimit -n"), std::string::npos);
}

TEST_P(Machine, WhenReceiveBuffersRunOutEveryoneIsServedAllTheSame) {
  int gate[2] = {-1, -1};
  ASSERT_EQ(pipe2(gate, O_CLOEXEC), 0);
  const auto methods = [&gate](Server& server) {
    server.method("hold", [&gate](Call&) {
      char byte = 0;
      return static_cast<std::int64_t>(read(gate[0], &byte, 1));
    });
  };
  Options few = options();
  few.receive_buffers = 2;
  start({.options = few, .methods = methods});
  RINGRPC_STARTED(child().port() != 0, GetParam(), child().start_line());
  std::vector<Socket> peers;
  for (int i = 0; i < 40; ++i) {
    peers.emplace_back(child().port());
    EXPECT_EQ(status_of(call_over(peers.back(), "sum", small_sum)), 200);
  }
  Socket holder(child().port());
  ASSERT_TRUE(holder.write(post(call_text("hold"))));
  // The worker is in the handler or will be: all of these are there when it looks again.
  for (Socket& peer : peers) ASSERT_TRUE(peer.write(post(call_text("sum", small_sum))));
  ASSERT_EQ(write(gate[1], "x", 1), 1);
  for (Socket& peer : peers) EXPECT_EQ(status_of(peer.read_response()), 200);
  EXPECT_EQ(status_of(holder.read_response()), 200);
  EXPECT_GT(Child::metric(holder, "ringrpc_buffers_exhausted_total"), 0u);
  EXPECT_EQ(Child::metric(holder, "ringrpc_buffers_lent"), 0u);
  EXPECT_EQ(child().stop(), 0);
  EXPECT_EQ(child().errors(), "");
  close(gate[0]);
  close(gate[1]);
}

TEST_P(Machine, WhenThePoolIsFullALargeBodyIsToldSoAndOthersGoOn) {
  Options small = options();
  small.message_size_max = 1u << 20;
  small.partial_pool_size = 2 * ((1u << 20) + limits::head_size_max);
  start({.options = small});
  RINGRPC_STARTED(child().port() != 0, GetParam(), child().start_line());
  const std::string call = call_text("sum", small_sum);
  const std::string whole = post(std::string((1u << 20) - call.size(), ' ') + call);
  // So much that room for all of it has been taken.
  const std::string_view first_part(whole.data(), 700'000);
  Socket watcher(child().port());
  Socket holders[2] = {Socket(child().port()), Socket(child().port())};
  std::uint64_t held = 0;
  for (Socket& holder : holders) {
    ASSERT_TRUE(holder.write(first_part));
    held += 1u << 20;
    constexpr const char* pool = "ringrpc_memory_bytes{pool=\"partial_messages\"}";
    std::uint32_t asked = 0;
    while (Child::metric(watcher, pool) < held) ASSERT_LT(++asked, 100'000u);
  }
  Socket third(child().port());
  third.write(first_part.substr(0, 30'000));
  const std::string answer = third.read_response();
  EXPECT_EQ(status_of(answer), 503) << answer;
  EXPECT_NE(answer.find("Retry-After: "), answer.npos);
  EXPECT_EQ(Child::metric(watcher, "ringrpc_limit_hits_total{limit=\"partial_pool\"}"), 1u);
  EXPECT_EQ(status_of(call_over(watcher, "sum", small_sum)), 200);
  for (Socket& holder : holders) {
    ASSERT_TRUE(holder.write(std::string_view(whole).substr(first_part.size())));
    EXPECT_EQ(status_of(holder.read_response()), 200);
  }
  EXPECT_EQ(status_of((holders[0].write(whole), holders[0].read_response())), 200);
  EXPECT_EQ(child().stop(), 0);
}

TEST_P(Machine, WhenTheMachineHasNoMemoryALargeBodyIsToldSoAndOthersGoOn) {
  if (has_sanitizer()) GTEST_SKIP() << "a sanitizer needs the address space for its shadow";
  const auto methods = [](Server& server) {
    server.method("starve", [](Call&) {
      rlimit limit{};
      getrlimit(RLIMIT_AS, &limit);
      limit.rlim_cur = vm_size() + (512u << 10);
      return static_cast<std::int64_t>(setrlimit(RLIMIT_AS, &limit));
    });
    server.method("feed", [](Call&) {
      rlimit limit{};
      getrlimit(RLIMIT_AS, &limit);
      limit.rlim_cur = limit.rlim_max;
      return static_cast<std::int64_t>(setrlimit(RLIMIT_AS, &limit));
    });
    server.method("blob", [](Call&) { return std::string(8u << 20, 'x'); });
    // More than an arena of the allocator may have in reserve.
    server.method("huge", [](Call&) {
      return static_cast<std::int64_t>(std::string(400u << 20, 'x').size());
    });
  };
  start({.options = options(), .methods = methods});
  RINGRPC_STARTED(child().port() != 0, GetParam(), child().start_line());
  const std::string call = call_text("sum", small_sum);
  const std::string whole = post(std::string((3u << 20) - call.size(), ' ') + call);
  Socket watcher(child().port());
  EXPECT_NE(call_over(watcher, "starve").find("\"result\":0"), std::string::npos);
  {
    Socket large(child().port());
    large.write(whole);
    EXPECT_EQ(status_of(large.read_response()), 503);
  }
  // No room for the reply; and a handler's own want of memory is an exception like any other.
  EXPECT_NE(call_over(watcher, "blob").find("-31004"), std::string::npos);
  EXPECT_NE(call_over(watcher, "huge").find("-32603"), std::string::npos);
  EXPECT_NE(call_over(watcher, "sum", small_sum).find("\"result\":5"), std::string::npos);
  EXPECT_NE(call_over(watcher, "feed").find("\"result\":0"), std::string::npos);
  Socket large(child().port());
  ASSERT_TRUE(large.write(whole));
  EXPECT_EQ(status_of(large.read_response()), 200);
  EXPECT_GT(call_over(watcher, "blob").size(), 8u << 20);
  EXPECT_EQ(child().stop(), 0);
  EXPECT_EQ(lines_of(child().errors()), 2u) << child().errors();
  EXPECT_NE(child().errors().find("the machine has no memory for a message of"), std::string::npos);
  EXPECT_NE(child().errors().find("the handler of \"huge\" threw: "), std::string::npos);
}

TEST_P(Machine, AStopThatIsHeldUpIsForcedAtItsDeadline) {
  for (const bool reads : {true, false}) {
    Options hasty = options();
    hasty.stop_timeout_ms = reads ? 60'000 : 300;
    const auto methods = [](Server& server) {
      server.method("blob", [](Call&) { return std::string(15u << 20, 'x'); });
    };
    start({.options = hasty, .methods = methods});
    RINGRPC_STARTED(child().port() != 0, GetParam(), child().start_line());
    Socket reader(child().port());
    ASSERT_TRUE(reader.write(post(call_text("blob"))));
    const std::size_t first = reader.read_some().size();
    ASSERT_GT(first, 0u);
    if (reads) {
      for (std::size_t read = first; read < (15u << 20);) {
        const std::size_t more = reader.read_some().size();
        ASSERT_GT(more, 0u);
        read += more;
      }
      EXPECT_EQ(child().stop(), 0);
    } else {
      EXPECT_EQ(child().stop(), 1);  // The rest of the reply is never read.
    }
  }
}

TEST_P(Machine, AResultThatIsNoJsonIsCountedAndSaidOnce) {
  const auto methods = [](Server& server) {
    server.method("nan", [](Call&) { return 0.0 / 0.0; });
    server.method("two", [](Call&, Reply& reply) {
      reply.result().null();
      reply.result().null();
    });
    server.method("half", [](Call&, Reply& reply) { reply.result().begin_object(); });
  };
  start({.options = options(), .methods = methods});
  RINGRPC_STARTED(child().port() != 0, GetParam(), child().start_line());
  Socket peer(child().port());
  std::uint64_t defects = 0;
  for (const char* method : {"nan", "two", "half"}) {
    EXPECT_NE(call_over(peer, method).find("-32603"), std::string::npos) << method;
    EXPECT_EQ(Child::metric(peer, "ringrpc_bad_results_total"), ++defects) << method;
  }
  EXPECT_EQ(child().stop(), 0);
  EXPECT_EQ(child().errors().find("ringrpc: the handler of \"nan\" left a result that is no JSON"),
            0u)
      << child().errors();
}

INSTANTIATE_TEST_SUITE_P(Backends, Machine, ::testing::Values(IoChoice::uring, IoChoice::epoll),
                         name_of);

}  // namespace ringrpc::testing
