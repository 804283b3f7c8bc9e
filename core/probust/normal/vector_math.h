// SPDX-License-Identifier: MIT
//
// The normal distribution for a block of points at once: loops of fixed length over rational.h.
#pragma once

#include <algorithm>

#include "probust/normal/lattice.h"
#include "probust/normal/rational.h"

namespace probust::normal {

/// P(X <= x) and P(X > x), both with relative accuracy; arguments are clamped to +-37.5.
inline void cdf_lanes(const Lanes& x, Lanes& below, Lanes& above) {
  for (int i = 0; i < kLanes; ++i) rational::cdf(x[i], below[i], above[i]);
}

/// The density and P(X <= x), both with relative accuracy; arguments are clamped to +-37.5.
inline void density_lanes(const Lanes& x, Lanes& density, Lanes& below) {
  for (int i = 0; i < kLanes; ++i) {
    const double distance = std::min(std::abs(x[i]), rational::kFar);
    density[i] = rational::density(distance);
    const double tail = density[i] * rational::mills_ratio(distance);
    below[i] = x[i] < 0.0 ? tail : 1.0 - tail;
  }
}

/// Quantiles of p in [0, 1], about 1e-15 relative; p is clamped to [1e-300, 1 - 1e-16].
inline void quantile_lanes(const Lanes& p, Lanes& x) {
  Lanes root;
  int far = 0;
  for (int i = 0; i < kLanes; ++i) {
    const double tail = std::min(std::max(std::min(p[i], 1.0 - p[i]), 1e-300), 0.5);
    root[i] = std::sqrt(-rational::log(tail));
  }
  for (int i = 0; i < kLanes; ++i) far |= static_cast<int>(root[i] > 5.0);
  for (int i = 0; i < kLanes; ++i) {
    const double centred = p[i] - 0.5;
    const double magnitude = rational::quantile_tail(std::min(root[i], 5.0));
    const double outer = centred < 0.0 ? -magnitude : magnitude;
    const double central = rational::quantile_central(centred);
    x[i] = std::abs(centred) <= 0.425 ? central : outer;
  }
  if (far == 0) return;
  for (int i = 0; i < kLanes; ++i) {
    const double magnitude = rational::quantile_far_tail(root[i]);
    const double outer = p[i] < 0.5 ? -magnitude : magnitude;
    x[i] = root[i] > 5.0 ? outer : x[i];
  }
}

}  // namespace probust::normal
