#pragma once

// Limits of the client that nobody needs to change; those that one may want to are in
// ClientOptions, with what they cost. Sizes are bytes.

#include <cstddef>
#include <cstdint>

namespace ringrpc::limits {

// Status line and fields of one response; more fails the call. Held while it comes, for each
// connection. Four times what a request may have: servers and proxies add cookies and policies.
inline constexpr std::size_t response_head_size_max = std::size_t{64} << 10;
// Interim (1xx) responses before the one that counts; more fails the call, which would never end.
inline constexpr unsigned interim_responses_max = 32;
// Bytes that are taken in from one connection before others get their turn.
inline constexpr std::size_t client_receive_size_max = std::size_t{256} << 10;
// Answers to pings that a server asks for and does not read; further ones are not kept for it.
inline constexpr std::size_t unsent_pongs_max = std::size_t{64} << 10;
// How long the rest of a response may take that nobody waits for (the end of an event stream behind
// its answer), before its connection is closed and not used again.
inline constexpr std::uint32_t response_rest_timeout_ms = 1'000;
// From closing a program's stdin to SIGTERM, and from there to SIGKILL. The client waits meanwhile.
inline constexpr std::uint32_t child_end_timeout_ms = 2'000;
inline constexpr std::uint32_t child_term_timeout_ms = 1'000;

}  // namespace ringrpc::limits
