// SPDX-License-Identifier: MIT
#include "datasets/dataset.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "datasets/formats.h"

namespace probust {
namespace datasets {
namespace {

StoredLabels read_labels(const std::string& path) {
  const Stored file = open_data_file(path);
  return format_of(file, path).labels(file, path);
}

// The label file that belongs to a file of IDX images, in the same folder; empty if there is none. "images-idx3" in the name
// becomes "labels-idx1", with or without gzip.
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
  const Stored file = open_data_file(path);
  return format_of(file, path).read(file, options, path);
}

void check_points(const Array& x, const std::string& path) {
  if (x.shape.empty()) refuse(path, "has a single number", "give an array whose first axis counts the points");
  if (x.shape[0] == 0) refuse(path, "has no rows", "give at least one point");
  if (std::find(x.shape.begin(), x.shape.end(), 0) != x.shape.end()) {
    refuse(path, "has points without values: its shape is " + to_string(x.shape), "give at least one value per point");
  }
}

// If there is one label more than points, and the first is a word that occurs only once, it is the name of the column and is
// removed.
void drop_header(Contents& contents, const std::string& source) {
  std::vector<std::string>& words = contents.labels.texts;
  const bool extra = std::ssize(words) > 2 && std::ssize(words) == contents.x.shape[0] + 1;
  if (!extra || std::count(words.begin(), words.end(), words[0]) != 1) return;
  contents.notes.push_back("the first line of " + source + ", '" + words[0] + "', is read as a header");
  words.erase(words.begin());
}

// Reads labels from a separate file if one is given or found next to the data, and checks that there is one per point. Returns
// the file's path; empty if there is no such file.
std::string find_labels(Contents& contents, const std::string& path, const DatasetOptions& options) {
  const std::string source = options.labels_path.empty() ? labels_beside(path) : options.labels_path;
  const bool from_file = !source.empty() && (!options.labels_path.empty() || contents.labels.empty());
  if (from_file) {
    contents.labels = read_labels(source);
  }
  if (contents.labels.empty() && !from_file) return "";
  if (from_file) drop_header(contents, source);
  if (static_cast<std::int64_t>(contents.labels.size()) != contents.x.shape[0]) {
    refuse(from_file ? source : path,
           "has " + std::to_string(contents.labels.size()) + " labels for " + std::to_string(contents.x.shape[0]) + " points",
           "give one label per point");
  }
  return from_file ? source : "";
}

void check_options(const DatasetOptions& options) {
  if (options.scale && (!std::isfinite(*options.scale) || *options.scale == 0)) {
    throw Error{ErrorCode::usage, option("scale"), "is zero or not finite", "try 0.00392"};
  }
  if (options.offset < 0) throw Error{ErrorCode::usage, option("offset"), "is negative", "give 0 or more"};
  if (options.limit == 0) throw Error{ErrorCode::usage, option("limit"), "is zero", "give 1 or more"};
  constexpr std::int64_t kMostSide = 16384;
  for (const auto& [name, side] : {std::pair{"resize", options.resize}, std::pair{"crop", options.crop}}) {
    if (side < 0 || side > kMostSide)
      throw Error{ErrorCode::usage, option(name), "is not a number of pixels from 1 to " + std::to_string(kMostSide), "try 224"};
  }
  if (options.resize > 0 && options.crop > options.resize) {
    throw Error{ErrorCode::usage, option("crop"),
                "is larger than the resized images' shorter side, " + std::to_string(options.resize),
                "give at most " + std::to_string(options.resize)};
  }
}

// The points of an array in memory or in a file.
class ArraySource final : public PointSource {
 public:
  ArraySource(PointList list, bool skip_bad, Contents contents, double scale, std::vector<std::string> files)
      : PointSource(std::move(list), skip_bad), contents_(std::move(contents)), scale_(scale), files_(std::move(files)) {}

  std::vector<std::string> files() const override { return files_; }

