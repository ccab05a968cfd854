#pragma once

// What a server must answer to a message: the rules of JSON-RPC applied to a tree of values, with a
// handful of methods whose results are worked out here once more.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/rpc/table.h"
#include "tests/fuzz/reference.h"

namespace ringrpc::fuzz {

// One message as the rules see it.
struct Message {
  enum class Kind : std::uint8_t { call, notification, invalid, response };
  Kind kind = Kind::invalid;
  enum class Id : std::uint8_t { absent, string, number, null, invalid, too_long };
  Id id_kind = Id::absent;
  std::string_view id;  // the token to echo; empty when the answer carries null
  std::string method;   // empty unless valid and short enough
  bool method_too_long = false;
  const Value* params = nullptr;  // of a valid message
};

// Requires: the value outlives the message.
Message judge(const Value& value);

struct ModelLimits {
  std::uint32_t batch_length_max = 0;
  std::uint32_t reply_size_max = 0;
  bool two_way = false;  // a response that comes is dropped
  bool late = false;     // late_model.h's methods are there, too
  bool events = false;   // the peer takes an event stream for a call alone
};

// What is said later to one call. Serial numbers in it are 0.
struct LateEntry {
  std::string id;
  std::string text;
  std::string or_text = {};  // as good, unless empty
  bool endless = false;      // nothing is said until somebody ends it
};

struct Answer {
  std::string body;  // without what is said later
  bool has_body = false;
  std::map<std::string, std::uint64_t> started = {};  // handlers, by method
  bool is_batch = false;
  std::vector<std::string> entries = {};  // of a batch: what is said at once, in order
  std::vector<LateEntry> late = {};
  std::vector<std::string> cancels = {};  // ids of calls that it wants to stop
};

Answer answer_of(std::string_view text, const ModelLimits& limits);

// Adds the methods that the model knows: sum, text, echo, blob, nothing, fail, crash.
void add_methods(rpc::Registry& registry);

}  // namespace ringrpc::fuzz
