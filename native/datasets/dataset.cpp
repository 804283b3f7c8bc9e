// SPDX-License-Identifier: MIT
#include "datasets/dataset.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include "datasets/formats.h"

namespace probust {
namespace datasets {
namespace {

std::vector<std::int64_t> read_labels(const std::string& path) {
  const Buffer file = map_file(path);
  return format_of(file.bytes, path).labels(file, path);
}

// The labels file in the same folder as IDX images, or nothing: "images-idx3" in the name becomes "labels-idx1", gzipped or not.
std::string labels_beside(const std::string& images) {
  const std::filesystem::path path(images);
  std::string name = path.filename().string();
  const std::size_t at = name.rfind("images");
  if (at == std::string::npos || at + 11 > name.size() || name.compare(at + 7, 4, "idx3") != 0) return "";
  name.replace(at, 6, "labels").replace(at + 7, 4, "idx1");
  const bool packed = name.ends_with(".gz");
  const std::string other = packed ? name.substr(0, name.size() - 3) : name + ".gz";
  for (const std::string& candidate : {name, other}) {
    const std::filesystem::path labels = path.parent_path() / candidate;
    if (std::filesystem::exists(labels)) return labels.string();
  }
  return "";
}

Contents read_contents(const std::string& path, const DatasetOptions& options) {
  const Buffer file = map_file(path);
  return format_of(file.bytes, path).read(file, options, path);
}

void check_points(const Array& x, const std::string& path) {
  if (x.shape.empty()) refuse(path, "holds a single number", "give an array whose first axis counts the points");
  if (x.shape[0] == 0) refuse(path, "has no rows", "give at least one point");
  if (std::find(x.shape.begin(), x.shape.end(), 0) != x.shape.end()) {
    refuse(path, "has points without values: its shape is " + to_string(x.shape), "give at least one value per point");
  }
}

// Uses the labels of a file if one is named or found with the data, and compares the counts.
void settle_labels(Contents& contents, const std::string& path, const DatasetOptions& options) {
  const std::string source = options.labels_path.empty() ? labels_beside(path) : options.labels_path;
  const bool from_file = !source.empty() && (!options.labels_path.empty() || contents.labels.empty());
  if (from_file) {
    contents.labels = read_labels(source);
    contents.class_names.clear();
  }
  if (contents.labels.empty() && !from_file) return;
  if (std::ssize(contents.labels) != contents.x.shape[0]) {
    refuse(from_file ? source : path,
           "has " + std::to_string(contents.labels.size()) + " labels for " + std::to_string(contents.x.shape[0]) + " points",
           "give one label per point");
  }
}

void check_options(const DatasetOptions& options) {
  if (options.scale && (!std::isfinite(*options.scale) || *options.scale == 0)) {
    throw Error{ErrorCode::usage, option("scale"), "is zero or not finite", "give a number such as 0.00392"};
  }
  if (options.offset < 0) throw Error{ErrorCode::usage, option("offset"), "is negative", "give 0 or more"};
  if (options.limit == 0) throw Error{ErrorCode::usage, option("limit"), "is zero", "give 1 or more"};
}

Dataset select(const Contents& contents, const std::string& path, const DatasetOptions& options) {
  const std::int64_t rows = contents.x.shape[0];
  if (options.offset >= rows) {
    refuse(path,
           "has " + std::to_string(rows) + " rows, and " + option("offset") + " " + std::to_string(options.offset) +
               " is beyond them",
           "give an offset from 0 to " + std::to_string(rows - 1));
  }
  const std::int64_t count = options.limit < 0 ? rows - options.offset : std::min(options.limit, rows - options.offset);
  // In double, so that a byte becomes exactly the float32 quotient byte / 255.
  const double scale = options.scale.value_or(contents.x.type.is_byte() ? 1.0 / 255.0 : 1.0);
  Dataset dataset{decode_rows(contents.x, options.offset, count, scale), {}, contents.class_names};
  if (!contents.labels.empty()) {
    const auto first = contents.labels.begin() + options.offset;
    dataset.labels.assign(first, first + count);
  }
  return dataset;
}

}  // namespace
}  // namespace datasets

Result<Dataset> read_dataset(const std::string& path, const DatasetOptions& options) {
  return guarded(path, [&] {
    datasets::check_options(options);
    datasets::Contents contents = datasets::read_contents(path, options);
    datasets::check_points(contents.x, path);
    datasets::settle_labels(contents, path, options);
    return datasets::select(contents, path, options);
  });
}

Result<Numbers> read_numbers(const std::string& path) {
  return guarded(path, [&] {
    DatasetOptions options;
    options.label_column = "none";
    const datasets::Array array = datasets::read_contents(path, options).x;
    return Numbers{array.shape, datasets::decode_doubles(array)};
  });
}

Result<std::vector<std::string>> read_class_names(const std::string& path) {
  return guarded(path, [&] { return datasets::read_name_lines(datasets::map_file(path).bytes, path); });
}

}  // namespace probust
