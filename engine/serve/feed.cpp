// ringrpc::Feed: the public door of publications.

#include <ringrpc/feed.h>

#include <string>

#include "engine/json/check.h"
#include "engine/json/encode.h"
#include "engine/rpc/late_calls.h"
#include "engine/rpc/publication.h"
#include "engine/serve/server_impl.h"

namespace ringrpc {
namespace {

constexpr std::size_t text_size_first = 256;

// Returns: a whole notification; empty when it is over the limit, or has params that are none.
std::string notification(std::string_view method, const fields::TypeInfo& type, const void* params,
                         std::size_t size_max, bool& too_large) {
  std::string text(text_size_first, '\0');
  for (;;) {
    JsonWriter out(text.data(), text.data() + text.size());
    out.begin_object();
    out.member("jsonrpc");
    out.string("2.0");
    out.member("method");
    out.string(method);
    out.member("params");
    const std::size_t begin = out.size();
    json::encode(type, params, out);
    out.end_object();
    if (out.ok() && out.complete() && json::is_structured(out.view().substr(begin))) {
      text.resize(out.size());
      return text;
    }
    too_large = out.overflowed() && text.size() >= size_max;
    if (!out.overflowed() || too_large) return {};
    text.resize(std::min(2 * text.size(), size_max));
  }
}

}  // namespace

Feed::Feed(Server& server, FeedOptions options)
    : server_(server), options_(options), id_(server.impl_->shared.hub->next_feed()) {}

void Feed::subscribe(Stream stream, std::string_view topic) {
  if (!stream.open()) {
    return stream.error(-31009, "Not allowed", R"({"reason":"no_event_stream"})");
  }
  rpc::LateCall& call = stream.late();
  const rpc::LateCalls::Options& options = call.home.options();
  const rpc::TopicName name{.feed = id_, .name = std::string(topic)};
  const rpc::Subscribed how = options.subscribe(options.desk, call, name, options_.when_full);
  if (how == rpc::Subscribed::full) {
    return stream.error(-31001, "Overloaded", R"({"reason":"subscriptions","retryAfterMs":1000})");
  }
  if (how != rpc::Subscribed::stream) return stream.answer(how == rpc::Subscribed::connection);
  // The stream is its subscription's; it ends when it is asked to.
  std::move(stream).when_stopped([](Stream ended) { ended.stop(); });
}

void Feed::unsubscribe(Stream stream, std::string_view topic) {
  rpc::LateCall& call = stream.late();
  const rpc::LateCalls::Options& options = call.home.options();
  const rpc::TopicName name{.feed = id_, .name = std::string(topic)};
  const bool found =
      options.unsubscribe != nullptr && options.unsubscribe(options.desk, call, name);
  stream.answer(found);
}

Sent Feed::publish_encoded(std::string_view topic, std::string_view method,
                           const fields::TypeInfo& type, const void* params) {
  bool too_large = false;
  const std::string text =
      notification(method, type, params, server_.impl_->options.reply_size_max, too_large);
  if (text.empty()) return server_.impl_->shared.hub->refuse(method, too_large);
  return server_.impl_->shared.hub->publish({.feed = id_, .name = std::string(topic)}, text);
}

}  // namespace ringrpc
