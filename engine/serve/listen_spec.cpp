#include "engine/serve/listen_spec.h"

#include <ringrpc/server_options.h>

#include <array>
#include <cerrno>
#include <utility>

#include "engine/io/listener.h"

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

base::Status check(const ListenSpec& spec) {
  if (spec.on_path()) {
    const std::string wrong = io::check_unix_path(spec.where);
    if (wrong.empty()) return {};
    return base::Status::failure(EINVAL, "cannot listen on a Unix socket: " + wrong);
  }
  if (spec.where.find("://") != std::string::npos) {
    return base::Status::failure(EINVAL, "cannot listen on \"" + spec.where +
                                             "\": it begins with no scheme of a listener (http://, "
                                             "tcp://, unix: or unix-http:)");
  }
  io::SocketAddress address;
  return io::parse_address(spec.where, address);
}

bool collide(const ListenSpec& a, const ListenSpec& b) {
  if (a.on_path() != b.on_path() || a.where != b.where) return false;
  const std::string_view port = std::string_view(a.where).substr(a.where.rfind(':') + 1);
  return a.on_path() || port.find_first_not_of('0') != port.npos;
}

}  // namespace ringrpc::serve

namespace ringrpc {

std::string http_address(std::string_view listener) {
  serve::ListenSpec spec = serve::read_listen_spec(listener);
  return spec.kind == serve::ListenSpec::Kind::http ? std::move(spec.where) : std::string();
}

}  // namespace ringrpc
