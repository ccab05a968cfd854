#include "tests/fuzz/late_model.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "tests/support/add_method.h"
#include "tests/support/conversation.h"
#include "tests/support/server_door.h"

namespace ringrpc::fuzz {
namespace {

constexpr std::uint32_t later_ms_max = 500;
constexpr std::uint32_t pause_ms_max = 100;
constexpr std::uint32_t tick_bytes_max = 100'000;

// --- The methods ---------------------------------------------------------------------------------

struct Later {
  std::uint32_t ms;
};
struct Waits {
  std::uint32_t times;
  std::uint32_t ms;
};
struct Ticks {
  std::uint32_t count;
  std::uint32_t ms;
  std::uint32_t bytes;
};
struct Topic {
  std::string topic;
};
struct Tick {
  std::uint64_t s;
  std::uint64_t n;
  std::string x;
};
struct Ticked {
  std::uint64_t s;
  std::uint64_t n;
};
struct Published {
  std::string topic;
  std::uint64_t p;
};

// What a stream of ticks holds on to while it waits.
struct Ticking {
  std::uint64_t serial;
  Ticks left;
  std::uint64_t said = 0;
};

void tick(Stream stream, std::unique_ptr<Ticking> state) {
  while (state->said < state->left.count) {
    if (stream.stop_requested()) return stream.stop();
    const Tick next{state->serial, state->said + 1, std::string(state->left.bytes, 'x')};
    if (stream.notify("tick", next) == Sent::no_room) {
      return std::move(stream).when_room([state = std::move(state)](Stream woken) mutable {
        tick(std::move(woken), std::move(state));
      });
    }
    ++state->said;
    if (state->left.ms == 0) continue;
    const std::uint32_t ms = state->left.ms;
    return std::move(stream).after(ms, [state = std::move(state)](Stream woken) mutable {
      tick(std::move(woken), std::move(state));
    });
  }
  stream.answer(Ticked{state->serial, state->said});
}

Co<Result<std::string>> wait_often(Call& call, Waits in) {
  for (std::uint32_t i = 0; i < std::min(in.times, 4u); ++i) {
    if (!co_await call.after(std::min(in.ms, pause_ms_max))) {
      co_return stop_error(call.stop_reason());
    }
  }
  co_return "waited";
}

// --- What is heard -------------------------------------------------------------------------------

// The same with 0 for serial numbers.
std::string normalised(std::string_view text) {
  constexpr std::string_view serial = "\"s\":";
  std::string out;
  while (true) {
    const std::size_t at = text.find(serial);
    out += text.substr(0, at);
    if (at == text.npos) return out;
    text.remove_prefix(at + serial.size());
    out.append(serial).append("0");
    text.remove_prefix(std::min(text.find_first_not_of("0123456789"), text.size()));
  }
}

bool is_error(std::string_view text, int code, std::string_view id) {
  const std::string begin =
      R"({"jsonrpc":"2.0","error":{"code":)" + std::to_string(code) + R"(,"message":)";
  return text.starts_with(begin) && text.ends_with(R"(,"id":)" + std::string(id) + "}");
}

const Value* member(const Value& value, std::string_view name) {
  for (std::size_t i = 0; i < value.names.size(); ++i) {
    if (value.names[i] == name) return &value.items[i];
  }
  return nullptr;
}

std::uint64_t number(const Value& value, std::string_view name) {
  const Value* const found = member(value, name);
  return found == nullptr ? 0 : integer_of(found->raw).magnitude;
}

}  // namespace

serve::Hub& LateMethods::hub() { return *testing::shared_of(server_).hub; }

void LateMethods::add(rpc::Registry& registry) {
  testing::add_method(registry, "later", [](const Later& in, Deferred reply) {
    std::move(reply).after(std::min(in.ms, later_ms_max), [](Deferred woken) {
      woken.stop_requested() ? woken.stop() : woken.answer("later");
    });
  });
  testing::add_method(registry, "waits", &wait_often);
  testing::add_method(registry, "hold",
                      [this](Deferred reply) { held_.push_back(std::move(reply)); });
  testing::add_method(registry, "drop", [](Deferred) {});
  testing::add_method(registry, "ticks", [this](const Ticks& in, Stream stream) {
    Ticks small = in;
    small.count = std::min<std::uint32_t>(in.count, ticks_max);
    small.ms = std::min(in.ms, pause_ms_max);
    small.bytes = std::min(in.bytes, tick_bytes_max);
    tick(std::move(stream), std::make_unique<Ticking>(++serial_, small));
  });
  testing::add_method(registry, "subscribe", [this](const Topic& in, Stream stream) {
    feed_.subscribe(std::move(stream), in.topic);
  });
  testing::add_method(registry, "unsubscribe", [this](const Topic& in, Stream stream) {
    feed_.unsubscribe(std::move(stream), in.topic);
  });
  testing::add_method(registry, "publish", [this](const Topic& in) {
    return feed_.publish(in.topic, "published", Published{in.topic, ++serial_}) == Sent::yes;
  });
}

bool LateMethods::release() {
  if (held_.empty()) return false;
  Deferred reply = std::move(held_.front());
  held_.pop_front();
  reply.stop_requested() ? reply.stop() : reply.answer("held");
  return true;
}

void Awaited::add(const Answer& answer) {
  allow_cancels(answer.cancels);
  if (!answer.late.empty()) {
    later_.push_back({answer});
  } else if (answer.has_body) {
    now_.push_back(answer.body);
  }
}

bool Awaited::is(const LateEntry& entry, std::string_view text) {
  const std::string plain = normalised(text);
  return plain == entry.text || (!entry.or_text.empty() && plain == entry.or_text);
}

bool Awaited::may_be(const LateEntry& entry, std::string_view text, bool in_batch) const {
  return is(entry, text) || (cancels_.contains(entry.id) && is_error(text, -31006, entry.id)) ||
         (excuses_.stopping && is_error(text, -31007, entry.id)) ||
         (excuses_.timed_out && is_error(text, -31003, entry.id)) ||
         (excuses_.overloaded && is_error(text, -31001, entry.id)) ||
         (in_batch && is_error(text, -31004, entry.id));
}

bool Awaited::may_be(const Answer& answer, std::string_view text) const {
  return answer.is_batch ? may_be_batch(answer, text) : may_be(answer.late.front(), text, false);
}

// Those that are said at once stand in order.
bool Awaited::may_be_batch(const Answer& batch, std::string_view text) const {
  const std::optional<Value> value = parse_message(text, 64);
  if (!value.has_value() || !value->is(Value::Kind::array)) return false;
  if (value->items.size() != batch.entries.size() + batch.late.size()) return false;
  if (excuses_.overloaded) return true;  // Such errors take room from the others.
  std::size_t next = 0;
  std::vector<LateEntry> late = batch.late;
  std::vector<std::string_view> unclear;
  for (const Value& item : value->items) {
    if (next < batch.entries.size() && item.raw == batch.entries[next]) {
      ++next;
      continue;
    }
    const auto found = std::find_if(late.begin(), late.end(),
                                    [&](const LateEntry& entry) { return is(entry, item.raw); });
    if (found == late.end()) {
      unclear.push_back(item.raw);
    } else {
      late.erase(found);
    }
  }
  for (const std::string_view item : unclear) {
    const auto found = std::find_if(late.begin(), late.end(), [&](const LateEntry& entry) {
      return may_be(entry, item, true);
    });
    if (found == late.end()) return false;
    late.erase(found);
  }
  return next == batch.entries.size();
}

bool Awaited::take(std::string_view text) {
  if (next_ < now_.size() && text == now_[next_]) {
    ++next_;
    return true;
  }
  bool possible = false;
  for (Later& one : later_) {
    if (one.taken) continue;
    if (!one.answer.is_batch && is(one.answer.late.front(), text)) {
      one.taken = true;
      return true;
    }
    possible = possible || may_be(one.answer, text);
  }
  if (possible) unclear_.emplace_back(text);
  return possible;
}

bool Awaited::settle() {
  for (std::size_t text = 1; text <= unclear_.size(); ++text) {
    std::vector<bool> tried(later_.size());
    if (!find_call(text, tried)) return false;
  }
  for (Later& one : later_) one.taken = one.taken || one.text != 0;
  unclear_.clear();
  return true;
}

// A call that is taken by another text may be its own when that one finds another.
bool Awaited::find_call(std::size_t text, std::vector<bool>& tried) {
  for (std::size_t i = 0; i < later_.size(); ++i) {
    Later& one = later_[i];
    if (one.taken || tried[i] || !may_be(one.answer, unclear_[text - 1])) continue;
    tried[i] = true;
    if (one.text != 0 && !find_call(one.text, tried)) continue;
    one.text = text;
    return true;
  }
  return false;
}

bool Awaited::any() const {
  return at_once() || std::any_of(later_.begin(), later_.end(), [](const Later& one) {
           return !one.taken && !(one.answer.late.size() == 1 && one.answer.late.front().endless);
         });
}

bool Awaited::endless() const {
  return std::any_of(later_.begin(), later_.end(), [](const Later& one) {
    return !one.taken && one.answer.late.front().endless;
  });
}

std::string Awaited::shown() const {
  std::string text;
  for (std::size_t i = next_; i < now_.size(); ++i) text += "\n  now:   " + testing::shown(now_[i]);
  for (const Later& one : later_) {
    if (one.taken) continue;
    for (const LateEntry& entry : one.answer.late) text += "\n  later: " + entry.text;
  }
  return text;
}

bool Notified::hear(std::string_view text, std::string& complaint) {
  const std::optional<Value> value = parse_message(text, 64);
  if (!value.has_value()) {
    complaint = "no JSON";
    return false;
  }
  if (!value->is(Value::Kind::object)) return false;
  const Value* const method = member(*value, "method");
  if (method == nullptr) {
    const Value* const result = member(*value, "result");
    if (result == nullptr || member(*result, "s") == nullptr) return false;
    Ticks& ticks = ticks_[number(*result, "s")];
    const std::uint64_t count = number(*result, "n");
    if (ticks.ended || (ticks.last != 0 && ticks.last != count)) complaint = "ticks do not end so";
    ticks.ended = true;
    return false;
  }
  const Value* const params = member(*value, "params");
  if (params == nullptr || member(*value, "id") != nullptr) {
    complaint = "no notification";
  } else if (method->text == "tick") {
    Ticks& ticks = ticks_[number(*params, "s")];
    if (ticks.ended || number(*params, "n") != ticks.last + 1) complaint = "a tick out of order";
    ++ticks.last;
  } else if (method->text == "published") {
    const Value* const topic = member(*params, "topic");
    std::uint64_t& last = publications_[topic == nullptr ? "" : topic->text];
    if (number(*params, "p") <= last) complaint = "a publication out of order";
    last = number(*params, "p");
  } else {
    complaint = "nobody sends such a notification";
  }
  return true;
}

}  // namespace ringrpc::fuzz
