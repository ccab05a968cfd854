#include "engine/rpc/envelope_names.h"

#include "engine/json/text.h"

namespace ringrpc::rpc {

[[gnu::cold]] std::uint32_t escaped_member_of(json::Walk walk, const std::uint32_t* name) {
  const std::string_view raw(walk.text + *name + 1, json::end_before(walk, name + 1) - 1);
  if (raw.find('\\') == std::string_view::npos) return member_none;
  char room[7];
  const std::size_t size = json::unescape(raw, room, sizeof(room));
  if (size > sizeof(room)) return member_none;
  const std::string_view spelled(room, size);
  if (spelled == "jsonrpc") return member_jsonrpc;
  if (spelled == "id") return member_id;
  if (spelled == "method") return member_method;
  if (spelled == "params") return member_params;
  return spelled == "result" || spelled == "error" ? member_answer : member_none;
}

[[gnu::cold]] bool is_version_with_escapes(json::Walk walk, const std::uint32_t* value,
                                           const std::uint32_t* after) {
  const char* const token = walk.text + *value;
  if (*token != '"') return false;
  const char* const end = json::end_before(walk, after);
  char version[3];
  return json::unescape({token + 1, end - 1}, version, sizeof(version)) == sizeof(version) &&
         std::memcmp(version, "2.0", sizeof(version)) == 0;
}

}  // namespace ringrpc::rpc
