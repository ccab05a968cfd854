#pragma once

// The bytes of one request, made once.

#include <string>
#include <string_view>
#include <vector>

#include "tools/common/url.h"

namespace ringload {

// The canonical call of the benchmarks.
inline constexpr std::string_view canonical_body =
    R"({"jsonrpc":"2.0","method":"sum","params":{"a":2,"b":3},"id":1})";

// Returns: true for "NAME: VALUE", which cannot break the head that it is put into.
bool is_field(std::string_view line);

// A line of JSON, or a request of HTTP. Fields of `extra` ("NAME: VALUE") replace the ones that
// every request carries (Host, Content-Type) when they have the same name. A body always gets its
// Content-Length.
std::string make_request(std::string_view method, const tools::Url& url,
                         const std::vector<std::string>& extra, std::string_view body);

}  // namespace ringload
