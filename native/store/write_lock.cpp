// SPDX-License-Identifier: MIT
#include "store/write_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "datasets/unwritable.h"
#include "probust/base/error.h"

namespace probust::store {
namespace {

// Whether the file at `path` is still the one that was opened. Another process may have removed or replaced it.
bool same_file(int descriptor, const std::string& path) {
  struct stat opened = {}, named = {};
  return fstat(descriptor, &opened) == 0 && stat(path.c_str(), &named) == 0 && opened.st_ino == named.st_ino &&
         opened.st_dev == named.st_dev;
}

// The path of a file with symbolic links resolved, so that each file has only one lock.
std::string without_links(const std::string& path) {
  std::error_code unknown;
  const std::filesystem::path result = std::filesystem::weakly_canonical(path, unknown);
  return unknown ? path : result.string();
}

}  // namespace

WriteLock::WriteLock(const std::string& path) : lock_path_(without_links(path) + "-lock") {
  for (bool locked = false; !locked;) {
    descriptor_ = ::open(lock_path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (descriptor_ < 0) throw unwritable(path, errno);
    const bool mine = flock(descriptor_, LOCK_EX | LOCK_NB) == 0;
    locked = mine && same_file(descriptor_, lock_path_);
    if (!locked) close(descriptor_);
    if (!mine)
      throw Error{ErrorCode::conflict, path, "is being written by another process", "wait for it, or choose another file"};
  }
}

WriteLock::~WriteLock() {
  unlink(lock_path_.c_str());
  close(descriptor_);
}

}  // namespace probust::store