 private:
  Tensor decode(std::int64_t first, std::int64_t count) override {
    const std::int64_t begin = offset() + first;
    std::vector<std::int64_t> good;
    const auto row = [](const BadPoint& point, std::int64_t index) { return point.index < index; };
    auto bad = std::lower_bound(contents_.bad.begin(), contents_.bad.end(), begin, row);
    for (std::int64_t i = 0; i < count; ++i) {
      if (bad == contents_.bad.end() || bad->index != begin + i) {
        good.push_back(i);
      } else {
        found_bad(first + i, bad++->error);
      }
    }
    Tensor x = decode_rows(contents_.x, begin, count, scale_);
    return std::ssize(good) == count ? x : rows(x, good);
  }

  Contents contents_;
  double scale_;
  std::vector<std::string> files_;
};

std::unique_ptr<PointSource> open_array(const std::string& path, const DatasetOptions& options) {
  for (const auto& [name, given] : {std::pair{"resize", options.resize}, std::pair{"crop", options.crop}}) {
    if (given != 0) throw Error{ErrorCode::usage, option(name), "applies only to folders of images", "leave it out"};
  }
  Contents contents = read_contents(path, options);
  check_points(contents.x, path);
  std::vector<std::string> files{path};
  const std::string labels = find_labels(contents, path, options);
  if (!labels.empty()) files.push_back(labels);
  PointList list = chosen(contents.x.shape[0], path, options);
  list.point_shape.assign(contents.x.shape.begin() + 1, contents.x.shape.end());
  SettledLabels classes = settled(contents.labels, options, labels.empty() ? path : labels);
  list.labels = chosen_labels(classes.labels, list);
  list.class_names = std::move(classes.class_names);
  list.label_mapping = std::move(classes.mapping);
  list.named_classes = classes.named;
  list.labels_guessed = classes.guessed;
  list.notes = contents.notes;
  // Computed in double precision, so that a byte becomes exactly the float32 quotient byte / 255.
  const double scale = options.scale.value_or(contents.x.type.is_byte() ? 1.0 / 255.0 : 1.0);
  list.scale = scale;
  list.bytes = contents.x.type.is_byte();
  return std::make_unique<ArraySource>(std::move(list), options.skip_bad, std::move(contents), scale, std::move(files));
}

}  // namespace

PointList chosen(std::int64_t rows, const std::string& path, const DatasetOptions& options) {
  if (options.offset >= rows) {
    refuse(path, "has " + std::to_string(rows) + " rows, but " + option("offset") + " is " + std::to_string(options.offset),
           "give an offset from 0 to " + std::to_string(rows - 1));
  }
  PointList list;
  list.offset = options.offset;
  list.count = options.limit < 0 ? rows - options.offset : std::min(options.limit, rows - options.offset);
  return list;
}

std::vector<std::int64_t> chosen_labels(const std::vector<std::int64_t>& labels, const PointList& list) {
  if (labels.empty()) return {};
  const auto first = labels.begin() + list.offset;
  return {first, first + list.count};
}

std::unique_ptr<PointSource> open_points(const std::string& path, const DatasetOptions& options) {
  check_options(options);
  std::error_code unknown;
  const bool folder = std::filesystem::is_directory(path, unknown);
  return folder ? open_image_folder(path, options) : open_array(path, options);
}

}  // namespace datasets

Result<Numbers> read_numbers(const std::string& path) {
  return guarded(path, [&] {
    const datasets::Stored file = datasets::open_data_file(path);
    const datasets::Format& format = datasets::format_of(file, path);
    const datasets::Contents contents =
        format.name == ".csv" ? datasets::read_csv(file, "none", path, false) : format.read(file, {}, path);
    if (!contents.bad.empty()) throw contents.bad.front().error;
    return Numbers{contents.x.shape, datasets::decode_doubles(contents.x)};
  });
}

Result<std::vector<std::string>> read_class_names(const std::string& path) {
  return guarded(path, [&] { return datasets::read_name_lines(datasets::open_data_file(path), path); });
}

}  // namespace probust
