// SPDX-License-Identifier: MIT
// Decodes PNG and JPEG files with stb_image. Because stb_image accepts truncated files and does not verify checksums, both are
// checked here.
#include "datasets/images/image.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>

#include "datasets/images/stb_decoder.h"

namespace probust::datasets {
namespace {

constexpr std::string_view kPngMagic = "\x89PNG\r\n\x1a\n", kJpegMagic = "\xff\xd8\xff";

bool is_png(Bytes file) { return starts_with(file, kPngMagic); }

std::uint32_t png_checksum(Bytes bytes) {
  return static_cast<std::uint32_t>(crc32_z(crc32_z(0, nullptr, 0), bytes.data(), bytes.size()));
}

// Reads the size and colour type from the first chunk (PNG specification, 11.2.2).
ImageSize png_size(Bytes file, const std::string& path) {
  const Bytes header = part(file, 8, 25, path, "a PNG header");
  if (!starts_with(header.subspan(4), "IHDR")) refuse(path, "is damaged: its first PNG chunk is not a header", "copy it again");
  constexpr std::int64_t kGray = 0, kGrayTransparent = 4, kTransparent = 6;
  const std::int64_t colour = header[17];
  const std::int64_t channels = colour == kGray ? 1 : colour == kGrayTransparent ? 2 : colour == kTransparent ? 4 : 3;
  return {static_cast<std::int64_t>(big_endian(header.subspan(12, 4))),
          static_cast<std::int64_t>(big_endian(header.subspan(8, 4))), channels, header[16] == 16};
}

// Checks that every chunk up to the one that ends the image is complete and has a correct checksum.
void check_png(Bytes file, const std::string& path) {
  for (std::uint64_t at = kPngMagic.size(); true;) {
    const std::uint64_t length = big_endian(part(file, at, 8, path, "a PNG chunk").first(4));
    const Bytes chunk = part(file, at + 4, length + 8, path, "a PNG chunk");  // its type, contents and checksum
    if (png_checksum(chunk.first(length + 4)) != big_endian(chunk.last(4)))
      refuse(path, "is damaged: the checksum of a chunk does not match", "copy it again");
    if (starts_with(chunk, "IEND")) return;
    at += length + 12;
  }
}

// Iterates over the markers of a JPEG file (ITU T.81, B.1). A marker segment begins with its length. The coded data after a
// start of scan have no length: they end at the next marker that is neither a stuffed zero nor a restart.
class JpegMarkers {
 public:
  static constexpr std::uint8_t kProgressive = 0xc2, kHuffmanTables = 0xc4, kEnd = 0xd9, kScan = 0xda;

  explicit JpegMarkers(Bytes file) : file_(file) {}

  // Moves to the next marker. Returns false at the end of the file.
  bool next() {
    constexpr std::uint8_t kFirstRestart = 0xd0, kLastRestart = 0xd7;
    while (at_ + 1 < file_.size()) {
      marker_ = file_[at_ + 1];
      if (file_[at_] != 0xff || marker_ == 0xff) {
        ++at_;  // coded data, or a fill byte before a marker
        continue;
      }
      at_ += 2;
      if (marker_ == 0 || marker_ == 1 || (marker_ >= kFirstRestart && marker_ <= kLastRestart)) continue;
      contents_ = at_ + 2;
      length_ = marker_ != kEnd && at_ + 1 < file_.size() ? std::max<std::size_t>(2, big_endian(file_.subspan(at_, 2))) : 0;
      at_ += length_;
      return true;
    }
    return false;
  }

  std::uint8_t marker() const { return marker_; }
  std::size_t contents() const { return contents_; }                           // position of the contents in the file
  std::size_t contents_size() const { return length_ > 2 ? length_ - 2 : 0; }  // as the file declares

 private:
  Bytes file_;
  std::size_t at_ = 2, contents_ = 0, length_ = 0;
  std::uint8_t marker_ = 0;
};

// The Huffman tables that a JPEG file has defined so far, for DC coefficients (class 0) and AC coefficients (class 1).
class HuffmanTables {
 public:
  // Rejects tables with more than 256 codes (ITU T.81, B.2.4.2), because stb_image 2.27 would write beyond the end of its own
  // table. Like stb_image, reads a whole table even if the segment is shorter.
  void give(Bytes segments, std::size_t size, const std::string& path) {
    constexpr std::size_t kLengths = 16, kMost = 256;
    for (std::size_t at = 0; at < size && at < segments.size();) {
      const Bytes lengths = segments.subspan(at + 1);
      std::size_t codes = 0;
      for (const std::uint8_t count : lengths.first(std::min(kLengths, lengths.size()))) codes += count;
      if (codes > kMost)
        refuse(path, "is damaged: a Huffman table has " + std::to_string(codes) + " codes instead of at most 256",
               "copy it again");
      given_.at(segments[at] >> 4 & 1).at(segments[at] & 3) = true;
      at += 1 + kLengths + codes;
    }
  }

