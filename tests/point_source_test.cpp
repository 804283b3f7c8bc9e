// SPDX-License-Identifier: MIT
// Data read block by block: the same points as if all were read at once, for every kind of file; bad rows; files that change.
#include "datasets/point_source.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <numeric>

#include "datasets/npy.h"
#include "support/command.h"
#include "support/refusal.h"

namespace probust {
namespace {

namespace fs = std::filesystem;
using test::Folder;
using Labels = std::vector<std::int64_t>;

std::string number_text(const std::vector<float>& values) {
  std::string text(values.size() * sizeof(float), '\0');
  std::memcpy(text.data(), values.data(), text.size());
  return text;
}

// A file of 7 points of 2 x 3 values, which count up from 0 in the order of the file.
std::string counting_npy(bool column_major) {
  std::string header = npy_header("<f4", {7, 2, 3});
  if (column_major) header.replace(header.find("False"), 5, "True ");
  std::vector<float> values(42);
  std::iota(values.begin(), values.end(), 0.0F);
  return header + number_text(values);
}

std::string counting_cifar() {
  std::string text;
  for (int i = 0; i < 7; ++i) text += static_cast<char>(i) + std::string(3072, static_cast<char>(10 * i));
  return text;
}

std::string counting_idx() {
  std::string text("\0\0\x08\3\0\0\0\7\0\0\0\1\0\0\0\2", 16);
  for (char i = 0; i < 14; ++i) text += i;
  return text;
}

std::vector<std::string> files_of_seven(const Folder& folder) {
  std::string csv;
  for (int i = 0; i < 7; ++i) csv += std::to_string(i) + ",0.5," + std::to_string(i % 3) + "\n";
  folder.write("t-labels-idx1-ubyte", std::string("\0\0\x08\1\0\0\0\7", 8) + "\1\2\3\4\5\6\7");
  return {folder.write("r.npy", counting_npy(false)), folder.write("c.npy", counting_npy(true)),
          folder.write("c.bin", counting_cifar()), folder.write("t-images-idx3-ubyte", counting_idx()),
          folder.write("t.csv", csv)};
}

TEST(PointSources, BlocksAreThePointsOfTheWhole) {
  const Folder folder;
  for (const std::string& file : files_of_seven(folder)) {
    const Dataset whole = read_dataset(file).value();
    const auto source = open_dataset(file, {.offset = 1, .limit = 5}).value();
    EXPECT_EQ(source->count(), 5) << file;
    EXPECT_EQ(source->offset(), 1) << file;
    EXPECT_EQ(source->point_shape(), Shape(whole.x.shape.begin() + 1, whole.x.shape.end()));
    for (const auto& [first, count] : {std::pair{3, 2}, std::pair{0, 1}, std::pair{1, 4}, std::pair{5, 0}}) {
      const PointBlock block = source->read(first, count);
      EXPECT_EQ(block.x.shape[0], count);
      EXPECT_EQ(block.x.data, rows(whole.x, first + 1, count).data) << file << " from " << first;
      Labels index(static_cast<std::size_t>(count));
      std::iota(index.begin(), index.end(), first + 1);
      EXPECT_EQ(block.index, index);
      if (whole.labels.empty()) continue;
      EXPECT_EQ(block.labels, Labels(whole.labels.begin() + first + 1, whole.labels.begin() + first + 1 + count)) << file;
    }
    EXPECT_EQ(source->labels().empty(), whole.labels.empty());
    for (const auto& [first, count] : {std::pair{-1, 2}, std::pair{4, 2}, std::pair{6, 0}, std::pair{0, -1}})
      test::expect_refusal(ErrorCode::usage, [&, f = first, n = count] { source->read(f, n); });
  }
}

TEST(PointSources, ReportsFilesAndTheRangeOfLabels) {
  const Folder folder;
  const std::string images = files_of_seven(folder)[3];
  const auto source = open_dataset(images, {.offset = 2, .limit = 3}).value();
  EXPECT_EQ(source->files(), (std::vector<std::string>{images, folder / "t-labels-idx1-ubyte"}));
  EXPECT_EQ(source->label_range()->first, 3);
  EXPECT_EQ(source->label_range()->second, 5);
  EXPECT_FALSE(open_dataset(folder / "r.npy").value()->label_range());
}

TEST(PointSources, AFileThatChangesIsAnError) {
  const Folder folder;
  for (const std::string& file : files_of_seven(folder)) {
    if (file.ends_with(".csv")) continue;  // read into memory
    const auto shrunk = open_dataset(file).value();
    const std::string bytes = test::read_whole(file);
    EXPECT_NO_THROW(shrunk->read(0, 7));
    fs::resize_file(file, bytes.size() - 1);
    test::expect_refusal(ErrorCode::unreadable, [&] { shrunk->read(0, 1); });
    folder.write(fs::path(file).filename().string(), bytes);
    const auto rewritten = open_dataset(file).value();
    fs::last_write_time(file, fs::last_write_time(file) + std::chrono::seconds(1));
    test::expect_refusal(ErrorCode::unreadable, [&] { rewritten->read(0, 1); });
    fs::remove(file);
    folder.write(fs::path(file).filename().string(), bytes);
    const auto replaced = open_dataset(file).value();
    fs::remove(file);
    EXPECT_NO_THROW(replaced->read(0, 7)) << "the file that was opened is still there";
  }
}

TEST(PointSources, BadRowsOfATableAreSkipped) {
  const Folder folder;
  const std::string file = folder.write("t.csv", "a,b,class\n1,2,0\n3,x,1\n5,6\n7,8,2\n9,10,1.5\n11,12,\n13,14,1\n");
  const auto strict = open_dataset(file).value();
  EXPECT_EQ(strict->count(), 7);
  EXPECT_EQ(strict->read(0, 1).labels, (Labels{0})) << "a bad row is no error before it is read";
  EXPECT_EQ(strict->read(3, 1).labels, (Labels{2}));
  const char* problems[] = {"",
                            "row 3, column 2 of t.csv is not a number: 'x'",
                            "row 4 of t.csv has 2 cells, but the first row has 3",
                            "",
                            "row 6, column 3 of t.csv is not a whole-number label: '1.5'",
                            "row 7, column 3 of t.csv is an empty label",
                            ""};
  for (std::int64_t i = 0; i < 7; ++i) {
    if (problems[i][0] == '\0') continue;
    try {
      strict->read(i, 1);
      ADD_FAILURE() << i;
    } catch (const Error& error) {
      std::string message = error.message();
      message.erase(message.find(file), file.size() - std::string("t.csv").size());
      EXPECT_NE(message.find(problems[i]), std::string::npos) << message;
    }
  }
  const Dataset data = read_dataset(file, {.skip_bad = true}).value();
  EXPECT_EQ(data.x.data, (std::vector<float>{1, 2, 7, 8, 13, 14}));
  EXPECT_EQ(data.labels, (Labels{0, 2, 1}));
  EXPECT_EQ(data.index, (Labels{0, 3, 6}));
  ASSERT_EQ(data.bad.size(), 4U);
  EXPECT_EQ(data.bad[3].index, 5);
  const Dataset later = read_dataset(file, {.offset = 2, .skip_bad = true}).value();
  EXPECT_EQ(later.index, (Labels{3, 6})) << "positions stay those of the file";
  EXPECT_EQ(later.labels, (Labels{2, 1}));
  const auto source = open_dataset(file, {.skip_bad = true}).value();
  EXPECT_EQ(source->labels()[1], PointSource::kNoLabel);
  EXPECT_EQ(source->labels()[5], PointSource::kNoLabel);
  EXPECT_EQ(source->label_range()->second, 2);
}

TEST(PointSources, TextLabelsOfBadRowsAreNotNumbered) {
  const Folder folder;
  const std::string file = folder.write("t.csv", "1,2,b\n3,x,a\n5,6,c\n");
  const Dataset data = read_dataset(file, {.skip_bad = true}).value();
  EXPECT_EQ(data.labels, (Labels{0, 1}));
  EXPECT_EQ(data.class_names, (std::vector<std::string>{"b", "c"}));
}

TEST(PointSources, NumbersThatAreNotPointsMustAllBeRead) {
  const Folder folder;
  const auto numbers = read_numbers(folder.write("t.csv", "1,2\n3\n"));
  ASSERT_FALSE(numbers);
  EXPECT_NE(numbers.error().message().find("row 2 of "), std::string::npos);
}

// The table is longer than the part that is in memory at once, and has quoted line ends at every position in that part.
TEST(PointSources, LongTablesAreReadInParts) {
  const Folder folder;
  std::string text;
  constexpr int kRows = 150000;
  for (int i = 0; i < kRows; ++i)
    text += std::to_string(i) + (i % 3 == 0 ? ",\"1\",\"a\n\"\"" : ",1,\"a\n\"\"") + std::string(i % 5, 'b') + "\"\r\n";
  ASSERT_GT(text.size(), std::size_t{2} << 20);
  const Dataset data = read_dataset(folder.write("t.csv", text)).value();
  ASSERT_EQ(data.x.shape, (Shape{kRows, 2}));
  for (int i = 0; i < kRows; ++i) {
    ASSERT_EQ(data.x.row(i)[0], static_cast<float>(i));
    ASSERT_EQ(data.labels[static_cast<std::size_t>(i)], i % 5);
  }
  EXPECT_EQ(data.class_names[2], "a\n\"bb");
  const std::string one_cell = "1,2,\"" + std::string(std::size_t{5} << 20, 'a') + "\"\n3,4,b\n";
  EXPECT_EQ(read_dataset(folder.write("t.csv", one_cell))->labels, (Labels{0, 1})) << "a cell of several parts";
  const auto refused = read_dataset(folder.write("t.csv", text + "1,2,\"a"));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("has a quote that is never closed"), std::string::npos) << refused.error().message();
  EXPECT_FALSE(read_dataset(folder.write("t.csv", text + std::string("1,2,\0\n", 6)))) << "control characters in a later part";
}

}  // namespace
}  // namespace probust
