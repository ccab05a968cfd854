// Replies to the requests of a tape: each is compared with the last good one of its own message,
// but for the id, which must be its own.

#include <algorithm>
#include <cstring>

#include "engine/base/assert.h"
#include "tools/common/json_text.h"
#include "tools/ringload/framing.h"
#include "tools/ringload/reply_check.h"

namespace ringload {

void ReplyReader::follow(const Tape& tape, std::uint64_t check_every) {
  tape_ = &tape;
  memos_.resize(tape.message_count());
  check_every_ = check_every;
}

// Requires: as many bytes as the memo's reply has.
bool ReplyReader::is_like(const Memo& memo, std::string_view id, const char* data) {
  const std::string& reply = memo.reply;
  if (memo.id_size == 0) return std::memcmp(data, reply.data(), reply.size()) == 0;
  const std::size_t id_end = memo.id_begin + memo.id_size;
  return id.size() == memo.id_size &&
         std::memcmp(data + memo.id_begin, id.data(), memo.id_size) == 0 &&
         std::memcmp(data, reply.data(), memo.id_begin) == 0 &&
         std::memcmp(data + id_end, reply.data() + id_end, reply.size() - id_end) == 0;
}

// Sets what judge() needs to know of the reply at hand. Returns: whether it has begun already.
bool ReplyReader::begin_reply(Partial& partial, std::uint32_t expect) {
  const bool begun = partial.left != 0 || !partial.bytes.empty();
  if (!begun) partial.sampled = check_every_ != 0 && begun_++ % check_every_ == 0;
  expect_ = expect;
  sampled_ = partial.sampled;
  return begun;
}

ReplyReader::Fed ReplyReader::feed_tracked(Partial& partial, std::uint32_t& expect,
                                           const char* data, std::size_t size) {
  RINGRPC_ASSERT(tape_ != nullptr && expect < tape_->size(), expect);
  Fed fed;
  const char* cursor = data;
  const char* const end = data + size;
  while (cursor != end && cursor != nullptr && !fed.closed) {
    const std::uint32_t before = fed.replies;
    const Memo& memo = memos_[tape_->message_index(expect)];
    const auto here = static_cast<std::size_t>(end - cursor);
    if (begin_reply(partial, expect)) {
      cursor = resume(partial, cursor, end, fed);
    } else if (!sampled_ && !memo.reply.empty() && here >= memo.reply.size() &&
               is_like(memo, tape_->id(expect), cursor)) {
      cursor += memo.reply.size();
      ++fed.replies;
      ++counts_.bodies_checked;
    } else {
      cursor = take_one(partial, cursor, end, fed);
    }
    if (fed.replies != before) expect = tape_->next(expect);
  }
  counts_.replies += fed.replies;
  fed.bad = cursor == nullptr;
  return fed;
}

// What judge() leaves to do when it is known which request the reply belongs to.
void ReplyReader::judge_tracked(const ReplyHead& head, std::string_view reply, bool good) {
  if (in_flight_ != nullptr && !judge_match(reply.substr(head.head_size), reply)) return;
  const Message& message = tape_->message(expect_);
  const std::string_view id = tape_->id(expect_);
  if (sampled_) {
    ++counts_.full_checks;
    const std::string wrong = frames_  ? check_text(reply.substr(head.head_size), message, id)
                              : lines_ ? check_line(reply, message, id)
                                       : check_reply(reply, message, id);
    if (!wrong.empty()) {
      ++counts_.wrong;
      note(wrong, reply);
      return;
    }
  }
  if (!good || reply.size() > checked_size_max) return;
  Memo memo;
  if (!id.empty() && head.json) {
    std::vector<tools::Member> members;
    const bool object = tools::split_object(reply.substr(head.head_size), members);
    const std::string_view found = tools::find_member(members, "id");
    if (found != id) {
      ++counts_.wrong;
      return note(
          object ? "the reply's id is not " + std::string(id) : "the body is no JSON object",
          reply);
    }
    memo.id_begin = static_cast<std::size_t>(found.data() - reply.data());
    memo.id_size = found.size();
  }
  memo.reply.assign(reply);
  memos_[tape_->message_index(expect_)] = std::move(memo);
}

}  // namespace ringload
