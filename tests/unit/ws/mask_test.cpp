// Goal: masking is right at any size, place and phase, touches nothing else, and knows ASCII.
// Method: every kernel against the definition, in blocks of their own size.

#include "engine/ws/mask.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <string_view>

namespace ringrpc::ws::test {
namespace {

// The definition, byte by byte.
std::string plain(std::string bytes, std::uint32_t key, std::size_t phase) {
  char keys[4];
  std::memcpy(keys, &key, 4);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<char>(bytes[i] ^ keys[(phase + i) % 4]);
  }
  return bytes;
}

bool is_ascii(const std::string& bytes) {
  return bytes.find_first_not_of([] {
    std::string ascii;
    for (int c = 0; c < 128; ++c) ascii += static_cast<char>(c);
    return ascii;
  }()) == std::string::npos;
}

// Returns: whether /proc/cpuinfo lists what that kernel needs.
bool processor_has(std::string_view kernel) {
  if (kernel == "portable") return true;
  std::ifstream file("/proc/cpuinfo");
  std::string flags;
  while (std::getline(file, flags) && !flags.starts_with("flags")) {
  }
  flags += " ";
  const auto has = [&flags](const char* flag) {
    return flags.find(" " + std::string(flag) + " ") != flags.npos;
  };
  return kernel == "avx512" ? has("avx512f") && has("avx512bw") : has("avx2");
}

class Mask : public testing::TestWithParam<MaskKernel> {
 protected:
  void SetUp() override {
    // Asked of the kernel and not of what is tested: a detection that sees nothing must not pass.
    const bool present = processor_has(GetParam().name);
    ASSERT_EQ(GetParam().supported(), present) << GetParam().name;
    if (!present) GTEST_SKIP() << "this processor lacks " << GetParam().name;
  }
};

TEST_P(Mask, IsTheDefinitionAtEverySizeAndPlace) {
  std::mt19937_64 random(20);
  for (std::size_t size = 0; size < 300; ++size) {
    for (std::size_t place = 0; place < 9; ++place) {
      const std::uint32_t key = static_cast<std::uint32_t>(random());
      std::string bytes;
      for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(random());
      // What stands before and behind belongs to others.
      std::string block = std::string(place, 'x') + bytes + std::string(80, 'y');
      const std::string expected = plain(bytes, key, 0);
      EXPECT_EQ(GetParam().mask(block.data() + place, size, key), is_ascii(expected));
      EXPECT_EQ(block, std::string(place, 'x') + expected + std::string(80, 'y'));
    }
  }
}

TEST_P(Mask, ReadsNothingBehindItsBytes) {
  for (std::size_t size = 1; size < 200; ++size) {
    const std::unique_ptr<char[]> block(new char[size]);  // A sanitizer sees what is beyond.
    std::memset(block.get(), 'a', size);
    EXPECT_TRUE(GetParam().mask(block.get(), size, 0));
    EXPECT_EQ(std::string(block.get(), size), std::string(size, 'a'));
  }
}

TEST_P(Mask, SeesOneByteThatIsNoAsciiWhereverItIs) {
  for (std::size_t size = 1; size < 200; ++size) {
    for (std::size_t at = 0; at < size; ++at) {
      std::string bytes(size, 'a');
      bytes[at] = '\x80';
      bytes = plain(bytes, 0xDEADBEEF, 0);
      EXPECT_FALSE(GetParam().mask(bytes.data(), size, 0xDEADBEEF)) << size << " " << at;
    }
  }
}

TEST_P(Mask, GoesOnAtAnyPhaseWithTheRotatedKey) {
  std::mt19937_64 random(21);
  const std::uint32_t key = 0x3D21FA37;
  std::string bytes;
  for (int i = 0; i < 150; ++i) bytes += static_cast<char>(random());
  const std::string expected = plain(bytes, key, 0);
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    std::string parts = bytes;
    GetParam().mask(parts.data(), cut, key);
    GetParam().mask(parts.data() + cut, parts.size() - cut, rotate_key(key, cut));
    EXPECT_EQ(parts, expected) << cut;
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Mask,
                         testing::ValuesIn(mask_kernels().begin(), mask_kernels().end()),
                         [](const auto& kernel) { return std::string(kernel.param.name); });

TEST(MaskChoice, IsOneOfTheKernels) {
  std::string bytes = "Hello";
  EXPECT_TRUE(mask(bytes.data(), bytes.size(), 0x3D21FA37) == is_ascii(bytes));
  EXPECT_EQ(bytes, "\x7f\x9f\x4d\x51\x58");  // RFC 6455, 5.7
}

}  // namespace
}  // namespace ringrpc::ws::test
