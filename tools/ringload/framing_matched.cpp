// Replies that come in any order, on lines and WebSockets: each is brought to its request by its
// id.

#include <algorithm>

#include "engine/base/assert.h"
#include "tools/common/json_text.h"
#include "tools/ringload/framing.h"

namespace ringload {

// Returns: the oldest request in flight that has a call with that id, in a batch or alone.
std::size_t ReplyReader::find_call(std::string_view id, bool batch) const {
  for (std::size_t i = 0; i != in_flight_->size(); ++i) {
    const std::uint32_t position = in_flight_->position(i);
    const Message& message = tape_->message(position);
    if (message.batch != batch) continue;
    if (!batch && tape_->id(position) == id) return i;
    if (batch && std::any_of(message.calls.begin(), message.calls.end(),
                             [id](const Call& call) { return call.id == id; })) {
      return i;
    }
  }
  return no_request;
}

// Returns: which request in flight the body answers; no_request with its first id when none does.
std::size_t ReplyReader::find_request(std::string_view body, std::string& id) const {
  std::vector<std::string_view> elements;
  const bool batch = tools::split_array(body, elements);
  if (!batch) elements.assign(1, body);
  std::vector<tools::Member> members;
  for (const std::string_view element : elements) {
    if (!tools::split_object(element, members)) return 0;
    const std::string_view token = tools::find_member(members, "id");
    if (id.empty()) id = token;
    const bool has_none = token.empty() || token == "null";
    if (has_none && !tools::find_member(members, "error").empty()) return 0;
    if (const std::size_t found = find_call(token, batch); found != no_request) return found;
  }
  return no_request;
}

// Returns: false after a note when the reply belongs to no request.
bool ReplyReader::judge_match(std::string_view body, std::string_view reply) {
  if (in_flight_->size() == 0) {
    note("a reply that nobody asked for", reply);
    return false;
  }
  std::string id;
  answered_ = find_request(body, id);
  if (answered_ != no_request) {
    expect_ = in_flight_->position(answered_);
    return true;
  }
  ++counts_.wrong;
  note(id.empty() ? "no request waits for a reply without id" : "no request waits for the id " + id,
       reply);
  return false;
}

ReplyReader::Fed ReplyReader::feed_matched(Partial& partial, InFlight& in_flight, const char* data,
                                           std::size_t size, std::vector<std::uint64_t>& times) {
  RINGRPC_ASSERT(tape_ != nullptr);
  in_flight_ = &in_flight;
  Fed fed;
  const char* cursor = data;
  const char* const end = data + size;
  while (cursor != end && cursor != nullptr && !fed.closed) {
    const std::string_view here(cursor, static_cast<std::size_t>(end - cursor));
    const std::uint32_t before = fed.replies;
    answered_ = 0;
    const std::uint32_t oldest = in_flight.size() == 0 ? 0 : in_flight.position(0);
    const Memo& memo = memos_[tape_->message_index(oldest)];
    if (begin_reply(partial, oldest)) {
      cursor = resume(partial, cursor, end, fed);
    } else if (in_flight.size() != 0 && !sampled_ && !memo.reply.empty() &&
               here.size() >= memo.reply.size() && is_like(memo, tape_->id(oldest), cursor)) {
      cursor += memo.reply.size();
      ++fed.replies;
      ++counts_.bodies_checked;
    } else {
      cursor = take_one(partial, cursor, end, fed);
    }
    if (fed.replies == before) continue;
    ++counts_.replies;
    if (in_flight.size() == 0) return {.bad = true};
    if (answered_ == no_request) {
      fed.replies = before;
    } else {
      times.push_back(in_flight.take(answered_));
    }
  }
  fed.bad = cursor == nullptr;
  return fed;
}

}  // namespace ringload
