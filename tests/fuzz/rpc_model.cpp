#include "tests/fuzz/rpc_model.h"

#include <ringrpc/limits.h>

#include <optional>
#include <stdexcept>
#include <utility>

#include "tests/fuzz/late_model.h"
#include "tests/support/add_method.h"

namespace ringrpc::fuzz {
namespace {

using Kind = Value::Kind;

// --- The methods ---------------------------------------------------------------------------------

struct Sum {
  std::int64_t a;
  std::int64_t b;
};
struct Text {
  std::string_view text;
};
struct Blob {
  std::uint32_t bytes;
};

constexpr std::uint32_t blob_max = 100'000;

// --- The model -----------------------------------------------------------------------------------

std::string success(const std::string& result, std::string_view id) {
  return R"({"jsonrpc":"2.0","result":)" + result + R"(,"id":)" + std::string(id) + "}";
}

std::string failure(const std::string& error, std::string_view id) {
  return R"({"jsonrpc":"2.0","error":)" + error + R"(,"id":)" +
         (id.empty() ? "null" : std::string(id)) + "}";
}

std::string invalid_params(const std::string& field, const std::string& reason) {
  return R"({"code":-32602,"message":"Invalid params","data":{"field":)" + quoted(field) +
         R"(,"reason":")" + reason + "\"}}";
}

constexpr const char* invalid_request = R"({"code":-32600,"message":"Invalid Request"})";
constexpr const char* parse_error = R"({"code":-32700,"message":"Parse error"})";
constexpr const char* method_not_found = R"({"code":-32601,"message":"Method not found"})";
constexpr const char* internal_error = R"({"code":-32603,"message":"Internal error"})";
constexpr const char* no_event_stream =
    R"({"code":-31009,"message":"Not allowed","data":{"reason":"no_event_stream"}})";
constexpr const char* reply_too_large =
    R"({"code":-31004,"message":"Reply too large","data":{"reason":"reply_size_max"}})";
constexpr const char* batch_too_large =
    R"({"code":-31005,"message":"Batch too large","data":{"reason":"batch_length_max"}})";

// Finds the values of the members called `names`, by name or by place.
// Returns: an error object, empty when each has exactly one value.
std::string find_members(const Value* params, const std::vector<std::string>& names,
                         const std::string& (*check)(const Value&),
                         std::vector<const Value*>& out) {
  out.assign(names.size(), nullptr);
  const bool by_place = params != nullptr && params->is(Kind::array);
  for (std::size_t i = 0; params != nullptr && i < params->items.size(); ++i) {
    std::size_t which = i;
    std::string path = "[" + std::to_string(i) + "]";
    if (by_place) {
      if (i >= names.size()) return invalid_params(path, "is one too many");
    } else {
      for (which = 0; which < names.size() && names[which] != params->names[i]; ++which) continue;
      if (which == names.size()) continue;
      path = names[which];
      if (out[which] != nullptr) return invalid_params(path, "occurs twice");
    }
    const std::string& complaint = check(params->items[i]);
    if (!complaint.empty()) return invalid_params(path, complaint);
    out[which] = &params->items[i];
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (out[i] != nullptr) continue;
    return invalid_params(by_place ? "[" + std::to_string(i) + "]" : names[i], "is required");
  }
  return {};
}

const std::string all_is_well;
const std::string not_integer = "must be an integer";
const std::string out_of_range = "is out of range";
const std::string not_string = "must be a string";

const std::string& check_int64(const Value& value) {
  if (!value.is(Kind::number)) return not_integer;
  const Integer integer = integer_of(value.raw);
  if (!integer.is_whole) return not_integer;
  const std::uint64_t most = (std::uint64_t{1} << 63) - (integer.negative ? 0 : 1);
  return !integer.fits || integer.magnitude > most ? out_of_range : all_is_well;
}

const std::string& check_uint32(const Value& value) {
  if (!value.is(Kind::number)) return not_integer;
  const Integer integer = integer_of(value.raw);
  if (!integer.is_whole) return not_integer;
  const std::uint64_t most = integer.negative ? 0 : 0xFFFFFFFF;
  return !integer.fits || integer.magnitude > most ? out_of_range : all_is_well;
}

const std::string& check_string(const Value& value) {
  return value.is(Kind::string) ? all_is_well : not_string;
}

__int128 number_of(const Value& value) {
  const Integer integer = integer_of(value.raw);
  return integer.negative ? -static_cast<__int128>(integer.magnitude)
                          : static_cast<__int128>(integer.magnitude);
}

// What a call answers beside its id: {"result", value} or {"error", object}.
struct Outcome {
  bool good = true;
  std::string value;
  bool late = false;
  std::string or_value = {};
  bool endless = false;
};
Outcome error_of(std::string object) { return {false, std::move(object)}; }

// What asks for the token of an id is answered null.
Outcome run_cancel(const Message& call, std::vector<std::string>& cancels) {
  const Value* id = nullptr;
  for (std::size_t i = 0; call.params != nullptr && i < call.params->items.size(); ++i) {
    const bool by_place = call.params->is(Kind::array);
    if (id == nullptr && (by_place ? i == 0 : call.params->names[i] == "id")) {
      id = &call.params->items[i];
    }
  }
  if (id == nullptr || !(id->is(Kind::string) || id->is(Kind::number) || id->is(Kind::null))) {
    return error_of(invalid_params("", "id must be a string or a number"));
  }
  cancels.emplace_back(id->raw);
  return {true, "null"};
}

Outcome late(std::string value) { return {.value = std::move(value), .late = true}; }

// What late_model.h's methods answer, as it stands when nothing stops them.
// Returns: nothing when there is no such method. `hears`: the call's peer takes notifications.
std::optional<Outcome> run_late(const Message& call, bool hears, bool two_way) {
  std::vector<const Value*> in;
  std::string wrong;
  const std::string& name = call.method;
  const auto wrong_or = [&wrong](Outcome outcome) {
    if (wrong.empty()) return outcome;
    return Outcome{.good = false, .value = wrong, .late = outcome.late};
  };
  if (name == "hold") return late(R"("held")");
  if (name == "drop") return Outcome{.good = false, .value = internal_error, .late = true};
  if (name == "later") {
    wrong = find_members(call.params, {"ms"}, &check_uint32, in);
    return wrong_or(late(R"("later")"));
  }
  if (name == "waits") {
    wrong = find_members(call.params, {"times", "ms"}, &check_uint32, in);
    return wrong_or(late(R"("waited")"));
  }
  if (name == "ticks") {
    wrong = find_members(call.params, {"count", "ms", "bytes"}, &check_uint32, in);
    if (!wrong.empty()) return wrong_or(late({}));
    const std::uint64_t count = std::min(integer_of(in[0]->raw).magnitude, ticks_max);
    return late(R"({"s":0,"n":)" + std::to_string(count) + "}");
  }
  if (name == "publish") {
    wrong = find_members(call.params, {"topic"}, &check_string, in);
    return wrong_or({.value = "true"});
  }
  if (name != "subscribe" && name != "unsubscribe") return std::nullopt;
  wrong = find_members(call.params, {"topic"}, &check_string, in);
  if (!wrong.empty()) return wrong_or(late({}));
  Outcome outcome = late("true");
  outcome.or_value = "false";
  if (name == "unsubscribe") return outcome;
  if (!hears) return Outcome{.good = false, .value = no_event_stream, .late = true};
  outcome.endless = !two_way;
  return outcome;
}

// Returns: nothing when there is no such method.
std::optional<Outcome> run(const Message& call) {
  std::vector<const Value*> in;
  std::string wrong;
  const std::string& name = call.method;
  if (name == "sum") {
    wrong = find_members(call.params, {"a", "b"}, &check_int64, in);
    if (!wrong.empty()) return error_of(wrong);
    const __int128 total = number_of(*in[0]) + number_of(*in[1]);
    if (total != static_cast<std::int64_t>(total)) {
      return error_of(R"({"code":1002,"message":"Over\"flow"})");
    }
    return Outcome{true, std::to_string(static_cast<std::int64_t>(total))};
  }
  if (name == "text") {
    wrong = find_members(call.params, {"text"}, &check_string, in);
    return wrong.empty() ? Outcome{true, quoted(in[0]->text)} : error_of(wrong);
  }
  if (name == "echo") {
    return Outcome{true, call.params != nullptr ? std::string(call.params->raw) : "null"};
  }
  if (name == "blob") {
    wrong = find_members(call.params, {"bytes"}, &check_uint32, in);
    if (!wrong.empty()) return error_of(wrong);
    const std::uint64_t bytes = integer_of(in[0]->raw).magnitude;
    return Outcome{true, '"' + std::string(std::min<std::uint64_t>(bytes, blob_max), 'x') + '"'};
  }
  if (name == "nothing") return Outcome{true, "null"};
  if (name == "fail") return error_of(R"({"code":1001,"message":"failed","data":[ 1 ]})");
  if (name == "crash") return error_of(internal_error);
  return std::nullopt;
}

