#include "engine/client/job.h"

#include <algorithm>
#include <utility>

#include "engine/client/message.h"

namespace ringrpc::client {

std::uint64_t Job::next_ns() const {
  switch (state) {
    case State::queued:
    case State::sent:
      return std::min(deadline_ns, try_deadline_ns);
    case State::delayed:
      return std::min(deadline_ns, due_ns);
    case State::done:
      break;
  }
  return UINT64_MAX;
}

void Job::make_text(std::uint64_t& next_id) {
  ids.clear();
  answered = 0;
  if (is_raw()) {
    ids = raw.ids;
    any_reply = raw.any_reply;
    text = raw.text;
  } else {
    text = batch ? "[" : "";
    for (const Entry& entry : entries) {
      std::string id;
      if (!entry.notification) id = ids.emplace_back(std::to_string(next_id++));
      if (text.size() > 1) text += ',';
      text += request_text(entry, id);
    }
    if (batch) text += ']';
  }
  exchange.answers.clear();
  exchange.answers.resize(ids.size());
}

namespace {

bool is_open(const JsonAnswer& answer) {
  return answer.failed() && answer.failure().kind == FailureKind::none;
}

}  // namespace

bool Job::take_answer(std::string_view id, JsonAnswer&& answer) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] != id || !is_open(exchange.answers[i])) continue;
    exchange.answers[i] = std::move(answer);
    ++answered;
    return true;
  }
  return false;
}

void Job::take_error(const Error& error) {
  for (JsonAnswer& answer : exchange.answers) {
    if (is_open(answer)) answer = JsonAnswer::of_error(error);
  }
  answered = ids.size();
}

void Job::close_batch() {
  fail_rest({.kind = FailureKind::missing,
             .sentence = "the server answered other calls of the batch, and not this one",
             .may_have_run = true});
  answered = ids.size();
}

void Job::note_first_byte(std::uint64_t now_ns) {
  if (exchange.timing.first_byte != 0) return;
  exchange.timing.first_byte = static_cast<double>(now_ns - try_begin_ns) / 1e6;
}

void Job::fail_rest(const Failure& failure) {
  for (JsonAnswer& answer : exchange.answers) {
    if (is_open(answer)) answer = JsonAnswer::of_failure(failure);
  }
}

const Error* Job::sole_error() const {
  if (exchange.answers.size() != 1 || !exchange.answers[0].is_error()) return nullptr;
  return &exchange.answers[0].error();
}

}  // namespace ringrpc::client
