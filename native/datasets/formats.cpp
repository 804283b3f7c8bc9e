// SPDX-License-Identifier: MIT
#include "datasets/formats.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "probust/base/text.h"

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

bool never(Bytes) { return false; }

// The list of formats; the README says how to add one.
constexpr Format kFormats[] = {
    {".npy", [](Bytes file) { return starts_with(file, "\x93NUMPY"); },
     [](const std::string& path, Bytes) { return extension(path) == ".npy"; },
     [](const Buffer& file, const DatasetOptions&, const std::string& path) -> Contents {
       return {read_npy_bytes(file, path), {}, {}};
     },
     [](const Buffer& file, const std::string& path) { return decode_labels(read_npy_bytes(file, path), path); }},
    {".npz", [](Bytes file) { return starts_with(file, "PK\x03\x04") || starts_with(file, "PK\x05\x06"); },
     [](const std::string& path, Bytes) { return extension(path) == ".npz"; },
     [](const Buffer& file, const DatasetOptions&, const std::string& path) { return read_npz_bytes(file, path); }, no_labels},
    {"CIFAR .bin", never, [](const std::string& path, Bytes) { return extension(path) == ".bin"; },
     [](const Buffer& file, const DatasetOptions& options, const std::string& path) {
       return read_cifar_bytes(file, options.cifar100, path);
     },
     no_labels},
    {"IDX (.gz too)", [](Bytes file) { return starts_with(file, "\x1f\x8b") || is_idx(file); },
     [](const std::string& path, Bytes) {
       return path.find("-ubyte") != std::string::npos || extension(path) == ".gz" || extension(path) == ".idx";
     },
     [](const Buffer& file, const DatasetOptions&, const std::string& path) -> Contents {
       return {with_channel(read_idx_bytes(file, path), path), {}, {}};
     },
     [](const Buffer& file, const std::string& path) { return decode_labels(read_idx_bytes(file, path), path); }},
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

}  // namespace

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

}  // namespace datasets

std::string known_formats() {
  std::vector<std::string> names;
  for (const datasets::Format& format : datasets::kFormats) names.emplace_back(format.name);
  return join(names, " or ");
}

}  // namespace probust
