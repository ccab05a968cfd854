#pragma once

// A folder of a test's own, for sockets and files; gone with the object.

#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace ringrpc::testing {

// Owns: the folder and everything in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    // Short, since a socket's path is.
    std::string name = "/tmp/ringrpc-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace ringrpc::testing
