#pragma once

// What a request's body is, and what its sender takes: Content-Type, Content-Encoding and Accept.

#include <cstdint>
#include <string_view>

namespace ringrpc::http {

struct Request;

enum class MediaType : std::uint8_t {
  none,         // no Content-Type
  json,         // application/json
  a2a_json,     // application/a2a+json
  unsupported,  // any other, a malformed one, or a charset other than utf-8
};

// Requires: value bytes only, as the parser gives them.
MediaType media_type(std::string_view content_type);

// Whether the sender takes application/json. A range that names it exactly counts more than
// application/* and that more than */*; q=0 excludes. An empty or absent field takes everything.
// Cost: one pass.
bool accepts_json(std::string_view accept);

// Whether the sender lists text/event-stream by name, with q above 0.
// Cost: one pass.
bool accepts_event_stream(std::string_view accept);

// The same over all Accept lines of a request.
bool accepts_json(const Request& request);
bool accepts_event_stream(const Request& request);

}  // namespace ringrpc::http
