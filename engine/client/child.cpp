#include "engine/client/child.h"

#include <poll.h>
#include <ringrpc/limits_client.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

extern char** environ;

namespace ringrpc::client {
namespace {

// Waits until the process has ended. Returns: whether it has.
bool wait_for(pid_t pid, int timeout_ms) {
  const int fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (fd < 0) return errno == ESRCH;
  pollfd item = {.fd = fd, .events = POLLIN, .revents = 0};
  int ready = 0;
  do {
    ready = poll(&item, 1, timeout_ms);
  } while (ready < 0 && errno == EINTR);
  ::close(fd);
  return ready > 0;
}

}  // namespace

int Child::open(const std::vector<std::string>& command) {
  int ends[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return -errno;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const int failed = posix_spawnp(&pid_, words[0], &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (failed != 0) {
    pid_ = -1;
    ::close(ends[0]);
    return -failed;
  }
  return ends[0];
}

std::string Child::close() {
  if (pid_ < 0) return {};
  const bool by_itself = wait_for(pid_, limits::child_end_timeout_ms);
  if (!by_itself) {
    kill(pid_, SIGTERM);
    if (!wait_for(pid_, limits::child_term_timeout_ms)) kill(pid_, SIGKILL);
  }
  int status = 0;
  pid_t waited = -1;
  do {
    waited = waitpid(pid_, &status, 0);
  } while (waited < 0 && errno == EINTR);
  pid_ = -1;
  if (!by_itself) return "the command closed its stdout and went on";
  if (waited < 0) return "the command ended";  // somebody else was told how
  if (WIFSIGNALED(status)) {
    return "the command was ended by signal " + std::to_string(WTERMSIG(status));
  }
  return "the command ended with status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace ringrpc::client
