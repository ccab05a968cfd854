#include "tools/ringload/rpc_check.h"

namespace ringload {

namespace {

constexpr unsigned depth_max = 64;

class Scan {
 public:
  explicit Scan(std::string_view body) : body_(body) {}

  RpcVerdict run() {
    RpcVerdict verdict;
    skip_blanks();
    if (at_end()) return verdict;
    response_depth_ = body_[position_] == '[' ? 2 : 1;
    do {
      if (!step(verdict)) return {};
      skip_blanks();
    } while (depth_ != 0 && !at_end());
    verdict.valid = depth_ == 0 && at_end() && verdict.results + verdict.errors != 0;
    return verdict;
  }

 private:
  bool at_end() const { return position_ == body_.size(); }

  void skip_blanks() {
    while (!at_end() && (body_[position_] == ' ' || body_[position_] == '\t' ||
                         body_[position_] == '\n' || body_[position_] == '\r')) {
      ++position_;
    }
  }

  // Returns: false when the text cannot be a JSON-RPC answer.
  bool step(RpcVerdict& verdict) {
    const char c = body_[position_];
    switch (c) {
      case '{':
      case '[':
        return open(c);
      case '}':
      case ']':
        return close(c, verdict);
      case '"':
        return string();
      case ':':
        if (depth_ == response_depth_ && in_object()) note_member();
        ++position_;
        return depth_ != 0;
      default:
        ++position_;
        return depth_ != 0;
    }
  }

  bool open(char c) {
    // Only response objects stand directly in a batch, and only they or a batch at the top.
    if (depth_ + 1 == response_depth_ && c != '{') return false;
    if (depth_ == depth_max) return false;
    const std::uint64_t bit = std::uint64_t{1} << depth_;
    objects_ = c == '{' ? objects_ | bit : objects_ & ~bit;
    ++depth_;
    ++position_;
    if (depth_ == response_depth_) version_ = result_ = error_ = false;
    return true;
  }

  bool close(char c, RpcVerdict& verdict) {
    if (depth_ == 0 || in_object() != (c == '}')) return false;
    if (depth_ == response_depth_) {
      if (!version_ || result_ == error_) return false;
      (error_ ? verdict.errors : verdict.results) += 1;
    }
    --depth_;
    ++position_;
    return true;
  }

  bool string() {
    const std::size_t first = ++position_;
    // A backslash at the end makes the position one more than the size.
    while (position_ < body_.size() && body_[position_] != '"') {
      position_ += body_[position_] == '\\' ? 2u : 1u;
    }
    if (position_ >= body_.size()) return false;
    last_string_ = body_.substr(first, position_ - first);
    ++position_;
    return depth_ != 0;
  }

  void note_member() {
    version_ = version_ || last_string_ == "jsonrpc";
    result_ = result_ || last_string_ == "result";
    error_ = error_ || last_string_ == "error";
  }

  bool in_object() const { return ((objects_ >> (depth_ - 1)) & 1) != 0; }

  std::string_view body_;
  std::size_t position_ = 0;
  std::string_view last_string_;
  std::uint64_t objects_ = 0;  // one bit for each open bracket: 1 is an object
  unsigned depth_ = 0;
  unsigned response_depth_ = 1;
  bool version_ = false;
  bool result_ = false;
  bool error_ = false;
};

}  // namespace

RpcVerdict check_rpc(std::string_view body) { return Scan(body).run(); }

}  // namespace ringload
