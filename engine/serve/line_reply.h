#pragma once

// Replies as lines: JSON without line breaks, then LF.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/rpc/errors.h"
#include "engine/serve/outbox.h"
#include "engine/serve/reply_room.h"

namespace ringrpc::serve {

// Ends the JSON that stands in the room, which has no frame in front. CR and LF between tokens,
// which a value that is passed through may have, are dropped; inside strings JSON has none.
// Returns: the bytes of the line, 0 when there is no memory for its end.
std::size_t end_line(ReplyRoom& room);

// Drops CR and LF. Returns: the new end.
char* without_breaks(char* begin, char* end);

// Appends one line. Returns: false when there is no memory for it.
bool write_line(Outbox& outbox, OutList& out, std::string_view json);

// Returns: the error object for a connection that ends with a status of HTTP, id null.
std::string line_error(std::uint16_t status, std::string_view reason);

}  // namespace ringrpc::serve
