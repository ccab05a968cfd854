#include "engine/serve/blocking_pool.h"

#include <ringrpc/async.h>

#include <chrono>

#include "engine/base/assert.h"
#include "engine/rpc/guard.h"

namespace ringrpc::serve {

void BlockingPool::start() {
  std::lock_guard lock(mutex_);
  if (!threads_.empty() || stopping_) return;
  alive_ = thread_count_;
  for (std::uint32_t i = 0; i < thread_count_; ++i) threads_.emplace_back([this] { work(); });
}

bool BlockingPool::stop_within(std::uint32_t ms) {
  std::vector<std::thread> threads;
  bool all = false;
  {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
    all = ended_.wait_for(lock, std::chrono::milliseconds(ms), [this] { return alive_ == 0; });
    threads.swap(threads_);
  }
  for (std::thread& thread : threads) {
    if (all) {
      thread.join();
    } else {
      thread.detach();  // It may end long after, when nobody is left to join it.
    }
  }
  return all;
}

bool BlockingPool::submit(void* state, rpc::LateCall& call) {
  return static_cast<BlockingPool*>(state)->push(call);
}

bool BlockingPool::push(rpc::LateCall& call) {
  std::lock_guard lock(mutex_);
  if (count_ == jobs_.size() || stopping_) return false;
  jobs_[(first_ + count_) % jobs_.size()] = &call;
  ++count_;
  changed_.notify_one();
  return true;
}

void BlockingPool::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return count_ != 0 || stopping_; });
    if (count_ == 0) {
      if (--alive_ == 0) ended_.notify_all();
      return;
    }
    rpc::LateCall& call = *jobs_[first_];
    first_ = (first_ + 1) % jobs_.size();
    --count_;
    const bool stopping = stopping_;
    lock.unlock();
    if (stopping && call.coroutine.job == nullptr) {
      StopReason none = StopReason::none;
      call.stop.compare_exchange_strong(none, StopReason::shutdown, std::memory_order_release,
                                        std::memory_order_relaxed);
    }
    run(call, stopping);
    lock.lock();
  }
}

void BlockingPool::run(rpc::LateCall& call, bool stopping) {
  if (call.coroutine.job != nullptr) {
    // When the pool has stopped its coroutine will not go on.
    if (!stopping) rpc::guarded_job(*call.coroutine.job);
    call.home.push(call);
    return;
  }
  const StopReason reason = call.call().stop_reason();
  const char* thrown = nullptr;
  if (reason != StopReason::none) {
    const Error error = stop_error(reason);
    call.reply().error(error.code, error.message, error.data);
  } else {
    thrown = rpc::guarded_invoke(*call.method, call.call(), call.reply());
  }
  if (thrown != nullptr) {
    std::lock_guard lock(notice_mutex_);
    exception_notice_.say("the handler of \"%s\" threw: %s", call.method->name.c_str(), thrown);
    call.end = rpc::LateEnd::threw;
  } else {
    call.seal();
  }
  call.home.push(call);
}

}  // namespace ringrpc::serve
