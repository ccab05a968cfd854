#pragma once

// The second program for the same question as rpc::Reader::read(): one byte after the other, every
// byte bounded, nothing shared with the walk over the index. Where the two differ, one is wrong.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/rpc/envelope.h"

namespace ringrpc::rpc {

// Where envelopes go, and methods that are spelled with escapes.
struct TwinRoom {
  Envelope* envelopes;             // batch_length_max + 1
  std::uint32_t batch_length_max;  // elements
  char* methods;
  std::size_t methods_capacity;  // limits::method_size_max more than all reported ones need
};

// Requires: the text is UTF-8 (json::Index::build_portable has seen it).
ReadResult read_bytes(std::string_view text, const TwinRoom& room);

}  // namespace ringrpc::rpc
