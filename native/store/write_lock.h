// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace probust::store {

/// Makes this process the only writer of a file until this object is destroyed or the process ends for any reason. The lock is
/// on a separate file, PATH-lock, because closing any file descriptor of the database would release SQLite's locks, and because
/// the output may be replaced.
class WriteLock {
 public:
  /// Throws Error: conflict if another process holds the lock, resources if the lock file cannot be written.
  explicit WriteLock(const std::string& path);
  ~WriteLock();
  WriteLock(const WriteLock&) = delete;
  WriteLock& operator=(const WriteLock&) = delete;

 private:
  std::string lock_path_;
  int descriptor_ = -1;
};

}  // namespace probust::store