// The reply of a whole message while it grows.
struct Building {
  const ModelLimits& limits;
  bool is_batch;
  Answer answer = {};
  bool spent = false;

  // Appends an entry that is wanted whatever its size: nothing runs behind one that crosses.
  void append(const std::string& entry) {
    spent = spent || crosses(entry);
    if (is_batch) answer.body += answer.entries.empty() ? "[" : ",";
    answer.entries.push_back(entry);
    answer.body += entry;
    answer.has_body = true;
  }

  // Whether a reply with this entry in it would be too large.
  [[nodiscard]] bool crosses(const std::string& entry) const {
    return answer.body.size() + entry.size() + (is_batch ? 2 : 0) > limits.reply_size_max;
  }

  void add(const Message& message);
};

void Building::add(const Message& message) {
  if (limits.two_way && message.kind == Message::Kind::response) return;
  const bool is_call = message.kind == Message::Kind::call;
  if (!is_call && message.kind != Message::Kind::notification) {
    const bool echoes = message.kind == Message::Kind::invalid;
    append(failure(invalid_request, echoes ? message.id : std::string_view()));
    return;
  }
  if (spent) {
    if (is_call) append(failure(reply_too_large, message.id));
    return;
  }
  const bool params_fit = message.params == nullptr || message.params->is(Kind::array) ||
                          message.params->is(Kind::object);
  const bool hears = limits.two_way || (limits.events && !is_batch && is_call);
  std::optional<Outcome> outcome = message.method_too_long ? std::nullopt : run(message);
  if (!outcome.has_value() && limits.late) outcome = run_late(message, hears, limits.two_way);
  if (message.method == "rpc.cancel") {
    outcome = params_fit ? run_cancel(message, answer.cancels) : Outcome{};
  }
  if (!outcome.has_value()) {
    if (is_call) append(failure(method_not_found, message.id));
    return;
  }
  if (!params_fit) {
    if (!is_call) return;
    append(failure(invalid_params("", "params must be an object or an array"), message.id));
    return;
  }
  ++answer.started[message.method];
  if (!is_call) return;
  const auto said = [&](const std::string& value) {
    return outcome->good ? success(value, message.id) : failure(value, message.id);
  };
  const std::string entry = said(outcome->value);
  if (outcome->late) {
    answer.has_body = true;
    answer.late.push_back({.id = std::string(message.id),
                           .text = entry,
                           .or_text = outcome->or_value.empty() ? "" : said(outcome->or_value),
                           .endless = outcome->endless});
    return;
  }
  // A method's own answer must fit; what the engine says of one that threw needs not.
  const bool fits = !crosses(entry) || outcome->value == internal_error;
  append(fits ? entry : failure(reply_too_large, message.id));
  spent = spent || !fits;
}

