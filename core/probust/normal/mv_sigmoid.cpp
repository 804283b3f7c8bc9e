// SPDX-License-Identifier: MIT
#include "probust/normal/mv_sigmoid.h"

#include <algorithm>
#include <cmath>

#include "probust/normal/limits.h"

namespace probust::normal {

MvSigmoid mv_sigmoid(std::span<const double> z) {
  double smallest = 0.0;
  for (const double value : z) {
    if (std::isnan(value)) return {kNan, kNan};
    smallest = std::min(smallest, value);
  }
  if (std::isinf(smallest)) return {0.0, 1.0};
  // Numerator and denominator are scaled by exp(smallest) <= 1, so no term exceeds 1.
  const double one = std::exp(smallest);
  double rest = 0.0;
  for (const double value : z) rest += std::exp(smallest - value);
  return {one / (one + rest), rest / (one + rest)};
}

}  // namespace probust::normal
