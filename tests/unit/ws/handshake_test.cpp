// Goal: the handshake is taken exactly as RFC 6455, 4.2.1 asks, and answered with the right proof.
// Method: the vectors of RFC 3174, RFC 4648 and RFC 6455, and a good request with one thing wrong.

#include "engine/ws/handshake.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "engine/ws/base64.h"
#include "engine/ws/sha1.h"

namespace ringrpc::ws::test {
namespace {

std::string hex(const std::array<std::uint8_t, 20>& digest) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : digest) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

std::string base64(std::string_view bytes) {
  std::string out(base64_size(bytes.size()), '?');
  write_base64({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}, out.data());
  return out;
}

TEST(Sha1, HasTheVectorsOfItsStandards) {
  EXPECT_EQ(hex(sha1("")), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  EXPECT_EQ(hex(sha1("abc")), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(hex(sha1("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
  EXPECT_EQ(hex(sha1(std::string(1'000'000, 'a'))), "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
  std::string eighty;
  for (int i = 0; i < 80; ++i) eighty += "01234567";
  EXPECT_EQ(hex(sha1(eighty)), "dea356a2cddd90c7a7ecedc5ebb563934f460452");
}

TEST(Sha1, PadsAroundABlocksEnd) {
  EXPECT_EQ(hex(sha1(std::string(55, 'a'))), "c1c8bbdc22796e28c0e15163d20899b65621d65a");
  EXPECT_EQ(hex(sha1(std::string(56, 'a'))), "c2db330f6083854c99d4b5bfb6e8f29f201be699");
  EXPECT_EQ(hex(sha1(std::string(63, 'a'))), "03f09f5b158a7a8cdad920bddc29b81c18a551f5");
  EXPECT_EQ(hex(sha1(std::string(64, 'a'))), "0098ba824b5c16427bd7a1122a5a442a25ec644d");
}

TEST(Base64, HasTheVectorsOfItsStandard) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foob"), "Zm9vYg==");
  EXPECT_EQ(base64("fooba"), "Zm9vYmE=");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64("\xff\xfe\xfb"), "//77");
}

TEST(Base64, KnowsHowMuchATextStandsFor) {
  EXPECT_EQ(base64_decoded_size(""), 0);
  EXPECT_EQ(base64_decoded_size("Zg=="), 1);
  EXPECT_EQ(base64_decoded_size("Zm8="), 2);
  EXPECT_EQ(base64_decoded_size("Zm9v"), 3);
  for (const std::string_view bad :
       {"Z", "Zg", "Zg=", "Zg===", "Z===", "====", "Zg==Zg==", "Z g=", "Zg-_", "Zm9\n", "=Zg="}) {
    EXPECT_EQ(base64_decoded_size(bad), -1) << bad;
  }
}

TEST(Accept, IsTheOneOfTheStandard) {
  std::string accept(accept_size, '?');
  write_accept("dGhlIHNhbXBsZSBub25jZQ==", accept.data());
  EXPECT_EQ(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

TEST(Key, IsOneThatTheServerTakes) {
  std::array<std::uint8_t, key_bytes> random{};
  for (std::size_t i = 0; i < random.size(); ++i) random[i] = static_cast<std::uint8_t>(i * 17);
  std::string key(base64_size(key_bytes), '?');
  write_key(random, key.data());
  EXPECT_EQ(key, "ABEiM0RVZneImaq7zN3u/w==");
}

UpgradeRequest good_request() {
  UpgradeRequest request;
  request.get = request.version_1_1 = true;
  request.upgrade_websocket = request.connection_upgrade = true;
  request.version_count = request.key_count = 1;
  request.version = "13";
  request.key = "dGhlIHNhbXBsZSBub25jZQ==";
  return request;
}

TEST(Upgrade, IsTakenWhenEverythingIsRight) {
  EXPECT_EQ(check_upgrade(good_request()), UpgradeVerdict::accepted);
}

TEST(Upgrade, IsNoneWithoutTheWord) {
  UpgradeRequest request = good_request();
  request.upgrade_websocket = false;
  EXPECT_EQ(check_upgrade(request), UpgradeVerdict::none);
}

TEST(Upgrade, WithAnotherVersionIsToldWhichOne) {
  for (const std::string_view version : {"", "12", "8", "13, 8", "013", "14", "1"}) {
    UpgradeRequest request = good_request();
    request.version = version;
    EXPECT_EQ(check_upgrade(request), UpgradeVerdict::bad_version) << version;
  }
  UpgradeRequest request = good_request();
  request.version_count = 2;
  EXPECT_EQ(check_upgrade(request), UpgradeVerdict::bad_version);
}

TEST(Upgrade, WithOneThingWrongIsMalformed) {
  UpgradeRequest request = good_request();
  request.connection_upgrade = false;
  EXPECT_EQ(check_upgrade(request), UpgradeVerdict::malformed);
  request = good_request();
  request.version_1_1 = false;
  EXPECT_EQ(check_upgrade(request), UpgradeVerdict::malformed);
  request = good_request();
  request.has_body = true;
  EXPECT_EQ(check_upgrade(request), UpgradeVerdict::malformed);
  for (const std::uint32_t count : {0u, 2u}) {
    request = good_request();
    request.key_count = count;
    EXPECT_EQ(check_upgrade(request), UpgradeVerdict::malformed);
  }
  for (const std::string_view key :
       {"", "short", "dGhlIHNhbXBsZSBub25jZQ=", "dGhlIHNhbXBsZSBub25jZQ===",
        "dGhlIHNhbXBsZSBub25jZWE=", "dGhlIHNhbXBsZSBub25jZWFi", "dGhlIHNhbXBsZSBub25jZQ!=",
        "dGhlIHNhbXBsZSBub25jZQ==,", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}) {
    request = good_request();
    request.key = key;
    EXPECT_EQ(check_upgrade(request), UpgradeVerdict::malformed) << key;
  }
}

TEST(Upgrade, OfAnotherMethodIsMalformedOnlyWhenItIsInsistedOn) {
  UpgradeRequest request = good_request();
  request.get = false;
  EXPECT_EQ(check_upgrade(request), UpgradeVerdict::malformed);
  request.connection_upgrade = false;
  EXPECT_EQ(check_upgrade(request), UpgradeVerdict::none);
}

}  // namespace
}  // namespace ringrpc::ws::test
