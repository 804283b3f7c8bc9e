// SPDX-License-Identifier: MIT
#include "probust/estimators/noisy_logits.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "probust/estimators/statistics/pair_statistics.h"

namespace probust {

Tensor noisy_points(const Points& points, std::span<const std::int64_t> which, const Noise& noise, const Eigen::MatrixXf& w) {
  const auto lanes = static_cast<Eigen::Index>(which.size());
  Shape shape = points.x.shape;
  shape[0] = lanes;
  const Eigen::Index elements = points.size() == 0 ? 0 : points.x.size() / points.size();
  Eigen::MatrixXf noisy(lanes, elements);  // by columns: [elements][lanes]
  std::vector<std::uint32_t> index;
  index.reserve(which.size());
  for (Eigen::Index j = 0; j < lanes; ++j) {
    noisy.row(j) = Eigen::Map<const Eigen::RowVectorXf>(points.x.row(which[j]).data(), elements);
    index.push_back(static_cast<std::uint32_t>(points.index[which[j]]));
  }
  noise.shape->add_normals(index, elements, static_cast<float>(noise.scale), w.data(), noisy.data());
  Tensor x(shape);
  using Rows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Eigen::Map<Rows>(x.data.data(), lanes, elements) = noisy;
  return x;
}

Tensor noisy_logits(Executor& executor, const Points& points, std::span<const std::int64_t> which, const Noise& noise,
                    const Eigen::MatrixXf& w) {
  constexpr std::int64_t kMostTogether = 4096;
  const std::int64_t count = std::ssize(which), row = element_count(executor.point_shape()) + w.cols() + executor.classes();
  const std::int64_t step = std::min(kMostTogether, points_at_once(executor, 3 * static_cast<std::int64_t>(sizeof(float)) * row));
  Tensor all({count, executor.classes()});
  for (std::int64_t first = 0; first < count; first += step) {
    const std::int64_t some = std::min(step, count - first);
    const Tensor logits =
        executor.logits(noisy_points(points, which.subspan(first, some), noise, w.middleRows(first, some))).value();
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
