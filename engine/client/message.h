#pragma once

// The messages of a client, as text.

#include <ringrpc/client_batch.h>

#include <string>
#include <string_view>
#include <vector>

namespace ringrpc::client {

// Returns: one request, or a notification when the id is empty.
// Requires: the params are valid; the id is a token.
std::string request_text(const Entry& entry, std::string_view id);

// Returns: why the entries cannot be sent; empty when they can.
std::string check_entries(const std::vector<Entry>& entries);

// Returns: {"jsonrpc":"2.0","method":"rpc.cancel","params":{"id":ID}}
std::string cancel_text(std::string_view id);

}  // namespace ringrpc::client
