#include "engine/ws/handshake.h"

#include <array>
#include <cstring>

#include "engine/base/assert.h"
#include "engine/ws/base64.h"
#include "engine/ws/sha1.h"

namespace ringrpc::ws {
namespace {

constexpr std::string_view suffix = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
constexpr std::size_t key_size = base64_size(key_bytes);
static_assert(accept_size == base64_size(20));

bool is_key(std::string_view key) {
  return key.size() == key_size &&
         base64_decoded_size(key) == static_cast<std::ptrdiff_t>(key_bytes);
}

}  // namespace

UpgradeVerdict check_upgrade(const UpgradeRequest& request) {
  if (!request.upgrade_websocket) return UpgradeVerdict::none;
  if (!request.get) {
    // Another method may name an upgrade that it does not insist on, and gets its usual answer.
    return request.connection_upgrade ? UpgradeVerdict::malformed : UpgradeVerdict::none;
  }
  if (!request.version_1_1) return UpgradeVerdict::malformed;
  if (request.version_count != 1 || request.version != version) return UpgradeVerdict::bad_version;
  const bool good = request.connection_upgrade && !request.has_body && request.key_count == 1 &&
                    is_key(request.key);
  return good ? UpgradeVerdict::accepted : UpgradeVerdict::malformed;
}

void write_accept(std::string_view key, char* out) {
  RINGRPC_ASSERT(key.size() == key_size, key.size());
  std::array<char, key_size + suffix.size()> text;
  std::memcpy(text.data(), key.data(), key_size);
  std::memcpy(text.data() + key_size, suffix.data(), suffix.size());
  write_base64(sha1({text.data(), text.size()}), out);
}

void write_key(std::span<const std::uint8_t, key_bytes> random, char* out) {
  write_base64(random, out);
}

}  // namespace ringrpc::ws
