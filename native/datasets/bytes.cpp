// SPDX-License-Identifier: MIT
#include "datasets/bytes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "datasets/dataset.h"
#include "probust/base/text.h"

namespace probust::datasets {
namespace {

class Descriptor {
 public:
  explicit Descriptor(const std::string& path) : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

// Rejects a pointer file, which Git LFS stores in place of a large file.
void refuse_pointer(Bytes file, const std::string& path) {
  if (is_lfs_pointer({reinterpret_cast<const char*>(file.data()), file.size()}))
    refuse(path, std::string(kLfsProblem), std::string(kLfsHint));
}

bool same_time(const timespec& a, const timespec& b) { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; }

}  // namespace

// A regular file. Every read checks that the file has not changed since it was opened.
class DataFile {
 public:
  explicit DataFile(const std::string& path) : path_(path), file_(path) {
    if (file_.get() < 0 || fstat(file_.get(), &status_) != 0) {
      refuse(path, std::string("cannot be opened: ") + std::strerror(errno));
    }
    if (!S_ISREG(status_.st_mode)) refuse(path, "is not a regular file", "save the data in a file first");
  }

  std::uint64_t size() const { return static_cast<std::uint64_t>(status_.st_size); }

  void read(std::uint64_t at, std::span<std::uint8_t> out) const {
    check_unchanged();
    while (!out.empty()) {
      const ssize_t count = pread(file_.get(), out.data(), out.size(), static_cast<off_t>(at));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) refuse(path_, std::string("cannot be read: ") + std::strerror(errno));
      if (count == 0) check_unchanged(true);
      out = out.subspan(static_cast<std::size_t>(count));
      at += static_cast<std::uint64_t>(count);
    }
  }

 private:
  void check_unchanged(bool ends_early = false) const {
    struct stat now {};
    const bool same = fstat(file_.get(), &now) == 0 && now.st_size == status_.st_size && same_time(now.st_mtim, status_.st_mtim);
    if (same && !ends_early) return;
    refuse(path_, "has changed since it was opened", "start again when no other program is writing to it");
  }

  std::string path_;
  Descriptor file_;
  struct stat status_ {};
};

void refuse(const std::string& path, const std::string& what, const std::string& hint) {
  throw Error{ErrorCode::unreadable, path, what, hint};
}

Buffer map_regular_file(const std::string& path, const std::string& hint_missing, const std::string& hint_kind) {
  const Descriptor file(path);
  struct stat status {};
  if (file.get() < 0 || fstat(file.get(), &status) != 0) {
    refuse(path, std::string("cannot be opened: ") + std::strerror(errno), hint_missing);
  }
  if (!S_ISREG(status.st_mode)) refuse(path, "is not a regular file", hint_kind);
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return {};
  void* address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (address == MAP_FAILED) refuse(path, std::string("cannot be read: ") + std::strerror(errno));
  std::shared_ptr<const void> owner(address, [size](void* mapped) { munmap(mapped, size); });
  const Bytes bytes(static_cast<const std::uint8_t*>(address), size);
  refuse_pointer(bytes, path);
  return {bytes, std::move(owner)};
}

Stored Stored::from(std::uint64_t at, std::uint64_t count) const {
  Stored piece = *this;
  const std::uint64_t skipped = std::min(at, size_);
  piece.size_ = std::min(count, size_ - skipped);
  piece.begin_ += skipped;
  if (in_memory()) {
    piece.begin_ = 0;
    piece.memory_.bytes = memory_.bytes.subspan(skipped, piece.size_);
  }
  return piece;
}

void Stored::read(std::uint64_t at, std::span<std::uint8_t> out) const {
  if (out.empty()) return;
  if (in_memory()) {
    std::memcpy(out.data(), memory_.bytes.data() + at, out.size());
  } else {
    file_->read(begin_ + at, out);
  }
}

Buffer Stored::read(std::uint64_t at, std::uint64_t count) const {
  if (in_memory()) return {memory_.bytes.subspan(at, count), memory_.owner};
  std::vector<std::uint8_t> bytes(count);
  read(at, bytes);
  return as_buffer(std::move(bytes));
}

Stored open_file(const std::string& path) {
  Stored stored;
  stored.file_ = std::make_shared<const DataFile>(path);
  stored.size_ = stored.file_->size();
  constexpr std::uint64_t kLongestPointer = 1024;
  if (stored.size_ < kLongestPointer) refuse_pointer(stored.all().bytes, path);
  return stored;
}

Stored open_data_file(const std::string& path) {
  const std::string formats = "give a " + known_formats() + " file";
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown)) refuse(path, "is a folder", formats);
  Stored stored = open_file(path);
  if (stored.size() == 0) refuse(path, "is empty", formats);
  return stored;
}

void check_part(std::uint64_t size, std::uint64_t at, std::uint64_t count, const std::string& path, const std::string& what) {
  if (at <= size && count <= size - at) return;
  const std::string needed = count > UINT64_MAX - at ? "more than 2^64" : std::to_string(at + count);
  refuse(path, "is truncated: it has " + std::to_string(size) + " bytes, but " + what + " needs " + needed);
}

Bytes part(Bytes bytes, std::uint64_t at, std::uint64_t count, const std::string& path, const std::string& what) {
  check_part(bytes.size(), at, count, path, what);
  return bytes.subspan(at, count);
}

Buffer part(const Stored& stored, std::uint64_t at, std::uint64_t count, const std::string& path, const std::string& what) {
  check_part(stored.size(), at, count, path, what);
  return stored.read(at, count);
}

std::uint64_t little_endian(Bytes bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | bytes[i];
  return value;
}

std::uint64_t big_endian(Bytes bytes) {
  std::uint64_t value = 0;
  for (const std::uint8_t byte : bytes) value = value << 8 | byte;
  return value;
}

bool starts_with(Bytes bytes, std::string_view magic) {
  return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

}  // namespace probust::datasets
