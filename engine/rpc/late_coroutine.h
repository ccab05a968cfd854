#pragma once

// What a call that is answered by a coroutine keeps of it.

#include <ringrpc/call.h>
#include <ringrpc/co.h>

#include <cstdint>

namespace ringrpc::rpc {

// What a coroutine waits for.
enum class CoWait : std::uint8_t {
  nothing,
  time,
  readiness,
  job,
  room,  // for a notification
  turn   // for others, which go first: no reason to stop ends it sooner
};

// Returns: whether a reason to stop ends such a wait.
constexpr bool is_ended_by_stops(CoWait wait) {
  return wait == CoWait::time || wait == CoWait::readiness || wait == CoWait::room;
}

// The outcomes of those that end otherwise than by a reason to stop, which is 0.
inline constexpr std::uint32_t co_has_passed = 1;
inline constexpr std::uint32_t co_had_its_turn = 2;

// How a coroutine ends that does not end by itself.
enum class CoEnd : std::uint8_t {
  none,
  overloaded,  // no room for what it asked for
  stopped      // it waited once more after it had been asked to stop
};

// The coroutine that a call is answered by. Owns: its frames, from run.root on.
struct LateCoroutine {
  co::Run run;
  co::Promise* waiter = nullptr;  // goes on when the wait ends
  co::Job* job = nullptr;         // what is, or has been, done on the blocking pool
  CoWait wait = CoWait::nothing;
  CoEnd end = CoEnd::none;
  bool told = false;  // that the call is to stop
  Ready asked = Ready::none;
  std::uint32_t ticket = 0;   // of the descriptor that is waited for
  std::uint32_t outcome = 0;  // of the wait that ended last
  std::uint32_t sends = 0;    // since it stood still
};

}  // namespace ringrpc::rpc
