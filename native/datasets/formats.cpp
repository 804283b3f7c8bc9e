// SPDX-License-Identifier: MIT
#include "datasets/formats.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "probust/base/text.h"

namespace probust {
namespace datasets {
namespace {

// Formats of files that users pass as data by mistake.
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

bool looks_like_text(const Head& file) {
  return std::none_of(file.bytes.begin(), file.bytes.end(),
                      [](std::uint8_t c) { return c < 0x20 && c != '\t' && c != '\n' && c != '\r'; });
}

// Adds a channel axis to IDX images, which have none.
Array with_channel(Array x, const std::string& path) {
  if (x.shape.size() == 1) refuse(path, "has one number per row, like a file of labels", "give the file of points");
  if (x.shape.size() != 3) return x;
  const Shape shape{x.shape[0], 1, x.shape[1], x.shape[2]};
  return reshaped(std::move(x), shape);
}

// Reads labels from a format that contains points, which is always an error.
[[noreturn]] StoredLabels no_labels(const Stored&, const std::string& path) {
  refuse(path, "is not a file of labels", "give .npy, IDX or text with one label per line");
}

bool never(const Head&) { return false; }

// The list of formats; the README says how to add one.
constexpr Format kFormats[] = {
    {".npy", [](const Head& file) { return starts_with(file.bytes, "\x93NUMPY"); },
     [](const std::string& path, const Head&) { return lower_extension(path) == ".npy"; },
     [](const Stored& file, const DatasetOptions&, const std::string& path) -> Contents { return {read_npy_array(file, path)}; },
     read_npy_labels},
    {".npz", [](const Head& file) { return starts_with(file.bytes, "PK\x03\x04") || starts_with(file.bytes, "PK\x05\x06"); },
     [](const std::string& path, const Head&) { return lower_extension(path) == ".npz"; },
     [](const Stored& file, const DatasetOptions&, const std::string& path) { return read_npz(file, path); }, no_labels},
    {"CIFAR .bin", never, [](const std::string& path, const Head&) { return lower_extension(path) == ".bin"; },
     [](const Stored& file, const DatasetOptions& options, const std::string& path) {
       return read_cifar(file, options.cifar100, path);
     },
     no_labels},
    {"IDX (.gz too)", [](const Head& file) { return starts_with(file.bytes, "\x1f\x8b") || is_idx(file); },
     [](const std::string& path, const Head&) {
       return path.find("-ubyte") != std::string::npos || lower_extension(path) == ".gz" || lower_extension(path) == ".idx";
     },
     [](const Stored& file, const DatasetOptions&, const std::string& path) -> Contents {
       return {with_channel(read_idx(file, path), path)};
     },
     [](const Stored& file, const std::string& path) -> StoredLabels {
       return {decode_labels(read_idx(file, path), path), {}};
     }},
    {".csv", never,
     [](const std::string& path, const Head& file) {
       return lower_extension(path) == ".csv" || lower_extension(path) == ".txt" || looks_like_text(file);
     },
     [](const Stored& file, const DatasetOptions& options, const std::string& path) {
       return read_csv(file, options.label_column, path);
     },
     [](const Stored& file, const std::string& path) { return read_label_lines(file, path); }},
};

void refuse_foreign(Bytes file, const std::string& path) {
  for (const Foreign& kind : kForeign) {
    if (starts_with(file, kind.magic))
      refuse(path, "is " + std::string(kind.name) + ", not data", "give a " + known_formats() + " file");
  }
}

}  // namespace

std::string lower_extension(const std::string& path) { return lower_case(std::filesystem::path(path).extension().string()); }

const Format& format_of(const Stored& file, const std::string& path) {
  constexpr std::uint64_t kSample = 4096;
  const Buffer begin = file.from(0, kSample).all();
  const Head head{begin.bytes, file.size()};
  for (const Format& format : kFormats) {
    if (format.begins(head)) return format;
  }
  refuse_foreign(head.bytes, path);
  for (const Format& format : kFormats) {
    if (format.named(path, head)) return format;
  }
  refuse(path, "has an unrecognised format", "give a " + known_formats() + " file, or a folder of images");
}

}  // namespace datasets

std::string known_formats() {
  std::vector<std::string> names;
  for (const datasets::Format& format : datasets::kFormats) names.emplace_back(format.name);
  return join(names, " or ");
}

}  // namespace probust
