// SPDX-License-Identifier: MIT
#include "datasets/unwritable.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace probust {
namespace {

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

}  // namespace

Error unwritable(const std::string& path, int number) {
  std::error_code unknown;
  const std::string folder = folder_of(path);
  if (std::filesystem::is_directory(path, unknown))
    return {ErrorCode::resources, path, "cannot be written: it is a folder", "give a file name"};
  if (!std::filesystem::exists(folder, unknown) && !unknown)
    return {ErrorCode::resources, path, "cannot be written: there is no folder '" + folder + "'",
            "create it, or choose an existing folder"};
  if (!std::filesystem::is_directory(folder, unknown) && !unknown)
    return {ErrorCode::resources, path, "cannot be written: '" + folder + "' is not a folder", "choose an existing folder"};
  return {ErrorCode::resources, path, std::string("cannot be written: ") + std::strerror(number),
          "choose a file that you have permission to write"};
}

Error unopenable(const std::string& path, int number) {
  std::error_code unknown;
  if (!std::filesystem::exists(path, unknown) && !unknown)
    return {ErrorCode::unreadable, path, "cannot be opened", "give the path of an existing file"};
  return {ErrorCode::unreadable, path, std::string("cannot be opened: ") + std::strerror(number),
          "give a file that you have permission to read"};
}

void require_writable(const std::string& path) {
  std::error_code unknown;
  const bool exists = std::filesystem::exists(path, unknown);
  if (std::filesystem::is_directory(path, unknown)) throw unwritable(path, EISDIR);
  if (access(exists ? path.c_str() : folder_of(path).c_str(), exists ? W_OK : W_OK | X_OK) != 0) throw unwritable(path, errno);
  if (!exists && !std::filesystem::is_directory(folder_of(path), unknown)) throw unwritable(path, ENOTDIR);
}

}  // namespace probust
