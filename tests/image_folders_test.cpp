// SPDX-License-Identifier: MIT
// Folders of images as data: their classes, labels, order and sizes, and which images are rejected.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "datasets/npy.h"
#include "datasets/point_source.h"
#include "support/command.h"
#include "support/images.h"

namespace probust {
namespace {

namespace fs = std::filesystem;
using test::plain_png;
using Labels = std::vector<std::int64_t>;
using Names = std::vector<std::string>;

class ImageFolders : public ::testing::Test {
 protected:
  std::string at(const std::string& name) const { return folder_ / name; }

  void write(const std::string& name, const std::string& bytes) const {
    fs::create_directories(fs::path(at(name)).parent_path());
    folder_.write(name, bytes);
  }

  // Three images in two classes, with values 10, 20 and 30.
  std::string pets() const {
    write("pets/dog/a.png", plain_png(2, 3, 30));
    write("pets/cat/b.png", plain_png(2, 3, 20));
    write("pets/cat/a.PNG", plain_png(2, 3, 10));
    return at("pets");
  }

  test::Folder folder_;
};

void expect_folder_refused(const std::string& path, const std::string& words, const DatasetOptions& options = {},
                           ErrorCode code = ErrorCode::unreadable) {
  const Result<Dataset> result = read_dataset(path, options);
  ASSERT_FALSE(result) << path << " was read; expected: " << words;
  EXPECT_EQ(result.error().code, code) << result.error().message();
  EXPECT_NE(result.error().message().find(words), std::string::npos) << result.error().message();
  EXPECT_EQ(result.error().message().find('\n'), std::string::npos);
}

// The stored value of the first pixel of each point.
Labels first_pixels(const Tensor& x) {
  Labels values;
  for (std::int64_t i = 0; i < x.shape[0]; ++i) values.push_back(std::lround(255 * x.row(i)[0]));
  return values;
}

TEST_F(ImageFolders, SubfoldersAreClassesInAlphabeticalOrder) {
  const Dataset data = read_dataset(pets()).value();
  EXPECT_EQ(data.x.shape, (Shape{3, 1, 2, 3}));
  EXPECT_EQ(first_pixels(data.x), (Labels{10, 20, 30}));
  EXPECT_EQ(data.x.data[0], 10.0F / 255.0F);
  EXPECT_EQ(data.labels, (Labels{0, 0, 1}));
  EXPECT_EQ(data.class_names, (Names{"cat", "dog"}));
  EXPECT_EQ(data.index, (Labels{0, 1, 2}));
  EXPECT_EQ(read_dataset(pets(), {.scale = 1.0})->x.data[0], 10.0F);
}

TEST_F(ImageFolders, ConversionToGrayIsNoted) {
  write("c/a.png", test::png(1, 1, "\x0a\x14\x1e", {8, test::kPngColour}));
  const auto gray = open_dataset(at("c"), {.channels = 1}).value(), colour = open_dataset(at("c")).value();
  EXPECT_EQ(gray->point_shape(), (Shape{1, 1, 1}));
  ASSERT_EQ(gray->notes().size(), 1U);
  EXPECT_NE(gray->notes()[0].find("are read as 0.299 red"), std::string::npos);
  EXPECT_TRUE(colour->notes().empty());
}

TEST_F(ImageFolders, NumericNamesAreTheClass) {
  for (const char* name : {"0", "1", "10", "9", "007"})
    write(std::string("n/") + name + "/a.png", plain_png(1, 1, std::stoi(name)));
  const Dataset data = read_dataset(at("n")).value();
  EXPECT_EQ(data.labels, first_pixels(data.x));
  EXPECT_EQ(data.label_mapping, "folder names are class numbers");
  EXPECT_TRUE(data.class_names.empty());
  const Names names{"zero", "1", "2", "3", "4", "5", "6", "7", "8", "9", "ten"};
  const Dataset named = read_dataset(at("n"), {.classes = names}).value();
  EXPECT_EQ(named.labels, data.labels);
  EXPECT_EQ(named.class_names, names);
  expect_folder_refused(at("n"), "has the folder '007', but classes has 2 names", {.classes = {"zero", "one"}});
  write("n/07/a.png", plain_png(1, 1, 7));
  expect_folder_refused(at("n"), "has the folder '007' and the folder '07', which both mean class 7; give each class one folder");
}

TEST_F(ImageFolders, NumbersAfterACommonPrefixAreTheClass) {
  for (const char* name : {"c0", "c2", "c10"}) write(std::string("n/") + name + "/a.png", plain_png(1, 1, std::stoi(name + 1)));
  const Dataset data = read_dataset(at("n")).value();
  EXPECT_EQ(data.labels, first_pixels(data.x));
  EXPECT_EQ(data.class_names, (Names{"c0", "1", "c2", "3", "4", "5", "6", "7", "8", "9", "c10"}));
  EXPECT_NE(data.label_mapping.find("folder names end in class numbers: c0 = 0, c10 = 10, c2 = 2"), std::string::npos)
      << data.label_mapping;
  for (const char* name : {"n01440764", "n02102040"}) write(std::string("w/") + name + "/a.png", plain_png(1, 1, 1));
  EXPECT_EQ(read_dataset(at("w"))->labels, (Labels{0, 1})) << "identifiers are no numbers of classes";
}

TEST_F(ImageFolders, NamesAreMatchedWithClasses) {
  EXPECT_EQ(read_dataset(pets(), {.classes = {"Dog", "fox", "Cat"}})->labels, (Labels{2, 2, 0}));
  EXPECT_EQ(read_dataset(pets(), {.known_classes = {"dog", "cat"}})->labels, (Labels{1, 1, 0}));
  EXPECT_EQ(read_dataset(pets(), {.known_classes = {"dog", "cat"}})->class_names, (Names{"dog", "cat"}));
  expect_folder_refused(pets(), "has the folder 'cat', which is not a class name of classes; the nearest name is 'cats'",
                        {.classes = {"cats", "dog"}});
  EXPECT_EQ(open_dataset(pets(), {.limit = 1}).value()->named_classes(), 2);
  EXPECT_TRUE(open_dataset(pets()).value()->labels_guessed());
  EXPECT_FALSE(open_dataset(pets(), {.classes = {"cat", "dog"}}).value()->labels_guessed());
}

TEST_F(ImageFolders, SkippedFilesAreNoted) {
  pets();
  EXPECT_EQ(read_dataset(at("pets"))->notes.size(), 1U);
  for (const char* name : {"pets/cat/a.jfif", "pets/cat/b.txt", "pets/dog/c.ppm", "pets/zoo.csv"}) write(name, "x");
  write("pets/.hidden", "x");
  const Dataset data = read_dataset(at("pets")).value();
  EXPECT_EQ(data.x.shape[0], 3);
  ASSERT_EQ(data.notes.size(), 2U);
  EXPECT_EQ(data.notes[1],
            "4 files are left out, because their extension is not that of an image: zoo.csv, cat/a.jfif, cat/b.txt, ...");
  write("flat/a.png", plain_png(1, 1, 1));
  write("flat/l.csv", "a.png,3\n");
  EXPECT_EQ(read_dataset(at("flat"), {.labels_path = at("flat/l.csv")})->notes, Names{}) << "the table of labels is used";
}

TEST_F(ImageFolders, OrientationsAreNoted) {
  const std::string field("II*\0\x08\0\0\0\1\0\x12\1\3\0\1\0\0\0\6\0\0\0\0\0\0\0", 26);
  test::PngKind turned;
  turned.palette = test::png_chunk("eXIf", field);
  write("f/a.png", plain_png(1, 1, 1));
  write("f/b.png", test::png(1, 1, "\x01", turned));
  write("f/c.png", test::png(1, 1, "\x01", turned));
  const Names notes = read_dataset(at("f"))->notes;
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_NE(notes[0].find("EXIF orientation of 2 images is ignored (the first is b.png)"), std::string::npos) << notes[0];
  EXPECT_EQ(read_dataset(at("f"), {.limit = 1})->notes, Names{}) << "of images that are read";
}

TEST_F(ImageFolders, SixteenBitsKeepTheirLevels) {
  write("f/a.png", test::png(1, 2, std::string("\x0f\xff\0\1", 4), {16, test::kPngGray}));
  const Dataset data = read_dataset(at("f")).value();
  EXPECT_EQ(data.x.data, (std::vector<float>{4095.0F / 65535.0F, 1.0F / 65535.0F}));
  ASSERT_EQ(data.notes.size(), 1U);
  EXPECT_NE(spelled(data.notes[0], as_field).find("if the data have 12 bits, give scale 0.0002442"), std::string::npos);
  EXPECT_EQ(read_dataset(at("f"), {.scale = 1.0})->x.data, (std::vector<float>{4095, 1}));
  write("f/b.png", plain_png(1, 2, 255));
  EXPECT_EQ(read_dataset(at("f"))->x.data.back(), 1.0F) << "each by its own white";
  write("f/c.png", test::png(1, 2, std::string("\x10\0\0\1", 4), {16, test::kPngGray}));
  EXPECT_NE(read_dataset(at("f"))->notes[0].find("values are divided by 65535"), std::string::npos);
}

TEST_F(ImageFolders, OffsetAndLimitCountImages) {
  const Dataset data = read_dataset(pets(), {.offset = 1, .limit = 1}).value();
  EXPECT_EQ(first_pixels(data.x), (Labels{20}));
  EXPECT_EQ(data.labels, (Labels{0}));
  EXPECT_EQ(data.index, (Labels{1}));
  expect_folder_refused(pets(), "has 3 rows, but offset is 3", {.offset = 3});
}

TEST_F(ImageFolders, ChannelsAreTheRequestedOrTheImages) {
  EXPECT_EQ(read_dataset(pets(), {.channels = 3})->x.shape, (Shape{3, 3, 2, 3}));
  write("pets/dog/b.png", test::png(2, 3, std::string(18, '\7'), {8, test::kPngColour}));
  EXPECT_EQ(read_dataset(pets())->x.shape, (Shape{4, 3, 2, 3})) << "one in colour makes all colour";
  EXPECT_EQ(read_dataset(pets(), {.channels = 1})->x.shape, (Shape{4, 1, 2, 3}));
}

TEST_F(ImageFolders, PixelsAreStoredChannelByChannel) {
  write("a.d/1.png", test::png(1, 2, "\x01\x02\x03\x04\x05\x06", {8, test::kPngColour}));
  EXPECT_EQ(read_dataset(at("a.d"), {.scale = 1.0})->x.data, (std::vector<float>{1, 4, 2, 5, 3, 6}));
}

TEST_F(ImageFolders, AFlatFolderMayHaveATableOfLabels) {
  for (const char* name : {"c.png", "a.png", "b.png"}) write(std::string("flat/") + name, plain_png(1, 1, name[0]));
  EXPECT_TRUE(read_dataset(at("flat"))->labels.empty());
  write("l.csv", "file,label\nc.png,2\na.png,7\nb.png,2\nother.png,9\n");
  const Dataset numbered = read_dataset(at("flat"), {.labels_path = at("l.csv")}).value();
  EXPECT_EQ(first_pixels(numbered.x), (Labels{'a', 'b', 'c'}));
  EXPECT_EQ(numbered.labels, (Labels{7, 2, 2}));
  EXPECT_TRUE(numbered.class_names.empty());
  write("l.csv", "c.png;pear\na.png;apple\nb.png;pear\n");
  const Dataset named = read_dataset(at("flat"), {.labels_path = at("l.csv")}).value();
  EXPECT_EQ(named.labels, (Labels{0, 1, 1}));
  EXPECT_EQ(named.class_names, (Names{"apple", "pear"}));
}

TEST_F(ImageFolders, ATableOfLabelsIsChecked) {
  write("flat/a.png", plain_png(1, 1, 1));
  write("flat/b.png", plain_png(1, 1, 1));
  const DatasetOptions options{.labels_path = at("l.csv")};
  write("l.csv", "a.png,0\n");
  expect_folder_refused(at("flat"), "l.csv has no label for b.png", options);
  write("l.csv", "a.png,0\nb.png\n");
  expect_folder_refused(at("flat"), "l.csv must have an image name and a label", options);
  write("l.csv", "a.png,0\na.png,1\nb.png,1\n");
  expect_folder_refused(at("flat"), "l.csv has a second label for a.png", options);
}

TEST_F(ImageFolders, LabelsOfATableReplaceThoseOfFolders) {
  write("l.csv", "cat/a.PNG,5\ncat/b.png,6\ndog/a.png,7\n");
  const Dataset data = read_dataset(pets(), {.labels_path = at("l.csv")}).value();
  EXPECT_EQ(data.labels, (Labels{5, 6, 7}));
  EXPECT_TRUE(data.class_names.empty());
}

TEST_F(ImageFolders, ImagesAreResizedAndCropped) {
  write("d/a.png", plain_png(20, 30, 1));
  write("d/b.png", plain_png(50, 10, 2));
  expect_folder_refused(at("d"), "b.png has 10 x 50 pixels, but a.png has 30 x 20; use resize and crop");
  expect_folder_refused(at("d"), "b.png has 8 x 40 pixels after resizing, but a.png has 12 x 8", {.resize = 8});
  const Dataset data = read_dataset(at("d"), {.resize = 8, .crop = 6}).value();
  EXPECT_EQ(data.x.shape, (Shape{2, 1, 6, 6}));
  EXPECT_EQ(first_pixels(data.x), (Labels{1, 2}));
  expect_folder_refused(at("d"), "b.png has 10 x 50 pixels, which is less than crop 16", {.crop = 16});
  expect_folder_refused(at("d"), "crop is larger", {.resize = 8, .crop = 9}, ErrorCode::usage);
  expect_folder_refused(at("d"), "resize is not a number of pixels", {.resize = 20000}, ErrorCode::usage);
  write("x.csv", "1,0\n");
  expect_folder_refused(at("x.csv"), "crop applies only to folders of images", {.crop = 9}, ErrorCode::usage);
}

TEST_F(ImageFolders, ABadImageIsItsOwnError) {
  write("d/a.png", plain_png(2, 2, 1));
  write("d/b.png", "");
  write("d/c.gif", "GIF89a......");
  write("d/d.jpg", plain_png(2, 2, 4));
  fs::create_symlink("nowhere.png", at("d/e.png"));
  fs::create_symlink("loop.png", at("d/loop.png"));
  write("d/notes.txt", "no image");
  write("d/.hidden.png", "");
  const auto source = open_dataset(at("d")).value();
  EXPECT_EQ(source->count(), 6);
  EXPECT_EQ(source->read(0, 1).index, (Labels{0}));
  EXPECT_EQ(source->read(3, 1).index, (Labels{3})) << "a PNG file that is called .jpg";
  for (const auto& [position, words] : {std::pair{1, "b.png is empty"}, std::pair{2, "c.gif is not a PNG or JPEG image"},
                                        std::pair{4, "e.png cannot be opened"}, std::pair{5, "loop.png cannot be opened"}}) {
    try {
      source->read(position, 1);
      ADD_FAILURE() << position;
    } catch (const Error& error) {
      EXPECT_NE(error.message().find(words), std::string::npos) << error.message();
    }
  }
}

TEST_F(ImageFolders, BadImagesAreSkippedAndListed) {
  write("d/x/a.png", "broken");
  write("d/x/b.png", plain_png(2, 2, 2));
  write("d/y/c.png", plain_png(2, 2, 3).substr(0, 50));
  write("d/y/d.png", plain_png(2, 2, 4));
  write("d/y/e.png", plain_png(3, 2, 5));
  const auto source = open_dataset(at("d"), {.skip_bad = true}).value();
  EXPECT_EQ(source->count(), 5);
  EXPECT_TRUE(source->bad().empty()) << "nothing has been read";
  const PointBlock later = source->read(2, 3);
  EXPECT_EQ(later.index, (Labels{3}));
  EXPECT_EQ(later.labels, (Labels{1}));
  EXPECT_EQ(first_pixels(later.x), (Labels{4}));
  const PointBlock all = source->read(0, 5);
  EXPECT_EQ(all.index, (Labels{1, 3}));
  EXPECT_EQ(all.x.shape, (Shape{2, 1, 2, 2}));
  EXPECT_EQ(source->read(0, 1).x.shape, (Shape{0, 1, 2, 2}));
  const std::vector<BadPoint> bad = source->bad();
  ASSERT_EQ(bad.size(), 3U) << "each is listed once";
  EXPECT_EQ(bad[0].index, 0);
  EXPECT_EQ(bad[0].error.where, at("d/x/a.png"));
  EXPECT_EQ(bad[1].index, 2);
  EXPECT_EQ(bad[2].index, 4);
}

TEST_F(ImageFolders, AtLeastOneImageMustBeReadable) {
  write("d/a.png", "broken");
  write("d/b.png", plain_png(2, 2, 2).substr(0, 50));
  expect_folder_refused(at("d"), "a.png is not a PNG or JPEG image");
  expect_folder_refused(at("d"), "has no readable point", {.skip_bad = true});
}

TEST_F(ImageFolders, OtherFoldersAreRefused) {
  fs::create_directories(at("empty"));
  expect_folder_refused(at("empty"), "is a folder without images");
  write("mixed/a.png", plain_png(1, 1, 1));
  write("mixed/cat/a.png", plain_png(1, 1, 1));
  expect_folder_refused(at("mixed"), "has both folders and images, such as cat and a.png");
  write("deep/train/cat/a.png", plain_png(1, 1, 1));
  expect_folder_refused(at("deep"), "deep/train/cat is a folder inside a class folder");
  pets();
  fs::create_directories(at("pets/eel"));
  expect_folder_refused(at("pets"), "eel has no images");
  fs::remove(at("pets/eel"));
  fs::create_directory_symlink(at("pets"), at("pets/loop"));
  expect_folder_refused(at("pets"), "loop/cat is a folder inside a class folder");
}

TEST_F(ImageFolders, FilesWithoutReadPermissionAreBad) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read every file";
  write("d/a.png", plain_png(1, 1, 1));
  write("d/b.png", plain_png(1, 1, 2));
  fs::permissions(at("d/b.png"), fs::perms::none);
  expect_folder_refused(at("d"), "b.png cannot be opened: Permission denied");
  fs::permissions(at("d"), fs::perms::none);
  expect_folder_refused(at("d"), "d cannot be listed: Permission denied");
  fs::permissions(at("d"), fs::perms::owner_all);
}

// ---- On the command line. ---------------------------------------------------------------------------------------------------

TEST_F(ImageFolders, LogitsLeaveOutBadImagesAndListThem) {
  for (int i = 0; i < 40; ++i) {
    const bool broken = i % 10 < 6;
    write("d/" + std::to_string(100 + i) + ".png", broken ? "broken" : plain_png(40, 32, i));
  }
  const std::string command =
      "logits '" + test::digits("digits.onnx") + "' '" + at("d") + "' --resize 20 --crop 16 -o '" + at("y.npy") + "'";
  const test::Finished refused = test::probust(command);
  EXPECT_EQ(refused.status, 3);
  EXPECT_NE(refused.err.find("d/100.png is not a PNG or JPEG image"), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("or skip unreadable points with --skip-bad"), std::string::npos) << refused.err;
  EXPECT_EQ(refused.err.find(at("d") + ": "), std::string::npos) << "the folder is not named twice: " << refused.err;
  const test::Finished finished = test::probust(command + " --skip-bad --quiet");
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(read_npy(at("y.npy"))->shape, (Shape{16, 10}));
  const std::vector<std::string> lines = test::lines_of(finished.err);
  ASSERT_EQ(lines.size(), 22U) << finished.err;
  EXPECT_EQ(lines[0], "probust: 24 points were left out:");
  EXPECT_EQ(lines[1], "  0 " + at("d/100.png") + " is not a PNG or JPEG image");
  EXPECT_EQ(lines[21], "  and 4 more");
}

}  // namespace
}  // namespace probust
