#pragma once

// Every way this library can read a message, asked at once: each simdjson kernel of the machine and
// the byte-walking twin, with whatever bytes stand behind the text. They must agree on everything,
// so tests that ask here are tests of all of them.

#include <gtest/gtest.h>
#include <ringrpc/limits.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "engine/rpc/envelope.h"

namespace ringrpc::rpc {

// A copy of all that an envelope says, so that it outlives the next read.
struct Message {
  EnvelopeKind kind = EnvelopeKind::invalid;
  std::string id;
  IdKind id_kind = IdKind::absent;
  std::string method;
  bool method_too_long = false;
  ParamsKind params = ParamsKind::absent;
  std::uint32_t params_first = 0;
  std::uint32_t params_end = 0;
  std::uint32_t first = 0;
  std::uint32_t end = 0;

  bool operator==(const Message&) const = default;
};

struct Answer {
  ReadStatus status = ReadStatus::parse_error;
  std::vector<Message> messages;
  std::vector<std::uint32_t> entries;  // the index; only of a text that is JSON

  bool operator==(const Answer&) const = default;
};

inline std::ostream& operator<<(std::ostream& out, const Answer& answer) {
  out << "status " << static_cast<int>(answer.status) << ", " << answer.entries.size()
      << " entries";
  for (const Message& message : answer.messages) {
    out << " {kind " << static_cast<int>(message.kind) << " id " << message.id << " ("
        << static_cast<int>(message.id_kind) << ") method " << message.method << " params "
        << static_cast<int>(message.params) << " [" << message.params_first << ", "
        << message.params_end << ")}";
  }
  return out;
}

// A text in memory of exactly its size and the padding, so that the address sanitizer sees each
// byte read beyond.
class PaddedText {
 public:
  PaddedText(std::string_view text, std::string_view filler)
      : size_(static_cast<std::uint32_t>(text.size())),
        bytes_(new char[text.size() + limits::padding]) {
    if (size_ > 0) std::memcpy(bytes_.get(), text.data(), size_);
    for (std::size_t i = 0; i < limits::padding; ++i) {
      bytes_[size_ + i] = filler[i % filler.size()];
    }
  }

  [[nodiscard]] const char* data() const { return bytes_.get(); }
  [[nodiscard]] std::uint32_t size() const { return size_; }

 private:
  std::uint32_t size_;
  std::unique_ptr<char[]> bytes_;
};

class Subject {
 public:
  static constexpr std::string_view twin = "twin";
  static constexpr std::string_view usual = "usual";  // as in production: short texts on their own

  Subject(std::string name, std::uint32_t message_size_max, std::uint32_t batch_length_max)
      : name_(std::move(name)), reader_(std::make_unique<Reader>()) {
    const std::string kernel = name_ == twin || name_ == usual ? "" : name_;
    const base::Status status = reader_->reserve(message_size_max, batch_length_max, kernel);
    EXPECT_TRUE(status.ok()) << status.sentence();
  }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const Reader& reader() const { return *reader_; }

  Answer read(const PaddedText& text) {
    const ReadResult result = name_ == twin ? reader_->read_portable(text.data(), text.size())
                                            : reader_->read(text.data(), text.size());
    Answer answer{.status = result.status, .messages = {}, .entries = {}};
    for (std::uint32_t i = 0; i < result.count; ++i) {
      const Envelope& envelope = reader_->envelope(i);
      answer.messages.push_back({.kind = envelope.kind,
                                 .id = std::string(envelope.id),
                                 .id_kind = envelope.id_kind,
                                 .method = std::string(envelope.method),
                                 .method_too_long = envelope.method_too_long,
                                 .params = envelope.params,
                                 .params_first = envelope.params_first,
                                 .params_end = envelope.params_end,
                                 .first = envelope.first,
                                 .end = envelope.end});
    }
    if (result.status != ReadStatus::parse_error) {
      const json::Index& index = reader_->index();
      answer.entries.assign(index.positions(), index.positions() + index.count());
      EXPECT_EQ(index.positions()[index.count()], index.size()) << name_;
      EXPECT_EQ(index.positions()[index.count() + 1], index.size()) << name_;
    }
    return answer;
  }

 private:
  std::string name_;
  std::unique_ptr<Reader> reader_;
};

class Subjects {
 public:
  // Bytes that may follow a body on a connection, chosen to mislead who reads on.
  static constexpr std::string_view fillers[] = {
      " ", "9", "\"", "}", "]", ",", "\\", "e", std::string_view("\0", 1), "\xff", "POST /rpc "};

  explicit Subjects(std::uint32_t message_size_max = 1u << 20,
                    std::uint32_t batch_length_max = limits::batch_length_max) {
    for (const std::string& kernel : json::Index::kernels()) {
      all_.emplace_back(kernel, message_size_max, batch_length_max);
    }
    all_.emplace_back(std::string(Subject::usual), message_size_max, batch_length_max);
    all_.emplace_back(std::string(Subject::twin), message_size_max, batch_length_max);
  }

  std::vector<Subject>& all() { return all_; }

  // Returns: what they all answer. Fails the test where one differs.
  Answer read(std::string_view text) {
    const Answer expected = all_.back().read(PaddedText(text, " "));
    for (Subject& subject : all_) {
      for (const std::string_view filler : fillers) {
        const Answer answer = subject.read(PaddedText(text, filler));
        EXPECT_EQ(answer, expected) << subject.name() << ", behind the text: " << filler
                                    << ", the text: " << text.substr(0, 300);
      }
    }
    return expected;
  }

  // Returns: the one message of a text that is not a batch; fails the test if it is another.
  Message single(std::string_view text) {
    const Answer answer = read(text);
    EXPECT_EQ(answer.status, ReadStatus::single) << text.substr(0, 300);
    return answer.messages.empty() ? Message{} : answer.messages[0];
  }

 private:
  std::vector<Subject> all_;
};

}  // namespace ringrpc::rpc
