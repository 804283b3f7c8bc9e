// SPDX-License-Identifier: MIT
// Data files: well-formed files are read correctly, and all others result in an Error.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <numeric>
#include <random>

#include "datasets/dataset.h"
#include "datasets/fetch/iris.h"
#include "datasets/npy.h"
#include "support/gzip.h"

namespace probust {
namespace {

namespace fs = std::filesystem;

class Datasets : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "probust-datasets-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string at(const std::string& name) const { return (folder_ / name).string(); }

  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(at(name), std::ios::binary) << bytes;
    return at(name);
  }

  fs::path folder_;
};

// ---- Writing test files. --------------------------------------------------------------------------------------------------

std::string little(std::uint64_t value, int width) {
  std::string text;
  for (int i = 0; i < width; ++i) text += static_cast<char>(value >> 8 * i & 0xff);
  return text;
}

std::string big(std::uint64_t value, int width) {
  std::string text = little(value, width);
  return {text.rbegin(), text.rend()};
}

template <class T>
std::string raw(const std::vector<T>& values, bool swapped = false) {
  std::string text;
  for (const T value : values) {
    std::string bytes(sizeof(T), '\0');
    std::memcpy(bytes.data(), &value, sizeof(T));
    text += swapped ? std::string(bytes.rbegin(), bytes.rend()) : bytes;
  }
  return text;
}

std::string npy(const std::string& descr, const std::string& shape, const std::string& values, bool fortran = false,
                int version = 1) {
  const std::string order = fortran ? "True" : "False";
  const std::string text = "{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
  return std::string("\x93NUMPY") + static_cast<char>(version) + '\0' + little(text.size(), version == 1 ? 2 : 4) + text + values;
}

using test::gzip;
using test::packed;

struct Member {
  std::string name, bytes;
  bool deflated = false;
  bool large = false;  // sizes in the 64-bit extension
};

std::string zip(const std::vector<Member>& members) {
  std::string file, directory;
  for (const Member& member : members) {
    const std::string body = member.deflated ? packed(member.bytes, -15) : member.bytes;
    const auto checksum = crc32(0, reinterpret_cast<const Bytef*>(member.bytes.data()), static_cast<uInt>(member.bytes.size()));
    const std::string extra =
        member.large ? little(1, 2) + little(16, 2) + little(member.bytes.size(), 8) + little(body.size(), 8) : "";
    const std::string sizes =
        member.large ? little(0xffffffff, 4) + little(0xffffffff, 4) : little(body.size(), 4) + little(member.bytes.size(), 4);
    const std::string common = little(0, 2) + little(member.deflated ? 8 : 0, 2) + little(0, 4) + little(checksum, 4) + sizes +
                               little(member.name.size(), 2) + little(extra.size(), 2);
    directory += "PK\x01\x02" + little(20, 2) + little(20, 2) + common + little(0, 2) + little(0, 2) + little(0, 2) +
                 little(0, 4) + little(file.size(), 4) + member.name + extra;
    file += "PK\x03\x04" + little(20, 2) + common + member.name + extra + body;
  }
  const std::string end = "PK\x05\x06" + little(0, 4) + little(members.size(), 2) + little(members.size(), 2) +
                          little(directory.size(), 4) + little(file.size(), 4) + little(0, 2);
  return file + directory + end;
}

std::string idx(int type, const std::vector<std::uint32_t>& shape, const std::string& values) {
  std::string text = {'\0', '\0', static_cast<char>(type), static_cast<char>(shape.size())};
  for (const std::uint32_t extent : shape) text += big(extent, 4);
  return text + values;
}

// Bytes 0, 1, 2, ... (modulo 251).
std::string counting(std::size_t count) {
  std::string text(count, '\0');
  for (std::size_t i = 0; i < count; ++i) text[i] = static_cast<char>(i % 251);
  return text;
}

std::string cifar(const std::vector<int>& labels, bool hundred = false) {
  std::string text;
  for (const int label : labels) text += (hundred ? std::string(1, '\7') : "") + static_cast<char>(label) + counting(3072);
  return text;
}

// ---- Expectations. --------------------------------------------------------------------------------------------------------

// A message in which the paths of files are replaced with their names.
std::string with_names(std::string message, const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string() + "/";
  for (std::size_t begin; (begin = message.find(folder)) != std::string::npos;) message.erase(begin, folder.size());
  return message;
}

void expect_refused(const std::string& path, const std::string& words, const DatasetOptions& options = {},
                    ErrorCode code = ErrorCode::unreadable) {
  const Result<Dataset> result = read_dataset(path, options);
  ASSERT_FALSE(result) << path << " was read, shape " << to_string(result->x.shape);
  EXPECT_EQ(result.error().code, code) << result.error().message();
  EXPECT_NE(with_names(result.error().message(), path).find(words), std::string::npos) << result.error().message();
  EXPECT_EQ(result.error().message().find('\n'), std::string::npos);
}

Dataset read(const std::string& path, const DatasetOptions& options = {}) {
  Result<Dataset> result = read_dataset(path, options);
  if (!result) ADD_FAILURE() << result.error().message();
  return result ? std::move(result).value() : Dataset{};
}

using Labels = std::vector<std::int64_t>;
using Names = std::vector<std::string>;
using Values = std::vector<float>;

// ---- .npy ----------------------------------------------------------------------------------------------------------------

template <class T>
void expect_read_back(const std::string& path, const std::string& code, const std::vector<T>& values) {
  const Values expected(values.begin(), values.end());
  const std::string shape = "(" + std::to_string(values.size()) + ",)";
  for (const bool swapped : {false, true}) {
    std::ofstream(path, std::ios::binary) << npy("'" + std::string(swapped ? ">" : "<") + code + "'", shape,
                                                 raw(values, swapped));
    const Result<Tensor> tensor = read_npy(path);
    ASSERT_TRUE(tensor) << tensor.error().message();
    EXPECT_EQ(tensor->data, expected) << code << (swapped ? " big-endian" : " little-endian");
  }
}

// The known means of this version of the table.
TEST(Iris, HasFiftyFlowersOfEachSpecies) {
  const Dataset flowers = iris();
  ASSERT_EQ(flowers.x.shape, (Shape{150, 4}));
  const std::vector<std::vector<double>> means = {
      {5.006, 3.418, 1.464, 0.244}, {5.936, 2.770, 4.260, 1.326}, {6.588, 2.974, 5.552, 2.026}};
  std::vector<std::vector<double>> found(3, std::vector<double>(4, 0.0));
  for (std::int64_t i = 0; i < 150; ++i) {
    for (std::size_t e = 0; e < 4; ++e) found[static_cast<std::size_t>(flowers.labels[i])][e] += flowers.x.row(i)[e] / 50.0;
    EXPECT_EQ(flowers.index[i], i);
  }
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::size_t e = 0; e < 4; ++e) EXPECT_NEAR(found[c][e], means[c][e], 1e-6) << c << " " << e;
  }
  EXPECT_EQ(flowers.class_names, (std::vector<std::string>{"setosa", "versicolor", "virginica"}));
}

TEST_F(Datasets, NpyReadsEveryNumberTypeInBothByteOrders) {
  const std::string path = at("x.npy");
  expect_read_back<std::uint8_t>(path, "u1", {0, 1, 255});
  expect_read_back<std::int8_t>(path, "i1", {-128, 0, 127});
  expect_read_back<std::uint16_t>(path, "u2", {0, 258, 65535});
  expect_read_back<std::int16_t>(path, "i2", {-32768, 258, 32767});
  expect_read_back<std::uint32_t>(path, "u4", {0, 66051, 1U << 31});
  expect_read_back<std::int32_t>(path, "i4", {-66051, 0, 1 << 30});
  expect_read_back<std::uint64_t>(path, "u8", {0, 66051, std::uint64_t{1} << 63});
  expect_read_back<std::int64_t>(path, "i8", {-66051, 0, std::int64_t{1} << 62});
  expect_read_back<float>(path, "f4", {-1.5F, 0.1F, std::numeric_limits<float>::infinity()});
  expect_read_back<double>(path, "f8", {-1.5, 0.1, 1e-300});
}

