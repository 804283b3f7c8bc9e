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
                    int threads) {
  constexpr std::int64_t kTogether = 64;  // samples whose noise is added at once, in a buffer that fits the cache
  const std::int64_t count = std::ssize(which), elements = points.size() == 0 ? 0 : points.x.size() / points.size();
  Shape shape = points.x.shape;
  shape[0] = count;
  Tensor x(shape);
  parallel_for((count + kTogether - 1) / kTogether, threads, [&](std::int64_t task, int) {
    const std::int64_t first = task * kTogether, lanes = std::min(kTogether, count - first);
    std::vector<std::uint32_t> index;
    for (std::int64_t j = first; j < first + lanes; ++j) {
      const auto from = points.x.row(which[j]);
      std::copy(from.begin(), from.end(), x.row(j).begin());
      index.push_back(static_cast<std::uint32_t>(points.index[which[j]]));
    }
    const Eigen::MatrixXf normals = w.middleRows(first, lanes);
    std::vector<float> noisy(static_cast<std::size_t>(elements * lanes));  // [elements][lanes]
    float* const rows = x.data.data() + first * elements;
    transpose(rows, lanes, elements, noisy.data());
    noise.shape->add_normals(index, elements, static_cast<float>(noise.scale), normals.data(), noisy.data());
    transpose(noisy.data(), elements, lanes, rows);
  });
  return x;
}

Tensor noisy_logits(Executor& executor, const Points& points, std::span<const std::int64_t> which, const Noise& noise,
                    const Eigen::MatrixXf& w) {
  constexpr std::int64_t kMostTogether = 1024;
  const std::int64_t count = std::ssize(which), row = element_count(executor.point_shape()) + w.cols() + executor.classes();
  const std::int64_t step = std::min(kMostTogether, points_at_once(executor, 3 * static_cast<std::int64_t>(sizeof(float)) * row));
  const int threads = executor.options().threads;
  Tensor all({count, executor.classes()});
  for (std::int64_t first = 0; first < count; first += step) {
    const std::int64_t some = std::min(step, count - first);
    const Tensor logits =
        executor.logits(noisy_points(points, which.subspan(first, some), noise, w.middleRows(first, some), threads)).value();
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
