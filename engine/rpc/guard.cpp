// The one engine file that is built with exceptions: a throw from a handler stops here, whether or
// not the handler's own unit was built with them (it needs unwind tables).

#include "engine/rpc/guard.h"

#include <cxxabi.h>

#include <cstdio>
#include <exception>
#include <utility>

namespace ringrpc::rpc {

namespace {

// Inlined, so that what a call captures stays in registers.
template <typename Run>
[[gnu::always_inline]] inline const char* guarded(const Run& run) {
  try {
    run();
    return nullptr;
  } catch (abi::__forced_unwind&) {
    // pthread_cancel and pthread_exit unwind through here and must not be stopped.
    throw;
  } catch (const std::exception& exception) {
    // The text dies with the exception, so it is copied out, cut to what a log line needs.
    thread_local char text[256];
    std::snprintf(text, sizeof(text), "%s", exception.what());
    return text;
  } catch (...) {
    return "an exception that is no std::exception";
  }
}

}  // namespace

const char* guarded_invoke(const Method& method, Call& call, Reply& reply) {
  return guarded([&] { method.invoke(method.state, method.strict, call, reply); });
}

const char* guarded_wait(void (*run)(void* state, Call& call), void* state, Call& call) {
  return guarded([&] { run(state, call); });
}

const char* guarded_run(co::Run& run) {
  return guarded([&] {
    while (run.next != nullptr) {
      run.running = std::exchange(run.next, nullptr);
      run.running->self.resume();
    }
  });
}

const char* text_of(const std::exception_ptr& thrown) {
  return thrown == nullptr ? nullptr : guarded([&] { std::rethrow_exception(thrown); });
}

void guarded_job(co::Job& job) {
  try {
    job.run(job);
  } catch (abi::__forced_unwind&) {
    throw;
  } catch (...) {
    job.thrown = std::current_exception();
  }
}

}  // namespace ringrpc::rpc

void ringrpc::co::throw_kept(std::exception_ptr& thrown) {
  std::exception_ptr kept = std::exchange(thrown, nullptr);
  std::rethrow_exception(std::move(kept));
}
