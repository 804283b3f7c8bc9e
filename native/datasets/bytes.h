// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "probust/base/error.h"

namespace probust::datasets {

using Bytes = std::span<const std::uint8_t>;

/// Bytes together with whatever keeps them alive (a mapped file, an inflated copy). Copies share.
struct Buffer {
  Bytes bytes;
  std::shared_ptr<const void> owner;
};

/// Throws the Error for an unusable data file: "path: what; hint".
[[noreturn]] void refuse(const std::string& path, const std::string& what, const std::string& hint = "");

/// The bytes of a regular file, paged in on access; empty for an empty file. Throws Error{unreadable}, with `hint_missing` if the
/// file cannot be opened and `hint_kind` if it is not a regular file.
Buffer map_regular_file(const std::string& path, const std::string& hint_missing, const std::string& hint_kind);

/// The bytes of a data file, so that a large file costs only the rows that are read.
/// Throws Error{unreadable} if the file is missing, empty, a folder, not a regular file or not readable.
Buffer map_file(const std::string& path);

/// bytes[at, at + count). Throws Error{unreadable} that names `what` and gives the actual and expected number of bytes.
Bytes part(Bytes bytes, std::uint64_t at, std::uint64_t count, const std::string& path, const std::string& what);

/// The unsigned number in 1 to 8 bytes, least significant first.
std::uint64_t little_endian(Bytes bytes);

/// The unsigned number in 1 to 8 bytes, most significant first.
std::uint64_t big_endian(Bytes bytes);

bool starts_with(Bytes bytes, std::string_view magic);

/// The first `count` bytes of an unpacked raw deflate stream (a zip member); it must end there. At most `count` bytes are
/// unpacked, and a count that the packed bytes cannot hold is refused before allocating. Throws Error{unreadable}.
Buffer inflate_member(Bytes packed, std::uint64_t count, const std::string& path);

/// At most the first `count` bytes of a gzip file.
Buffer gunzip_prefix(Bytes packed, std::uint64_t count, const std::string& path);

/// All `count` bytes of a gzip file, checksums verified. Throws Error{unreadable} if it holds fewer or more.
Buffer gunzip(Bytes packed, std::uint64_t count, const std::string& path);

}  // namespace probust::datasets
