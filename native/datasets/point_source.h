// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "datasets/dataset.h"
#include "probust/base/error.h"
#include "probust/base/tensor.h"

namespace probust {

/// Successive points of the data, without those that cannot be read.
struct PointBlock {
  Tensor x;                          ///< [n, ...]: stored values times the scale, in natural units; n may be 0
  std::vector<std::int64_t> index;   ///< the position in DATA of each of the n points, ascending
  std::vector<std::int64_t> labels;  ///< one per point, or empty if the data have none
};

/// What is known about the points before they are read. Positions are counted from `offset`.
struct PointList {
  std::int64_t offset = 0;               ///< position in DATA of the first point
  std::int64_t count = 0;                ///< number of points, including those that cannot be read
  Shape point_shape;                     ///< shape of one point
  std::vector<std::int64_t> labels;      ///< one per position, or empty; PointSource::kNoLabel for a bad row of a table
  std::vector<std::string> class_names;  ///< may be empty
  std::string label_mapping{};           ///< see Dataset
  std::int64_t named_classes = 0;        ///< number of classes in all of the data whose labels are texts or folders
  bool labels_guessed = false;           ///< whether text labels are numbered in sorted order because no class names are known
  std::vector<std::string> notes{};      ///< messages from the reader, without the label mapping
  double scale = 1;                      ///< factor for stored values
  bool bytes = false;                    ///< whether values are stored as bytes
};

/// Points in a file or folder, decoded on request. Not thread-safe.
class PointSource {
 public:
  static constexpr std::int64_t kNoLabel = INT64_MIN;

  virtual ~PointSource() = default;
  PointSource(const PointSource&) = delete;
  PointSource& operator=(const PointSource&) = delete;

  /// The number of points from the source's offset to its limit. Includes bad points, because images are counted without being
  /// decoded.
  std::int64_t count() const { return list_.count; }
  /// The position in DATA of the first point.
  std::int64_t offset() const { return list_.offset; }
  const Shape& point_shape() const { return list_.point_shape; }
  const std::vector<std::int64_t>& labels() const { return list_.labels; }
  const std::vector<std::string>& class_names() const { return list_.class_names; }

  /// How labels became class numbers, in one line; empty if they are class numbers.
  const std::string& label_mapping() const { return list_.label_mapping; }
  /// The number of classes whose labels are texts or folders, in all of DATA, independent of offset and limit; 0 if labels are
  /// numbers in an array.
  std::int64_t named_classes() const { return list_.named_classes; }
  /// Whether text labels are numbered in sorted order because no class names are known.
  bool labels_guessed() const { return list_.labels_guessed; }
  /// Messages from the reader, one line each: the label mapping, skipped files, ignored orientations, ...
  std::vector<std::string> notes() const;
  /// The factor applied to stored values, and whether they are bytes.
  double scale() const { return list_.scale; }
  bool stored_as_bytes() const { return list_.bytes; }

  /// The smallest and largest label; empty if there are no labels.
  std::optional<std::pair<std::int64_t, std::int64_t>> label_range() const;

  /// The files from which the points and labels are read, in order.
  virtual std::vector<std::string> files() const = 0;

  /// The points at positions [first, first + count), counted from the source's offset. With skip_bad, a bad point is omitted
  /// and listed in bad(). Throws Error: usage (positions beyond count()), unreadable (a bad point without skip_bad; a file that
  /// has changed since it was opened), resources.
  PointBlock read(std::int64_t first, std::int64_t count);

  /// The bad points among all points read so far, ordered by position.
  std::vector<BadPoint> bad() const;

 protected:
  PointSource(PointList list, bool skip_bad) : list_(std::move(list)), skip_bad_(skip_bad) {}

  /// Called by decode() for a point that cannot be read. Throws the error unless bad points are skipped.
  void found_bad(std::int64_t position, Error error);

 private:
  /// The points at these positions, without bad points, for which it calls found_bad().
  virtual Tensor decode(std::int64_t first, std::int64_t count) = 0;

  PointList list_;
  bool skip_bad_ = false;
  std::map<std::int64_t, Error> bad_;  // by position in DATA
};

/// Opens a file that read_dataset can read, or a folder of images (PNG, JPEG). .npy, IDX, CIFAR binary and images are read
/// block by block when points are requested; the contents of .csv, compressed .npz and .gz files are read immediately and kept in
/// memory as stored.
///
/// A folder has one subfolder per class, or only images. In the latter case, labels come from DatasetOptions::labels_path (a
/// table of file names and labels) or are missing. Points are in the order of their sorted paths. A subfolder whose name is a
/// number is the class of that number; other names are matched like text labels. Errors: as for read_dataset.
Result<std::unique_ptr<PointSource>> open_dataset(const std::string& path, const DatasetOptions& options = {});

}  // namespace probust
