// SPDX-License-Identifier: MIT
// The IDX format of MNIST: two zero bytes, a byte for the type, a byte for the number of axes, the extents of the axes (32
// bits, big-endian), and the values.
#include <map>
#include <optional>

#include "datasets/formats.h"

namespace probust::datasets {
namespace {

constexpr std::size_t kMostAxes = 8, kLongestHeader = 4 + 4 * kMostAxes;

struct IdxHeader {
  ElementType type;
  Shape shape;
  std::uint64_t bytes = 0;
};

std::optional<ElementType> type_of(std::uint8_t code) {
  static const std::map<std::uint8_t, ElementType> types{
      {0x08, {NumberKind::unsigned_integer, 1, std::endian::big}}, {0x09, {NumberKind::signed_integer, 1, std::endian::big}},
      {0x0b, {NumberKind::signed_integer, 2, std::endian::big}},   {0x0c, {NumberKind::signed_integer, 4, std::endian::big}},
      {0x0d, {NumberKind::floating, 4, std::endian::big}},         {0x0e, {NumberKind::floating, 8, std::endian::big}}};
  const auto found = types.find(code);
  if (found == types.end()) return std::nullopt;
  return found->second;
}

// The header of a file that begins with `bytes`, which are either at least as long as the longest header or the whole file.
IdxHeader read_header(Bytes bytes, const std::string& path) {
  const Bytes magic = part(bytes, 0, 4, path, "an IDX header");
  const auto type = type_of(magic[2]);
  if (magic[0] != 0 || magic[1] != 0 || !type || magic[3] == 0 || magic[3] > kMostAxes) {
    refuse(path, "is not an IDX file: its first four bytes are wrong", "give images in IDX, .npy, .npz, CIFAR .bin or .csv");
  }
  IdxHeader header{*type, {}, 4 + 4 * std::uint64_t{magic[3]}};
  part(bytes, 0, header.bytes, path, "its IDX header");
  for (std::uint64_t at = 4; at < header.bytes; at += 4) {
    header.shape.push_back(static_cast<std::int64_t>(big_endian(bytes.subspan(at, 4))));
  }
  return header;
}

// The unpacked file. The header is unpacked first, because it determines the size.
Stored unpacked(const Stored& file, const std::string& path) {
  if (!starts_with(file.from(0, 2).all().bytes, "\x1f\x8b")) return file;
  const Buffer packed = file.all();
  const Buffer begin = gunzip_prefix(packed.bytes, kLongestHeader, path);
  if (begin.bytes.size() < 4)
    refuse(path, "is truncated: its " + std::to_string(file.size()) + " compressed bytes have no IDX header");
  if (begin.bytes[0] != 0) refuse(path, "is compressed, but is not an IDX file", "decompress it with gunzip");
  const IdxHeader header = read_header(begin.bytes, path);
  const auto values = static_cast<std::uint64_t>(byte_count(header.shape, header.type.bytes, path));
  return gunzip(packed.bytes, header.bytes + values, path);
}

}  // namespace

bool is_idx(const Head& file) {
  const Bytes bytes = file.bytes;
  if (bytes.size() < 4 || bytes[0] != 0 || bytes[1] != 0 || !type_of(bytes[2]) || bytes[3] == 0 || bytes[3] > kMostAxes)
    return false;
  if (bytes.size() < 4 + 4 * std::size_t{bytes[3]}) return false;
  try {
    const IdxHeader header = read_header(bytes, "");
    return header.bytes + static_cast<std::uint64_t>(byte_count(header.shape, header.type.bytes, "")) == file.size;
  } catch (const Error&) {
    return false;
  }
}

Array read_idx(const Stored& file, const std::string& path) {
  const Stored plain = unpacked(file, path);
  const IdxHeader header = read_header(plain.from(0, kLongestHeader).all().bytes, path);
  return dense_array(header.type, header.shape, false, plain.from(header.bytes), static_cast<std::int64_t>(header.bytes), path);
}

}  // namespace probust::datasets
