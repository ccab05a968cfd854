#include "tests/spec/methods.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "tests/spec/co_methods.h"
#include "tests/spec/late_methods.h"
#include "tools/ringrpcd/methods.h"

namespace ringrpc::testing {
namespace {

struct Subtract {
  std::int64_t minuend;
  std::int64_t subtrahend;
};

// Takes as many numbers as there are, which no struct says.
void sum_all(Call& call, Reply& reply) {
  std::int64_t total = 0;
  for (JsonValue::Entry entry = call.params().first(); entry; entry = entry.next()) {
    std::int64_t value = 0;
    if (!entry.value().get(value)) {
      reply.error(1003, "Not a number");
      return;
    }
    total += value;
  }
  reply.result().integer(total);
}

void add_specification(Server& server) {
  server.method("subtract", [](const Subtract& in) { return in.minuend - in.subtrahend; });
  server.method("sum", sum_all);
  server.method("update", [](Call&) {});
  server.method("notify_hello", [](Call&) {});
  server.method("notify_sum", [](Call&) {});
  server.method("get_data", [](Call&, Reply& reply) { reply.result().raw(R"(["hello",5])"); });
}

struct Point {
  std::int64_t x;
  std::int64_t y;
};

enum class Colour { red, green };

struct Drawing {
  std::string name;
  std::vector<Point> list;
  std::optional<double> scale;
  std::optional<Colour> colour;
  std::optional<bool> closed;
};

struct Numbers {
  std::optional<std::int8_t> small;
  std::optional<std::uint64_t> natural;
  std::optional<std::int64_t> whole;
  std::optional<double> real;
};

// Every width of an integer.
struct Widths {
  std::optional<std::int8_t> i8;
  std::optional<std::uint8_t> u8;
  std::optional<std::int16_t> i16;
  std::optional<std::uint16_t> u16;
  std::optional<std::int32_t> i32;
  std::optional<std::uint32_t> u32;
  std::optional<std::int64_t> i64;
  std::optional<std::uint64_t> u64;
};

// Types whose parts have no names, and what may be one of several.
struct Mixed {
  std::optional<std::array<Point, 2>> line;
  std::optional<std::tuple<std::string, std::int64_t, std::optional<bool>>> entry;
  std::optional<std::variant<std::int64_t, std::string, std::vector<Point>, Point>> any;
  std::optional<std::map<std::string, std::vector<Point>>> groups;
  std::optional<Json> raw;
};

void add_shapes(Server& server) {
  server.method("widths", [](const Widths& in) { return in; });
  server.method("mixed", [](const Mixed& in) { return in; });
  server.method("mixed.strict", [](const Mixed& in) { return in; }, {.strict = true});
  server.method("tuple",
                [](const std::tuple<std::int64_t, std::optional<Colour>>& in) { return in; });
  server.method("list", [](const std::vector<std::int64_t>& in) { return in; });
  server.method("map", [](const std::map<std::string, std::int64_t>& in) { return in; });
  server.method("shape", [](const std::variant<Point, std::vector<Point>>& in) { return in; });
}

void add_typed(Server& server) {
  add_shapes(server);
  server.method("point.sum", [](const Point& in) { return in.x + in.y; });
  server.method("point.strict", [](const Point& in) { return in.x + in.y; }, {.strict = true});
  server.method("draw", [](const Drawing& in) { return in; });
  server.method("numbers", [](const Numbers& in) { return in; });
  server.method("nothing", []() {});
  server.method("wrong.number", []() { return 0.0 / 0.0; });
  server.method("wrong.text", []() { return std::string("\xff"); });
}

// What nobody may reach: their counts tell.
void add_hidden(Server& server) {
  server.method("smuggled", []() { return true; });
  server.method("admin.stop", []() { return true; });
}

// Returns: whether there are rules of that name.
bool read_rules(std::string_view name, EndpointOptions& rules) {
  rules = agent_endpoint();
  if (name == "agent") return true;
  if (name == "plain") {
    rules = {};
  } else if (name == "mcp") {
    rules.ids = IdRule::strings_and_integers;
    rules.null_id_in_errors = false;
  } else if (name == "a2a") {
    rules.status = StatusRule::mapped_defects;
  } else if (name == "idless") {
    rules.idless = Idless::answered;
  } else if (name == "ok") {
    rules.status = StatusRule::ok;
  } else {
    return false;
  }
  return true;
}

// Reads PATH=RULES,PATH=RULES. Returns: whether that is what it was.
bool read_mounts(std::string_view text, std::vector<std::pair<std::string, EndpointOptions>>& out) {
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find(','));
    const std::size_t sign = one.find('=');
    EndpointOptions rules;
    if (sign == one.npos || !read_rules(one.substr(sign + 1), rules)) return false;
    out.emplace_back(one.substr(0, sign), rules);
    text.remove_prefix(std::min(text.size(), one.size() + 1));
  }
  return true;
}

}  // namespace

bool add_methods(Server& server, std::string_view set, std::uint32_t reply_size_max) {
  if (set == "demo") {
    ringrpcd::add_methods(server, reply_size_max);
  } else if (set == "specification") {
    add_specification(server);
  } else if (set == "typed") {
    add_typed(server);
  } else if (set == "attacked") {
    ringrpcd::add_methods(server, reply_size_max);
    add_hidden(server);
  } else if (set == "late") {
    ringrpcd::add_methods(server, reply_size_max);
    add_late(server);
    add_coroutines(server);
  } else {
    return false;
  }
  return true;
}

bool add_methods(Server& server, const Served& served, std::uint32_t reply_size_max) {
  for (const auto& [path, rules] : served.mounts) server.mount(path, rules);
  return add_methods(server, served.methods, reply_size_max);
}

std::string read_options(const std::map<std::string, std::string>& settings, Options& options,
                         Served& served) {
  const std::pair<const char*, std::uint32_t*> numbers[] = {
      {"message_size_max", &options.message_size_max},
      {"reply_size_max", &options.reply_size_max},
      {"batch_length_max", &options.batch_length_max},
      {"head_timeout_ms", &options.head_timeout_ms},
      {"idle_timeout_ms", &options.idle_timeout_ms},
      {"body_grace_ms", &options.body_grace_ms},
      {"stall_timeout_ms", &options.stall_timeout_ms},
      {"linger_timeout_ms", &options.linger_timeout_ms},
      {"in_flight_max", &options.in_flight_max},
      {"in_flight_per_connection_max", &options.in_flight_per_connection_max},
      {"late_memory_size_max", &options.late_memory_size_max},
      {"frame_memory_size_max", &options.frame_memory_size_max},
  };
  for (const auto& [name, value] : settings) {
    if (name == "methods") {
      served.methods = value;
    } else if (name == "mount") {
      if (!read_mounts(value, served.mounts)) return name;
    } else if (name == "host") {
      options.hosts.push_back(value);
    } else if (name == "origin") {
      options.origins.push_back(value);
    } else {
      const auto number =
          std::find_if(std::begin(numbers), std::end(numbers),
                       [&name = name](const auto& one) { return one.first == name; });
      if (number == std::end(numbers)) return name;
      *number->second = static_cast<std::uint32_t>(std::stoul(value));
    }
  }
  return {};
}

}  // namespace ringrpc::testing