Answer refusal(const char* error) { return {.body = failure(error, {}), .has_body = true}; }

}  // namespace

Message judge(const Value& value) {
  Message message;
  if (!value.is(Kind::object)) return message;
  std::map<std::string, std::vector<const Value*>> members;
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    members[value.names[i]].push_back(&value.items[i]);
  }
  const std::vector<const Value*>& ids = members["id"];
  using Id = Message::Id;
  if (ids.size() > 1) {
    message.id_kind = Id::invalid;
  } else if (ids.size() == 1) {
    message.id_kind = ids[0]->is(Kind::string)   ? Id::string
                      : ids[0]->is(Kind::number) ? Id::number
                      : ids[0]->is(Kind::null)   ? Id::null
                                                 : Id::invalid;
    const bool too_long = ids[0]->raw.size() > limits::id_size_max;
    if (message.id_kind != Id::invalid && too_long) message.id_kind = Id::too_long;
    if (message.id_kind != Id::invalid && !too_long) message.id = ids[0]->raw;
  }
  const bool id_good = message.id_kind != Id::invalid && message.id_kind != Id::too_long;
  const std::vector<const Value*>& versions = members["jsonrpc"];
  const bool version_good =
      versions.size() == 1 && versions[0]->is(Kind::string) && versions[0]->text == "2.0";
  const std::vector<const Value*>& methods = members["method"];
  const bool method_good =
      methods.size() == 1 && methods[0]->is(Kind::string) && !methods[0]->text.empty();
  const std::vector<const Value*>& params = members["params"];
  if (!id_good || !version_good || !method_good || params.size() > 1) {
    const bool answers = !members["result"].empty() || !members["error"].empty();
    message.kind = answers && methods.empty() ? Message::Kind::response : Message::Kind::invalid;
    return message;
  }
  message.kind = message.id_kind == Id::absent ? Message::Kind::notification : Message::Kind::call;
  message.method_too_long = methods[0]->text.size() > limits::method_size_max;
  if (!message.method_too_long) message.method = methods[0]->text;
  if (!params.empty()) message.params = params[0];
  return message;
}

