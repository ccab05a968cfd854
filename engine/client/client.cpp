// The members of ringrpc::Client: jobs for the loop, and the turns that wait for them.

#include <ringrpc/client.h>

#include <utility>

#include "engine/client/loop.h"

namespace ringrpc {
namespace {

using client::Job;

Failure inside_callback() {
  return {.kind = FailureKind::not_sent, .sentence = "inside a callback nothing can be waited for"};
}

std::unique_ptr<Job> make_job(std::vector<client::Entry> entries, CallOptions options) {
  std::unique_ptr<Job> job = std::make_unique<Job>();
  job->entries = std::move(entries);
  job->options = std::move(options);
  return job;
}

std::vector<client::Entry> one_entry(std::string_view method, client::Params params,
                                     bool notification) {
  std::vector<client::Entry> entries;
  entries.push_back({std::string(method), std::move(params), notification});
  return entries;
}

}  // namespace

class Client::Impl : public client::Loop {
 public:
  using Loop::Loop;

  // Requires: not inside a callback.
  Exchange run(std::unique_ptr<Job> job) {
    Exchange exchange;
    bool done = false;
    job->then = [&](Exchange&& result) {
      exchange = std::move(result);
      done = true;
    };
    start(std::move(job));
    while (!done) turn(-1);
    return exchange;
  }
};

Client::Client(std::string_view url, ClientOptions options)
    : impl_(std::make_unique<Impl>(url, std::move(options))) {}
Client::~Client() = default;

const std::string& Client::error() const { return impl_->error(); }
std::size_t Client::in_flight() const { return impl_->in_flight(); }
bool Client::connected() const { return impl_->connected(); }
const ClientStats& Client::stats() const { return impl_->stats(); }
bool Client::cancel(CallNumber number) { return impl_->cancel(number); }
void Client::abandon(CallNumber number) { impl_->abandon(number); }
void Client::interrupt() { impl_->interrupt(); }

void Client::on_notification(Callback<void(const Notification&)> handler) {
  impl_->on_notification(std::move(handler));
}

void Client::on_connect(Callback<void(bool again)> handler) {
  impl_->on_connect(std::move(handler));
}

CallNumber Client::begin_call(std::string_view method, client::Params params, Then then,
                              CallOptions options) {
  std::unique_ptr<Job> job =
      make_job(one_entry(method, std::move(params), false), std::move(options));
  job->then = [then = std::move(then)](Exchange&& done) {
    then(done.answers.empty() ? JsonAnswer::of_failure(std::move(done.failure))
                              : std::move(done.answers.front()));
  };
  return impl_->start(std::move(job));
}

CallNumber Client::start(Batch batch, Callback<void(Batch&&)> then, CallOptions options) {
  std::unique_ptr<Job> job = make_job(std::move(batch.entries_), std::move(options));
  job->batch = true;
  job->then = [then = std::move(then)](Exchange&& done) {
    Batch answered;
    answered.failure_ = std::move(done.failure);
    answered.answers_ = std::move(done.answers);
    then(std::move(answered));
  };
  return impl_->start(std::move(job));
}

Exchange Client::wait(std::string_view method, client::Params params, bool notification,
                      CallOptions options) {
  if (impl_->in_callback()) return Exchange{.failure = inside_callback()};
  return impl_->run(
      make_job(one_entry(method, std::move(params), notification), std::move(options)));
}

bool Client::wait(Batch& batch, CallOptions options) {
  Exchange done;
  if (impl_->in_callback()) {
    done.failure = inside_callback();
  } else if (batch.entries_.empty()) {
    done.failure = {.kind = FailureKind::not_sent, .sentence = "the batch is empty"};
  } else {
    std::unique_ptr<Job> job = make_job(std::exchange(batch.entries_, {}), std::move(options));
    job->batch = true;
    done = impl_->run(std::move(job));
  }
  batch.failure_ = std::move(done.failure);
  batch.answers_ = std::move(done.answers);
  return !batch.failure_;
}

Exchange Client::wait(RawMessage message, CallOptions options) {
  if (impl_->in_callback()) return Exchange{.failure = inside_callback()};
  std::unique_ptr<Job> job = make_job({}, std::move(options));
  job->raw = std::move(message);
  return impl_->run(std::move(job));
}

bool Client::wait_for(const bool& flag) {
  if (impl_->in_callback()) return flag;
  while (!flag) impl_->turn(-1);
  return true;
}

bool Client::turn(int timeout_ms) {
  if (impl_->in_callback()) return false;
  if (impl_->take_interrupt()) return false;
  impl_->turn(timeout_ms);
  return !impl_->take_interrupt();
}

}  // namespace ringrpc
