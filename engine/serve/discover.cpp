#include "engine/serve/discover.h"

#include <ringrpc/fields_info.h>
#include <ringrpc/json_writer.h>
#include <ringrpc/schema.h>
#include <ringrpc/version.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace ringrpc::serve {
namespace {

using fields::Kind;
using fields::TypeInfo;

// Returns: the text as a JSON string.
std::string quoted(std::string_view text) {
  // The writer wants some more than it writes.
  std::string out(6 * text.size() + 64, '\0');
  JsonWriter writer(out.data(), out.data() + out.size());
  writer.string(text);
  out.resize(writer.size());
  return out;
}

class Document {
 public:
  std::string text(const rpc::Table& table, std::string_view title) {
    text_ = R"({"openrpc":"1.3.2","info":{"title":)" + quoted(title) + R"(,"version":")" +
            RINGRPC_VERSION + R"("},"methods":[)";
    std::vector<const rpc::Method*> methods = table.methods();
    std::erase_if(methods, [](const rpc::Method* one) { return one->name.starts_with("rpc."); });
    std::sort(methods.begin(), methods.end(),
              [](const rpc::Method* a, const rpc::Method* b) { return a->name < b->name; });
    for (const rpc::Method* method : methods) {
      if (method != methods.front()) text_ += ",";
      add(*method);
    }
    return std::move(text_) + "]}";
  }

 private:
  void add(const rpc::Method& method) {
    text_ += R"({"name":)" + quoted(method.name) + R"(,"paramStructure":"either","params":[)";
    if (method.params != nullptr) add_params(*method.params, method.strict);
    text_ += "]";
    const bool by_hand = method.params == nullptr && method.result == nullptr;
    if (by_hand) text_ += R"(,"x-params":"read by the handler")";
    text_ += R"(,"result":{"name":"result","schema":)";
    text_ += method.result != nullptr ? schema(*method.result, false) : "true";
    text_ += "}}";
  }

  void add_params(const TypeInfo& type, bool strict) {
    if (type.kind != Kind::structure && type.kind != Kind::tuple) {
      return add_param("params", type, true, strict);
    }
    for (std::size_t i = 0; i < type.field_count; ++i) {
      if (i != 0) text_ += ",";
      const fields::Field& field = type.fields[i];
      const bool named = type.kind == Kind::structure;
      const bool required = named ? (type.required >> i & 1) != 0 : !field.type->is_optional();
      add_param(named ? std::string(field.name()) : std::to_string(i), *field.type, required,
                strict);
    }
  }

  void add_param(std::string_view name, const TypeInfo& type, bool required, bool strict) {
    text_ += R"({"name":)" + quoted(name);
    if (required) text_ += R"(,"required":true)";
    text_ += R"(,"schema":)" + schema(type, strict) + "}";
  }

  // A schema whose references count from itself: as a part of a larger document it needs a name.
  std::string schema(const TypeInfo& type, bool strict) {
    std::string text = json_schema(type, {.strict = strict, .dialect = false});
    if (text.find(R"("$defs":)") == text.npos) return text;
    return R"({"$id":"schema:)" + std::to_string(++schemas_) + R"(",)" + text.substr(1);
  }

  std::string text_;
  std::size_t schemas_ = 0;
};

}  // namespace

std::string openrpc(const rpc::Table& table, std::string_view title) {
  return Document().text(table, title);
}

}  // namespace ringrpc::serve
