#include "engine/serve/listen_spec.h"

#include <array>

namespace ringrpc::serve {
namespace {

using Kind = ListenSpec::Kind;

struct Scheme {
  Kind kind;
  std::string_view name;
  std::string_view prefix;
};

// By Kind.
constexpr std::array schemes = {
    Scheme{Kind::http, "http", "http://"}, Scheme{Kind::tcp, "tcp", "tcp://"},
    Scheme{Kind::unix_lines, "unix", "unix:"}, Scheme{Kind::unix_http, "unix-http", "unix-http:"}};

const Scheme& scheme_of(Kind kind) { return schemes[static_cast<std::size_t>(kind)]; }

}  // namespace

std::string_view ListenSpec::name() const { return scheme_of(kind).name; }

std::string ListenSpec::url(std::string_view address) const {
  return std::string(scheme_of(kind).prefix).append(address);
}

ListenSpec read_listen_spec(std::string_view text) {
  for (const Scheme& scheme : schemes) {
    if (!text.starts_with(scheme.prefix)) continue;
    return {scheme.kind, std::string(text.substr(scheme.prefix.size()))};
  }
  return {Kind::http, std::string(text)};
}

}  // namespace ringrpc::serve
