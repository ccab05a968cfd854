// Listening on a Unix socket: whose path it is, and how it comes and goes.

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "engine/base/assert.h"
#include "engine/io/listener.h"

namespace ringrpc::io {
namespace {

using base::Status;

constexpr int backlog = 4096;  // The kernel cuts it to net.core.somaxconn.
constexpr std::size_t path_size_max = sizeof(sockaddr_un::sun_path) - 1;
constexpr std::uint32_t mode_mask = 0777;

Status cannot_listen(int error, const std::string& path) {
  const std::string what = "cannot listen on " + path + ": ";
  switch (error) {
    case EADDRINUSE:
      return Status::failure(error, what +
                                        "address in use (another process serves it, or this one "
                                        "does already: `ss -lxp` names it; stop it, or choose "
                                        "another path)");
    case EEXIST:
      return Status::failure(error, what +
                                        "something is there that is no stream socket, and is left "
                                        "alone (remove it, or choose another path)");
    case EACCES:
    case EPERM:
      return Status::failure(error, what +
                                        "no permission (the folder must be writable, and so must "
                                        "be a socket that is there already)");
    case ENOENT:
    case ENOTDIR:
      return Status::failure(error, what + "there is no such folder (make it first)");
    case EROFS:
      return Status::failure(error, what + "the file system is read-only (choose another path)");
    case EMFILE:
    case ENFILE:
      return Status::failure(error, what + "no descriptor left (raise `ulimit -n`)");
    default:
      return Status::from_errno(error, "cannot listen on " + path);
  }
}

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == path.npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Two servers that start at the same moment must not take each other's new socket for a stale one,
// so each of ours looks, binds and listens while it has the folder's lock. Where there is none to
// have, the moment stays as short as it is.
class FolderLock {
 public:
  explicit FolderLock(const std::string& path)
      : fd_(open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    while (fd_ >= 0 && flock(fd_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ~FolderLock() {
    if (fd_ >= 0) close(fd_);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int fd_;
};

// Returns: whether the process that called listen is gone. Whom it has left its socket to may
// serve.
bool is_orphan(int fd) {
  ucred owner{};
  socklen_t size = sizeof(owner);
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &owner, &size) == 0 && owner.pid > 0 &&
         kill(owner.pid, 0) != 0 && errno == ESRCH;
}

// Returns: 0 when somebody listens there or may, else the errno of the attempt to connect.
int try_to_connect(const std::string& path, bool& orphan) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return errno;
  const sockaddr_un address = address_of(path);
  const int failed = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  const int error = failed != 0 && errno != EAGAIN ? errno : 0;
  orphan = failed == 0 && is_orphan(fd);
  close(fd);
  return error;
}

// The kernel takes the ring of a killed server apart at its leisure, and the listening sockets in
// it accept connections until then: an orphan gets a while to go.
int try_with_patience(const std::string& path) {
  constexpr int tries_max = 200;
  constexpr int pause_ms = 10;
  for (int tries = 1;; ++tries) {
    bool orphan = false;
    const int error = try_to_connect(path, orphan);
    if (!orphan || tries == tries_max) return error;
    poll(nullptr, 0, pause_ms);
  }
}

// Removes what a server has left there that is gone. Returns: an errno when the path is not free.
int make_free(const std::string& path) {
  struct stat there{};
  if (lstat(path.c_str(), &there) != 0) return errno == ENOENT ? 0 : errno;
  if (!S_ISSOCK(there.st_mode)) return EEXIST;
  const int error = try_with_patience(path);
  if (error == 0) return EADDRINUSE;
  if (error == EPROTOTYPE) return EEXIST;
  if (error != ECONNREFUSED) return error == ENOENT ? 0 : error;
  return unlink(path.c_str()) == 0 || errno == ENOENT ? 0 : errno;
}

}  // namespace

std::string check_unix_path(std::string_view path) {
  if (path.empty()) return "the path is empty";
  if (path.size() > path_size_max) {
    return "the path has " + std::to_string(path.size()) + " bytes, and a Unix socket's has " +
           std::to_string(path_size_max) +
           " at most (a path from the working directory may be "
           "shorter)";
  }
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
  return std::any_of(path.begin(), path.end(), is_control) ? "the path has control characters" : "";
}

base::Status Listener::open_unix(std::string_view path, std::uint32_t count, std::uint32_t mode) {
  RINGRPC_ASSERT(sockets_.empty() && path_.empty());
  RINGRPC_ASSERT(count > 0 && (mode & ~mode_mask) == 0, count, mode);
  const std::string wrong = check_unix_path(path);
  if (!wrong.empty()) {
    return Status::failure(EINVAL, "cannot listen on a Unix socket: " + wrong);
  }
  path_ = path;
  Status status = bind_unix(mode);
  for (std::uint32_t i = 1; status.ok() && i < count; ++i) {
    const int copy = fcntl(sockets_.front(), F_DUPFD_CLOEXEC, 0);
    if (copy < 0) {
      status = cannot_listen(errno, path_);
    } else {
      sockets_.push_back(copy);
    }
  }
  if (!status.ok()) close_all();
  return status;
}

base::Status Listener::bind_unix(std::uint32_t mode) {
  const FolderLock lock(path_);
  if (const int taken = make_free(path_); taken != 0) return cannot_listen(taken, path_);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return cannot_listen(errno, path_);
  sockets_.push_back(fd);
  // The path inherits the permissions of the socket, less the umask, so that nobody gets in between
  // bind and chmod.
  if (fchmod(fd, mode) != 0) return cannot_listen(errno, path_);
  const sockaddr_un address = address_of(path_);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return cannot_listen(errno, path_);
  }
  struct stat made{};
  if (lstat(path_.c_str(), &made) != 0) return cannot_listen(errno, path_);
  path_device_ = made.st_dev;
  path_inode_ = made.st_ino;
  if ((made.st_mode & mode_mask) != mode &&
      fchmodat(AT_FDCWD, path_.c_str(), mode, AT_SYMLINK_NOFOLLOW) != 0) {
    return cannot_listen(errno, path_);
  }
  return listen(fd, backlog) == 0 ? Status() : cannot_listen(errno, path_);
}

void Listener::remove_path() {
  if (path_inode_ == 0) return;
  struct stat there{};
  const bool ours = lstat(path_.c_str(), &there) == 0 && there.st_dev == path_device_ &&
                    there.st_ino == path_inode_;
  if (ours) unlink(path_.c_str());
  path_device_ = path_inode_ = 0;
}

}  // namespace ringrpc::io
