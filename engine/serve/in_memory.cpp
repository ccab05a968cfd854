#include "engine/serve/in_memory.h"

#include <ringrpc/limits.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <limits>
#include <utility>

#include "engine/base/assert.h"
#include "engine/base/clock.h"
#include "engine/serve/readiness.h"

namespace ringrpc::serve {
namespace {

// A call's replies leave at once, so two slabs are enough.
constexpr std::uint32_t slab_size = 64u << 10;
constexpr std::uint32_t slab_count = 2;
constexpr std::uint32_t segment_count = 64;

// Calls in memory come from nobody and have no head.
const Origin nowhere{};

// Where a thread looks first: the context that it had last time.
thread_local std::size_t context_hint = 0;

void append_all(Outbox& outbox, OutList& out, std::string& text) {
  text.resize(out.size);
  char* at = text.data();
  while (!out.empty()) {
    const Segment& front = outbox.front(out);
    std::memcpy(at, front.data, front.size);
    at += front.size;
    outbox.taken(out, front.size);
  }
}

void begin_polling(void* context, std::uint32_t place, std::uint32_t ticket, int fd, Ready events) {
  InMemoryContext& self = *static_cast<InMemoryContext*>(context);
  if (self.polled.empty()) {
    std::lock_guard lock(self.late_mutex);
    self.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    self.polled.push_back({.fd = self.wake_fd, .events = POLLIN, .revents = 0});
    self.polled_names.emplace_back();
  }
  // poll(2) passes over a negative one, and this one it refuses.
  const int asked = fd < 0 ? std::numeric_limits<int>::max() : fd;
  self.polled.push_back(
      {.fd = asked, .events = static_cast<short>(poll_events(events)), .revents = 0});
  self.polled_names.push_back({place, ticket});
}

void end_polling(void* context, std::uint32_t place, std::uint32_t ticket) {
  InMemoryContext& self = *static_cast<InMemoryContext*>(context);
  const auto found =
      std::find(self.polled_names.begin(), self.polled_names.end(), io::Handle{place, ticket});
  if (found == self.polled_names.end()) return;
  const std::size_t at = static_cast<std::size_t>(found - self.polled_names.begin());
  self.polled[at] = self.polled.back();
  self.polled_names[at] = self.polled_names.back();
  self.polled.pop_back();
  self.polled_names.pop_back();
}

}  // namespace

InMemoryContext::InMemoryContext(const WorkerOptions& options, WorkerShared& shared)
    : endpoints(shared.mounts),
      partials(options.partial_pool_size, options.message_size_max + limits::head_size_max),
      outbox({.slab_size = slab_size,
              .slab_count = slab_count,
              .segment_count = segment_count,
              .reply_size_max = options.reply_size_max,
              .mapped_max = options.large_replies_size_max}),
      responder({.outbox = &outbox,
                 .counters = &counters,
                 .oracle = shared.oracle,
                 .reply_size_max = options.reply_size_max}),
      framer({.pool = &partials,
              .counters = &counters,
              .hosts = shared.hosts,
              .mounts = shared.mounts,
              .message_size_max = options.message_size_max,
              .drain_size_max = options.peer.drain_size_max,
              .head = options.head,
              .may_upgrade = false}),
      reader(shared.registry->epochs().join()) {
  base::Status status;
  late = rpc::LateCalls::make(
      {.calls_max = options.in_flight_max,
       .calls_per_connection_max = options.in_flight_per_connection_max,
       .connections_max = 1,
       .memory_max = options.late_memory_size_max,
       .frame_memory_max = options.frame_memory_size_max,
       .reply_size_max = options.reply_size_max,
       .timeout_ms = options.call_timeout_ms,
       .blocking = shared.blocking,
       .readiness = {.state = this, .begin = &begin_polling, .end = &end_polling},
       .wake = [](void* context) { static_cast<InMemoryContext*>(context)->wake(); },
       .waker = this,
       .counters = &counters,
       .head_text = &head_text,
       .clock = &base::monotonic_ns,
       .find_in_text = &find_in_head_text},
      status);
  RINGRPC_ASSERT(status.ok(), status.sentence());
  status = answerer.reserve({.message_size_max = options.message_size_max,
                             .batch_length_max = options.batch_length_max,
                             .counters = &counters,
                             .late = late});
  RINGRPC_ASSERT(status.ok(), status.sentence());
}

InMemoryContext::~InMemoryContext() {
  rpc::LateCalls::close(late);
  if (wake_fd >= 0) ::close(wake_fd);
}

void InMemoryContext::wake() {
  std::lock_guard lock(late_mutex);
  late_changed.notify_all();
  if (wake_fd < 0) return;
  const std::uint64_t one = 1;
  const ssize_t written = write(wake_fd, &one, sizeof(one));
  RINGRPC_MAYBE(written > 0);  // A full counter is as good.
}

// The same with descriptors, of which those that are ready are told so.
void InMemoryContext::poll_until(std::uint64_t due_ns) {
  const std::uint64_t now_ns = base::monotonic_ns();
  std::uint64_t left_ns = due_ns > now_ns ? due_ns - now_ns : 0;
  if (late->has_posts()) left_ns = 0;
  constexpr std::uint64_t ns_per_s = 1'000'000'000;
  const timespec time{static_cast<std::time_t>(left_ns / ns_per_s),
                      static_cast<long>(left_ns % ns_per_s)};
  const bool for_ever = due_ns == 0 && !late->has_posts();
  if (ppoll(polled.data(), polled.size(), for_ever ? nullptr : &time, nullptr) <= 0) return;
  std::uint64_t count = 0;
  const bool woken = polled[0].revents != 0 && read(wake_fd, &count, sizeof(count)) > 0;
  RINGRPC_MAYBE(woken);
  // Those that go on may begin, and end, others.
  std::vector<std::pair<io::Handle, short>> ready;
  for (std::size_t i = 1; i < polled.size(); ++i) {
    if (polled[i].revents != 0) ready.emplace_back(polled_names[i], polled[i].revents);
  }
  for (const auto& [name, events] : ready) {
    end_polling(this, name.slot, name.generation);
    late->is_ready(name.slot, name.generation, ready_bits(events));
  }
}

void InMemoryContext::wait_until(std::uint64_t due_ns) {
  if (polled.size() > 1) return poll_until(due_ns);
  std::unique_lock lock(late_mutex);
  const auto answered = [this] { return late->has_posts(); };
  if (due_ns == 0) {
    late_changed.wait(lock, answered);
  } else {
    const std::uint64_t now_ns = base::monotonic_ns();
    const auto left = std::chrono::nanoseconds(due_ns > now_ns ? due_ns - now_ns : 0);
    late_changed.wait_for(lock, left, answered);
  }
}

InMemory::~InMemory() {
  for (auto& slot : contexts_) delete slot.load(std::memory_order_acquire);
}

InMemoryContext* InMemory::make(std::size_t index) {
  std::lock_guard lock(mutex_);
  InMemoryContext* context = contexts_[index].load(std::memory_order_acquire);
  if (context != nullptr) return context;
  context = new InMemoryContext(options_, shared_);
  contexts_[index].store(context, std::memory_order_release);
  return context;
}

[[gnu::always_inline]] inline InMemoryContext& InMemory::claim() {
  InMemoryContext* last = contexts_[context_hint].load(std::memory_order_acquire);
  if (last != nullptr && !last->busy.exchange(true, std::memory_order_acquire)) [[likely]] {
    return *last;
  }
  return claim_slow();
}

InMemoryContext& InMemory::claim_slow() {
  for (std::size_t tried = 0;; ++tried) {
    const std::size_t index = (context_hint + tried) % contexts_max;
    InMemoryContext* context = contexts_[index].load(std::memory_order_acquire);
    if (context == nullptr) [[unlikely]]
      context = make(index);
    if (!context->busy.exchange(true, std::memory_order_acquire)) [[likely]] {
      context_hint = index;
      return *context;
    }
    if (tried % contexts_max == contexts_max - 1) sched_yield();
  }
}

void InMemory::give_back(InMemoryContext& context) {
  base::Epochs::rest(context.reader);
  context.busy.store(false, std::memory_order_release);
}

// Runs what is due and takes the answers that are there. Those that somebody wants belong to the
// message at hand: its caller waits for them, so there are none between two messages.
void InMemory::take_late(InMemoryContext& context, rpc::Message* message, JsonWriter* out) {
  rpc::LateCalls& late = *context.late;
  while (rpc::LateCall* call = late.expire(base::monotonic_ns())) {
    context.counters.add(base::Counter::limit_call_timeout);
    if (call->wanted && !call->told) {
      RINGRPC_ASSERT(message != nullptr);
      call->told = true;
      --message->late_count;
      context.answerer.add_error(*message, rpc::ErrorCode::timed_out, call->id(), *out);
    }
    late.raise(*call, StopReason::timed_out);
  }
  while (rpc::Post* post = late.take()) {
    // Nobody takes notifications here, so none are made.
    RINGRPC_ASSERT(post->kind == rpc::PostKind::answer);
    rpc::LateCall& call = static_cast<rpc::LateCall&>(*post);
    if (call.wanted && !call.told) {
      RINGRPC_ASSERT(message != nullptr);
      --message->late_count;
      context.answerer.add_late(*message, call, *out);
    }
    late.release(call);
  }
}

// The caller waits for the calls of its message that are answered later.
void InMemory::finish_late(InMemoryContext& context, rpc::Message& message, JsonWriter& out) {
  // The table has done its part, and this may take long.
  base::Epochs::rest(context.reader);
  for (;;) {
    take_late(context, &message, &out);
    if (message.late_count == 0) return;
    context.wait_until(context.late->next_ns());
  }
}

// What notifications before this message have left for later goes on as far as it can now.
[[gnu::cold, gnu::noinline]] void InMemory::catch_up(InMemoryContext& context) {
  constexpr std::uint64_t long_ago_ns = 1;
  if (context.polled.size() > 1) context.poll_until(long_ago_ns);
  take_late(context, nullptr, nullptr);
}

std::string_view InMemory::padded_copy(InMemoryContext& context, std::string_view text) {
  context.padded.reserve(text.size() + limits::padding);
  context.padded.assign(text);
  context.padded.append(limits::padding, ' ');
  context.counters.add(base::Counter::bytes_copied, text.size());
  return std::string_view(context.padded).substr(0, text.size());
}

void InMemory::call(std::string_view json, bool padded, std::string& reply) {
  InMemoryContext& context = claim();
  if (context.late->in_flight() != 0) [[unlikely]]
    catch_up(context);
  shared_.registry->epochs().announce(context.reader);
  const rpc::Table& table = *shared_.registry->current();
  ReplyRoom room(context.outbox, options_.reply_size_max, 0);
  RINGRPC_ASSERT(room.exists());
  JsonWriter& writer = room.writer();
  rpc::Outcome outcome{.has_body = true};
  if (json.size() > options_.message_size_max) {
    context.counters.add(base::Counter::limit_message_size);
    writer.bytes(R"({"jsonrpc":"2.0","error":)");
    writer.bytes(rpc::error_object(rpc::ErrorCode::request_too_large));
    writer.bytes(R"(},"id":null})");
  } else {
    const std::string_view text = padded ? json : padded_copy(context, json);
    rpc::Message message = context.answerer.read(text, context.endpoints[0], writer, room.budget());
    for (std::uint32_t i = 0; i < message.count; ++i) {
      const rpc::Envelope& call = context.answerer.envelope(i);
      context.answerer.answer(message, call, table.find(call.method), nowhere, writer);
    }
    if (message.late_count != 0) [[unlikely]]
      finish_late(context, message, writer);
    outcome = context.answerer.end(message, writer);
  }
  const std::size_t size = outcome.has_body ? writer.size() : 0;
  reply.resize(size);
  std::memcpy(reply.data(), writer.begin(), size);
  room.abandon();
  give_back(context);
}

void InMemory::call_http(std::string_view bytes, bool padded, std::string& response) {
  InMemoryContext& context = claim();
  if (context.late->in_flight() != 0) [[unlikely]]
    catch_up(context);
  shared_.registry->epochs().announce(context.reader);
  const rpc::Table& table = *shared_.registry->current();
  context.responder.set_time(base::wall_seconds());
  const std::string_view text = padded ? bytes : padded_copy(context, bytes);
  Connection connection;
  Input input{const_cast<char*>(text.data()), static_cast<std::uint32_t>(text.size())};
  Request& request = context.request;
  Step step = context.framer.next(connection, input, request, 0);
  if (step == Step::go_on) step = Step::need_input;
  // A refused request may bring its body along; anything behind the one request is one too many.
  const bool ends = step == Step::broken || (step == Step::refused && request.last);
  const std::uint32_t body_left = step == Step::refused ? connection.drop_left : 0;
  if (!ends && input.size > body_left) step = Step::need_input;
  if (step == Step::message && request.admission.target == Target::rpc) [[likely]] {
    OpenReply reply(context.responder, request, Peer{});
    rpc::Message message = context.answerer.read(
        request.body, context.endpoints[request.admission.mount], reply.writer(), reply.budget());
    for (std::uint32_t i = 0; i < message.count; ++i) {
      const rpc::Envelope& call = context.answerer.envelope(i);
      context.answerer.answer(message, call, table.find(call.method), reply.origin(),
                              reply.writer());
    }
    if (message.late_count != 0) [[unlikely]]
      finish_late(context, message, reply.writer());
    reply.finish(response, context.answerer.end(message, reply.writer()));
    context.framer.forget(connection);
    give_back(context);
    return;
  }
  bool ok = true;
  if (step == Step::message) {
    ok = context.responder.answer_plain(connection.out, request);
  } else if (step == Step::refused) {
    ok = context.responder.answer_refused(connection.out, request);
  } else {
    const std::uint16_t status =
        step == Step::broken ? request.status : static_cast<std::uint16_t>(400);
    ok = context.responder.answer_broken(connection.out, Protocol::http, status, {});
  }
  RINGRPC_MAYBE(ok);  // An empty response tells that memory is used up.
  append_all(context.outbox, connection.out, response);
  context.framer.forget(connection);
  give_back(context);
}

}  // namespace ringrpc::serve
