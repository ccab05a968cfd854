#pragma once

// What is published, on its way to the subscribers of one worker.

#include <ringrpc/stream.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/notice.h"
#include "engine/rpc/late_call.h"

namespace ringrpc::rpc {

// A topic of one feed.
struct TopicName {
  std::uint32_t feed = 0;
  std::string name;
  bool operator==(const TopicName&) const = default;
};

// Owns: a copy of the notification, charged to the worker. Thread: whoever has taken it.
struct Publication : Post {
  Publication(TopicName to, std::string_view message)
      : Post(PostKind::publication), topic(std::move(to)), text(message) {}

  [[nodiscard]] std::size_t size() const {
    return sizeof(Publication) + topic.name.size() + text.size();
  }

  const TopicName topic;
  const std::string text;
  std::uint32_t kept = 0;  // by subscribers that have no room for it yet
};

// Says that a notification, of a call or of a feed, can never be sent.
void say_invalid(base::Notice& notice, std::string_view method, bool too_large);

}  // namespace ringrpc::rpc
