#pragma once

// HTTP/1.1 requests into bytes.

#include <ringrpc/client_options.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "engine/client/target.h"

namespace ringrpc::client {

// Returns: an empty sentence when the fields can be sent as lines of a head, or which cannot.
std::string check_fields(const std::vector<HttpField>& fields);

// Returns: the head of a POST of that many bytes, with the empty line that ends it. A name among
// `fields` replaces the client's own.
// Requires: check_fields() had nothing to say.
std::string post_head(const Target& target, const std::vector<HttpField>& fields,
                      std::size_t body_size, bool events);

// Returns: the head of a GET that asks for a WebSocket. Fields that belong to the handshake are
// left out. Requires: as above.
std::string upgrade_head(const Target& target, const std::vector<HttpField>& fields,
                         std::string_view key);

}  // namespace ringrpc::client
