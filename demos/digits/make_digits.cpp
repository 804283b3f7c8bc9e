// SPDX-License-Identifier: MIT
// Makes the demo's files with the library's own data, training and export, in a few seconds:
//
//   digits.onnx   pixels in [0, 1], float32 [batch, 1, 16, 16] -> logits [batch, 10]
//   points.npz    x: uint8 [40, 1, 16, 16], y: int64 [40]; four unseen digits of each kind, easy and hard ones
//
// Usage: make_digits FOLDER. Deterministic, except that another kind of processor may round sums differently.
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "datasets/npy.h"
#include "probust/data/datasets.h"
#include "probust/onnx/export.h"
#include "probust/ops/append.h"
#include "probust/probust.h"
#include "probust/train/models.h"
#include "probust/train/trainer.h"

namespace probust {
namespace {

constexpr std::int64_t kSide = 16;

MadeData draw(std::int64_t count, std::uint64_t seed) {
  return make_data(made_data_kind("digits"), {.count = count, .noise = 0.0, .side = kSide, .seed = seed});
}

Graph trained_classifier() {
  const MadeData digits = draw(30000, 1);
  Trainer trainer(mlp({1, kSide, kSide}, {32, 32}, digits.classes, Activation::relu, {.seed = 3}), digits.x, digits.labels,
                  {.batch = 64, .seed = 3});
  for (const double rate : {4e-3, 1e-3, 2e-4}) trainer.epochs(8, {.rate = rate, .sigma = 0.25});
  return trainer.classifier();
}

// The true class's logit minus the largest of the others.
std::vector<double> margins(const Tensor& logits, const std::vector<std::int64_t>& labels) {
  std::vector<double> result;
  result.reserve(labels.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::span<const float> row = logits.row(static_cast<std::int64_t>(i));
    const float own = row[labels[i]];
    double least = INFINITY;
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (static_cast<std::int64_t>(c) != labels[i]) least = std::min<double>(least, own - row[c]);
    }
    result.push_back(least);
  }
  return result;
}

// Four points per digit at fixed quantiles of their margins (easy, medium, hard, hardest), interleaved.
std::vector<std::size_t> mixed(const std::vector<double>& margin, const std::vector<std::int64_t>& labels) {
  constexpr double kPlaces[] = {0.875, 0.5, 0.15, 0.02};
  std::vector<std::size_t> chosen;
  for (std::int64_t k = 0; k < 40; ++k) {
    std::vector<std::size_t> mine;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      if (labels[i] == k % 10) mine.push_back(i);
    }
    std::stable_sort(mine.begin(), mine.end(), [&](std::size_t a, std::size_t b) { return margin[a] < margin[b]; });
    chosen.push_back(mine[static_cast<std::size_t>(kPlaces[(k + k / 10) % 4] * static_cast<double>(mine.size()))]);
  }
  return chosen;
}

void append(std::string& to, std::uint64_t number, int bytes) {
  for (int b = 0; b < bytes; ++b) to += static_cast<char>(number >> (8 * b));
}

// A member's fields in a zip archive, in its header and in the directory (PKWARE APPNOTE 6.3, 4.3.7, 4.3.12): stored, dated 1980.
std::string entry(const std::string& member) {
  std::string fields;
  append(fields, 20, 2);          // minimum version to extract
  append(fields, 0, 4);           // no flags, stored
  append(fields, 0x00210000, 4);  // the first of January 1980
  append(fields, crc32(0, reinterpret_cast<const Bytef*>(member.data()), static_cast<uInt>(member.size())), 4);
  append(fields, member.size(), 4);
  append(fields, member.size(), 4);
  append(fields, 5, 2);  // length of the name
  append(fields, 0, 2);
  return fields;
}

// An archive of x.npy and y.npy.
std::string npz(const std::string& x, const std::string& y) {
  std::string file, directory;
  for (const auto& [name, member] : {std::pair{"x.npy", x}, std::pair{"y.npy", y}}) {
    directory += "PK\x01\x02";
    append(directory, 20, 2);
    directory += entry(member);
    append(directory, 0, 10);  // no comment, first disk, no attributes
    append(directory, file.size(), 4);
    directory += name;
    file += "PK\x03\x04" + entry(member) + name + member;
  }
  const std::uint64_t begin = file.size();
  file += directory + "PK\x05\x06";
  append(file, 0, 4);
  append(file, 2, 2);
  append(file, 2, 2);
  append(file, directory.size(), 4);
  append(file, begin, 4);
  append(file, 0, 2);
  return file;
}

void save(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) throw Error{ErrorCode::unreadable, path, "cannot be written", "name a folder that exists"};
}

void make(const std::string& folder) {
  const Graph classifier = trained_classifier();
  save(folder + "/digits.onnx", export_onnx(classifier, "digits").value());
  const MadeData unseen = draw(4000, 2);
  const auto executor = make_executor("cpu", classifier, {}).value();
  const std::vector<double> margin = margins(executor->logits(unseen.x).value(), unseen.labels);
  const auto right = std::count_if(margin.begin(), margin.end(), [](double m) { return m > 0; });
  fmt::print("accuracy: {:.2f} % of {} digits not seen in training\n", 100.0 * static_cast<double>(right) / 4000, unseen.size());
  std::string x, y;
  for (const std::size_t i : mixed(margin, unseen.labels)) {
    for (const float pixel : unseen.x.row(static_cast<std::int64_t>(i)))
      append(x, static_cast<std::uint64_t>(std::lround(255 * pixel)), 1);
    append(y, static_cast<std::uint64_t>(unseen.labels[i]), 8);
  }
  save(folder + "/points.npz", npz(npy_header("|u1", {40, 1, kSide, kSide}) + x, npy_header("<i8", {40}) + y));
}

}  // namespace
}  // namespace probust

int main(int argc, char** argv) {
  if (argc != 2) return fmt::print(stderr, "usage: make_digits FOLDER\n"), 2;
  try {
    probust::make(argv[1]);
  } catch (const probust::Error& error) {
    return fmt::print(stderr, "make_digits: {}\n", error.message()), 3;
  }
}
