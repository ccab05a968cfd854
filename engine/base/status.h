#pragma once

// What the world did to us (errno, a full table, a refused kernel feature), as a value.

#include <cstring>
#include <string>
#include <utility>

namespace ringrpc::base {

// The outcome of a step that depends on the machine. Cold path only: the sentence is on the heap.
// A failed Status says what failed, the likely cause, and what to try, in one sentence for people.
class [[nodiscard]] Status {
 public:
  // Success.
  Status() = default;

  // Requires: error is an errno value, or -1 when none fits.
  static Status failure(int error, std::string sentence) {
    Status status;
    status.error_ = error == 0 ? -1 : error;
    status.sentence_ = std::move(sentence);
    return status;
  }

  // The sentence followed by the errno's own text.
  static Status from_errno(int error, const std::string& what) {
    return failure(error, what + ": " + std::strerror(error));
  }

  [[nodiscard]] bool ok() const { return error_ == 0; }
  [[nodiscard]] int error() const { return error_; }
  [[nodiscard]] const std::string& sentence() const { return sentence_; }

 private:
  int error_ = 0;
  std::string sentence_;
};

}  // namespace ringrpc::base
