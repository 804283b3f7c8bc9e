// SPDX-License-Identifier: MIT
#include "probust/estimators/noisy_logits.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "probust/base/parallel.h"
#include "probust/base/transpose.h"
#include "probust/estimators/statistics/pair_statistics.h"

namespace probust {

Tensor noisy_points(const Points& points, std::span<const std::int64_t> which, const Noise& noise, const Eigen::MatrixXf& w,
                    int threads, std::int64_t row) {
  constexpr std::int64_t kTogether = 64;  // samples whose noise is added at once, in a buffer that fits the cache
  const std::int64_t count = std::ssize(which), elements = points.size() == 0 ? 0 : points.x.size() / points.size();
  Shape shape = points.x.shape;
  shape[0] = count;
  Tensor x(shape);
  parallel_for((count + kTogether - 1) / kTogether, threads, [&](std::int64_t task, int) {
    const std::int64_t first = task * kTogether, lanes = std::min(kTogether, count - first);
    std::vector<std::uint32_t> index(static_cast<std::size_t>(lanes));
    float* const rows = x.data.data() + first * elements;
    for (std::int64_t j = 0; j < lanes; ++j) {
      const std::int64_t point = which[first + j];
      std::copy_n(points.x.data.data() + point * elements, elements, rows + j * elements);
      index[j] = static_cast<std::uint32_t>(points.index[point]);
    }
    // [elements][lanes] and [normals][lanes]
    std::vector<float> noisy(static_cast<std::size_t>(elements * lanes)), normals(static_cast<std::size_t>(w.cols() * lanes));
    for (std::int64_t k = 0; k < w.cols(); ++k)
      std::copy_n(w.data() + k * w.rows() + row + first, lanes, normals.data() + k * lanes);
    transpose(rows, lanes, elements, noisy.data());
    noise.shape->add_normals(index, elements, static_cast<float>(noise.scale), normals.data(), noisy.data());
    transpose(noisy.data(), elements, lanes, rows);
  });
  return x;
}

Tensor noisy_logits(Executor& executor, const Points& points, std::span<const std::int64_t> which, const Noise& noise,
                    const Eigen::MatrixXf& w) {
  constexpr std::int64_t kMostTogether = 1024;
  const std::int64_t count = std::ssize(which), own = element_count(executor.point_shape()) + w.cols() + executor.classes();
  const std::int64_t step = std::min(kMostTogether, points_at_once(executor, 3 * static_cast<std::int64_t>(sizeof(float)) * own));
  Tensor all({count, executor.classes()});
  for (std::int64_t first = 0; first < count; first += step) {
    const auto some = which.subspan(first, std::min(step, count - first));
    const Tensor logits = executor.logits(noisy_points(points, some, noise, w, executor.options().threads, first)).value();
    std::copy(logits.data.begin(), logits.data.end(), all.row(first).data());
  }
  return all;
}

float finite_margin(std::span<const float> logits, std::int64_t target, std::int64_t rival) {
  const float difference = logits[target] - logits[rival];
  if (std::isnan(difference)) return -std::numeric_limits<float>::max();
  if (difference == 0 && rival > target) return std::numeric_limits<float>::min();  // the lower index wins a tie
  return std::clamp(difference, -std::numeric_limits<float>::max(), std::numeric_limits<float>::max());
}

}  // namespace probust
