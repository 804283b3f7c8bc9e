// SPDX-License-Identifier: MIT
// PNG and JPEG files: their pixels, resizing, and which files are refused.
#include "support/images.h"

#include <gtest/gtest.h>

#include <random>

#include "datasets/images/image.h"
#include "support/refusal.h"

namespace probust {
namespace {

using datasets::Bytes;
using datasets::Image;
using test::PngKind;
using Pixels = std::vector<std::uint16_t>;

Bytes bytes_of(const std::string& text) { return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}; }

Image decoded(const std::string& file, std::int64_t channels) {
  return datasets::decode_image(bytes_of(file), channels, "a.png");
}

void expect_image_refused(const std::string& file, const std::string& words) {
  try {
    decoded(file, 3);
    ADD_FAILURE() << "decoded, and should be refused with: " << words;
  } catch (const Error& error) {
    EXPECT_EQ(error.code, ErrorCode::unreadable) << error.message();
    EXPECT_EQ(error.where, "a.png");
    EXPECT_NE(error.message().find(words), std::string::npos) << error.message();
  }
}

TEST(Images, PngStoresPixelsInManyWays) {
  EXPECT_EQ(decoded(test::png(1, 2, "\x05\xfe"), 1).pixels, (Pixels{5, 254}));
  EXPECT_EQ(decoded(test::png(1, 2, "\x05\xfe"), 3).pixels, (Pixels{5, 5, 5, 254, 254, 254}));
  EXPECT_EQ(decoded(test::png(2, 1, "\x01\x02\x03\x04\x05\x06", {8, test::kPngColour}), 3).pixels, (Pixels{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(decoded(test::png(1, 1, "\x07\x80", {8, test::kPngGrayAlpha}), 1).pixels, (Pixels{7})) << "transparency is dropped";
  EXPECT_EQ(decoded(test::png(1, 1, "\x07\x80", {8, test::kPngGrayAlpha}), 3).pixels, (Pixels{7, 7, 7}));
  EXPECT_EQ(decoded(test::png(1, 1, std::string("\x01\x02\x03\0", 4), {8, test::kPngColourAlpha}), 3).pixels, (Pixels{1, 2, 3}));
  EXPECT_EQ(decoded(test::png(1, 2, "\x12\x34\xab\xcd", {16, test::kPngGray}), 1).pixels, (Pixels{0x1234, 0xabcd})) << "16 bits";
  EXPECT_EQ(decoded(test::png(1, 8, "\xa5", {1, test::kPngGray}), 1).pixels, (Pixels{255, 0, 255, 0, 0, 255, 0, 255}));
  const std::string palette = test::png_chunk("PLTE", "\x0a\x0b\x0c\x01\x02\x03");
  EXPECT_EQ(decoded(test::png(1, 2, std::string("\x01\0", 2), {8, test::kPngPalette, palette}), 3).pixels,
            (Pixels{1, 2, 3, 10, 11, 12}));
}

TEST(Images, SixteenBitsAreKeptInEveryFormat) {
  const std::string gray = test::png(1, 2, std::string("\x01\x02\xff\xfe", 4), {16, test::kPngGray});
  EXPECT_EQ(decoded(gray, 1).largest, 65535);
  EXPECT_EQ(decoded(gray, 3).pixels, (Pixels{0x0102, 0x0102, 0x0102, 0xfffe, 0xfffe, 0xfffe}));
  const std::string colour = test::png(1, 1, std::string("\xff\xff\x80\0\0\1", 6), {16, test::kPngColour});
  EXPECT_EQ(decoded(colour, 3).pixels, (Pixels{65535, 32768, 1}));
  EXPECT_EQ(decoded(colour, 1).pixels, (Pixels{(65535 * 19595L + 32768 * 38470L + 1 * 7471L + 0x8000) >> 16}));
  const std::string transparent = test::png(1, 1, std::string("\1\2\3\4\5\6\0\0", 8), {16, test::kPngColourAlpha});
  EXPECT_EQ(decoded(transparent, 3).pixels, (Pixels{0x0102, 0x0304, 0x0506}));
  EXPECT_EQ(decoded(test::png(1, 1, "\x07"), 1).largest, 255);
}

TEST(Images, SixteenBitsAreResizedAtFullDepth) {
  std::string rows;
  for (int i = 0; i < 16; ++i) rows += test::big_endian_text(static_cast<std::uint64_t>(i * 4369), 2);
  const Image small = datasets::resized(decoded(test::png(4, 4, rows, {16, test::kPngGray}), 1), 1, "a.png");
  EXPECT_EQ(small.pixels, (Pixels{32768})) << "the mean of 0 to 65535";
  EXPECT_EQ(small.largest, 65535);
  const std::string white = test::png(4, 4, std::string(32, '\xff'), {16, test::kPngGray});
  for (const std::uint16_t value : datasets::resized(decoded(white, 1), 7, "a.png").pixels) EXPECT_EQ(value, 65535);
  EXPECT_EQ(datasets::centre_crop(decoded(white, 1), 2, "a.png").largest, 65535);
}

// An EXIF field of 16 bits.
std::string exif(int tag, int value, bool little) {
  const auto number = [&](std::uint64_t n, int width) {
    std::string text = test::big_endian_text(n, width);
    return little ? std::string(text.rbegin(), text.rend()) : text;
  };
  return (little ? "II" : "MM") + number(42, 2) + number(8, 4) + number(1, 2) + number(tag, 2) + number(3, 2) + number(1, 4) +
         number(value, 2) + number(0, 2) + number(0, 4);
}

TEST(Images, TheOrientationIsFound) {
  const auto jpeg = [](const std::string& segments) { return "\xff\xd8" + segments + "\xff\xda"; };
  const std::string name("Exif\0\0", 6);
  for (const bool little : {false, true}) {
    for (int value = 1; value <= 8; ++value) {
      EXPECT_EQ(datasets::exif_orientation(bytes_of(jpeg(test::jpeg_segment(0xe1, name + exif(0x112, value, little))))), value);
    }
    EXPECT_EQ(datasets::exif_orientation(bytes_of(jpeg(test::jpeg_segment(0xe1, name + exif(0x112, 9, little))))), 1);
    EXPECT_EQ(datasets::exif_orientation(bytes_of(jpeg(test::jpeg_segment(0xe1, name + exif(0x113, 6, little))))), 1);
  }
  const std::string after = test::jpeg_segment(0xe0, "JFIF") + test::jpeg_segment(0xe1, "http://ns.adobe.com") +
                            test::jpeg_segment(0xe1, name + exif(0x112, 6, true));
  EXPECT_EQ(datasets::exif_orientation(bytes_of(jpeg(after))), 6);
  PngKind kind;
  kind.palette = test::png_chunk("eXIf", exif(0x112, 3, false));
  EXPECT_EQ(datasets::exif_orientation(bytes_of(test::png(1, 1, "\x01", kind))), 3);
  EXPECT_EQ(datasets::exif_orientation(bytes_of(test::png(1, 1, "\x01"))), 1);
}

TEST(Images, TruncatedExifIsNoOrientation) {
  const std::string file = "\xff\xd8" + test::jpeg_segment(0xe1, std::string("Exif\0\0", 6) + exif(0x112, 6, true)) + "\xff\xda";
  for (std::size_t size = 0; size < file.size(); ++size) {
    const int found = datasets::exif_orientation(bytes_of(file.substr(0, size)));
    EXPECT_TRUE(found == 1 || found == 6) << size;
  }
}

// Expected values, here and below, are from Pillow.
TEST(Images, ColourIsConvertedToGrayByLuma) {
  Image image;
  std::string rows;
  for (int y = 0; y < 2; ++y)
    for (int x = 0; x < 3; ++x)
      for (int k = 0; k < 3; ++k) rows += static_cast<char>((y * 67 + x * 29 + y * x * 13 + k * 101) % 256);
  EXPECT_EQ(decoded(test::png(2, 3, rows, {8, test::kPngColour}), 1).pixels, (Pixels{82, 111, 111, 120, 162, 204}));
}

TEST(Images, JpegMayBeGrayColourOrCmyk) {
  EXPECT_EQ(decoded(test::plain_jpeg(1), 1).pixels, Pixels(64, 128));
  EXPECT_EQ(decoded(test::plain_jpeg(3), 3).pixels, Pixels(192, 128));
  EXPECT_EQ(decoded(test::plain_jpeg(3), 1).pixels, Pixels(64, 128));
  EXPECT_EQ(decoded(test::plain_jpeg(4), 3).pixels, Pixels(192, 64)) << "CMYK: half of the ink, half of it black";
  EXPECT_EQ(datasets::image_size(bytes_of(test::plain_jpeg(3)), "a.jpg").width, 8);
}

Image pattern(std::int64_t height, std::int64_t width, std::int64_t channels) {
  Image image{height, width, channels, 255, {}};
  for (std::int64_t y = 0; y < height; ++y)
    for (std::int64_t x = 0; x < width; ++x)
      for (std::int64_t k = 0; k < channels; ++k)
        image.pixels.push_back(static_cast<std::uint8_t>((y * 67 + x * 29 + y * x * 13 + k * 101) % 256));
  return image;
}

TEST(Images, ResizingGivesPillowsPixels) {
  const Image smaller = datasets::resized(pattern(9, 13, 1), 4, "a.png");
  EXPECT_EQ(smaller.height, 4);
  EXPECT_EQ(smaller.width, 5);
  EXPECT_EQ(smaller.pixels,
            (Pixels{95, 132, 127, 132, 91, 118, 139, 129, 131, 155, 126, 132, 127, 147, 146, 132, 119, 107, 117, 146}));
  const Image larger = datasets::resized(pattern(3, 2, 3), 4, "a.png");
  EXPECT_EQ(larger.height, 6);
  EXPECT_EQ(larger.width, 4);
  EXPECT_EQ(larger.pixels, (Pixels{0,   101, 202, 7,   108, 209, 22,  123, 224, 29,  130, 231, 17,  118, 155, 25,  126, 163,
                                   41,  142, 179, 49,  150, 187, 50,  151, 60,  60,  161, 70,  80,  181, 90,  89,  190, 99,
                                   84,  185, 30,  96,  181, 42,  118, 171, 64,  129, 166, 75,  117, 218, 63,  131, 184, 77,
                                   156, 113, 102, 169, 78,  115, 134, 235, 80,  148, 185, 94,  175, 84,  121, 189, 34,  135}));
  EXPECT_EQ(datasets::resized(pattern(5, 5, 3), 5, "a.png").pixels, pattern(5, 5, 3).pixels);
}

TEST(Images, TheCentreIsRoundedToEven) {
  const auto first_pixel = [](std::int64_t width) {
    Image row{1, width, 1, 255, {}};
    for (std::int64_t x = 0; x < width; ++x) row.pixels.push_back(static_cast<std::uint8_t>(x));
    return datasets::centre_crop(row, 1, "a.png").pixels[0];
  };
  EXPECT_EQ(first_pixel(2), 0) << "half a pixel is 0";
  EXPECT_EQ(first_pixel(4), 2) << "one and a half is 2";
  EXPECT_EQ(first_pixel(5), 2);
  const Image colour = datasets::centre_crop(pattern(4, 6, 3), 2, "a.png");
  EXPECT_EQ(colour.pixels[0], pattern(4, 6, 3).pixels[(1 * 6 + 2) * 3]);
  test::expect_refusal(ErrorCode::unreadable, [] { datasets::centre_crop(pattern(4, 6, 3), 5, "a.png"); });
}

TEST(Images, NarrowImagesAreNotResizedToHugeOnes) {
  test::expect_refusal(ErrorCode::unreadable, [] { datasets::resized(pattern(1, 60000, 1), 256, "a.png"); });
}

TEST(Images, OtherFilesAreRefused) {
  expect_image_refused("", "is empty");
  expect_image_refused("GIF89a............", "is not a PNG or JPEG image");
  expect_image_refused("\x89PNG\r\n\x1a\n", "is truncated");
  expect_image_refused("\xff\xd8\xff", "cannot be decoded");
}

TEST(Images, AScanNeedsItsHuffmanTables) {
  for (const std::string& table : {std::string("\xff\xc4\0\x14\0", 5), std::string("\xff\xc4\0\x14\x10", 5)}) {
    std::string jpeg = test::plain_jpeg(3);
    jpeg[jpeg.find(table) + 1] = '\xe4';  // a segment that is skipped
    expect_image_refused(jpeg, "is damaged: a Huffman table is missing");
  }
}

TEST(Images, HugeSizesAreRejectedBeforeAllocation) {
  const std::string header =
      test::big_endian_text(60000, 4) + test::big_endian_text(60000, 4) + "\x08\x02" + std::string(3, '\0');
  expect_image_refused("\x89PNG\r\n\x1a\n" + test::png_chunk("IHDR", header) + test::png_chunk("IEND", ""),
                       "has 60000 x 60000 pixels, but at most 134217728 are supported");
  std::string jpeg = test::plain_jpeg(1);
  jpeg.replace(jpeg.find("\xff\xc0") + 5, 4, "\xff\xff\xff\xff");
  expect_image_refused(jpeg, "has 65535 x 65535 pixels");
  expect_image_refused(test::png(1, 1, "a").replace(16, 4, std::string(4, '\0')), "0 x 1 pixels");
  // Within the largest allowed size, but larger than so few bytes can encode.
  std::string small = test::png(1, 1, "a");
  small.replace(16, 8, test::big_endian_text(11000, 4) + test::big_endian_text(12000, 4));
  expect_image_refused(small, "is truncated: " + std::to_string(small.size()) + " bytes cannot hold 11000 x 12000 pixels");
}

TEST(Images, APngThatUnpacksToMoreThanItsSizeCostsLittleMemory) {
  const std::string header = test::big_endian_text(1, 4) + test::big_endian_text(1, 4) + std::string("\x08\0\0\0\0", 5);
  const std::string bomb = "\x89PNG\r\n\x1a\n" + test::png_chunk("IHDR", header) +
                           test::png_chunk("IDAT", test::deflated(std::string(100 << 20, '\0'))) + test::png_chunk("IEND", "");
  ASSERT_LT(bomb.size(), 200000U);
  expect_image_refused(bomb, "cannot be decoded: outofmem");
}

TEST(Images, EveryTruncationIsAnError) {
  const std::vector<std::string> files{test::png(4, 4, std::string(48, 'a'), {8, test::kPngColour}), test::plain_jpeg(3),
                                       test::plain_jpeg(4)};
  for (const std::string& file : files) {
    EXPECT_NO_THROW(decoded(file, 3));
    for (std::size_t length = 0; length < file.size(); ++length)
      test::expect_refusal(ErrorCode::unreadable, [&] { decoded(file.substr(0, length), 3); });
  }
}

TEST(Images, AChangedByteOfAPngIsNoticed) {
  const std::string file = test::png(2, 2, "abcd");
  for (std::size_t at = 0; at < file.size(); ++at) {
    std::string changed = file;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    test::expect_refusal(ErrorCode::unreadable, [&] { decoded(changed, 1); });
  }
}

// stb_image would write beyond its table of 256 codes before it notices that the segment is too short for that many.
TEST(Images, HuffmanTablesWithTooManyCodesAreRefused) {
  const std::string file = test::plain_jpeg(1), many = test::jpeg_segment(0xc4, std::string(1, '\0') + std::string(16, '\xff'));
  for (const std::size_t at : {std::size_t{2}, file.find("\xff\xc4")}) {
    std::string changed = file;
    changed.insert(at, many);
    try {
      decoded(changed, 1);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.problem, "is damaged: a Huffman table has 4080 codes instead of at most 256");
    }
  }
}

TEST(Images, DamagedJpegsGiveAnImageOrAnErrorAndNothingElse) {
  std::mt19937 random(1);
  for (const int components : {1, 3, 4}) {
    const std::string file = test::plain_jpeg(components);
    for (int round = 0; round < 1000; ++round) {
      std::string changed = file;
      for (unsigned i = 0; i < 1 + random() % 3; ++i) changed[random() % file.size()] = static_cast<char>(random());
      try {
        const Image image = decoded(changed, 3);
        EXPECT_EQ(std::ssize(image.pixels), image.height * image.width * 3);
      } catch (const Error& error) {
        EXPECT_EQ(error.code, ErrorCode::unreadable);
      }
    }
  }
}

}  // namespace
}  // namespace probust
