#pragma once

// Several calls in one message. For client.h.

#include <ringrpc/client_answer.h>
#include <ringrpc/fields.h>

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace ringrpc {

namespace client {

// Params as they go into a message.
struct Params {
  std::string json;  // empty: none
  bool valid = true;
};

// Requires: type is one of fields.h. Not valid: what JSON cannot say, and no object or array.
[[nodiscard]] Params encode_params(const fields::TypeInfo& type, const void* value);
// The same for JSON text; blanks between its lines are dropped.
[[nodiscard]] Params check_params(std::string_view json);

struct NoParams {};

// Text is JSON; everything else is a type of fields.h that is an object or an array.
template <class P>
[[nodiscard]] Params params_of(const P& params) {
  if constexpr (std::same_as<P, NoParams>) {
    return {};
  } else if constexpr (std::convertible_to<const P&, std::string_view>) {
    return check_params(params);
  } else {
    static_assert(fields::can_be_params<P>(),
                  "ringrpc: params are an object or an array: a struct, map, tuple or vector");
    return encode_params(fields::type_of<P>(), &params);
  }
}

// A call of a message that is not sent yet.
struct Entry {
  std::string method;
  Params params;
  bool notification = false;
};

}  // namespace client

// Calls and notifications that are sent as one message: see Client::send(). The server may run them
// in any order, and each has its own answer.
//
//   ringrpc::Batch batch;
//   auto sum = batch.call<std::int64_t>("sum", Sum{2, 3});
//   batch.notify("jobs.progress");
//   client.send(batch);
//   if (auto answer = batch.take(sum)) use(*answer);
//
// Requires: at least one entry; servers have limits too (ringrpcd: 1,000).
class Batch {
 public:
  // Where the answer of one call will be.
  template <class R>
  class Place {
   private:
    friend class Batch;
    explicit Place(std::size_t index) : index_(index) {}
    std::size_t index_;
  };

  template <class R, class P = client::NoParams>
  Place<R> call(std::string_view method, const P& params = {}) {
    entries_.push_back({std::string(method), client::params_of(params), false});
    return Place<R>(calls_++);
  }
  template <class P = client::NoParams>
  void notify(std::string_view method, const P& params = {}) {
    entries_.push_back({std::string(method), client::params_of(params), true});
  }

  // Returns: the answer, once; a failure of no kind before the batch was sent and after the first
  // time.
  template <class R>
  [[nodiscard]] Answer<R> take(Place<R> place) {
    if (place.index_ >= answers_.size()) return Answer<R>();
    return Answer<R>(std::exchange(answers_[place.index_], JsonAnswer()));
  }

  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  // Returns: why the batch as a whole failed, if it did; its calls say so each as well.
  [[nodiscard]] const Failure& failure() const { return failure_; }

 private:
  friend class Client;

  std::vector<client::Entry> entries_;
  std::size_t calls_ = 0;
  std::vector<JsonAnswer> answers_;
  Failure failure_;
};

}  // namespace ringrpc
