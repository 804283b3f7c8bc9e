// SPDX-License-Identifier: MIT
// The binary version of CIFAR-10 and CIFAR-100. Each record consists of label bytes and the red, green and blue planes of 32 x
// 32 pixels.
#include <algorithm>

#include "datasets/formats.h"

namespace probust::datasets {
namespace {

constexpr std::int64_t kPixels = 3 * 32 * 32;

void check_size(std::size_t bytes, std::int64_t row, bool hundred, const std::string& path) {
  if (bytes % static_cast<std::size_t>(row) == 0) return;
  const std::size_t rows = bytes / static_cast<std::size_t>(row), full = (rows + 1) * static_cast<std::size_t>(row);
  const std::size_t other = hundred ? kPixels + 1 : kPixels + 2;
  const std::string remedy = (hundred ? "leave out " : "give ") + option("cifar100");
  refuse(path,
         "is truncated: it has " + std::to_string(bytes) + " bytes, but " + std::to_string(rows + 1) + " CIFAR rows of " +
             std::to_string(row) + " need " + std::to_string(full),
         bytes % other == 0 ? remedy + " if its rows have " + std::to_string(other) + " bytes" : "");
}

void check_labels(const std::vector<std::int64_t>& labels, std::int64_t classes, const std::string& path) {
  const auto wrong = std::find_if(labels.begin(), labels.end(), [&](std::int64_t label) { return label >= classes; });
  if (wrong == labels.end()) return;
  refuse(path,
         "is not CIFAR data: row " + std::to_string(wrong - labels.begin()) + " has label " + std::to_string(*wrong) +
             ", which is above " + std::to_string(classes - 1),
         "give .npy, .npz, IDX or .csv for other data");
}

}  // namespace

Contents read_cifar(const Stored& file, bool hundred, const std::string& path) {
  const std::int64_t label_bytes = hundred ? 2 : 1, row = kPixels + label_bytes;
  check_size(file.size(), row, hundred, path);
  const std::int64_t rows = static_cast<std::int64_t>(file.size()) / row;
  const auto column = [&](std::int64_t at) { return file.from(static_cast<std::uint64_t>(at)); };
  Contents contents;
  contents.x = {{}, {rows, 3, 32, 32}, {row, 32 * 32, 32, 1}, column(label_bytes)};
  contents.labels.numbers = decode_labels({{}, {rows}, {row}, column(label_bytes - 1)}, path);  // the fine label is the last one
  check_labels(contents.labels.numbers, hundred ? 100 : 10, path);
  return contents;
}

}  // namespace probust::datasets
