#include "engine/client/message.h"

#include <ringrpc/limits.h>

#include "engine/client/text_writer.h"
#include "engine/json/utf8.h"

namespace ringrpc::client {

std::string request_text(const Entry& entry, std::string_view id) {
  TextWriter text;
  JsonWriter& writer = text.writer();
  writer.begin_object();
  writer.member("jsonrpc");
  writer.string("2.0");
  writer.member("method");
  writer.string(entry.method);
  if (!entry.params.json.empty()) {
    writer.member("params");
    writer.raw(entry.params.json);
  }
  if (!id.empty()) {
    writer.member("id");
    writer.raw(id);
  }
  writer.end_object();
  return text.take();
}

std::string check_entries(const std::vector<Entry>& entries) {
  if (entries.empty()) return "the batch is empty";
  for (const Entry& entry : entries) {
    if (!json::is_utf8(entry.method)) return "the method's name is not UTF-8";
    if (!entry.params.valid) {
      return "the params of " + entry.method + " are no JSON object or array";
    }
  }
  return {};
}

std::string cancel_text(std::string_view id) {
  std::string text = R"({"jsonrpc":"2.0","method":"rpc.cancel","params":{"id":)";
  return text.append(id).append("}}");
}

}  // namespace ringrpc::client
