// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/array.h"
#include "datasets/bytes.h"
#include "datasets/labels.h"
#include "datasets/point_source.h"

namespace probust::datasets {

/// The contents of a data file: points along the first axis of `x`, and either one label per point or no labels.
struct Contents {
  Array x;
  StoredLabels labels{};
  std::vector<BadPoint> bad{};       ///< rows that cannot be read, in order; their values in `x` are meaningless
  std::vector<std::string> notes{};  ///< see PointList
};

/// A format of data files; formats.cpp lists them.
struct Format {
  std::string_view name;                                     ///< as in "give a .npy, .npz or .csv file"
  bool (*begins)(const Head& file);                          ///< whether the content is of this format
  bool (*named)(const std::string& path, const Head& file);  ///< whether the name is, for files whose content is not recognised
  Contents (*read)(const Stored& file, const DatasetOptions& options, const std::string& path);
  StoredLabels (*labels)(const Stored& file, const std::string& path);
};

/// The extension of a file's name, in lower case, such as ".csv".
std::string lower_extension(const std::string& path);

/// The format of a file, determined by its first bytes or, failing that, by its name; any other text is CSV. Throws
/// Error{unreadable} if there is none.
const Format& format_of(const Stored& file, const std::string& path);

// One reader per format. Each one reads only the parts that it needs; arrays stay in the file unless they are compressed. The
// readers throw Error{unreadable} about `path`.

/// .npy: format 1 to 3.
Array read_npy_array(const Stored& file, const std::string& path);

/// .npy with labels [N]: integers, or text ('<U9', '|S9').
StoredLabels read_npy_labels(const Stored& file, const std::string& path);

/// .npz: the array called `x` and, if present, `y` as labels.
Contents read_npz(const Stored& file, const std::string& path);

/// IDX, possibly gzipped: an array with 1 to 8 axes.
Array read_idx(const Stored& file, const std::string& path);

/// Whether an uncompressed file is IDX: it has an IDX header that declares exactly this many bytes.
bool is_idx(const Head& file);

/// CIFAR binary: rows of 1 label (`hundred`: a coarse and a fine label) and 3 x 32 x 32 bytes. x is [N, 3, 32, 32].
Contents read_cifar(const Stored& file, bool hundred, const std::string& path);

/// CSV: one point per row, so x is [N, d]. `label_column` is a column counted from 0, a name in the header, "last" or "none".
/// Rows with a wrong number of cells, or with a cell that is not a number, are bad. If `counted_header`, a first row of numbers
/// may be a header that numbers the columns.
Contents read_csv(const Stored& file, const std::string& label_column, const std::string& path, bool counted_header = true);

/// Text with one label per line: only integers or only words. Blank lines and a header are skipped.
StoredLabels read_label_lines(const Stored& file, const std::string& path);

/// Text with one name per line. Blanks around names are removed, and blank lines are skipped.
std::vector<std::string> read_name_lines(const Stored& file, const std::string& path);

/// Like open_dataset, but throws errors instead of returning them.
std::unique_ptr<PointSource> open_points(const std::string& path, const DatasetOptions& options);

/// The points of a folder of images.
std::unique_ptr<PointSource> open_image_folder(const std::string& path, const DatasetOptions& options);

/// A list whose `offset` and `count` are those of the rows that the options' offset and limit select among `rows` rows. Throws
/// Error{unreadable} if no rows are selected.
PointList chosen(std::int64_t rows, const std::string& path, const DatasetOptions& options);

/// Selects the labels of the rows in `list` from the labels of all rows.
std::vector<std::int64_t> chosen_labels(const std::vector<std::int64_t>& labels, const PointList& list);

}  // namespace probust::datasets
