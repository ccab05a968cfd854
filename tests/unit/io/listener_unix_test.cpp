// Goal: a path is taken only when nobody has it, is its owner's from its first moment, and is given
// back. What other programs meet is in tests/wire/doors_test.py.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "engine/io/listener.h"
#include "tests/support/temporary_folder.h"

namespace ringrpc::testing {

using io::Listener;

class ListenerUnix : public ::testing::Test {
 protected:
  [[nodiscard]] bool is_there() const {
    struct stat there{};
    return lstat(path_.c_str(), &there) == 0;
  }
  [[nodiscard]] bool can_connect() const {
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof(address.sun_path) - 1);
    const bool connected =
        connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
    close(fd);
    return connected;
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.path() + "/s";
};

TEST_F(ListenerUnix, AllSocketsOfAListenerAreOne) {
  Listener listener;
  ASSERT_TRUE(listener.open_unix(path_, 3, 0600).ok());
  EXPECT_EQ(listener.address(), path_);
  EXPECT_EQ(listener.port(), 0);
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(fcntl(listener.socket(i), F_GETFD), FD_CLOEXEC);
    ASSERT_TRUE(can_connect());
    const int accepted = accept(listener.socket(i), nullptr, nullptr);
    EXPECT_GE(accepted, 0);
    close(accepted);
  }
}

TEST_F(ListenerUnix, ThePathGoesWithTheListener) {
  {
    Listener listener;
    ASSERT_TRUE(listener.open_unix(path_, 1, 0600).ok());
    EXPECT_TRUE(is_there());
    listener.remove_path();
    EXPECT_FALSE(is_there());
    listener.remove_path();
    ASSERT_TRUE(Listener().open_unix(path_, 1, 0600).ok());
    EXPECT_FALSE(is_there());
    Listener another;
    ASSERT_TRUE(another.open_unix(path_, 1, 0600).ok());
    listener.remove_path();
    EXPECT_TRUE(is_there());
  }
  EXPECT_FALSE(is_there());
}

TEST_F(ListenerUnix, APathInUseIsAnErrorAlsoWithAFullBacklog) {
  Listener first;
  ASSERT_TRUE(first.open_unix(path_, 1, 0600).ok());
  ASSERT_EQ(listen(first.socket(0), 0), 0);
  // Until the queue is full, so that nobody can connect without waiting.
  std::vector<int> waiting;
  for (int error = 0; error != EAGAIN;) {
    waiting.push_back(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof(address.sun_path) - 1);
    const bool connected =
        connect(waiting.back(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
    error = connected ? 0 : errno;
    ASSERT_LT(waiting.size(), 1000u);
  }
  Listener second;
  EXPECT_EQ(second.open_unix(path_, 1, 0600).error(), EADDRINUSE);
  for (const int fd : waiting) close(fd);
  EXPECT_TRUE(is_there());
}

TEST_F(ListenerUnix, PermissionsAreThoseAskedForWhateverTheUmask) {
  for (const mode_t mask : {0, 022, 0777}) {
    for (const std::uint32_t mode : {0600u, 0660u, 0666u, 0777u, 0u}) {
      const mode_t before = umask(mask);
      Listener listener;
      const base::Status status = listener.open_unix(path_, 1, mode);
      umask(before);
      ASSERT_TRUE(status.ok()) << status.sentence();
      struct stat there{};
      ASSERT_EQ(lstat(path_.c_str(), &there), 0);
      EXPECT_EQ(there.st_mode & 07777, mode) << mask;
    }
  }
}

TEST_F(ListenerUnix, BadPathsAreRefusedWithASentence) {
  for (const std::string& path :
       {std::string(), std::string(108, 'x'), std::string("a\0b", 3), std::string("a\nb")}) {
    Listener listener;
    const base::Status status = listener.open_unix(path, 1, 0600);
    EXPECT_EQ(status.error(), EINVAL) << path;
    EXPECT_NE(status.sentence().find("path"), std::string::npos);
  }
}

}  // namespace ringrpc::testing