TEST_F(Datasets, NpyReadsHalfPrecision) {
  const std::vector<std::uint16_t> bits{0x3c00, 0xc000, 0x0001, 0x7bff, 0x7c00, 0x8000, 0x3555};
  const Values expected{1, -2, 0x1p-24F, 65504, std::numeric_limits<float>::infinity(), -0.0F, 0.333251953125F};
  const Result<Tensor> tensor = read_npy(write("x.npy", npy("'<f2'", "(7,)", raw(bits))));
  ASSERT_TRUE(tensor) << tensor.error().message();
  EXPECT_EQ(tensor->data, expected);
  EXPECT_TRUE(std::signbit(tensor->data[5]));
  EXPECT_TRUE(std::isnan(read_npy(write("n.npy", npy("'<f2'", "()", raw<std::uint16_t>({0x7e00}))))->data[0]));
}

TEST_F(Datasets, NpyReadsFortranOrder) {
  // The element at (i, j, k) is 100 i + 10 j + k. In Fortran order, i varies fastest.
  Values rows, columns;
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 4; ++k) rows.push_back(static_cast<float>(100 * i + 10 * j + k));
  for (int k = 0; k < 4; ++k)
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 2; ++i) columns.push_back(static_cast<float>(100 * i + 10 * j + k));
  const std::string path = write("x.npy", npy("'<f4'", "(2, 3, 4)", raw(columns), true));
  EXPECT_EQ(read(path).x.data, rows);
  EXPECT_EQ(read(path).x.shape, (Shape{2, 3, 4}));
  EXPECT_EQ(read(path, {.offset = 1}).x.data, Values(rows.begin() + 12, rows.end()));
}

TEST_F(Datasets, NpyReadsVersionsOneToThree) {
  for (const int version : {1, 2, 3}) {
    const std::string path = write("x.npy", npy("'<f4'", "(2, 1)", raw<float>({5, 6}), false, version));
    EXPECT_EQ(read(path).x.data, (Values{5, 6})) << version;
  }
  expect_refused(write("x.npy", npy("'<f4'", "(2, 1)", raw<float>({5, 6}), false, 4)), "version 4");
}

TEST_F(Datasets, NpyHeaderMayBeWrittenInOtherWays) {
  const std::string text = "{\"shape\":(2L,1L),\"descr\":\"|u1\",\"fortran_order\":False}";
  const std::string file = std::string("\x93NUMPY\x01\0", 8) + little(text.size(), 2) + text + "\x03\x04";
  EXPECT_EQ(read_npy(write("x.npy", file))->data, (Values{3, 4}));
}

TEST_F(Datasets, NpyOfOtherThingsIsRefused) {
  const std::string four = raw<float>({1, 2, 3, 4});
  expect_refused(write("x.npy", npy("'|O'", "(4,)", four)), "'|O'");
  expect_refused(write("x.npy", npy("'<c8'", "(2,)", four)), "'<c8'");
  expect_refused(write("x.npy", npy("'|b1'", "(16,)", four)), "'|b1'");
  expect_refused(write("x.npy", npy("'<f1'", "(16,)", four)), "'<f1'");
  expect_refused(write("x.npy", npy("'<U4'", "(1,)", four)), "'<U4'");
  expect_refused(write("x.npy", npy("[('a', '<f4')]", "(4,)", four)), "records");
  expect_refused(write("x.npy", npy("'<f4'", "(4)x", four)), "damaged .npy header");
  expect_refused(write("x.npy", npy("'<f4'", "(-4,)", four)), "invalid shape");
  expect_refused(write("x.npy", npy("'<f4'", "(4, 9999999999999999999)", four)), "whole numbers");
  expect_refused(write("x.npy", "hello, world\n"), "not a .npy file");
  const std::string keyless = "{'descr': '<f4', 'shape': (1, 1), }";
  expect_refused(write("x.npy", std::string("\x93NUMPY\x01\0", 8) + little(keyless.size(), 2) + keyless + "abcd"), "three keys");
}

TEST_F(Datasets, NpySizeMustMatchItsShape) {
  const std::string header = npy("'<f4'", "(3, 2)", "");
  const std::string sizes =
      "it has " + std::to_string(header.size() + 20) + " bytes, but its shape [3, 2] needs " + std::to_string(header.size() + 24);
  expect_refused(write("x.npy", header + std::string(20, 'a')), "truncated: " + sizes);
  expect_refused(write("x.npy", header + std::string(28, 'a')), "too long");
}

TEST_F(Datasets, HugeDeclaredArraysTakeNoMemory) {
  expect_refused(write("x.npy", npy("'<f4'", "(25000000000, 1)", "abcd")), "truncated");
  expect_refused(write("x.npy", npy("'<f8'", "(4611686018427387904, 4611686018427387904)", "abcd")), "invalid shape");
  expect_refused(write("x.npy", npy("'<f8'", "(0, 4611686018427387904, 9)", "")), "invalid shape");
  expect_refused(write("x-idx3-ubyte", idx(8, {0xffffffff, 0xffff, 0xff}, "abcd")), "truncated");
  expect_refused(write("x-idx3-ubyte.gz", gzip(idx(8, {0xffffffff, 0xffff, 0xff}, "abcd"))), "cannot hold");
  const std::string x = npy("'<f4'", "(1, 1)", raw<float>({1}));
  std::string archive = zip({{"x.npy", x, true}});
  const std::size_t entry = archive.find("PK\x01\x02");
  archive.replace(entry + 24, 4, little(0xfffffff0, 4));
  expect_refused(write("x.npz", archive), "cannot hold");
}

TEST_F(Datasets, NpyWithoutRowsOrAxesIsRejected) {
  expect_refused(write("x.npy", npy("'<f4'", "(0, 3)", "")), "no rows");
  expect_refused(write("x.npy", npy("'<f4'", "(3, 0)", "")), "points without values");
  expect_refused(write("x.npy", npy("'<f4'", "()", raw<float>({1}))), "single number");
}

TEST_F(Datasets, BytesAreDividedBy255AsFloat32) {
  const Dataset data = read(write("x.npy", npy("'|u1'", "(256, 1)", [] {
                                    std::string all(256, '\0');
                                    std::iota(all.begin(), all.end(), '\0');
                                    return all;
                                  }())));
  for (int v = 0; v < 256; ++v) EXPECT_EQ(data.x.data[static_cast<std::size_t>(v)], static_cast<float>(v) / 255.0F) << v;
}

TEST_F(Datasets, ScaleReplacesTheDefault) {
  const std::string bytes = write("b.npy", npy("'|u1'", "(2, 1)", "\x02\x03"));
  EXPECT_EQ(read(bytes, {.scale = 0.5}).x.data, (Values{1, 1.5}));
  EXPECT_EQ(read(bytes, {.scale = 1.0}).x.data, (Values{2, 3}));
  const std::string floats = write("f.npy", npy("'<f4'", "(2, 1)", raw<float>({2, 3})));
  EXPECT_EQ(read(floats).x.data, (Values{2, 3}));
  EXPECT_EQ(read(floats, {.scale = 10.0}).x.data, (Values{20, 30}));
  expect_refused(floats, "scale", {.scale = 0.0}, ErrorCode::usage);
  expect_refused(floats, "scale", {.scale = std::nan("")}, ErrorCode::usage);
}

TEST_F(Datasets, OffsetAndLimitTakeRowsWithTheirLabels) {
  const std::string path = write("x.csv", "1,0\n2,1\n3,2\n4,3\n");
  const Dataset middle = read(path, {.offset = 1, .limit = 2});
  EXPECT_EQ(middle.x.data, (Values{2, 3}));
  EXPECT_EQ(middle.labels, (Labels{1, 2}));
  EXPECT_EQ(read(path, {.offset = 3, .limit = 100}).labels, (Labels{3}));
  expect_refused(path, "has 4 rows, but offset is 4", {.offset = 4});
  expect_refused(path, "offset", {.offset = -1}, ErrorCode::usage);
  expect_refused(path, "limit", {.limit = 0}, ErrorCode::usage);
}

// ---- Writing .npy ---------------------------------------------------------------------------------------------------------

