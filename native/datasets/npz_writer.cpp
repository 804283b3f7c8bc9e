// SPDX-License-Identifier: MIT
// Writes .npz files: zip archives (PKWARE APPNOTE 6.3, 4.3) of .npy files, deflated with zlib.
#include <zlib.h>

#include <algorithm>
#include <bit>

#include "datasets/npy.h"
#include "datasets/npz.h"
#include "probust/base/error.h"
#include "probust/base/text.h"

namespace probust {
namespace {

constexpr std::uint64_t kMost = 0xfffffffe;  // limit for a size or position in 32 bits

std::string little_endian_bytes(std::uint64_t value, std::size_t width) {
  std::string bytes;
  for (std::size_t k = 0; k < width; ++k) bytes += static_cast<char>(value >> (8 * k) & 0xff);
  return bytes;
}

// A raw deflate stream, as used in zip files.
std::string deflated(const std::string& bytes, const std::string& path) {
  constexpr int kBare = -15, kMemory = 8;
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kBare, kMemory, Z_DEFAULT_STRATEGY) != Z_OK)
    throw Error{ErrorCode::resources, path, "cannot be compressed: there is not enough memory", ""};
  std::string packed(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));  // zlib only reads
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int ended = deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  if (ended != Z_STREAM_END) throw Error{ErrorCode::internal, path, "cannot be compressed", ""};
  return packed;
}

// The fields that the record of a member and its directory entry share: from "version needed" to the length of the extra data.
std::string shared_fields(std::uint32_t checksum, std::uint64_t packed, std::uint64_t bytes, std::uint64_t name) {
  constexpr std::uint64_t kVersion = 20, kDeflate = 8, kDate = 0x21;  // 1980-01-01: the same arrays give the same bytes
  return little_endian_bytes(kVersion, 2) + little_endian_bytes(0, 2) + little_endian_bytes(kDeflate, 2) +
         little_endian_bytes(0, 2) + little_endian_bytes(kDate, 2) + little_endian_bytes(checksum, 4) +
         little_endian_bytes(packed, 4) + little_endian_bytes(bytes, 4) + little_endian_bytes(name, 2) +
         little_endian_bytes(0, 2);
}

// The code points of a text, which printable() converts to valid UTF-8 first.
std::u32string characters_of(const std::string& text) {
  std::u32string characters;
  for (const char c : printable(text)) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xc0) == 0x80) {
      characters.back() = characters.back() << 6 | (byte & 0x3f);
    } else {
      characters += byte < 0x80 ? byte : byte < 0xe0 ? byte & 0x1f : byte < 0xf0 ? byte & 0x0f : byte & 0x07;
    }
  }
  return characters;
}

}  // namespace

void NpzWriter::write(const std::string& bytes) {
  file_.write(bytes.data(), bytes.size());
  position_ += bytes.size();
}

void NpzWriter::add(const std::string& name, std::string_view type, const Shape& shape, std::span<const std::byte> bytes) {
  static_assert(std::endian::native == std::endian::little, "the types say '<'");
  std::string array = npy_header(type, shape);
  array.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (array.size() > kMost / 2 || position_ > kMost / 2)
    throw Error{ErrorCode::resources, file_.path(), "would exceed 2 GB with the array '" + name + "'", "write .csv or .jsonl"};
  const std::string packed = deflated(array, file_.path()), member = name + ".npy";
  const auto checksum =
      static_cast<std::uint32_t>(crc32_z(crc32_z(0, nullptr, 0), reinterpret_cast<const Bytef*>(array.data()), array.size()));
  const std::string fields = shared_fields(checksum, packed.size(), array.size(), member.size());
  constexpr std::uint64_t kMadeByUnix = 3 << 8 | 20, kReadable = 0100644U << 16;
  directory_ += "PK\x01\x02" + little_endian_bytes(kMadeByUnix, 2) + fields + little_endian_bytes(0, 6) +
                little_endian_bytes(kReadable, 4) + little_endian_bytes(position_, 4) + member;
  ++members_;
  write("PK\x03\x04" + fields + member);
  write(packed);
}

void NpzWriter::add(const std::string& name, const Shape& shape, std::span<const double> values) {
  add(name, "<f8", shape, std::as_bytes(values));
}
void NpzWriter::add(const std::string& name, const Shape& shape, std::span<const float> values) {
  add(name, "<f4", shape, std::as_bytes(values));
}
void NpzWriter::add(const std::string& name, const Shape& shape, std::span<const std::int32_t> values) {
  add(name, "<i4", shape, std::as_bytes(values));
}
void NpzWriter::add(const std::string& name, const Shape& shape, std::span<const std::int64_t> values) {
  add(name, "<i8", shape, std::as_bytes(values));
}

void NpzWriter::add(const std::string& name, const std::vector<std::string>& texts) {
  std::vector<std::u32string> decoded;
  std::size_t width = 1;
  for (const std::string& text : texts) {
    decoded.push_back(characters_of(text));
    width = std::max(width, decoded.back().size());
  }
  std::u32string characters;
  for (std::u32string& text : decoded) {
    text.resize(width);  // NumPy pads with zeros
    characters += text;
  }
  add(name, "<U" + std::to_string(width), {std::ssize(texts)}, std::as_bytes(std::span(characters)));
}

void NpzWriter::close() {
  const std::uint64_t begin = position_, size = directory_.size();
  write(directory_);
  write("PK\x05\x06" + little_endian_bytes(0, 4) + little_endian_bytes(members_, 2) + little_endian_bytes(members_, 2) +
        little_endian_bytes(size, 4) + little_endian_bytes(begin, 4) + little_endian_bytes(0, 2));
  file_.commit();
}

void write_npz(const std::string& path, const Tensor& x, std::span<const std::int64_t> labels) {
  NpzWriter file(path);
  file.add("x", x.shape, std::span<const float>(x.data));
  file.add("y", {std::ssize(labels)}, labels);
  file.close();
}

}  // namespace probust
