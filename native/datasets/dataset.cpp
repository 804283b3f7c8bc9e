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

// Files of other kinds that users pass by mistake.
struct Foreign {
  std::string_view magic, name;
};
constexpr std::array<Foreign, 12> kForeign{{{"\x89PNG", "a PNG image"},
                                            {"\xff\xd8\xff", "a JPEG image"},
                                            {"GIF8", "a GIF image"},
                                            {"\x7f"
                                             "ELF",
                                             "a program"},
                                            {"%PDF-", "a PDF document"},
                                            {"\x89HDF", "an HDF5 file"},
                                            {"SQLite format 3", "a SQLite file"},
                                            {"\xfd\x37zXZ", "an xz archive"},
                                            {"BZh", "a bzip2 archive"},
                                            {"7z\xbc\xaf", "a 7z archive"},
                                            {"PAR1", "a Parquet file"},
                                            {"\x80\x04\x95", "a Python pickle"}}};

std::string extension(const std::string& path) {
  std::string text = std::filesystem::path(path).extension().string();
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

bool looks_like_text(Bytes file) {
  constexpr std::size_t kSample = 4096;
  const Bytes sample = file.first(std::min(file.size(), kSample));
  return std::none_of(sample.begin(), sample.end(),
                      [](std::uint8_t c) { return c < 0x20 && c != '\t' && c != '\n' && c != '\r'; });
}

// IDX images have no channel axis: add one.
Array with_channel(Array x, const std::string& path) {
  if (x.shape.size() == 1) refuse(path, "holds one number per row, as a file of labels does", "give the file of images");
  if (x.shape.size() != 3) return x;
  const Shape shape{x.shape[0], 1, x.shape[1], x.shape[2]};
  return reshaped(std::move(x), shape);
}

// What a reader of labels says of files that hold points.
[[noreturn]] std::vector<std::int64_t> no_labels(const Buffer&, const std::string& path) {
  refuse(path, "is not a file of labels", "give .npy, IDX or text with one whole number per line");
}

struct Format {
  std::string_view name;  ///< as in "give a .npy, .npz or .csv file"
  bool (*begins)(Bytes file);
  bool (*named)(const std::string& path, Bytes file);  ///< for files that begin like no format
  Contents (*read)(const Buffer& file, const DatasetOptions& options, const std::string& path);
  std::vector<std::int64_t> (*labels)(const Buffer& file, const std::string& path) = no_labels;
};

bool never(Bytes) { return false; }

// The list of formats. To add one: its reader in this directory, declared in formats.h, and its entry here.
constexpr Format kFormats[] = {
    {".npy", [](Bytes file) { return starts_with(file, "\x93NUMPY"); },
     [](const std::string& path, Bytes) { return extension(path) == ".npy"; },
     [](const Buffer& file, const DatasetOptions&, const std::string& path) -> Contents {
       return {read_npy_bytes(file, path), {}, {}};
     },
     [](const Buffer& file, const std::string& path) { return decode_labels(read_npy_bytes(file, path), path); }},
    {".npz", [](Bytes file) { return starts_with(file, "PK\x03\x04") || starts_with(file, "PK\x05\x06"); },
     [](const std::string& path, Bytes) { return extension(path) == ".npz"; },
     [](const Buffer& file, const DatasetOptions&, const std::string& path) { return read_npz_bytes(file, path); }},
    {"IDX", [](Bytes file) { return starts_with(file, "\x1f\x8b") || is_idx(file); },
     [](const std::string& path, Bytes) {
       return path.find("-ubyte") != std::string::npos || extension(path) == ".gz" || extension(path) == ".idx";
     },
     [](const Buffer& file, const DatasetOptions&, const std::string& path) -> Contents {
       return {with_channel(read_idx_bytes(file, path), path), {}, {}};
     },
     [](const Buffer& file, const std::string& path) { return decode_labels(read_idx_bytes(file, path), path); }},
    {"CIFAR .bin", never, [](const std::string& path, Bytes) { return extension(path) == ".bin"; },
     [](const Buffer& file, const DatasetOptions& options, const std::string& path) {
       return read_cifar_bytes(file, options.cifar100, path);
     }},
    {".csv", never,
     [](const std::string& path, Bytes file) {
       return extension(path) == ".csv" || extension(path) == ".txt" || looks_like_text(file);
     },
     [](const Buffer& file, const DatasetOptions& options, const std::string& path) {
       return read_csv_bytes(file, options.label_column, path);
     },
     [](const Buffer& file, const std::string& path) { return read_label_lines(file.bytes, path); }},
};

void refuse_foreign(Bytes file, const std::string& path) {
  for (const Foreign& kind : kForeign) {
    if (starts_with(file, kind.magic))
      refuse(path, "is " + std::string(kind.name) + ", not data", "give a " + known_formats() + " file");
  }
}

// Determined by the first bytes, then by the name; otherwise text is CSV.
const Format& format_of(Bytes file, const std::string& path) {
  for (const Format& format : kFormats) {
    if (format.begins(file)) return format;
  }
  refuse_foreign(file, path);
  for (const Format& format : kFormats) {
    if (format.named(path, file)) return format;
  }
  refuse(path, "is of no known kind", "give a " + known_formats() + " file");
}

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

std::string known_formats() {
  std::string names;
  for (const datasets::Format& format : datasets::kFormats) {
    const bool last = &format == std::end(datasets::kFormats) - 1;
    names += (names.empty() ? "" : last ? " or " : ", ") + std::string(format.name);
  }
  return names;
}

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
