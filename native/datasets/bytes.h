// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "probust/base/error.h"

namespace probust::datasets {

using Bytes = std::span<const std::uint8_t>;

/// Bytes, and the object that owns them, such as a mapped file. Copies share the bytes.
struct Buffer {
  Bytes bytes;
  std::shared_ptr<const void> owner;
};

/// Throws Error{unreadable} about the data file `path`.
[[noreturn]] void refuse(const std::string& path, const std::string& what, const std::string& hint = "");

/// The bytes of a regular file, paged in on access; empty for an empty file. Throws Error{unreadable}, with `hint_missing` if
/// the file cannot be opened and `hint_kind` if it is not a regular file.
Buffer map_regular_file(const std::string& path, const std::string& hint_missing, const std::string& hint_kind);

class DataFile;

/// Bytes in memory, or in a file from which parts are read on request. The file is not mapped, because the process would crash
/// if a mapped file shrank. Copies share the bytes.
class Stored {
 public:
  Stored() = default;
  Stored(Buffer memory) : size_(memory.bytes.size()), memory_(std::move(memory)) {}  // NOLINT(google-explicit-constructor)

  std::uint64_t size() const { return size_; }
  bool in_memory() const { return file_ == nullptr; }

  /// The part that begins at byte `at` and has at most `count` bytes. Nothing is read.
  Stored from(std::uint64_t at, std::uint64_t count = UINT64_MAX) const;

  /// The bytes [at, at + out.size()), which must exist. Throws Error{unreadable} if the file has changed since it was opened.
  void read(std::uint64_t at, std::span<std::uint8_t> out) const;

  /// The bytes [at, at + count), which must exist. They are copied only if they are in a file. Throws the same errors as the
  /// other read.
  Buffer read(std::uint64_t at, std::uint64_t count) const;

  Buffer all() const { return read(0, size_); }

 private:
  friend Stored open_file(const std::string& path);

  std::uint64_t begin_ = 0, size_ = 0;
  Buffer memory_;
  std::shared_ptr<const DataFile> file_;
};

/// Opens a file. Throws Error{unreadable} if it is missing, is not a regular file, or cannot be read.
Stored open_file(const std::string& path);

/// Like open_file, but for a data file: if it is a folder or empty, the Error{unreadable} lists the known formats.
Stored open_data_file(const std::string& path);

/// The first bytes of a file, which determine its format, and the file's size.
struct Head {
  Bytes bytes;
  std::uint64_t size = 0;
};

/// Throws Error{unreadable}, with the actual and expected sizes, if a file of `size` bytes ends before byte at + count. `what`
/// names the content of that part.
void check_part(std::uint64_t size, std::uint64_t at, std::uint64_t count, const std::string& path, const std::string& what);

/// The part [at, at + count) of `bytes` or `stored`. Throws like check_part.
Bytes part(Bytes bytes, std::uint64_t at, std::uint64_t count, const std::string& path, const std::string& what);
Buffer part(const Stored& stored, std::uint64_t at, std::uint64_t count, const std::string& path, const std::string& what);

/// The unsigned number stored in 1 to 8 bytes, least significant byte first.
std::uint64_t little_endian(Bytes bytes);

/// The unsigned number stored in 1 to 8 bytes, most significant byte first.
std::uint64_t big_endian(Bytes bytes);

bool starts_with(Bytes bytes, std::string_view magic);

/// Unpacks a raw deflate stream (a zip member), which must have exactly `count` unpacked bytes. A count that the packed bytes
/// cannot hold is rejected before memory is allocated. Throws Error{unreadable}.
Buffer inflate_member(Bytes packed, std::uint64_t count, const std::string& path);

/// A buffer that owns these values.
template <class T>
Buffer as_buffer(std::vector<T> values) {
  auto owner = std::make_shared<const std::vector<T>>(std::move(values));
  return {Bytes(reinterpret_cast<const std::uint8_t*>(owner->data()), owner->size() * sizeof(T)), owner};
}

/// The first `count` unpacked bytes of a gzip file, or all bytes if there are fewer.
Buffer gunzip_prefix(Bytes packed, std::uint64_t count, const std::string& path);

/// All unpacked bytes of a gzip file. Verifies the checksums, and throws Error{unreadable} unless there are exactly `count`
/// bytes.
Buffer gunzip(Bytes packed, std::uint64_t count, const std::string& path);

}  // namespace probust::datasets
