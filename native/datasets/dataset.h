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
  std::int64_t index;  ///< its position in DATA
  Error error;         ///< names the file, and the row if it is one
};

/// Points, with labels and class names if known.
struct Dataset {
  Tensor x;  ///< [N, ...], channel-first images or [N, d]: stored values times the scale, in natural units
  std::vector<std::int64_t> labels;      ///< one per point, or empty if the data have none
  std::vector<std::string> class_names;  ///< by class number, digits for classes without a name; empty if none are known
  std::vector<std::int64_t> index{};     ///< each point's position in DATA
  std::vector<BadPoint> bad{};           ///< skipped points (DatasetOptions::skip_bad)
  std::string label_mapping{};           ///< how labels became class numbers, in one line; empty for plain class numbers
  std::vector<std::string> notes{};  ///< notes of the reader, one line each: begins with the label mapping. Options in them and
                                     ///< in the mapping have to be spelled (base/error.h)
};

struct DatasetOptions {
  std::optional<double> scale{};      ///< stored value times this; default 1/255 for uint8 storage, 1 otherwise
  std::string label_column = "last";  ///< CSV: a column counted from 0, a name in the header, "none", or "last": the last one, or
                                      ///< the only one whose header is a name for labels
  bool cifar100 = false;              ///< CIFAR-100 binary rows have a coarse and a fine label; the fine one is used
  std::string labels_path{};          ///< .npy, IDX or text (a label per line) that overrides labels found in the data
  std::int64_t offset = 0, limit = -1;  ///< points [offset, offset + limit) of the file; a negative limit means all
  bool skip_bad = false;                ///< skip unreadable points instead of failing

  // Class names in the model's order. Text labels and folders are matched with them, ignoring case.
  std::vector<std::string> classes{};  ///< given by the caller: a label that is not among them is an error
  std::vector<std::string>
      known_classes{};  ///< names of the model, without `classes`: if no label is among them, they are not used

  // The next options are for images; with them, other files are rejected.
  std::int64_t resize = 0;    ///< the shorter side after resizing; 0: as stored
  std::int64_t crop = 0;      ///< the side of the central square to crop to after that; 0: all
  std::int64_t channels = 0;  ///< 1 gray, 3 colour; 0: gray if all images are gray
};

/// Reads points from a file. Its format is determined from its content first, then from its name: .npy [N, ...]; .npz (arrays x
/// and, optionally, y); IDX, plain or gzip, as [N, 1, H, W], with the labels file in the same folder (labels-idx1 for
/// images-idx3); CIFAR binary as [N, 3, 32, 32]; CSV as [N, d].
///
/// Numeric labels are kept; text labels are matched with DatasetOptions::classes or known_classes, or numbered in sorted order
/// (labels.h). Non-finite values are kept. Errors: unreadable (missing, truncated, of the wrong format, without rows, label
/// count, offset beyond the end), usage (a scale that is zero or not finite, a negative offset, a limit of zero), resources.
Result<Dataset> read_dataset(const std::string& path, const DatasetOptions& options = {});

/// The known formats, for hints: ".npy, .npz, CIFAR .bin, IDX (.gz too) or .csv".
std::string known_formats();

/// Numbers in float64.
struct Numbers {
  Shape shape;
  std::vector<double> values;  ///< row-major
};

/// The array in a .npy, .npz (x), IDX or CSV file (all its columns), unscaled. Errors: as read_dataset.
Result<Numbers> read_numbers(const std::string& path);

/// One class name per line. Errors: unreadable.
Result<std::vector<std::string>> read_class_names(const std::string& path);

}  // namespace probust
