// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/array.h"
#include "datasets/bytes.h"
#include "datasets/dataset.h"

namespace probust::datasets {

/// The contents of a data file: points along the first axis of `x`, and one label per point or none at all.
struct Contents {
  Array x;
  std::vector<std::int64_t> labels;
  std::vector<std::string> class_names;  ///< text labels, indexed by their number
};

/// A format of data files; formats.cpp lists them.
struct Format {
  std::string_view name;  ///< as in "give a .npy, .npz or .csv file"
  bool (*begins)(Bytes file);
  bool (*named)(const std::string& path, Bytes file);  ///< for files that begin like no format
  Contents (*read)(const Buffer& file, const DatasetOptions& options, const std::string& path);
  std::vector<std::int64_t> (*labels)(const Buffer& file, const std::string& path);
};

/// The format of a file by its first bytes, then by its name; otherwise text is CSV. Throws Error{unreadable} if it has none.
const Format& format_of(Bytes file, const std::string& path);

// One reader per format. Each takes the bytes of the whole file and throws Error{unreadable} named after `path`.

/// .npy: format 1 to 3.
Array read_npy_bytes(const Buffer& file, const std::string& path);

/// .npz: the array called `x` and, if present, `y` as labels.
Contents read_npz_bytes(const Buffer& file, const std::string& path);

/// IDX, also gzipped: an array of 1 to 8 axes.
Array read_idx_bytes(const Buffer& file, const std::string& path);

/// Whether an uncompressed file is IDX: it has an IDX header that declares exactly this many bytes.
bool is_idx(Bytes file);

/// CIFAR binary: rows of 1 label (`hundred`: a coarse and a fine label) and 3 x 32 x 32 bytes. x is [N, 3, 32, 32].
Contents read_cifar_bytes(const Buffer& file, bool hundred, const std::string& path);

/// CSV: one point per row, x is [N, d]. `label_column` is a number from 0, a name in the header, "last" or "none".
Contents read_csv_bytes(const Buffer& file, const std::string& label_column, const std::string& path);

/// Text with one whole number per line. Blank lines are skipped.
std::vector<std::int64_t> read_label_lines(Bytes file, const std::string& path);

/// Text with one name per line, surrounding blanks removed. Blank lines are skipped.
std::vector<std::string> read_name_lines(Bytes file, const std::string& path);

}  // namespace probust::datasets
