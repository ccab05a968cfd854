#include "engine/rpc/late_calls.h"

#include <ringrpc/limits.h>
#include <sched.h>

#include <cstring>
#include <new>

#include "engine/base/assert.h"
#include "engine/rpc/guard.h"
#include "engine/rpc/publication.h"

namespace ringrpc::rpc {
namespace {

constexpr std::uint64_t ns_per_ms = 1'000'000;

// What a copy of a request takes, part by part, each aligned to 8 bytes.
struct Layout {
  std::size_t params = 0;  // with padding behind them
  std::size_t entries = 0;
  std::size_t head = 0;
  std::size_t names = 0;  // the id with padding behind it, and the method
  std::size_t scratch = 0;

  [[nodiscard]] std::size_t total() const { return params + entries + head + names + scratch; }
};

constexpr std::size_t aligned(std::size_t size) { return (size + 7) & ~std::size_t{7}; }

char* put(char*& at, std::string_view text, std::size_t room) {
  char* const begin = at;
  if (!text.empty()) std::memcpy(begin, text.data(), text.size());
  at += room;
  return begin;
}

}  // namespace

LateCalls* LateCalls::make(const Options& options, base::Status& status) {
  LateCalls* calls = new LateCalls(options);
  status = base::map_zeroes(sizeof(LateCall) * options.calls_max, calls->memory_of_places_);
  if (status.ok()) status = calls->holders_.make(options.connections_max);
  if (status.ok()) status = calls->timers_.start(options.calls_max * timers_each);
  if (status.ok()) status = calls->frames_.start(options.frame_memory_max);
  if (status.ok()) {
    calls->places_ = static_cast<LateCall*>(calls->memory_of_places_);
    return calls;
  }
  delete calls;
  return nullptr;
}

LateCalls::~LateCalls() {
  if (memory_of_places_ != nullptr) {
    base::unmap(memory_of_places_, sizeof(LateCall) * options_.calls_max);
  }
}

// A place that is none: the queue's end when nobody takes from it any more.
Post* LateCalls::closed_mark() {
  static Post nobody(PostKind::event);
  return &nobody;
}

void LateCalls::free_post(Post& post) {
  if (post.kind == PostKind::event) {
    LateEvent& event = static_cast<LateEvent&>(post);
    event.call.free_event(&event);
  } else if (post.kind == PostKind::publication) {
    Publication* const publication = static_cast<Publication*>(&post);
    discharge(publication->size());
    delete publication;
  } else {
    free_memory(static_cast<LateCall&>(post));
  }
}

void LateCalls::close(LateCalls* calls) {
  // Those that wait are nobody's but ours; a job that is elsewhere comes back.
  calls->closing_ = true;
  calls->for_each([calls](LateCall& call) {
    if (call.wait.run != nullptr) {
      call.wait.run = nullptr;
      call.wait.destroy(call.wait.state);
    } else if (call.coroutine.run.root != nullptr && call.coroutine.wait != CoWait::job) {
      calls->destroy_coroutine(call);
    } else {
      return;
    }
    calls->push(call);
  });
  while (Post* post = calls->take()) {
    if (post->kind == PostKind::answer) {
      calls->release(static_cast<LateCall&>(*post));
    } else {
      calls->free_post(*post);
    }
  }
  // Release: whoever finds the mark sees the count.
  calls->left_.store(calls->in_flight_ + 1, std::memory_order_release);
  Post* last = calls->head_.exchange(closed_mark(), std::memory_order_acq_rel);
  while (calls->pushing_.load(std::memory_order_acquire) != 0) sched_yield();
  std::uint32_t mine = 1;
  while (last != nullptr) {
    Post* const next = last->next_post.load(std::memory_order_relaxed);
    if (last->kind == PostKind::answer) ++mine;
    calls->free_post(*last);
    last = next;
  }
  if (calls->left_.fetch_sub(mine, std::memory_order_acq_rel) == mine) delete calls;
}

void LateCalls::push(Post& post) {
  const bool is_answer = post.kind == PostKind::answer;
  pushing_.fetch_add(1, std::memory_order_acquire);
  Post* head = head_.load(std::memory_order_acquire);
  do {
    if (head == closed_mark()) {
      free_post(post);
      pushing_.fetch_sub(1, std::memory_order_release);
      if (is_answer && left_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
      return;
    }
    post.next_post.store(head, std::memory_order_relaxed);
    // Release: pairs with the acquire in take(), which sees all that is posted.
  } while (!head_.compare_exchange_weak(head, &post, std::memory_order_release,
                                        std::memory_order_acquire));
  if (head == nullptr) options_.wake(options_.waker);
  pushing_.fetch_sub(1, std::memory_order_release);
}

Post* LateCalls::take() {
  for (;;) {
    Post* const post = take_any();
    if (post == nullptr || post->kind != PostKind::answer) return post;
    LateCall& call = static_cast<LateCall&>(*post);
    if (call.coroutine.wait != CoWait::job) {
      count_end(call);
      return post;
    }
    // A job is back, and its coroutine goes on.
    if (closing_) {
      destroy_coroutine(call);
      return post;
    }
    end_wait(call, 1);
  }
}

Post* LateCalls::take_any() {
  if (taken_ == nullptr) {
    if (head_.load(std::memory_order_relaxed) == nullptr) return nullptr;
    // Acquire: pairs with the release in push(). The last that came stands first: turned round.
    Post* post = head_.exchange(nullptr, std::memory_order_acquire);
    while (post != nullptr) {
      Post* const next = post->next_post.load(std::memory_order_relaxed);
      post->next_post.store(taken_, std::memory_order_relaxed);
      taken_ = post;
      post = next;
    }
  }
  Post* const post = taken_;
  if (post == nullptr) return nullptr;
  taken_ = post->next_post.load(std::memory_order_relaxed);
  return post;
}

void LateCalls::count_end(const LateCall& call) {
  base::Counters& counters = *options_.counters;
  if (call.end == LateEnd::dropped) counters.add(base::Counter::calls_unanswered);
  if (call.end == LateEnd::threw) counters.add(base::Counter::exceptions);
  if (call.end == LateEnd::no_json) counters.add(base::Counter::bad_results);
  if (call.end == LateEnd::too_large) counters.add(base::Counter::limit_reply_size);
  if (call.end == LateEnd::no_memory) counters.add(base::Counter::limit_late_memory);
  if (call.over_memory) counters.add(base::Counter::limit_params_memory);
  if (call.wanted && call.told) counters.add(base::Counter::replies_dropped);
  if (call.wanted && !call.told) counters.add(base::Counter::late_replies);
}

LateCall* LateCalls::place() {
  if (free_ != nullptr) {
    LateCall* const call = free_;
    free_ = call->next;
    const std::uint32_t index = call->index;
    return new (call) LateCall(*this, index);
  }
  if (made_ == options_.calls_max) return nullptr;
  LateCall* const call = new (&places_[made_]) LateCall(*this, made_);
  ++made_;
  return call;
}

LateCall* LateCalls::open(const Envelope& envelope, const Method& method, const Origin& origin,
                          const json::Index& index, const Endpoint& endpoint, bool wanted,
                          bool in_batch, base::Counter& hit) {
  Holder& holder = holders_[holder_];
  const bool room = holder.count < options_.calls_per_connection_max;
  LateCall* const call = room ? place() : nullptr;
  if (call == nullptr) {
    hit = room ? base::Counter::limit_in_flight : base::Counter::limit_in_flight_per_connection;
    options_.counters->add(hit);
    return nullptr;
  }
  if (!copy(*call, envelope, origin, index, wanted)) {
    hit = base::Counter::limit_late_memory;
    options_.counters->add(hit);
    call->next = free_;
    free_ = call;
    return nullptr;
  }
  // Relaxed: the registry looks only after this worker has passed a turn.
  method.users.fetch_add(1, std::memory_order_relaxed);
  call->method = &method;
  call->endpoint = &endpoint;
  call->wanted = wanted;
  if (stopping_) call->stop.store(StopReason::shutdown, std::memory_order_relaxed);
  call->streams = method.streams && takes_events(origin, endpoint, wanted, in_batch);
  call->holder = holder_;
  call->linked = true;
  call->next = holder.first;
  if (holder.first != nullptr) holder.first->previous = call;
  holder.first = call;
  ++holder.count;
  ++in_flight_;
  options_.counters->add(base::Counter::late_calls);
  const std::uint32_t timeout_ms = method.timeout_ms != 0 ? method.timeout_ms : options_.timeout_ms;
  if (timeout_ms != 0) {
    const std::uint64_t due_ns = now() + timeout_ms * ns_per_ms;
    call->origin.deadline_ms = due_ns / ns_per_ms;
    timers_.set(deadline_of(*call), due_ns);
  }
  return call;
}

// Returns: whether the peer takes notifications of a call.
bool LateCalls::takes_events(const Origin& origin, const Endpoint& endpoint, bool wanted,
                             bool in_batch) const {
  if (endpoint.two_way) return true;
  const void* const head = origin.head.source_;
  return wanted && !in_batch && head != nullptr && options_.accepts_events != nullptr &&
         options_.accepts_events(head);
}

// Returns: false when there is no memory for it.
bool LateCalls::copy(LateCall& call, const Envelope& envelope, const Origin& origin,
                     const json::Index& index, bool wanted) {
  const std::uint32_t* const first = index.positions() + envelope.params_first;
  const bool absent = envelope.params == ParamsKind::absent;
  const std::size_t count = absent ? 0 : envelope.params_end - envelope.params_first;
  const std::string_view params =
      absent ? std::string_view() : JsonValue(index.text(), first).raw();
  const Head& source = origin.head;
  const std::string_view head =
      source.source_ == nullptr ? std::string_view() : options_.head_text(source.source_);
  const std::string_view id = wanted ? envelope.id : std::string_view();
  Layout layout;
  layout.params = aligned(params.size() + limits::padding);
  layout.entries = aligned((count + 2) * sizeof(std::uint32_t));
  layout.head = aligned(head.size());
  layout.names = aligned(id.size() + envelope.method.size() + limits::padding);
  // Strings without their escapes, and the elements of spans, of which each has an entry at least.
  layout.scratch = absent ? 0 : aligned(params.size()) + count * sizeof(std::string_view);
  char* at = call.block_inline;
  if (layout.total() > LateCall::block_inline_size) {
    // Those in flight need some of it to speak and to be answered: else none of them might end.
    if (!charge(layout.total(), options_.memory_max / 4)) return false;
    call.block = new (std::nothrow) char[layout.total()];
    if (call.block == nullptr) {
      discharge(layout.total());
      return false;
    }
    call.block_size = layout.total();
    at = call.block;
  }
  options_.counters->add(base::Counter::bytes_copied, params.size() + head.size());

  char* const text = put(at, params, layout.params);
  std::memset(text + params.size(), 0, limits::padding);
  std::uint32_t* const entries = reinterpret_cast<std::uint32_t*>(at);
  at += layout.entries;
  for (std::size_t i = 0; i < count; ++i) entries[i] = first[i] - *first;
  entries[count] = entries[count + 1] = static_cast<std::uint32_t>(params.size());
  call.head_text = {put(at, head, layout.head), head.size()};
  char* const names = put(at, id, layout.names);
  std::memset(names + id.size(), 0, envelope.method.size() + limits::padding);
  // Behind the padding of the id, so that its copy may be longer than it is.
  char* const method = names + id.size() + limits::padding;
  std::memcpy(method, envelope.method.data(), envelope.method.size());
  call.scratch = json::Scratch(at, layout.scratch);

  call.origin = origin;
  if (source.source_ != nullptr) {
    const std::string_view path = source.path_;
    const char* const kept = call.head_text.data() + (path.data() - head.data());
    call.origin.head =
        Head(source.method_, {kept, path.size()}, &call.head_text, options_.find_in_text);
  }
  Call* const made = new (call.call_storage)
      Call({method, envelope.method.size()}, {names, id.size()},
           absent ? JsonValue() : JsonValue(text, entries), !wanted, call.origin, call.scratch);
  made->late_ = &call;
  return true;
}

void LateCalls::unlink(LateCall& call) {
  if (!call.linked) return;
  Holder& holder = holders_[call.holder];
  RINGRPC_ASSERT(holder.count > 0, call.holder);
  (call.previous != nullptr ? call.previous->next : holder.first) = call.next;
  if (call.next != nullptr) call.next->previous = call.previous;
  call.next = call.previous = nullptr;
  call.linked = false;
  --holder.count;
}

void LateCalls::free_memory(LateCall& call) {
  if (call.coroutine.run.root != nullptr) {
    // Its job has outlived the worker. One at a time; acquire and release hand the frames on.
    while (taking_apart_.exchange(true, std::memory_order_acquire)) sched_yield();
    destroy_coroutine(call);
    taking_apart_.store(false, std::memory_order_release);
  }
  if (call.block != nullptr) {
    delete[] call.block;
    discharge(call.block_size);
  }
  if (call.reply_memory != nullptr) {
    delete[] call.reply_memory;
    discharge(call.reply_capacity);
  }
  call.block = call.reply_memory = nullptr;
  call.free_event(std::exchange(call.event, nullptr));
  call.free_event(call.latest.exchange(nullptr, std::memory_order_acquire));
}

void LateCalls::release(LateCall& call) {
  RINGRPC_ASSERT(call.method != nullptr && call.wait.run == nullptr, call.index);
  RINGRPC_ASSERT(call.waiting_first == nullptr, call.index);
  RINGRPC_ASSERT(in_flight_ > 0);
  unlink(call);
  free_memory(call);
  timers_.clear(deadline_of(call));
  // Release: pairs with the acquire of the registry that frees a method nobody uses.
  call.method->users.fetch_sub(1, std::memory_order_release);
  call.method = nullptr;
  call.next = free_;
  free_ = &call;
  --in_flight_;
}

bool LateCalls::charge(std::size_t bytes, std::size_t reserve) {
  const std::size_t before = memory_.fetch_add(bytes, std::memory_order_relaxed);
  if (before + bytes + reserve <= options_.memory_max) return true;
  discharge(bytes);
  return false;
}

}  // namespace ringrpc::rpc