Answer answer_of(std::string_view text, const ModelLimits& limits) {
  const std::optional<Value> value = parse_message(text, static_cast<int>(limits::depth_max));
  if (!value.has_value()) return refusal(parse_error);
  if (!value->is(Kind::array)) {
    Building single{.limits = limits, .is_batch = false};
    single.add(judge(*value));
    return single.answer;
  }
  if (value->items.empty()) return refusal(invalid_request);
  if (value->items.size() > limits.batch_length_max) return refusal(batch_too_large);
  Building batch{.limits = limits, .is_batch = true};
  for (const Value& item : value->items) batch.add(judge(item));
  batch.answer.is_batch = true;
  if (!batch.answer.entries.empty()) batch.answer.body += "]";
  return batch.answer;
}

void add_methods(rpc::Registry& registry) {
  using testing::add_method;
  add_method(registry, "sum", [](const Sum& in) -> Result<std::int64_t> {
    std::int64_t total = 0;
    if (__builtin_add_overflow(in.a, in.b, &total)) {
      return Error{.code = 1002, .message = "Over\"flow", .data = {}};
    }
    return total;
  });
  add_method(registry, "text", [](const Text& in) { return in.text; });
  add_method(registry, "echo", [](Call& call, Reply& reply) {
    reply.result().raw(call.params().exists() ? call.params().raw() : "null");
  });
  add_method(registry, "blob",
             [](const Blob& in) { return std::string(std::min(in.bytes, blob_max), 'x'); });
  add_method(registry, "nothing", []() {});
  add_method(registry, "fail", []() -> Result<std::int64_t> {
    return Error{.code = 1001, .message = "failed", .data = "[ 1 ]"};
  });
  add_method(registry, "crash", []() -> std::int64_t { throw std::runtime_error("fuzzed"); });
}

}  // namespace ringrpc::fuzz
