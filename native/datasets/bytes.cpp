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

}  // namespace

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
  return {Bytes(static_cast<const std::uint8_t*>(address), size), std::move(owner)};
}

Buffer map_file(const std::string& path) {
  const std::string formats = "give a .npy, .npz, IDX, CIFAR .bin or .csv file";
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown)) refuse(path, "is a folder, and folders of images are not read", formats);
  Buffer file = map_regular_file(path, "", "save the data in a file first");
  if (file.bytes.empty()) refuse(path, "is empty", formats);
  return file;
}

Bytes part(Bytes bytes, std::uint64_t at, std::uint64_t count, const std::string& path, const std::string& what) {
  if (at > bytes.size() || count > bytes.size() - at) {
    const std::string needed = count > UINT64_MAX - at ? "more than 2^64" : std::to_string(at + count);
    refuse(path, "is truncated: it has " + std::to_string(bytes.size()) + " bytes and " + what + " needs " + needed);
  }
  return bytes.subspan(at, count);
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
