#pragma once

// The answer of a call that was started, to be fetched when it is wanted. For client.h.

#include <ringrpc/client.h>

#include <memory>
#include <string_view>
#include <utility>

namespace ringrpc {

//   auto a = client.begin<std::int64_t>("sum", Sum{1, 2});
//   auto b = client.begin<std::int64_t>("sum", Sum{3, 4});
//   use(a.get(), b.get());                                    // both were in flight
//
// Lifetime: ends before its client. One that ends before its call does cancels it.
template <class R>
class [[nodiscard]] Pending {
 public:
  Pending(Pending&& source) noexcept = default;
  Pending& operator=(Pending&& source) noexcept {
    if (this != &source) {
      drop();
      state_ = std::move(source.state_);
    }
    return *this;
  }
  ~Pending() { drop(); }

  [[nodiscard]] bool ready() const { return state_ != nullptr && state_->ready; }
  [[nodiscard]] CallNumber number() const { return state_ == nullptr ? 0 : state_->number; }

  // Waits for the answer. Returns: it, once; a failure of no kind after that, and inside of a
  // callback while it is not ready().
  Answer<R> get() {
    if (state_ == nullptr) return Answer<R>();
    const bool ready = state_->client.wait_for(state_->ready);
    client::rethrow();
    if (!ready) return Answer<R>();
    const std::unique_ptr<State> state = std::move(state_);
    return Answer<R>(std::move(state->answer));
  }

 private:
  friend class Client;
  struct State {
    Client& client;
    CallNumber number = 0;
    bool ready = false;
    JsonAnswer answer = {};
  };

  Pending(Client& client, std::string_view method, client::Params params, CallOptions options)
      : state_(new State{client}) {
    State* const state = state_.get();
    state->number = client.begin_call(
        method, std::move(params),
        [state](JsonAnswer&& answer) {
          state->answer = std::move(answer);
          state->ready = true;
        },
        std::move(options));
  }
  void drop() {
    if (state_ != nullptr && !state_->ready) state_->client.abandon(state_->number);
    state_.reset();
  }

  std::unique_ptr<State> state_;
};

}  // namespace ringrpc
