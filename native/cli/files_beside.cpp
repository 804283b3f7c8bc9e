// SPDX-License-Identifier: MIT
#include "cli/files_beside.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "probust/base/error.h"

namespace probust::cli {
namespace {

std::span<const std::byte> map_file(const std::filesystem::path& path) {
  const auto fail = [&](const std::string& what) -> Error {
    return {ErrorCode::unreadable, path.string(), what, "the model keeps weights there; put it beside the model"};
  };
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) throw fail("cannot be opened");
  struct stat status {};
  const bool regular = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  const auto size = regular ? static_cast<std::size_t>(status.st_size) : 0;
  void* data = size > 0 ? mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
  close(file);
  if (!regular) throw fail("is not a regular file");
  if (size == 0) return {};
  if (data == MAP_FAILED) throw fail("cannot be mapped into memory");
  return {static_cast<const std::byte*>(data), size};
}

}  // namespace

FilesBeside::FilesBeside(const std::string& model) : folder_(std::filesystem::path(model).parent_path()) {}

FilesBeside::~FilesBeside() {
  for (const auto& [location, bytes] : files_) {
    if (!bytes.empty()) munmap(const_cast<std::byte*>(bytes.data()), bytes.size());
  }
}

std::span<const std::byte> FilesBeside::operator()(const std::string& location) {
  if (const auto found = files_.find(location); found != files_.end()) return found->second;
  const std::filesystem::path path(location);
  const bool leads_out = path.empty() || path.is_absolute() || std::find(path.begin(), path.end(), "..") != path.end();
  if (leads_out)
    throw Error{ErrorCode::unreadable, "'" + location + "'", "is named by the model for its weights, but lies outside its folder",
                ""};
  return files_[location] = map_file(folder_ / path);
}

}  // namespace probust::cli
