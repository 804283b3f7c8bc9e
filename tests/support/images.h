// SPDX-License-Identifier: MIT
#pragma once

#include <zlib.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

// Image files, written byte by byte.
namespace probust::test {

inline std::string big_endian_text(std::uint64_t value, int width) {
  std::string text;
  for (int i = width; i-- > 0;) text += static_cast<char>(value >> 8 * i & 0xff);
  return text;
}

inline std::string png_chunk(const std::string& type, const std::string& contents) {
  const std::string body = type + contents;
  const auto checksum = crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()));
  return big_endian_text(contents.size(), 4) + body + big_endian_text(checksum, 4);
}

inline std::string deflated(const std::string& bytes) {
  uLongf size = compressBound(bytes.size());
  std::string out(size, '\0');
  compress(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  out.resize(size);
  return out;
}

/// How a PNG file stores its pixels (PNG, 11.2.2).
struct PngKind {
  int bits = 8, colour = 0;
  std::string palette{};  ///< chunks between the header and the image
};

inline constexpr int kPngGray = 0, kPngColour = 2, kPngPalette = 3, kPngGrayAlpha = 4, kPngColourAlpha = 6;

/// A PNG file; `rows` are the stored bytes of all rows.
inline std::string png(int height, int width, const std::string& rows, const PngKind& kind = {}) {
  const std::string header = big_endian_text(width, 4) + big_endian_text(height, 4) + static_cast<char>(kind.bits) +
                             static_cast<char>(kind.colour) + std::string(3, '\0');
  const std::size_t row = rows.size() / static_cast<std::size_t>(height);
  std::string filtered;
  for (std::size_t at = 0; at < rows.size(); at += row) filtered += std::string(1, '\0') + rows.substr(at, row);
  return "\x89PNG\r\n\x1a\n" + png_chunk("IHDR", header) + kind.palette + png_chunk("IDAT", deflated(filtered)) +
         png_chunk("IEND", "");
}

/// A gray PNG file with one value everywhere.
inline std::string plain_png(int height, int width, int value) {
  return png(height, width, std::string(static_cast<std::size_t>(height * width), static_cast<char>(value)));
}

inline std::string jpeg_segment(int marker, const std::string& contents) {
  return std::string("\xff") + static_cast<char>(marker) + big_endian_text(contents.size() + 2, 2) + contents;
}

/// A JPEG file of 8 x 8 pixels whose components are all 128: 1 gray, 3 YCbCr, 4 CMYK.
inline std::string plain_jpeg(int components) {
  std::string frame = std::string("\x08") + big_endian_text(8, 2) + big_endian_text(8, 2) + static_cast<char>(components);
  std::string scan(1, static_cast<char>(components));
  for (int c = 1; c <= components; ++c) {
    frame += static_cast<char>(c) + std::string("\x11\0", 2);
    scan += static_cast<char>(c) + std::string(1, '\0');
  }
  const std::string adobe = components == 4 ? jpeg_segment(0xee, std::string("Adobe\0\x64\0\0\0\0\0", 12)) : "";
  // Each table has one code of one bit, 0: no difference, and the end of the block.
  const std::string one_code = "\x01" + std::string(15, '\0') + std::string(1, '\0');
  const std::string tables = jpeg_segment(0xc4, std::string(1, '\0') + one_code) + jpeg_segment(0xc4, "\x10" + one_code);
  const std::string coded{static_cast<char>(0xff >> 2 * components)};
  return "\xff\xd8" + adobe + jpeg_segment(0xdb, std::string(1, '\0') + std::string(64, '\1')) + jpeg_segment(0xc0, frame) +
         tables + jpeg_segment(0xda, scan + std::string("\0\x3f\0", 3)) + coded + "\xff\xd9";
}

}  // namespace probust::test