TEST_F(Datasets, NpyWriterIsReadBack) {
  const Tensor tensor({2, 3}, {1, 2, 3, -4, 0.1F, std::numeric_limits<float>::infinity()});
  write_npy(at("x.npy"), tensor);
  EXPECT_EQ(read_npy(at("x.npy"))->data, tensor.data);
  EXPECT_EQ(read_npy(at("x.npy"))->shape, tensor.shape);
  write_npy(at("d.npy"), {3}, std::vector<double>{1, 2, 0.25});
  EXPECT_EQ(read_npy(at("d.npy"))->data, (Values{1, 2, 0.25}));
  write_npy(at("s.npy"), Tensor::scalar(7));
  EXPECT_EQ(read_npy(at("s.npy"))->shape, Shape{});
}

TEST_F(Datasets, NpyHeaderIsWhatNumpyWrites) {
  write_npy(at("x.npy"), Tensor({2, 3}));
  std::ifstream file(at("x.npy"), std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  ASSERT_EQ(bytes.size(), 128 + 24U);
  const std::string text = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  EXPECT_EQ(bytes.substr(0, 10), std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  EXPECT_EQ(bytes.substr(10, 118), text + std::string(117 - text.size(), ' ') + "\n");
}

TEST_F(Datasets, NpyWriterTakesRowsPieceByPiece) {
  NpyWriter writer(at("x.npy"), {3, 2});
  writer.append(Values{1, 2, 3});
  EXPECT_FALSE(fs::exists(at("x.npy"))) << "an incomplete file must not carry its name";
  writer.append(Values{});
  EXPECT_THROW(writer.close(), Error) << "values are missing";
  writer.append(Values{4, 5, 6});
  EXPECT_THROW(writer.append(Values{7}), Error);
  writer.close();
  EXPECT_EQ(read_npy(at("x.npy"))->data, (Values{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1) << "no partial file stays";
}

TEST_F(Datasets, AbandonedNpyWriterKeepsTheOldFile) {
  write_npy(at("x.npy"), Tensor::scalar(1));
  {
    NpyWriter writer(at("x.npy"), {2});
    writer.append(Values{5});
  }
  EXPECT_EQ(read_npy(at("x.npy"))->data, (Values{1}));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
}

TEST_F(Datasets, NpyWriterReportsWhyItCannotWrite) {
  const auto code_of = [](const std::string& path) {
    try {
      write_npy(path, Tensor({100000}));
    } catch (const Error& error) {
      return error.code;
    }
    return ErrorCode::numerical;
  };
  EXPECT_EQ(code_of(at("missing/x.npy")), ErrorCode::resources);
  EXPECT_EQ(code_of(folder_.string()), ErrorCode::resources);
  EXPECT_EQ(code_of("/dev/full"), ErrorCode::resources);
  write_npy("/dev/null", Tensor({2}));
  EXPECT_TRUE(fs::is_character_file("/dev/null")) << "a device is written to, never replaced";
}

// ---- .npz -----------------------------------------------------------------------------------------------------------------

const std::string kPoints = npy("'<f4'", "(2, 2)", raw<float>({1, 2, 3, 4}));
const std::string kLabels = npy("'<i8'", "(2,)", raw<std::int64_t>({7, 8}));

TEST_F(Datasets, NpzGivesPointsAndLabels) {
  for (const bool deflated : {false, true}) {
    for (const bool large : {false, true}) {
      const Dataset data = read(write("d.npz", zip({{"y.npy", kLabels, deflated, large}, {"x.npy", kPoints, deflated, large}})));
      EXPECT_EQ(data.x.shape, (Shape{2, 2}));
      EXPECT_EQ(data.x.data, (Values{1, 2, 3, 4}));
      EXPECT_EQ(data.labels, (Labels{7, 8}));
    }
  }
  EXPECT_TRUE(read(write("x.npz", zip({{"x.npy", kPoints}}))).labels.empty());
  EXPECT_EQ(read(write("d.npz", zip({{"x.npy", kPoints}, {"labels.npy", kLabels}}))).labels,
            read(write("d.npz", zip({{"x.npy", kPoints}, {"y.npy", kLabels}}))).labels);
  EXPECT_TRUE(read(write("d.npz", zip({{"x.npy", kPoints}, {"z.npy", kLabels}}))).labels.empty());
}

TEST_F(Datasets, NpzIsRecognisedByContent) { EXPECT_EQ(read(write("d.dat", zip({{"x.npy", kPoints}}))).x.shape, (Shape{2, 2})); }

TEST_F(Datasets, NpzLabelsMayBeWholeFloats) {
  const std::string y = npy("'<f8'", "(2, 1)", raw<double>({3, 0}));
  EXPECT_EQ(read(write("d.npz", zip({{"x.npy", kPoints}, {"y.npy", y}}))).labels, (Labels{3, 0}));
  const std::string half = npy("'<f8'", "(2,)", raw<double>({3, 0.5}));
  expect_refused(write("d.npz", zip({{"x.npy", kPoints}, {"y.npy", half}})), "label 1 of array y of d.npz is not a whole number");
  const std::string one_hot = npy("'<f8'", "(2, 2)", raw<double>({1, 0, 0, 1}));
  expect_refused(write("d.npz", zip({{"x.npy", kPoints}, {"y.npy", one_hot}})), "but labels have shape [N]");
}

TEST_F(Datasets, NpzThatIsDamagedIsRefused) {
  expect_refused(write("d.npz", zip({{"data.npy", kPoints}})), "no array x (it has data.npy)");
  expect_refused(write("d.npz", zip({})), "no array x");
  const std::string three = npy("'<i8'", "(3,)", raw<std::int64_t>({7, 8, 9}));
  expect_refused(write("d.npz", zip({{"x.npy", kPoints}, {"y.npy", three}})), "has 3 labels for 2 points");
  std::string changed = zip({{"x.npy", kPoints}});
  changed[changed.find(raw<float>({4}))] ^= 1;
  expect_refused(write("d.npz", changed), "checksum");
  std::string resized = zip({{"x.npy", kPoints}});
  resized[resized.find("PK\x01\x02") + 24] ^= 1;
  expect_refused(write("d.npz", resized), "two different sizes for member x.npy");
  std::string encrypted = zip({{"x.npy", kPoints}});
  encrypted[encrypted.find("PK\x01\x02") + 8] = 1;
  expect_refused(write("d.npz", encrypted), "encrypted");
  std::string unknown = zip({{"x.npy", kPoints}});
  unknown[unknown.find("PK\x01\x02") + 10] = 12;
  expect_refused(write("d.npz", unknown), "method 12");
}

// ---- IDX ------------------------------------------------------------------------------------------------------------------

TEST_F(Datasets, IdxImagesFindTheLabelsNextToThem) {
  const std::string images = idx(8, {2, 2, 3}, counting(12)), labels = idx(8, {2}, "\x05\x09");
  write("t-labels-idx1-ubyte", labels);
  for (const std::string& path : {write("t-images-idx3-ubyte", images), write("t-images-idx3-ubyte.gz", gzip(images))}) {
    const Dataset data = read(path);
    EXPECT_EQ(data.x.shape, (Shape{2, 1, 2, 3}));
    EXPECT_EQ(data.x.data[7], 7.0F / 255.0F);
    EXPECT_EQ(data.labels, (Labels{5, 9})) << path;
  }
  EXPECT_TRUE(read(write("u-images-idx3-ubyte", images)).labels.empty());
  write("u-labels-idx1-ubyte.gz", gzip(labels));
  EXPECT_EQ(read(at("u-images-idx3-ubyte")).labels, (Labels{5, 9})) << "packed labels next to plain images";
  expect_refused(at("t-labels-idx1-ubyte"), "like a file of labels");
  write("t-labels-idx1-ubyte", idx(8, {3}, "\x05\x09\x01"));
  expect_refused(at("t-images-idx3-ubyte"), "has 3 labels for 2 points");
}

TEST_F(Datasets, IdxReadsOtherTypesAndRanks) {
  EXPECT_EQ(read(write("a.idx", idx(0x0b, {2, 2}, raw<std::int16_t>({1, -2, 3, 4}, true)))).x.data, (Values{1, -2, 3, 4}));
  EXPECT_EQ(read(write("a.idx", idx(0x0d, {1, 2}, raw<float>({0.5F, -2}, true)))).x.data, (Values{0.5F, -2}));
  EXPECT_EQ(read(write("a.idx", idx(0x0e, {1, 1, 1, 2}, raw<double>({0.5, -2}, true)))).x.shape, (Shape{1, 1, 1, 2}));
  expect_refused(write("a.idx", idx(0x0a, {1}, "a")), "not an IDX file");
  expect_refused(write("a-idx3-ubyte", idx(8, {0, 2, 2}, "")), "no rows");
}

TEST_F(Datasets, GzipIsUnpackedNoFurtherThanItsHeaderDeclares) {
  const std::string bomb = gzip(idx(8, {2, 1, 1}, std::string(50 << 20, '\0')));
  ASSERT_LT(bomb.size(), 100000U);
  expect_refused(write("b-idx3-ubyte.gz", bomb), "unpacks to more than the 18 bytes");
  expect_refused(write("s-idx3-ubyte.gz", gzip(idx(8, {2, 1, 1}, "a"))), "unpacks to 17 bytes instead of 18");
  std::string damaged = gzip(idx(8, {2, 2, 3}, counting(12)));
  damaged[damaged.size() - 6] ^= 1;
  expect_refused(write("d-idx3-ubyte.gz", damaged), "damaged");
  expect_refused(write("t.csv.gz", gzip("1,2\n3,4\n")), "not an IDX file");
}

TEST_F(Datasets, GzipMayComeInSeveralMembers) {
  const std::string images = idx(8, {2, 2, 3}, counting(12));
  const std::string halves = gzip(images.substr(0, 9)) + gzip(images.substr(9));
  EXPECT_EQ(read(write("t-images-idx3-ubyte.gz", halves)).x.data, read(write("t-images-idx3-ubyte", images)).x.data);
}

// ---- CIFAR ----------------------------------------------------------------------------------------------------------------

TEST_F(Datasets, CifarRowsAreALabelAndThreePlanes) {
  const Dataset data = read(write("c.bin", cifar({3, 9})));
  EXPECT_EQ(data.x.shape, (Shape{2, 3, 32, 32}));
  EXPECT_EQ(data.labels, (Labels{3, 9}));
  for (std::size_t i = 0; i < 6144; ++i) ASSERT_EQ(data.x.data[i], static_cast<float>(i % 3072 % 251) / 255.0F) << i;
}

TEST_F(Datasets, Cifar100TakesTheFineLabel) {
  const std::string path = write("c.bin", cifar({42, 99}, true));
  EXPECT_EQ(read(path, {.cifar100 = true}).labels, (Labels{42, 99}));
  EXPECT_EQ(read(path, {.cifar100 = true}).x.data[1], 1.0F / 255.0F);
  expect_refused(path, "give cifar100");
  expect_refused(write("d.bin", cifar({1})), "leave out cifar100", {.cifar100 = true});
}

TEST_F(Datasets, CifarLabelsAreChecked) {
  expect_refused(write("c.bin", cifar({3, 10})), "row 1 has label 10, which is above 9");
  expect_refused(write("t.bin", std::string(3073, 'a')), "label 97");
  expect_refused(write("c.bin", cifar({3}) + "x"), "2 CIFAR rows of 3073 need 6146");
}

TEST_F(Datasets, CifarThatStartsLikeIdxIsStillCifar) {
  std::string file = cifar({0});
  file.replace(1, 15, std::string("\0\x08\x03\0\0\1\0\0\0\1\0\0\0\1\0", 15));  // bytes, [256, 256, 256]
  EXPECT_EQ(read(write("c.bin", file)).x.shape, (Shape{1, 3, 32, 32}));
}

// ---- CSV ------------------------------------------------------------------------------------------------------------------

TEST_F(Datasets, CsvNumbersTextLabelsInSortedOrder) {
  const Dataset data = read(write("i.csv", "5.1,3.5,virginica\n4.9,3,setosa\n4.7,3.2,virginica\n"));
  EXPECT_EQ(data.x.shape, (Shape{3, 2}));
  EXPECT_EQ(data.x.data, (Values{5.1F, 3.5F, 4.9F, 3.0F, 4.7F, 3.2F}));
  EXPECT_EQ(data.labels, (Labels{1, 0, 1}));
  EXPECT_EQ(data.class_names, (Names{"setosa", "virginica"}));
  EXPECT_EQ(data.label_mapping, "text labels are numbered in sorted order: setosa = 0, virginica = 1");
  EXPECT_EQ(data.notes, (Names{data.label_mapping}));
}

TEST_F(Datasets, ManyTextLabelsGiveAShortMapping) {
  std::string text;
  for (char c = 'z'; c >= 'a'; --c) text += std::string("1,") + c + "\n";
  EXPECT_EQ(read(write("i.csv", text)).label_mapping,
            "text labels are numbered in sorted order: a = 0, b = 1, c = 2, d = 3, e = 4, f = 5, ...");
}

TEST_F(Datasets, TextLabelsAreMatchedWithGivenClasses) {
  const std::string path = write("i.csv", "1,2,Cat\n3,4,dog\n5,6,cat\n");
  const Dataset data = read(path, {.classes = {"dog", "fox", " CAT "}});
  EXPECT_EQ(data.labels, (Labels{2, 0, 2}));
  EXPECT_EQ(data.class_names, (Names{"dog", "fox", " CAT "}));
  EXPECT_NE(data.label_mapping.find("matched with the class names of"), std::string::npos) << data.label_mapping;
  expect_refused(path, "i.csv has the label 'dog', which is not a class name of classes; the nearest name is 'dogs'",
                 {.classes = {"cat", "dogs", "frog"}});
  const std::string twins = write("j.csv", "1,crane\n2,gull\n");
  expect_refused(twins, "classes 0 and 2 of classes both have this name", {.classes = {"crane", "gull", "crane"}});
}

TEST_F(Datasets, AnExactNameIsPreferredToOneInOtherCase) {
  EXPECT_EQ(read(write("i.csv", "1,b\n2,B\n"), {.classes = {"B", "b"}}).labels, (Labels{1, 0}));
}

TEST_F(Datasets, TextLabelsAreMatchedWithTheModelsClasses) {
  const std::string path = write("i.csv", "1,2,cat\n3,4,dog\n");
  EXPECT_EQ(read(path, {.known_classes = {"fox", "dog", "cat"}}).labels, (Labels{2, 1}));
  expect_refused(path, "has the label 'dog', which is not a class name of the model; the nearest name is 'dodo'",
                 {.known_classes = {"cat", "dodo"}});
  const Dataset other = read(path, {.known_classes = {"a", "b", "c"}});
  EXPECT_EQ(other.labels, (Labels{0, 1})) << "no name is known";
  EXPECT_NE(other.label_mapping.find("none is a class name of the model, for example 'a'"), std::string::npos);
  EXPECT_EQ(read(path, {.classes = {"dog", "cat"}, .known_classes = {"cat", "dog"}}).labels, (Labels{1, 0}))
      << "given ones first";
}

TEST_F(Datasets, NumbersAreMatchedWithClassNamesThatAreNumbers) {
  const std::string path = write("i.csv", "1,2,3\n3,4,8\n");
  EXPECT_EQ(read(path, {.known_classes = {"3", "8"}}).labels, (Labels{0, 1})) << "keys of a ZipMap";
  EXPECT_EQ(read(path, {.known_classes = {"3", "9"}}).labels, (Labels{3, 8})) << "8 is not among them";
  EXPECT_EQ(read(path, {.classes = {"8", "03"}}).labels, (Labels{1, 0}));
  expect_refused(path, "the label '8', which is not a class name of classes", {.classes = {"3", "9"}});
  const Names digits{"0", "1", "2", "3", "4", "5", "6", "7", "8"};
  const Dataset same = read(path, {.classes = digits});
  EXPECT_EQ(same.labels, (Labels{3, 8}));
  EXPECT_EQ(same.label_mapping, "");
  EXPECT_EQ(read(path, {.classes = {"cat", "dog"}}).labels, (Labels{3, 8})) << "names only name the classes";
  const std::string array = write("l.npy", npy("'|u1'", "(2,)", "\x03\x08"));
  EXPECT_EQ(read(path, {.labels_path = array, .known_classes = {"3", "8"}}).labels, (Labels{0, 1}));
}

// The labels used for support vector machines, in any file.
TEST_F(Datasets, LabelsMinusOneAndOneAreTwoClasses) {
  const std::string signs = little(static_cast<std::uint64_t>(-1), 8) + little(1, 8);
  const std::string both = write("b.npz", zip({{"x.npy", kPoints}, {"y.npy", npy("'<i8'", "(2,)", signs)}}));
  const std::string table = write("i.csv", "1,2,-1\n3,4,1\n"), lines = write("l.txt", "-1\n+1\n");
  for (const Dataset& data : {read(both), read(table), read(table, {.labels_path = lines}), read(table, {.classes = {"a", "b"}}),
                              read(table, {.known_classes = {"0", "1"}})}) {
    EXPECT_EQ(data.labels, (Labels{0, 1}));
    EXPECT_EQ(data.label_mapping, "labels -1 and 1 are read as classes 0 and 1");
  }
  EXPECT_EQ(read(table, {.known_classes = {"1", "-1"}}).labels, (Labels{1, 0})) << "the names say so";
  EXPECT_EQ(read(write("n.csv", "1,2,-1\n3,4,0\n")).labels, (Labels{-1, 0})) << "may be no label";
}

TEST_F(Datasets, AnEmptyTextLabelIsABadRow) {
  const std::string path = write("i.csv", "1,2,b\n3,4,\n5,6,a\n");
  expect_refused(path, "row 2, column 3 of i.csv is an empty label");
  EXPECT_EQ(read(path, {.skip_bad = true}).labels, (Labels{1, 0}));
}

TEST_F(Datasets, NpyLabelsMayBeTexts) {
  const std::string points = write("d.npz", zip({{"x.npy", kPoints}}));
  const auto utf32 = [](const std::u32string& text, bool swapped) {
    std::string bytes;
    for (const char32_t c : text) bytes += swapped ? big(c, 4) : little(c, 4);
    return bytes;
  };
  const std::u32string two{U'f', U'o', U'x', U'd', U'\u00f6', 0};
  for (const bool swapped : {false, true}) {
    const std::string labels = write("l.npy", npy(swapped ? "'>U3'" : "'<U3'", "(2,)", utf32(two, swapped)));
    const Dataset data = read(points, {.labels_path = labels});
    EXPECT_EQ(data.labels, (Labels{1, 0}));
    EXPECT_EQ(data.class_names, (Names{"d\xc3\xb6", "fox"}));
  }
  EXPECT_EQ(read(points, {.labels_path = write("l.npy", npy("'|S2'", "(2, 1)", std::string("b\0aa", 4)))}).labels,
            (Labels{1, 0}));
  EXPECT_EQ(read(points, {.labels_path = write("l.npy", npy("'|S1'", "(2,)", "73"))}).labels, (Labels{7, 3})) << "numbers";
  EXPECT_EQ(read(points, {.labels_path = write("l.npy", npy("'|b1'", "(2,)", std::string("\1\0", 2)))}).labels, (Labels{1, 0}));
  const std::string both = write("b.npz", zip({{"x.npy", kPoints}, {"y.npy", npy("'|S1'", "(2,)", "qp")}}));
  EXPECT_EQ(read(both).labels, (Labels{1, 0}));
  expect_refused(points, "label 1 of l.npy is empty",
                 {.labels_path = write("l.npy", npy("'|S1'", "(2,)", std::string("a\0", 2)))});
  expect_refused(points, "has Python objects", {.labels_path = write("l.npy", npy("'|O'", "(2,)", "ab"))});
  expect_refused(points, "truncated", {.labels_path = write("l.npy", npy("'|S2'", "(2,)", "abc"))});
}

TEST_F(Datasets, CsvKeepsWholeNumberLabels) {
  EXPECT_EQ(read(write("i.csv", "1,2,3\n1,2,1.0\n")).labels, (Labels{3, 1}));
  EXPECT_TRUE(read(at("i.csv")).class_names.empty());
  expect_refused(write("i.csv", "1,2,3\n1,2,0.25\n"), "i.csv is not a whole-number label: '0.25'");
}

TEST_F(Datasets, CsvFindsTheColumnNamedForLabels) {
  const std::string path = write("i.csv", "label,p0,p1\n7,0,1\n3,0,2\n");
  const Dataset data = read(path);
  EXPECT_EQ(data.labels, (Labels{7, 3}));
  EXPECT_EQ(data.x.data, (Values{0, 1, 0, 2}));
  ASSERT_EQ(data.notes.size(), 1U);
  EXPECT_NE(spelled(data.notes[0], as_field).find("in column 'label'; if they are in the last one, give label_column 2"),
            std::string::npos)
      << data.notes[0];
  EXPECT_EQ(read(path, {.label_column = "2"}).labels, (Labels{1, 2}));
  EXPECT_EQ(read(write("i.csv", "target,p0,class\n7,0,1\n3,0,2\n")).labels, (Labels{1, 2})) << "two are";
  EXPECT_EQ(read(write("i.csv", "y,x,kind\n7,0,1\n3,0,2\n")).labels, (Labels{1, 2})) << "y may be a coordinate";
}

TEST_F(Datasets, CsvNamesTheColumnThatMayHaveTheLabels) {
  expect_refused(write("i.csv", "setosa,5.1,3\nvirginica,6,2\n"),
                 "remove the column, because every feature must be a number, or give label_column 0 if the labels are in it");
  expect_refused(write("i.csv", "0,5.1,3.5\n1,6.5,2.5\n"), "none if there are no labels, or 0 if they are in the first column");
  const Result<Dataset> unlabelled = read_dataset(write("i.csv", "0.5,5.1,3.5\n1,6.5,2.5\n"));
  ASSERT_FALSE(unlabelled);
  EXPECT_EQ(unlabelled.error().message().find("or 0 if"), std::string::npos) << unlabelled.error().message();
  const Dataset constant = read(write("i.csv", "5,1,0\n3,2,0\n5,1,0\n"));
  ASSERT_EQ(constant.notes.size(), 1U);
  EXPECT_NE(spelled(constant.notes[0], as_field).find("if they are in the first, give label_column 0"), std::string::npos);
  EXPECT_TRUE(read(write("i.csv", "5,1,0\n3,2,1\n")).notes.empty());
}

TEST_F(Datasets, CsvLeavesOutAnIndexWithoutAName) {
  for (const std::string name : {"", "Unnamed: 0"}) {
    for (const std::string rows : {"0,5,6,1\n1,7,8,0\n", "12,5,6,1\n3,7,8,0\n"}) {
      const Dataset data = read(write("i.csv", name + ",a,b,kind\n" + rows));
      EXPECT_EQ(data.x.data, (Values{5, 6, 7, 8})) << name;
      EXPECT_EQ(data.labels, (Labels{1, 0}));
      EXPECT_EQ(data.notes.size(), 1U);
    }
  }
  EXPECT_EQ(read(write("i.csv", ",a,b,kind\n4,5,6,1\n4,7,8,0\n")).x.data, (Values{4, 5, 6, 4, 7, 8})) << "no index";
  EXPECT_EQ(read(write("i.csv", ",0,1,kind\n0,5.5,6,1\n1,7,8,0\n")).x.data, (Values{5.5, 6, 7, 8})) << "names are numbers";
  std::string counted;
  for (int i = 0; i < 12; ++i) counted += std::to_string(i) + "," + std::to_string(i % 5) + "," + std::to_string(i % 2) + "\n";
  const Dataset data = read(write("i.csv", "id,a,kind\n" + counted));
  EXPECT_EQ(data.x.shape, (Shape{12, 2}));
  ASSERT_EQ(data.notes.size(), 1U);
  EXPECT_NE(data.notes[0].find("if it is an index, remove it"), std::string::npos);
}

TEST_F(Datasets, CsvDoesNotReadAMissingLabelAsAClass) {
  for (const std::string mark : {"NA", "N/A", "nan", "null"}) {
    const std::string line = " is a missing label: '" + mark + "'; remove the row, or rename the class";
    const std::string names = write("i.csv", "a,b,kind\n1,2,cat\n3,4," + mark + "\n5,6,ant\n");
    expect_refused(names, "row 3, column 3 of i.csv" + line);
    EXPECT_EQ(read(names, {.skip_bad = true}).labels, (Labels{1, 0})) << mark;
    const std::string numbers = write("i.csv", "1,2,10\n3,4," + mark + "\n5,6,9\n");
    expect_refused(numbers, "row 2, column 3 of i.csv" + line);
    EXPECT_EQ(read(numbers, {.skip_bad = true}).labels, (Labels{10, 9})) << mark;
  }
  EXPECT_EQ(read(write("i.csv", "1,2,NAN\n3,4,Nantes\n")).labels, (Labels{0, 1})) << "other words are names";
}

TEST_F(Datasets, CsvUsesTheSeparatorOfExcel) {
  const Dataset data = read(write("i.csv", "\xef\xbb\xbfsep=;\r\n1,5 m;b;kind\r\n1;2;7\r\n3;4;8\r\n"));
  EXPECT_EQ(data.x.data, (Values{1, 2, 3, 4}));
  EXPECT_EQ(data.labels, (Labels{7, 8}));
  expect_refused(write("i.csv", "sep=|\n1|2|0\n3|x|1\n3|4|x\n"), "row 3, column 2 of i.csv is not a number: 'x'");
}

TEST_F(Datasets, CsvNamesDecimalCommasAndTitles) {
  expect_refused(write("i.csv", "a;b;kind\nJan 1, 2024;2;0\n"),
                 "is not a number: 'Jan 1, 2024'; remove the column, because every feature must be a number");
  expect_refused(write("i.csv", "a;b;kind\n1,5;2,5;0\n"),
                 "row 2, column 1 of i.csv is not a number: '1,5'; write decimals with a point");
  expect_refused(write("i.csv", "a,b,kind\n\"1,5\",2,0\n"), "write decimals with a point");
  expect_refused(write("i.csv", "a;b\n1;2,5\n2;3,5\n"), "write decimals with a point");
  for (const std::string rows : {"1,2,0\n3,4,1\n", "1;2;0\n3;4;1\n"})
    expect_refused(write("i.csv", "measurements\n" + rows),
                   "has one cell in its first row, 'measurements', but more in the next");
}

TEST_F(Datasets, AWordAboveLabelsIsAHeader) {
  const std::string points = write("d.npz", zip({{"x.npy", kPoints}}));
  const Dataset data = read(points, {.labels_path = write("l.txt", "diagnosis\nill\nfine\n")});
  EXPECT_EQ(data.labels, (Labels{1, 0}));
  EXPECT_NE(data.notes.back().find("'diagnosis', is read as a header"), std::string::npos);
  expect_refused(points, "has 3 labels for 2 points", {.labels_path = write("l.txt", "ill\nill\nfine\n")});
}

TEST_F(Datasets, LabelsMayBePrefixesOfGivenNames) {
  const std::string path = write("i.csv", "1,2,g\n3,4,b\n");
  const Dataset data = read(path, {.classes = {"good", "bad"}});
  EXPECT_EQ(data.labels, (Labels{0, 1}));
  EXPECT_EQ(spelled(data.label_mapping, as_field), "labels are prefixes of class names of classes: b = 1, g = 0");
  expect_refused(path, "the label 'b', which is not a class name of classes", {.classes = {"good", "bad", "best"}});
  expect_refused(path, "the label 'b', which is not a class name of classes", {.classes = {"g", "bad"}});
}

TEST_F(Datasets, CsvLabelColumnMayBeAnywhere) {
  const std::string path = write("i.csv", "a,class,b\n1,x,2\n3,y,4\n");
  for (const std::string column : {"class", "1"}) {
    const Dataset data = read(path, {.label_column = column});
    EXPECT_EQ(data.x.data, (Values{1, 2, 3, 4})) << column;
    EXPECT_EQ(data.labels, (Labels{0, 1})) << column;
  }
  expect_refused(path, "has no column 'klass' among its 3 columns", {.label_column = "klass"});
  expect_refused(path, "has no column '3'", {.label_column = "3"});
  expect_refused(path, "has no column '-1'", {.label_column = "-1"});
  const Dataset unlabelled = read(write("j.csv", "1,2\n3,4\n"), {.label_column = "none"});
  EXPECT_EQ(unlabelled.x.data, (Values{1, 2, 3, 4}));
  EXPECT_TRUE(unlabelled.labels.empty());
  expect_refused(write("k.csv", "1\n2\n"), "set label_column to none");
}

TEST_F(Datasets, CsvHeaderIsRecognised) {
  EXPECT_EQ(read(write("i.csv", "a,b,label\n1,2,0\n")).x.shape, (Shape{1, 2}));
  EXPECT_EQ(read(write("i.csv", "0,1,label\n5,6,0\n7,8,1\n")).x.data, (Values{5, 6, 7, 8})) << "names that look like numbers";
  EXPECT_EQ(read(write("i.csv", "a,b,2020\n1,2,0\n")).x.shape, (Shape{1, 2})) << "a label column whose name is a number";
  expect_refused(write("i.csv", "a,b,label\n"), "a header and no rows");
  expect_refused(write("i.csv", "1,b,2\n3,4,5\n"), "row 1, column 2 of i.csv is not a number: 'b'");
}

TEST_F(Datasets, CsvHeaderOfCountedColumnsIsRecognised) {
  const auto points = [&](const std::string& text, const DatasetOptions& options = {}) {
    return read(write("i.csv", text), options).x.shape[0];
  };
  const DatasetOptions none{.label_column = "none"};
  EXPECT_EQ(points("0,1,species\n5.1,3.5,a\n4.9,3,a\n6,2,b\n6,3,b\n"), 4) << "a word over repeated words";
  EXPECT_EQ(points("0,1,2\n5.1,3.5,a\n4.9,3,b\n"), 2) << "a number over words";
  EXPECT_EQ(points("0,1,2\n5.1,3.5,0\n4.9,3,1\n"), 2) << "the label is counted, too";
  EXPECT_EQ(points("0,1,2\n5,3.5,4\n", none), 1);
  EXPECT_EQ(points("1,2,3,4\n5,3.5,4,2\n", none), 1);
  EXPECT_EQ(points("1,2\n2,5.5\n", none), 2) << "two numbers from 1 are a point";
  EXPECT_EQ(points("0,1,2,3,digit\n5,3,2,2,one\n4,3,1,2,one\n"), 2) << "four numbers over integers";
  EXPECT_EQ(points("400,410,420,kind\n.5,.3,.2,a\n.5,.4,.2,a\n"), 2) << "wavelengths";
  EXPECT_EQ(points("0,1,width,kind\n1,2,3,a\n1,2,4,a\n"), 2) << "a text over numbers";
  EXPECT_EQ(points("species,0,1\na,5.1,3.5\na,4.9,3\n", {.label_column = "0"}), 2);
  EXPECT_EQ(points("0,1,2\n3,4,5\n", none), 2) << "integers over integers are a point";
  EXPECT_EQ(points("5,3,a\n4.5,3,b\n4.5,2,b\n"), 3) << "these do not count";
  EXPECT_EQ(points("0,1,a\n1,0,b\n1,1,b\n"), 3) << "two numbers over integers are a point";
  EXPECT_EQ(points("0,1,a\n0.5,0,b\n0.5,1,c\n"), 3) << "no label repeats";
  EXPECT_EQ(points("0,1,b\n0.5,0,b\n0.5,1,c\n"), 3) << "the word is a label";
  EXPECT_EQ(points("0,1,2,1\n0.5,1,1,0\n"), 2) << "the label does not count";
  EXPECT_EQ(read(at("i.csv")).notes, Names{});
}

TEST_F(Datasets, CsvReportsHowItReadACountingFirstRow) {
  EXPECT_EQ(read(write("i.csv", "0,1,2,3\n0.5,1,1,0\n"), {.label_column = "none"}).notes,
            (Names{"the first row is 0, 1, 2, ... and is read as a header"}));
  EXPECT_EQ(read(write("i.csv", "0,1,2\n3,4,5\n"), {.label_column = "none"}).notes,
            (Names{"the first row is 0, 1, 2 and is read as a point; if it names the columns, remove it"}));
}

TEST_F(Datasets, NumbersOfNoiseHaveNoCountedHeader) {
  EXPECT_EQ(read_numbers(write("i.csv", "0,1,2,3\n0.5,1,1,0\n"))->shape, (Shape{2, 4}));
}

TEST_F(Datasets, CsvTakesBooleansAsNumbers) {
  EXPECT_EQ(read(write("i.csv", "a,red,y\n0.5,True,0\n0.2,False,1\n")).x.data, (Values{0.5F, 1, 0.2F, 0}));
  EXPECT_EQ(read(write("i.csv", "TRUE,false,0\ntrue,FALSE,1\n")).x.data, (Values{1, 0, 1, 0})) << "the first row is a point";
  const Dataset labelled = read(write("i.csv", "1,True\n2,False\n"));
  EXPECT_EQ(labelled.labels, (Labels{1, 0}));
}

TEST_F(Datasets, CsvCellsMayBeSeparatedByBlanksOrBars) {
  const Values expected{1, 2, 3, 4};
  for (const std::string text :
       {"1 2 0\n3 4 1\n", "  1.0e+00   2 0  \n 3 4 \t 1\n", "1|2|0\n3|4|1\n", "a b y\n1 2 0\n3 4 1\n",
        "a | b | y\n1 | 2 | 0\n3|4|1", "# made by numpy\n1 2 0\n3 4 1\n", "# a,b,y\n1,2,0\n3,4,1\n", "\"1\" \"2\" 0\n3 4 1"}) {
    const Dataset data = read(write("i.txt", text));
    EXPECT_EQ(data.x.data, expected) << text;
    EXPECT_EQ(data.labels, (Labels{0, 1})) << text;
  }
  EXPECT_EQ(read(write("i.csv", "# a,y\n1,7\n"), {.label_column = "y"}).labels, (Labels{7})) << "a header after #";
  expect_refused(write("i.txt", "1 2 0\n3 4\n"), "row 2 of i.txt has 2 cells, but the first row has 3");
  expect_refused(write("i.txt", "# only\n# comments\n"), "no rows");
  expect_refused(write("i.txt", "# one\n\n1 2 0\n3 x 1\n"), "row 4, column 2 of i.txt is not a number: 'x'");
}

TEST_F(Datasets, CsvDecimalsAreNotLabels) {
  expect_refused(write("i.csv", "1,2.5\n3,0.5\n4,1\n"),
                 "i.csv is not a whole-number label: '2.5'; give label_column none if there are no labels");
  EXPECT_FALSE(read_dataset(at("i.csv"), {.skip_bad = true})) << "it is the table that is wrong, not a row";
}

TEST_F(Datasets, CsvReadsQuotesBlanksAndAnyLineEnding) {
  const Values expected{1, 2, 3, 4};
  EXPECT_EQ(read(write("i.csv", "1,2,a\r\n3,4,b\r\n")).x.data, expected);
  EXPECT_EQ(read(write("i.csv", "1,2,a\r3,4,b")).x.data, expected);
  EXPECT_EQ(read(write("i.csv", "\n1 ,\t2, a\n\n  \n3, +4,b\n\n")).x.data, expected);
  EXPECT_EQ(read(write("i.csv",
                       "\xef\xbb\xbf"
                       "1,2,a\n3,4,b\n"))
                .x.data,
            expected);
  const Dataset quoted = read(write("i.csv", "\"1\",\"2\",\"a, \"\"b\"\"\nc\"\n \"3\" ,4,d\n"));
  EXPECT_EQ(quoted.x.data, expected);
  EXPECT_EQ(quoted.class_names, (Names{"a, \"b\"\nc", "d"}));
}

TEST_F(Datasets, CsvTakesNanAndInfinityAsValues) {
  const Dataset data = read(write("i.csv", "nan,1,0\n-inf,NaN,1\n"));
  EXPECT_TRUE(std::isnan(data.x.data[0]));
  EXPECT_EQ(data.x.data[2], -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(data.x.data[3]));
}

TEST_F(Datasets, CsvErrorsNameRowAndColumn) {
  expect_refused(write("i.csv", "1,2,a\n3,b\n"), "row 2 of i.csv has 2 cells, but the first row has 3");
  expect_refused(write("i.csv", "1,2,a\n3,4,b,5\n"), "row 2 of i.csv has 4 cells, but the first row has 3; give every row");
  expect_refused(write("i.csv", "1,2,a\n\"x\ny\",4,b\n"), "row 2, column 1 of i.csv is not a number");
  expect_refused(write("i.csv", "1,\"2\n\n2\",a\n"), "row 1, column 2 of i.csv is not a number");
  expect_refused(write("i.csv", "1,2,\"a\nb\"\n3,x,c\n"), "row 3, column 2 of i.csv is not a number: 'x'");
  expect_refused(write("i.csv", "1,2,a\r\n3,x,c\r\n"), "row 2, column 2 of i.csv is not a number: 'x'");
  expect_refused(write("i.csv", "1,2,a\n3,,c\n"), "row 2, column 2 of i.csv is empty");
  expect_refused(write("i.csv", "1,2,a\n3,\"4,c\n"), "row 2 of i.csv has a quote that is never closed");
  expect_refused(write("i.csv", "1,2,a\n3,\"4\"5,c\n"), "row 2 of i.csv has text after a closing quote");
  expect_refused(write("i.csv", "\n\n"), "no rows");
  expect_refused(write("i.csv", std::string("1,2\0,3\n", 7)), "not text");
}

// ---- Labels and names in separate files -----------------------------------------------------------------------------------

TEST_F(Datasets, LabelFilesOverride) {
  const std::string points = write("d.npz", zip({{"x.npy", kPoints}, {"y.npy", kLabels}}));
  for (const std::string& labels :
       {write("l.npy", npy("'|u1'", "(2,)", "\x01\x02")), write("l-idx1-ubyte", idx(8, {2}, "\x01\x02")),
        write("l-idx1-ubyte.gz", gzip(idx(8, {2}, "\x01\x02"))), write("l.txt", "1\n2\n")}) {
    EXPECT_EQ(read(points, {.labels_path = labels}).labels, (Labels{1, 2})) << labels;
  }
  EXPECT_EQ(read(points, {.labels_path = write("l.txt", "label\n1\n2\n")}).labels, (Labels{1, 2})) << "a header";
  EXPECT_EQ(read(points, {.labels_path = write("l.txt", "polar bear\nbear\n")}).labels, (Labels{1, 0}));
  EXPECT_EQ(read(points, {.labels_path = at("l.txt")}).class_names, (Names{"bear", "polar bear"}));
  EXPECT_EQ(read(points, {.labels_path = write("l.txt", "species\nb\na\n")}).labels, (Labels{1, 0}));
  expect_refused(points, "l.txt has 3 labels for 2 points", {.labels_path = write("l.txt", "1\n2\n3\n")});
  expect_refused(points, "l.txt is not a whole number", {.labels_path = write("l.txt", "1\ncat\n")});
  expect_refused(points, "none.npy cannot be opened", {.labels_path = at("none.npy")});
  expect_refused(points, "not a file of labels", {.labels_path = points});
}

TEST_F(Datasets, ClassNamesAreOnePerLine) {
  EXPECT_EQ(read_class_names(write("c.txt", "cat\r\n dog, small \n\nfox")).value(), (Names{"cat", "dog, small", "fox"}));
  EXPECT_FALSE(read_class_names(write("c.txt", "\n")));
  EXPECT_FALSE(read_class_names(at("missing.txt")));
}

// ---- Refusals -------------------------------------------------------------------------------------------------------------

TEST_F(Datasets, WrongFilesAreRefusedByName) {
  expect_refused(at("missing.npy"), "missing.npy cannot be opened: No such file");
  expect_refused(folder_.string(), "is a folder without images");
  expect_refused("/dev/null", "not a regular file");
  const std::string pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
  for (const std::string name : {"p.npy", "p.npz", "p.csv", "p.bin", "p-idx3-ubyte.gz", "p"})
    expect_refused(write(name, pointer), name + " is a Git LFS pointer, not the file itself; run git lfs pull");
  for (const std::string name : {"x.npy", "x.npz", "x.csv", "x.bin", "x-idx3-ubyte.gz", "x"}) {
    expect_refused(write(name, ""), "is empty");
    expect_refused(write(name, "\x89PNG\r\n\x1a\n" + counting(3065)), "PNG image");
    expect_refused(write(name, "\xff\xd8\xff\xe0" + counting(50)), "JPEG image");
    expect_refused(write(name,
                         "\x7f"
                         "ELF\x02\x01\x01" +
                             counting(50)),
                   "is a program");
    expect_refused(write(name, "some words\nthat are not data, at all\n"), "");
  }
  expect_refused(write("x.dat", std::string("\x01\x00\x02\x03", 4)), "an unrecognised format");
}

std::vector<std::pair<std::string, std::string>> small_files() {
  const std::string images = idx(8, {2, 2, 3}, counting(12));
  return {{"a.npy", npy("'<f8'", "(2, 2)", raw<double>({1, 2, 3, 4}))},
          {"b.npy", npy("'|u1'", "(3,)", "abc", false, 2)},
          {"c.npz", zip({{"x.npy", kPoints}, {"y.npy", kLabels}})},
          {"d.npz", zip({{"x.npy", kPoints, true, true}, {"y.npy", kLabels, true}})},
          {"e-idx3-ubyte", images},
          {"f-idx3-ubyte.gz", gzip(images)},
          {"g.bin", cifar({3})}};
}

TEST_F(Datasets, EveryTruncationIsAnError) {
  for (const auto& [name, bytes] : small_files()) {
    EXPECT_EQ(read(write(name, bytes)).x.size() > 0, true) << name;
    for (std::size_t length = bytes.size(); length-- > 0;) {
      fs::resize_file(at(name), length);
      const Result<Dataset> result = read_dataset(at(name));
      ASSERT_FALSE(result) << name << " cut to " << length << " bytes";
      ASSERT_EQ(result.error().code, ErrorCode::unreadable)
          << name << " cut to " << length << " bytes: " << result.error().message();
      ASSERT_NE(result.error().where.find(at(name)), std::string::npos) << result.error().message();
    }
  }
}

TEST_F(Datasets, EveryTruncationWithoutANameIsAnError) {
  for (const auto& [name, bytes] : small_files()) {
    for (std::size_t length = 0; length < bytes.size(); length += name == "g.bin" ? 97 : 1) {
      ASSERT_FALSE(read_dataset(write("data", bytes.substr(0, length)))) << name << " cut to " << length << " bytes";
    }
  }
}

TEST_F(Datasets, TruncatedCsvIsAnErrorOrAShorterTable) {
  const std::string text = "a,b,\"the \"\"class\"\"\"\n1.5,-2e3,\"x\"\n\"3\",nan,y\n";
  for (std::size_t length = 0; length < text.size(); ++length) {
    const Result<Dataset> result = read_dataset(write("t.csv", text.substr(0, length)));
    if (result) {
      EXPECT_LE(result->x.shape[0], 2) << length;
      EXPECT_EQ(std::ssize(result->labels), result->x.shape[0]) << length;
    } else {
      EXPECT_EQ(result.error().code, ErrorCode::unreadable) << result.error().message();
    }
  }
}

TEST_F(Datasets, DamagedFilesGiveDataOrAnErrorAndNothingElse) {
  std::mt19937 random(1);
  auto files = small_files();
  files.emplace_back("t.csv", "a,b,\"c\"\n1.5,-2e3,\"x\"\n\"3\",nan,y\n");
  int refused = 0;
  for (const auto& [name, bytes] : files) {
    const std::size_t head = std::min<std::size_t>(bytes.size(), 700);
    for (int round = 0; round < 500; ++round) {
      std::string changed = bytes;
      const auto changes = 1 + random() % 3;
      for (unsigned i = 0; i < changes; ++i) changed[random() % head] = static_cast<char>(random() % 4 ? random() : 0xff);
      const Result<Dataset> result = read_dataset(write(name, changed));
      refused += result ? 0 : 1;
      if (result) {
        ASSERT_EQ(element_count(result->x.shape), result->x.size()) << name;
      }
    }
  }
  EXPECT_GT(refused, 400);
}

// ---- Third-party files ----------------------------------------------------------------------------------------------------

class SharedDatasets : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* given = std::getenv("PROBUST_SHARED");
    folder_ = (given ? fs::path(given) : fs::path(PROBUST_SOURCE_DIR) / ".." / "shared") / "data";
    if (!fs::exists(folder_ / "iris.csv"))
      GTEST_SKIP() << "no reference data here; set PROBUST_SHARED to a folder that has data/";
  }
  std::string at(const std::string& name) const { return (folder_ / name).string(); }
  fs::path folder_;
};

Labels first(const Labels& labels, std::size_t count) {
  return {labels.begin(), labels.begin() + static_cast<std::ptrdiff_t>(std::min(count, labels.size()))};
}

TEST_F(SharedDatasets, MnistAndFashionMnist) {
  const Dataset mnist = read(at("mnist-test-open-images-idx3-ubyte.gz"));
  EXPECT_EQ(mnist.x.shape, (Shape{5000, 1, 28, 28}));
  EXPECT_EQ(first(mnist.labels, 10), (Labels{7, 2, 1, 0, 4, 1, 4, 9, 5, 9}));
  const Dataset fashion = read(at("fashion-test-open-images-idx3-ubyte.gz"), {.offset = 1, .limit = 4});
  EXPECT_EQ(fashion.x.shape, (Shape{4, 1, 28, 28}));
  EXPECT_EQ(fashion.labels, (Labels{2, 1, 1, 6}));
}

TEST_F(SharedDatasets, Cifar) {
  const Dataset lossless = read(at("cifar10-lossless-test-open.bin"));
  EXPECT_EQ(lossless.x.shape, (Shape{215, 3, 32, 32}));
  EXPECT_EQ(first(lossless.labels, 3), (Labels{3, 8, 8}));
  EXPECT_EQ(lossless.x.data[0], 158.0F / 255.0F);
  const Dataset lossy = read(at("cifar10-jpeg-test-1000.bin"));
  EXPECT_EQ(first(lossy.labels, 12), (Labels{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1}));
}

TEST_F(SharedDatasets, GtsrbImagesWithLabelsOfTheirOwn) {
  const Dataset signs = read(at("gtsrb30-test-open-images.npy"), {.labels_path = at("gtsrb-test-open-labels.npy")});
  EXPECT_EQ(signs.x.shape, (Shape{1000, 3, 30, 30}));
  EXPECT_EQ(first(signs.labels, 4), (Labels{16, 1, 38, 33}));
}

TEST_F(SharedDatasets, IrisIsTheTableOfTheRepository) {
  const Dataset file = read(at("iris.csv")), own = iris();
  EXPECT_EQ(own.x.shape, file.x.shape);
  EXPECT_EQ(own.x.data, file.x.data);
  EXPECT_EQ(own.labels, file.labels);
  for (std::size_t k = 0; k < 3; ++k) EXPECT_EQ("Iris-" + own.class_names[k], file.class_names[k]);
}

TEST_F(SharedDatasets, Tables) {
  const Dataset iris = read(at("iris.csv"));
  EXPECT_EQ(iris.x.shape, (Shape{150, 4}));
  EXPECT_EQ(iris.class_names, (Names{"Iris-setosa", "Iris-versicolor", "Iris-virginica"}));
  EXPECT_EQ(iris.labels[149], 2);
  EXPECT_EQ(read(at("ionosphere.csv")).x.shape, (Shape{351, 34}));
  EXPECT_EQ(read(at("ionosphere.csv")).class_names, (Names{"b", "g"}));
  EXPECT_EQ(read(at("sonar.csv")).x.shape, (Shape{208, 60}));
  EXPECT_EQ(read(at("banknote_authentication.csv")).x.shape, (Shape{1372, 4}));
  EXPECT_EQ(read(at("pima-indians-diabetes.csv")).labels[0], 1);
  EXPECT_EQ(read(at("wine.csv")).x.shape, (Shape{178, 13}));
}

}  // namespace
}  // namespace probust
