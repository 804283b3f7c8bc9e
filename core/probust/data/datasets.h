// SPDX-License-Identifier: MIT
//
// Made data: what is drawn from a seed and needs no file. The same seed gives the same bits on every compiler, CPU and browser.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

/// One kind of data. To add one: its function, and its line in datasets.cpp.
struct MadeDataKind {
  std::string_view name;
  std::string_view summary;  ///< one line for people
  std::int64_t least, most;  ///< classes that it can have
  std::int64_t classes;      ///< unless others are asked for
  double noise;              ///< likewise
  /// Draws a point of a class, before the noise: a function of the random numbers alone.
  void (*draw)(NoiseStream& random, std::int64_t label, std::int64_t classes, std::span<float> point);
  /// Pixels a side of a picture [1, side, side], unless others are asked for: in [0, 1], which the noise does not leave either.
  /// 0: a place in the plane, [2].
  std::int64_t side = 0;
};

/// Every kind: moons, blobs, spirals, xor, rings (in the plane, about within [-1.5, 1.5]) and digits (28 x 28 pixels, or another
/// square).
std::span<const MadeDataKind> made_data_kinds();

/// The kind of a name. Throws Error{usage} that names them.
const MadeDataKind& made_data_kind(std::string_view name);

/// What to make.
struct MadeDataOptions {
  std::int64_t count = 500;
  std::optional<std::int64_t> classes{};  ///< the kind's own by default
  std::optional<double> noise{};          ///< standard deviation of what is added to every element; likewise
  std::optional<std::int64_t> side{};     ///< pixels a side of pictures, 8 to 256; likewise
  std::uint64_t seed = 0;
};

/// Point i is of class i modulo the classes, and depends on the seed, i and the options, not on the count. Throws Error{usage}
/// for what the kind cannot have, Error{resources} where the points are more than a tensor holds.
MadeData make_data(const MadeDataKind& kind, const MadeDataOptions& options);

/// Makes the same in pieces, for callers that may not be kept waiting.
class DataMaker {
 public:
  DataMaker(const MadeDataKind& kind, const MadeDataOptions& options);
  /// Makes points for about as long as `milliseconds`; true once all are there.
  bool step(double milliseconds);
  std::int64_t done() const { return static_cast<std::int64_t>(data_.labels.size()); }
  std::int64_t planned() const { return options_.count; }
  /// As far as it is made.
  const MadeData& data() const { return data_; }

 private:
  void make_next();

  const MadeDataKind& kind_;
  MadeDataOptions options_;
  double noise_;
  MadeData data_;
};

/// Cosine and sine of an angle in turns, the same bits everywhere; accurate to about 3e-7.
struct Direction {
  float x, y;
};
Direction direction(double turns);

/// Draws one of ten digits as strokes on a square of pixels in [0, 1], as many as `pixels` has: bright ink on dark paper.
void draw_digit(NoiseStream& random, std::int64_t digit, std::span<float> pixels);

}  // namespace probust
