// SPDX-License-Identifier: MIT
#include "probust/analysis/accuracy.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace probust {

Proportion proportion(std::int64_t count, std::int64_t of) {
  if (of == 0) return {count, of, std::numeric_limits<double>::quiet_NaN(), 0, 1};
  constexpr double kZ = 1.959963984540054;  // Phi^-1(0.975)
  const auto n = static_cast<double>(of);
  const double share = static_cast<double>(count) / n, z2 = kZ * kZ;
  const double centre = (share + z2 / (2 * n)) / (1 + z2 / n);
  const double half = kZ * std::sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n);
  return {count, of, share, count == 0 ? 0 : centre - half, count == of ? 1 : centre + half};
}

Proportion clean_accuracy(const RowGroup& group) {
  std::int64_t correct = 0, labelled = 0;
  for (const double right : group.correct()) {
    labelled += std::isfinite(right) ? 1 : 0;
    correct += right == 1 ? 1 : 0;
  }
  return proportion(correct, labelled);
}

MeanInterval noisy_accuracy(const RowGroup& group) {
  MeanInterval mean = mean_probability(group.p_label(), 0.95, group.common_variance());
  if (mean.mean == 1) mean.low = std::min(mean.low, group.mean_p().low);
  return mean;
}

}  // namespace probust
