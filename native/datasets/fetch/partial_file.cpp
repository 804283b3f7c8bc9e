// SPDX-License-Identifier: MIT
#include "datasets/fetch/partial_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "datasets/unwritable.h"
#include "probust/base/error.h"

namespace probust {
namespace {

// Resolves symbolic links, so that the target of a link is written and the link remains.
std::string followed(const std::string& path) {
  std::error_code error;
  const std::filesystem::path target = std::filesystem::canonical(path, error);
  return error ? path : target.string();
}

bool is_device_or_pipe(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) && !std::filesystem::is_directory(status);
}

}  // namespace

PartialFile::PartialFile(const std::string& path)
    : path_(path), target_(followed(path)), written_(is_device_or_pipe(target_) ? target_ : target_ + ".partial") {
  if (std::filesystem::is_directory(target_)) throw unwritable(path_, EISDIR);
  file_ = std::fopen(written_.c_str(), "wb");
  if (file_ == nullptr) throw unwritable(path_, errno);
}

PartialFile::~PartialFile() {
  if (file_ == nullptr) return;
  std::fclose(file_);
  if (written_ != target_) std::remove(written_.c_str());
}

void PartialFile::write(const void* from, std::size_t bytes) {
  if (bytes == 0 || std::fwrite(from, 1, bytes, file_) == bytes) return;
  throw Error{ErrorCode::resources, path_, std::string("cannot be written completely: ") + std::strerror(errno),
              "check that the disk is not full"};
}

void PartialFile::flush() {
  if (std::fflush(file_) == 0) return;
  throw Error{ErrorCode::resources, path_, std::string("cannot be written completely: ") + std::strerror(errno),
              "check that the disk is not full"};
}

void PartialFile::commit() {
  // The file is synchronised before it gets its name. Otherwise, a crash of the machine could leave an empty file with that
  // name. Pipes and devices are not renamed, and need not be synchronised.
  const bool written = std::fflush(file_) == 0 && std::ferror(file_) == 0;
  if (!written || (written_ != target_ && fsync(fileno(file_)) != 0)) {
    throw Error{ErrorCode::resources, path_, std::string("cannot be written completely: ") + std::strerror(errno),
                "check that the disk is not full"};
  }
  if (written_ != target_ && std::rename(written_.c_str(), target_.c_str()) != 0) {
    throw Error{ErrorCode::resources, path_, std::string("cannot be renamed: ") + std::strerror(errno), ""};
  }
  std::fclose(file_);
  file_ = nullptr;
}

void write_whole(const std::string& path, std::string_view bytes) {
  PartialFile file(path);
  file.write(bytes.data(), bytes.size());
  file.commit();
}

}  // namespace probust
