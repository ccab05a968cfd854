// The only file that knows simdjson: its first stage, called below its documented front ends.
// Those either skip what nobody reads (On-Demand) or build a tree and lose the tokens (DOM).

#include <simdjson.h>

#include <cerrno>
#include <new>
#include <type_traits>

#include "engine/base/assert.h"
#include "engine/json/index.h"
#include "engine/json/short_index.h"
#include "engine/json/text.h"

namespace ringrpc::json {

namespace {

using Parser = simdjson::internal::dom_parser_implementation;

// What is used of simdjson from 3.0.1 to 4.x. A version that changes it fails here, in words.
static_assert(
    std::is_same_v<
        decltype(std::declval<const simdjson::implementation&>().create_dom_parser_implementation(
            std::size_t{}, std::size_t{}, std::declval<std::unique_ptr<Parser>&>())),
        simdjson::error_code>,
    "simdjson's implementation makes a parser from (capacity, depth, pointer)");
static_assert(std::is_same_v<decltype(std::declval<Parser&>().stage1(
                                 std::declval<const std::uint8_t*>(), std::size_t{},
                                 simdjson::stage1_mode::regular)),
                             simdjson::error_code>,
              "simdjson's first stage is called with (text, size, mode)");
static_assert(
    std::is_same_v<decltype(Parser::structural_indexes), std::unique_ptr<std::uint32_t[]>>,
    "simdjson's index is an array of 32-bit positions");
static_assert(std::is_same_v<decltype(Parser::n_structural_indexes), std::uint32_t>,
              "simdjson counts its index in 32 bits");
static_assert(simdjson::SUCCESS == 0, "zero is success");

// Stage 2 is never called, so its stack is as small as it gets.
constexpr std::size_t stage2_depth = 1;

const simdjson::implementation* find_kernel(std::string_view name) {
  for (const simdjson::implementation* kernel : simdjson::get_available_implementations()) {
    if (kernel->name() == name && kernel->supported_by_runtime_system()) return kernel;
  }
  return nullptr;
}

}  // namespace

struct Index::Stage1 {
  const simdjson::implementation* kernel = nullptr;
  std::unique_ptr<Parser> parser;
};

Index::Index() = default;
Index::~Index() = default;

base::Status Index::reserve(std::uint32_t text_size_max, std::string_view kernel) {
  RINGRPC_ASSERT(stage1_ == nullptr);
  RINGRPC_ASSERT(text_size_max > 0);
  stage1_.reset(new (std::nothrow) Stage1);
  if (stage1_ == nullptr) return base::Status::failure(ENOMEM, "no memory for the JSON index");
  if (kernel.empty()) {
    // Asking for the name first makes simdjson settle on a kernel, or take the one that the
    // environment variable SIMDJSON_FORCE_IMPLEMENTATION names.
    const std::string best(simdjson::get_active_implementation()->name());
    stage1_->kernel = find_kernel(best);
  } else {
    stage1_->kernel = find_kernel(kernel);
  }
  if (stage1_->kernel == nullptr) {
    return base::Status::failure(
        ENOTSUP, "simdjson has no kernel for this processor; unset SIMDJSON_FORCE_IMPLEMENTATION");
  }
  const simdjson::error_code error = stage1_->kernel->create_dom_parser_implementation(
      text_size_max, stage2_depth, stage1_->parser);
  if (error != simdjson::SUCCESS || stage1_->parser == nullptr) {
    return base::Status::failure(ENOMEM, "no memory for the JSON index; lower message_size_max");
  }
  positions_ = stage1_->parser->structural_indexes.get();
  text_size_max_ = text_size_max;
  accelerated_ = !kernel.empty() || stage1_->kernel->name() != "fallback";
  short_indexer_ = kernel.empty() ? short_indexer() : nullptr;
  return {};
}

bool Index::build(const char* text, std::uint32_t size) {
  RINGRPC_ASSERT(size <= text_size_max_, size, text_size_max_);
  text_ = text;
  size_ = size;
  count_ = 0;
  if (size == 0) [[unlikely]]
    return false;
  if (short_indexer_ != nullptr && size <= short_text_size_max) {
    // PERF: 60 instructions and 3 ns in place of 546 and 37 for the canonical body (bench/ladder).
    count_ = short_indexer_(text, size, positions_);
    if (count_ != 0) [[likely]] {
      positions_[count_] = positions_[count_ + 1] = size;
      first_backslash_ = size;
      return true;
    }
  }
  Parser& parser = *stage1_->parser;
  if (parser.stage1(reinterpret_cast<const std::uint8_t*>(text), size,
                    simdjson::stage1_mode::regular) != simdjson::SUCCESS) [[unlikely]] {
    return false;
  }
  count_ = parser.n_structural_indexes;
  first_backslash_ = size;
  if (may_have_backslash(text, size)) [[unlikely]] {
    first_backslash_ = static_cast<std::uint32_t>(find_backslash(text, text + size) - text);
  }
  return true;
}

std::string Index::kernel() const {
  RINGRPC_ASSERT(stage1_ != nullptr);
  return std::string(stage1_->kernel->name());
}

std::vector<std::string> Index::kernels() {
  std::vector<std::string> names;
  for (const simdjson::implementation* kernel : simdjson::get_available_implementations()) {
    if (kernel->supported_by_runtime_system()) names.emplace_back(kernel->name());
  }
  return names;
}

std::size_t Index::memory(std::uint32_t text_size_max) {
  // A whole block of 64 more and the entries that stage 1 writes behind the last one.
  return (std::size_t{text_size_max} + 64 + 9) * sizeof(std::uint32_t);
}

}  // namespace ringrpc::json
