// Goal: whatever text comes through Server::call(), one well-formed reply or none comes back, under
// the ids that were sent. Method: public handlers of every kind; the reply is judged by the parser
// and the rules of the models, and what a handler has given is given to it once more.

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/assert.h"
#include "tests/fuzz/doors.h"
#include "tests/fuzz/reference.h"

namespace ringrpc::fuzz {
namespace {

// What `many` has written it reads, and writes in the same way again.
void check_round_trip(Doors& doors, std::string_view text, const std::string& reply) {
  const std::optional<Value> sent = parse_message(text, limits::depth_max);
  if (!sent || !sent->is(Value::Kind::object)) return;
  const std::optional<Value> came = parse_value(reply, 2 * limits::depth_max);
  if (!came || came->names[1] != "result") return;
  for (std::size_t i = 0; i < sent->names.size(); ++i) {
    if (sent->names[i] == "method" && sent->items[i].text != "many") return;
  }
  const std::string result(came->items[1].raw);
  const std::string again =
      doors.call(R"({"jsonrpc":"2.0","method":"many","params":)" + result + R"(,"id":1})");
  const std::string expected = R"({"jsonrpc":"2.0","result":)" + result + R"(,"id":1})";
  RINGRPC_ASSERT(again == expected, again, expected);
}

}  // namespace
}  // namespace ringrpc::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using ringrpc::fuzz::Doors;
  static Doors* const doors = new Doors;  // for the life of the program
  if (size > Doors::message_size_max) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string reply = doors->call(text);
  ringrpc::fuzz::check_reply(text, reply);
  ringrpc::fuzz::check_round_trip(*doors, text, reply);
  return 0;
}