  // Rejects a scan whose tables are not defined (B.2.3), because stb_image 2.27 would decode it with uninitialised memory. In a
  // progressive file, a scan contains either DC coefficients, whose refinement needs no table, or AC coefficients.
  void check_scan(Bytes scan, bool progressive, const std::string& path) const {
    const std::size_t components = scan.empty() ? 0 : scan[0], end = 1 + 2 * components;
    if (scan.size() < end + 3) return;  // stb_image rejects it
    const bool dc = scan[end] == 0, refines = scan[end + 2] >> 4 != 0;
    for (std::size_t c = 1; c < end; c += 2) {
      const std::uint8_t tables = scan[c + 1];
      const bool complete = ((progressive && (!dc || refines)) || given_[0].at(tables >> 4 & 3)) &&
                            ((progressive && dc) || given_[1].at(tables & 3));
      if (!complete) refuse(path, "is damaged: a Huffman table is missing", "copy it again");
    }
  }

 private:
  std::array<std::array<bool, 4>, 2> given_{};
};

void check_huffman_tables(Bytes file, const std::string& path) {
  HuffmanTables tables;
  bool progressive = false;
  for (JpegMarkers markers(file); markers.next() && markers.marker() != JpegMarkers::kEnd;) {
    const Bytes contents = file.subspan(std::min(file.size(), markers.contents()));
    progressive = progressive || markers.marker() == JpegMarkers::kProgressive;
    if (markers.marker() == JpegMarkers::kHuffmanTables) tables.give(contents, markers.contents_size(), path);
    if (markers.marker() == JpegMarkers::kScan) tables.check_scan(contents, progressive, path);
  }
}

ImageSize jpeg_size(Bytes file, const std::string& path) {
  check_huffman_tables(file, path);
  const StbImage header = stb_header(file);
  if (!header.problem.empty()) refuse(path, "cannot be decoded: " + header.problem, "copy or save it again");
  return {header.height, header.width, header.channels, false};
}

// Checks that the file has the marker that ends the image.
void check_jpeg(Bytes file, const std::string& path) {
  bool coded = false;
  for (JpegMarkers markers(file); markers.next();) {
    if (markers.marker() == JpegMarkers::kEnd) return;
    coded = coded || markers.marker() == JpegMarkers::kScan;
  }
  refuse(path, coded ? "is truncated: its image data end too early" : "is truncated within its header", "copy it again");
}

// Converts a colour to gray as Pillow does, with the weights 0.299, 0.587 and 0.114.
template <class T>
std::uint16_t gray(const T* rgb) {
  return static_cast<std::uint16_t>(
      (std::int64_t{rgb[0]} * 19595 + std::int64_t{rgb[1]} * 38470 + std::int64_t{rgb[2]} * 7471 + 0x8000) >> 16);
}

// Copies decoded pixels with `stored` channels to the image. If the image has only one channel, the pixels are converted to
// gray.
template <class T>
void take_pixels(Image& image, const T* from, std::int64_t stored) {
  const std::int64_t pixels = image.height * image.width;
  image.pixels.resize(static_cast<std::size_t>(pixels * image.channels));
  if (stored == image.channels) {
    std::copy_n(from, image.pixels.size(), image.pixels.begin());
  } else {
    for (std::int64_t i = 0; i < pixels; ++i) image.pixels[static_cast<std::size_t>(i)] = gray(from + 3 * i);
  }
}

// The orientation in EXIF data, which has the format of a TIFF file (CIPA DC-008, 4.6). Returns 1 if there is none.
int tiff_orientation(Bytes tiff) {
  constexpr std::uint64_t kOrientation = 0x0112, kHeader = 8, kField = 12;
  if (tiff.size() < kHeader) return 1;
  const bool little = tiff[0] == 'I';
  const auto number = [&](std::uint64_t at, std::size_t width) {
    const Bytes bytes = tiff.subspan(at, width);
    return little ? little_endian(bytes) : big_endian(bytes);
  };
  const std::uint64_t fields = number(4, 4);
  if (fields + 2 > tiff.size()) return 1;
  for (std::uint64_t i = 0, at = fields + 2; i < number(fields, 2) && at + kField <= tiff.size(); ++i, at += kField) {
    if (number(at, 2) != kOrientation) continue;
    const std::uint64_t value = number(at + 8, 2);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

int png_orientation(Bytes file) {
  for (std::uint64_t at = kPngMagic.size(); at + 8 <= file.size();) {
    const std::uint64_t length = big_endian(file.subspan(at, 4));
    const Bytes chunk = file.subspan(at + 4);
    if (starts_with(chunk, "eXIf")) return tiff_orientation(chunk.subspan(4, std::min<std::uint64_t>(length, chunk.size() - 4)));
    at += length + 12;
  }
  return 1;
}

int jpeg_orientation(Bytes file) {
  constexpr std::uint8_t kExif = 0xe1;
  constexpr std::string_view kName("Exif\0\0", 6);
  for (JpegMarkers markers(file); markers.next() && markers.marker() != JpegMarkers::kScan;) {
    if (markers.marker() != kExif || markers.contents() >= file.size()) continue;
    const Bytes contents = file.subspan(markers.contents());
    const std::size_t size = std::min(markers.contents_size(), contents.size());
    if (size > kName.size() && starts_with(contents, kName))
      return tiff_orientation(contents.subspan(kName.size(), size - kName.size()));
  }
  return 1;
}

}  // namespace

std::string size_text(std::int64_t height, std::int64_t width) { return std::to_string(width) + " x " + std::to_string(height); }

ImageSize image_size(Bytes file, const std::string& path) {
  if (file.empty()) refuse(path, "is empty", "copy it again");
  if (!is_png(file) && !starts_with(file, kJpegMagic)) refuse(path, "is not a PNG or JPEG image", "convert it to PNG");
  if (file.size() > std::numeric_limits<int>::max()) refuse(path, "is larger than 2 GB", "use smaller images");
  const ImageSize size = is_png(file) ? png_size(file, path) : jpeg_size(file, path);
  const std::string pixels = size_text(size.height, size.width) + " pixels";
  if (size.width == 0 || size.height == 0) refuse(path, "is damaged: it has " + pixels, "copy it again");
  if (size.width > kMostPixels / size.height)
    refuse(path, "has " + pixels + ", but at most " + std::to_string(kMostPixels) + " are supported", "use smaller images");
  // The largest number of pixels per byte: deflated pixels of one bit expand at most 1032 times, and JPEG files have fewer
  // pixels per byte.
  constexpr std::int64_t kMostPixelsPerByte = 8 * 1032;
  if (size.width * size.height / kMostPixelsPerByte > std::ssize(file))
    refuse(path, "is truncated: " + std::to_string(file.size()) + " bytes cannot hold " + pixels, "copy it again");
  return size;
}

Image decode_image(Bytes file, std::int64_t channels, const std::string& path) {
  const ImageSize size = image_size(file, path);
  is_png(file) ? check_png(file, path) : check_jpeg(file, path);
  const bool to_gray = channels == 1 && size.channels > 2;
  // Decoders need up to 16 bytes per pixel, twice as much while they enlarge a buffer, and some memory for tables and edges.
  const auto most = static_cast<std::size_t>(32 * size.height * size.width) + (std::size_t{16} << 20);
  const StbImage decoded = stb_image(file, to_gray ? 3 : static_cast<int>(channels), size.deep, most);
  if (!decoded.pixels && !decoded.deep_pixels) refuse(path, "cannot be decoded: " + decoded.problem, "copy or save it again");
  Image image{decoded.height, decoded.width, channels, size.deep ? 65535 : 255, {}};
  if (size.deep) {
    take_pixels(image, decoded.deep_pixels.get(), decoded.channels);
  } else {
    take_pixels(image, decoded.pixels.get(), decoded.channels);
  }
  return image;
}

int exif_orientation(Bytes begin) {
  return is_png(begin) ? png_orientation(begin) : starts_with(begin, kJpegMagic) ? jpeg_orientation(begin) : 1;
}

}  // namespace probust::datasets
