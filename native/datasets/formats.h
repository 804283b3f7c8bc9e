// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "datasets/array.h"
#include "datasets/bytes.h"

namespace probust::datasets {

/// What a data file holds: points along the first axis of `x`, and one label for each of them, or none at all.
struct Contents {
  Array x;
  std::vector<std::int64_t> labels;
  std::vector<std::string> class_names;  ///< text labels, at the place of their number
};

// One reader per format. Each takes the bytes of the whole file and throws Error{unreadable} named after `path`.

/// .npy: format 1 to 3.
Array read_npy_bytes(const Buffer& file, const std::string& path);

/// .npz: the array called `x` and, where there is one, `y` as labels.
Contents read_npz_bytes(const Buffer& file, const std::string& path);

/// IDX, also inside gzip: an array of 1 to 8 axes.
Array read_idx_bytes(const Buffer& file, const std::string& path);

/// Whether a file that is not compressed is IDX: its header is, and promises exactly this many bytes.
bool is_idx(Bytes file);

/// CIFAR binary: rows of 1 label (`hundred`: a coarse and a fine label) and 3 x 32 x 32 bytes. x is [N, 3, 32, 32].
Contents read_cifar_bytes(const Buffer& file, bool hundred, const std::string& path);

/// CSV: a row a point, x is [N, d]. `label_column` is a number from 0, a name in the header, "last" or "none".
Contents read_csv_bytes(const Buffer& file, const std::string& label_column, const std::string& path);

/// Text with one whole number a line. Blank lines are skipped.
std::vector<std::int64_t> read_label_lines(Bytes file, const std::string& path);

/// Text with one name a line, surrounding blanks removed. Blank lines are skipped.
std::vector<std::string> read_name_lines(Bytes file, const std::string& path);

}  // namespace probust::datasets
