// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "probust/base/error.h"
#include "probust/base/tensor.h"

namespace probust {

/// A point that cannot be read.
struct BadPoint {
  std::int64_t index;  ///< its position in the data
  Error error;         ///< names the file and, for a table, the row
};

/// Points, with labels and class names if known.
struct Dataset {
  Tensor x;  ///< [N, ...]: stored values times the scale, in natural units; images have their channels first
  std::vector<std::int64_t> labels;      ///< one per point, or empty if the data have none
  std::vector<std::string> class_names;  ///< by class number; classes without a name have digits; empty if no names are known
  std::vector<std::int64_t> index{};     ///< each point's position in DATA
  std::vector<BadPoint> bad{};           ///< skipped points (DatasetOptions::skip_bad)
  std::string label_mapping{};           ///< how labels became class numbers, in one line; empty for plain class numbers
  std::vector<std::string> notes{};      ///< messages from the reader, one line each, beginning with the label mapping. Notes and
                                         ///< mapping must be passed to spelled() (base/error.h), because they may contain options
};

struct DatasetOptions {
  std::optional<double> scale{};      ///< factor for stored values; if empty, 1/255 for bytes (uint8) and 1 for other types
  std::string label_column = "last";  ///< CSV: a column counted from 0, a name in the header, "none", or "last": the last column,
                                      ///< or the only one whose name indicates labels
  bool cifar100 = false;              ///< rows of a CIFAR binary file have a coarse and a fine label; the fine one is used
  std::string labels_path{};          ///< file of labels (.npy, IDX or text with one per line) that replace those in the data
  std::int64_t offset = 0, limit = -1;  ///< points [offset, offset + limit) of the file; a negative limit means all
  bool skip_bad = false;                ///< skip unreadable points instead of failing

  // Class names in the model's order. Text labels and folders are matched with them, ignoring case.
  std::vector<std::string> classes{};  ///< given by the caller: a label that is not among them is an error
  std::vector<std::string>
      known_classes{};  ///< the model's names, used if `classes` is empty and at least one label is among them

  // Options for images. If one is set, other files are rejected.
  std::int64_t resize = 0;    ///< the length of the shorter side after resizing; 0: no resizing
  std::int64_t crop = 0;      ///< the side of the central square to which images are then cropped; 0: no cropping
  std::int64_t channels = 0;  ///< 1: gray; 3: colour; 0: gray if all images are gray, otherwise colour
};

/// Reads points from a file. The format is determined from the content or, failing that, from the name: .npy [N, ...]; .npz
/// (arrays x and, optionally, y); IDX, plain or gzipped, as [N, 1, H, W], with the file of labels in the same folder
/// (labels-idx1 for images-idx3); CIFAR binary as [N, 3, 32, 32]; CSV as [N, d].
///
/// Numeric labels are class numbers; text labels are matched with DatasetOptions::classes or known_classes, or numbered in sorted
/// order (labels.h). Non-finite values are kept. Errors: unreadable (the file is missing, truncated, of an unknown format or
/// without rows; the number of labels is wrong; the offset is beyond the end), usage (a scale that is zero or not finite, a
/// negative offset, a limit of zero), resources.
Result<Dataset> read_dataset(const std::string& path, const DatasetOptions& options = {});

/// The known formats, for hints: ".npy, .npz, CIFAR .bin, IDX (also .gz) or .csv".
std::string known_formats();

/// An array of float64 numbers.
struct Numbers {
  Shape shape;
  std::vector<double> values;  ///< row-major
};

/// The unscaled array in a .npy, .npz (its array x), IDX or CSV file (all columns). Errors: as read_dataset.
Result<Numbers> read_numbers(const std::string& path);

/// Reads a file with one class name per line. Errors: unreadable.
Result<std::vector<std::string>> read_class_names(const std::string& path);

}  // namespace probust
