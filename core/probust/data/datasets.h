// SPDX-License-Identifier: MIT
//
// Generated data, which need only a seed and no file. The same seed gives the same bits on every compiler, CPU and browser.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "probust/base/job.h"
#include "probust/base/tensor.h"
#include "probust/noise/noise.h"

namespace probust {

/// Labelled points.
struct MadeData {
  Tensor x;                          ///< [N, ...]
  std::vector<std::int64_t> labels;  ///< [N] 0 .. classes - 1
  std::int64_t classes = 0;

  std::int64_t size() const { return static_cast<std::int64_t>(labels.size()); }
};

/// One kind of data. To add one, write its function and add a line to datasets.cpp.
struct MadeDataKind {
  std::string_view name;
  std::string_view summary;  ///< one line of help
  std::int64_t least, most;  ///< the smallest and largest number of classes
  std::int64_t classes;      ///< default number of classes
  double noise;              ///< default standard deviation of the noise
  /// Draws a point of a class before noise is added; depends only on its arguments.
  void (*draw)(NoiseStream& random, std::int64_t label, std::int64_t classes, std::span<float> point);
  /// Default number of pixels per side of an image [1, side, side]. Pixels stay in [0, 1] after noise is added. A side of 0 means
  /// a point in the plane, [2].
  std::int64_t side = 0;
};

/// Every kind: moons, blobs, spirals, xor, rings (in the plane, roughly within [-1.5, 1.5]) and digits (28 x 28 pixels, or a
/// square of a different size).
std::span<const MadeDataKind> made_data_kinds();

/// The kind with this name. Otherwise throws Error{usage} listing the names.
const MadeDataKind& made_data_kind(std::string_view name);

/// The number and properties of the points to generate.
struct MadeDataOptions {
  std::int64_t count = 500;
  std::optional<std::int64_t> classes{};  ///< by default, that of the kind
  /// Standard deviation of the noise added to every element; by default, that of the kind.
  std::optional<double> noise{};
  std::optional<std::int64_t> side{};  ///< pixels per side of images, 8 to 256; by default, that of the kind
  std::uint64_t seed = 0;
};

/// Generates the points. Point i has class i modulo the number of classes, and depends on the seed, i and the options, but not on
/// the count. Throws Error{usage} for options that the kind does not support, Error{resources} if a tensor cannot hold the
/// points.
MadeData make_data(const MadeDataKind& kind, const MadeDataOptions& options);

/// make_data as a job, point by point.
class DataMaker final : public Job {
 public:
  /// Throws as make_data does.
  DataMaker(const MadeDataKind& kind, const MadeDataOptions& options);

  std::int64_t done() const override { return data_.size(); }
  std::int64_t planned() const override { return options_.count; }
  /// The points generated so far.
  const MadeData& data() const { return data_; }

 private:
  bool advance() override;

  const MadeDataKind& kind_;
  MadeDataOptions options_;
  double noise_;
  MadeData data_;
};

/// Cosine and sine of an angle in turns, accurate to about 3e-7, with the same bits on every compiler, CPU and browser.
struct Direction {
  float x, y;
};
Direction direction(double turns);

/// Draws one of ten digits as strokes on a square of `pixels.size()` pixels in [0, 1]: bright ink on dark paper.
void draw_digit(NoiseStream& random, std::int64_t digit, std::span<float> pixels);

}  // namespace probust
