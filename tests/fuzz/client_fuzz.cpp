// Goal: nothing that a server sends makes the client's readers read outside of it, say one thing of
// the whole and another of its pieces, or believe what is no JSON.
// Method: the first byte of the input chooses the reader: of HTTP responses, of event streams, or
// of messages.

#include <ringrpc/client.h>
#include <ringrpc/limits_client.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/assert.h"
#include "engine/client/document.h"
#include "engine/client/http_response.h"
#include "engine/http/sse.h"
#include "engine/json/check.h"

namespace {

using namespace ringrpc;          // NOLINT(google-build-using-namespace): a program of one file.
using namespace ringrpc::client;  // NOLINT(google-build-using-namespace)

constexpr std::size_t event_size_max = 500;

// Calls `read(cursor, end)` for each part, whose bytes stand alone, until it says that it is over.
template <class Read>
void in_parts(std::string_view bytes, std::size_t first, std::size_t step, Read read) {
  for (std::size_t at = 0, size = first; at < bytes.size(); at += size, size = step) {
    const std::string_view part = bytes.substr(at, size);
    const std::unique_ptr<char[]> block(new char[part.size()]);
    std::memcpy(block.get(), part.data(), part.size());
    if (!read(block.get(), block.get() + part.size())) return;
  }
}

// What a response says, as one text.
std::string read_response(std::string_view bytes, std::size_t first, std::size_t step) {
  ResponseReader reader;
  ResponseReader::Status status = ResponseReader::Status::need_more;
  std::string body;
  std::size_t used = 0;
  in_parts(bytes, first, step, [&](const char* cursor, const char* end) {
    const char* const begin = cursor;
    std::string_view piece;
    do {
      status = reader.next(cursor, end, piece);
      if (status == ResponseReader::Status::piece) body += piece;
    } while (status == ResponseReader::Status::piece || status == ResponseReader::Status::head);
    RINGRPC_ASSERT(cursor >= begin && cursor <= end);
    RINGRPC_ASSERT(status != ResponseReader::Status::need_more || cursor == end);
    used += static_cast<std::size_t>(cursor - begin);
    return status == ResponseReader::Status::need_more;
  });
  if (status == ResponseReader::Status::need_more) status = reader.finish();
  if (status == ResponseReader::Status::failed) return "failed: " + reader.sentence();
  RINGRPC_ASSERT(status == ResponseReader::Status::done);
  const ResponseHead& head = reader.head();
  RINGRPC_ASSERT(head.status >= 100 && head.text.size() <= limits::response_head_size_max);
  (void)head.field("Retry-After");
  return std::to_string(head.status) + (head.keep_alive ? " kept " : " ends ") +
         (head.event_stream ? "events " : "") + std::to_string(used) + "\n" + head.text + body;
}

std::string read_events(std::string_view bytes, std::size_t first, std::size_t step) {
  http::EventReader reader(event_size_max);
  std::string said;
  in_parts(bytes, first, step, [&](const char* cursor, const char* end) {
    while (true) {
      const http::EventReader::Status status = reader.next(cursor, end);
      RINGRPC_ASSERT(cursor <= end);
      if (status == http::EventReader::Status::need_more) {
        RINGRPC_ASSERT(cursor == end);
        return true;
      }
      if (status == http::EventReader::Status::too_large) {
        said += "!";
        return false;
      }
      RINGRPC_ASSERT(reader.data().size() <= event_size_max);
      said.append(reader.name()).append("|").append(reader.id()).append("|");
      said.append(reader.data()).append("\n");
    }
  });
  return said + std::to_string(reader.retry_ms());
}

void check_parts(std::string_view bytes,
                 std::string (*read)(std::string_view, std::size_t, std::size_t)) {
  const std::size_t all = bytes.size() + 1;
  const std::string whole = read(bytes, all, all);
  for (const std::size_t step : {1u, 2u, 3u, 7u, 64u}) {
    RINGRPC_ASSERT(read(bytes, step, step) == whole, step, whole);
  }
  const std::size_t stride = 1 + bytes.size() / 128;
  for (std::size_t cut = 1; cut < bytes.size(); cut += stride) {
    RINGRPC_ASSERT(read(bytes, cut, all) == whole, cut, whole);
  }
}

// What was written comes back, line ends as LF.
void check_written(std::string_view data) {
  const http::Event event{.data = data};
  std::string text(http::event_size(event), '?');
  RINGRPC_ASSERT(http::write_event(event, text.data()) == text.data() + text.size());
  http::EventReader reader(text.size());
  const char* cursor = text.data();
  RINGRPC_ASSERT(reader.next(cursor, cursor + text.size()) == http::EventReader::Status::event);
  std::string plain;
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (data[i] == '\n' && i > 0 && data[i - 1] == '\r') continue;
    plain += data[i] == '\r' ? '\n' : data[i];
  }
  RINGRPC_ASSERT(reader.data() == plain, plain);
}

void read_messages(std::string_view bytes) {
  Document document;
  const bool good = document.read(bytes);
  // The depth of a message's own brackets is not counted here.
  RINGRPC_ASSERT(good || !json::is_json(bytes));
  if (!good) return;
  const auto look = [](JsonValue value) {
    const ServerMessage message = Document::message(value);
    if (message.kind != ServerMessage::Kind::response) return;
    JsonAnswer answer = message.answer();
    RINGRPC_ASSERT(answer.ok() || answer.is_error());
    (void)retry_after_ms(answer.error());
    struct Shape {
      std::optional<std::vector<std::string_view>> a;
      std::optional<double> b;
    };
    (void)Answer<Shape>(std::move(answer));
  };
  const JsonValue root = document.root();
  look(root);
  if (!document.is_batch()) return;
  for (JsonValue::Entry entry = root.first(); entry; entry = entry.next()) look(entry.value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 3) {
    case 0:
      check_parts(bytes, read_response);
      break;
    case 1:
      check_parts(bytes, read_events);
      check_written(bytes);
      break;
    default:
      read_messages(bytes);
      break;
  }
  return 0;
}
