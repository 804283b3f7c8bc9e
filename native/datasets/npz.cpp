// SPDX-License-Identifier: MIT
// Reads .npz files: zip archives whose members are .npy files, stored or deflated. Members are found in the central directory
// at the end of the file (PKWARE APPNOTE 6.3, 4.3); the 64-bit extension is supported.
#include <zlib.h>

#include <algorithm>
#include <optional>

#include "datasets/formats.h"

namespace probust::datasets {
namespace {

constexpr std::string_view kLocalMagic = "PK\x03\x04", kDirectoryMagic = "PK\x01\x02", kEndMagic = "PK\x05\x06";
constexpr std::string_view kEnd64Magic = "PK\x06\x06", kLocator64Magic = "PK\x06\x07";
constexpr std::uint64_t kEndBytes = 22, kLocatorBytes = 20, kLongestComment = 65535;

struct Member {
  std::string name;
  std::uint64_t flags = 0, method = 0, checksum = 0, packed_bytes = 0, bytes = 0, local_header = 0;
};

struct Directory {
  std::uint64_t members = 0, begin = 0;
};

// A little-endian field of a record.
std::uint64_t field(Bytes record, std::size_t at, std::size_t width) { return little_endian(record.subspan(at, width)); }

// The last position in `tail` of an end record whose comment extends exactly to the end of the file.
std::optional<std::uint64_t> find_end(Bytes tail) {
  if (tail.size() < kEndBytes) return std::nullopt;
  for (std::uint64_t at = tail.size() - kEndBytes + 1; at-- > 0;) {
    const Bytes record = tail.subspan(at);
    if (starts_with(record, kEndMagic) && field(record, 20, 2) == record.size() - kEndBytes) return at;
  }
  return std::nullopt;
}

Directory find_directory(const Stored& file, const std::string& path) {
  const std::uint64_t size = std::min(file.size(), kEndBytes + kLongestComment + kLocatorBytes);
  const Buffer tail = file.read(file.size() - size, size);
  const auto end = find_end(tail.bytes);
  if (!end) {
    refuse(path, "is truncated: its " + std::to_string(file.size()) + " bytes do not end with a zip directory", "copy it again");
  }
  const Bytes record = tail.bytes.subspan(*end, kEndBytes);
  Directory directory{field(record, 10, 2), field(record, 16, 4)};
  if (directory.begin != 0xffffffff && directory.members != 0xffff) return directory;
  if (*end < kLocatorBytes || !starts_with(tail.bytes.subspan(*end - kLocatorBytes), kLocator64Magic)) return directory;
  const std::uint64_t at = field(tail.bytes.subspan(*end - kLocatorBytes), 8, 8);
  const Buffer large = part(file, at, 56, path, "its zip directory");
  if (!starts_with(large.bytes, kEnd64Magic)) refuse(path, "has a damaged zip directory", "write it with numpy.savez");
  return {field(large.bytes, 32, 8), field(large.bytes, 48, 8)};
}

// Sizes that do not fit into 32 bits are stored in extra field 1, in the order below.
void read_extra64(Bytes extra, Member& member, const std::string& path) {
  while (extra.size() >= 4) {
    const std::uint64_t id = field(extra, 0, 2);
    Bytes body = part(extra.subspan(4), 0, field(extra, 2, 2), path, "a zip extra field");
    extra = extra.subspan(4 + body.size());
    if (id != 1) continue;
    for (std::uint64_t* value : {&member.bytes, &member.packed_bytes, &member.local_header}) {
      if (*value != 0xffffffff) continue;
      *value = little_endian(part(body, 0, 8, path, "a zip extra field"));
      body = body.subspan(8);
    }
  }
}

// Reads the directory entry at `at`, and advances `at` past it.
Member read_member(const Stored& file, std::uint64_t& at, const std::string& path) {
  const Buffer fixed = part(file, at, 46, path, "its zip directory");
  const Bytes record = fixed.bytes;
  if (!starts_with(record, kDirectoryMagic)) refuse(path, "has a damaged zip directory", "write it with numpy.savez");
  const std::uint64_t name_bytes = field(record, 28, 2), extra_bytes = field(record, 30, 2), comment_bytes = field(record, 32, 2);
  const Buffer name = part(file, at + 46, name_bytes, path, "its zip directory");
  Member member;
  member.name.assign(name.bytes.begin(), name.bytes.end());
  member.flags = field(record, 8, 2);
  member.method = field(record, 10, 2);
  member.checksum = field(record, 16, 4);
  member.packed_bytes = field(record, 20, 4);
  member.bytes = field(record, 24, 4);
  member.local_header = field(record, 42, 4);
  read_extra64(part(file, at + 46 + name_bytes, extra_bytes, path, "its zip directory").bytes, member, path);
  at += 46 + name_bytes + extra_bytes + comment_bytes;
  return member;
}

std::vector<Member> read_directory(const Stored& file, const std::string& path) {
  const Directory directory = find_directory(file, path);
  std::vector<Member> members;
  std::uint64_t at = directory.begin;
  for (std::uint64_t i = 0; i < directory.members; ++i) members.push_back(read_member(file, at, path));
  return members;
}

std::uint32_t checksum_of(const Stored& stored) {
  constexpr std::uint64_t kPart = std::uint64_t{1} << 20;
  uLong checksum = crc32_z(0, nullptr, 0);
  for (std::uint64_t at = 0; at < stored.size(); at += kPart) {
    const Buffer piece = stored.from(at, kPart).all();
    checksum = crc32_z(checksum, piece.bytes.data(), piece.bytes.size());
  }
  return static_cast<std::uint32_t>(checksum);
}

// The bytes of a member. If it is not packed, they stay in the file; otherwise, they are unpacked into memory.
Stored extract(const Stored& file, const Member& member, const std::string& path) {
  const Buffer local = part(file, member.local_header, 30, path, "member " + member.name);
  if (!starts_with(local.bytes, kLocalMagic)) refuse(path, "has a damaged zip directory", "write it with numpy.savez");
  if (member.flags & 1) refuse(path, "is encrypted", "save it without a password");
  if (member.method != 0 && member.method != 8) {
    refuse(path, "uses zip method " + std::to_string(member.method), "write it with numpy.savez or numpy.savez_compressed");
  }
  const std::uint64_t begin = member.local_header + 30 + field(local.bytes, 26, 2) + field(local.bytes, 28, 2);
  check_part(file.size(), begin, member.packed_bytes, path, "member " + member.name);
  const Stored packed = file.from(begin, member.packed_bytes);
  if (member.method == 0 && packed.size() != member.bytes) refuse(path, "has two different sizes for member " + member.name);
  Stored stored = member.method == 0 ? packed : inflate_member(packed.all().bytes, member.bytes, path);
  if (checksum_of(stored) != member.checksum)
    refuse(path, "is damaged: the checksum of " + member.name + " does not match", "copy it again");
  return stored;
}

// The .npy file of the array `name`; empty if there is none.
std::optional<Stored> find_member(const Stored& file, const std::vector<Member>& members, const std::string& name,
                                  const std::string& path) {
  const auto member =
      std::find_if(members.begin(), members.end(), [&](const Member& m) { return m.name == name + ".npy" || m.name == name; });
  if (member == members.end()) return std::nullopt;
  return extract(file, *member, path);
}

std::string names_of(const std::vector<Member>& members) {
  constexpr std::size_t kShown = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(members.size(), kShown); ++i) text += (i ? ", " : "") + members[i].name;
  return members.size() > kShown ? text + ", ..." : text;
}

}  // namespace

Contents read_npz(const Stored& file, const std::string& path) {
  const std::vector<Member> members = read_directory(file, path);
  const auto x = find_member(file, members, "x", path);
  if (!x) {
    refuse(path, "has no array x" + (members.empty() ? "" : " (it has " + names_of(members) + ")"),
           "write it with numpy.savez(path, x=points, y=labels)");
  }
  Contents contents;
  contents.x = read_npy_array(*x, "array x of " + path);
  for (const char* name : {"y", "labels", "label", "targets", "target"}) {
    if (!contents.labels.empty()) break;
    if (const auto y = find_member(file, members, name, path))
      contents.labels = read_npy_labels(*y, std::string("array ") + name + " of " + path);
  }
  if (contents.labels.empty() && members.size() > 1)
    contents.notes.push_back("the file has no array y, so there are no labels: its arrays are " + names_of(members));
  return contents;
}

}  // namespace probust::datasets
