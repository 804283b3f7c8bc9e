// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace probust::store {

/// Makes this process the only writer of a file, until this object is destroyed or the process ends for any reason. The lock is
/// a separate file, PATH-lock, because SQLite drops its locks when any descriptor of the database is closed, and because an
/// output may be replaced.
class WriteLock {
 public:
  /// Throws Error: conflict if another process has the lock, resources if its file cannot be written.
  explicit WriteLock(const std::string& path);
  ~WriteLock();
  WriteLock(const WriteLock&) = delete;
  WriteLock& operator=(const WriteLock&) = delete;

 private:
  std::string lock_path_;
  int descriptor_ = -1;
};

}  // namespace probust::store
