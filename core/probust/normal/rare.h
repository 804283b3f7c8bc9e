// SPDX-License-Identifier: MIT
//
// Rare failure: q = P(some X_i > z_i) with a relative accuracy that does not depend on how small q is.
#pragma once

#include <cstdint>

#include "probust/normal/arena.h"
#include "probust/normal/orthant.h"

namespace probust::normal {

struct RareFailure {
  double q, error;  ///< q and its absolute error
  std::int64_t points;
};

/// When to stop sampling.
struct Goal {
  double abs, rel_q;
  std::uint64_t seed;
  std::int64_t max_points;
  const std::atomic<bool>* stop = nullptr;  ///< see Options

  /// The absolute error to reach.
  double target(double q) const { return abs < rel_q * q ? abs : rel_q * q; }
};

/// q as the sum over i of P(X_i > z_i, X_j <= z_j for j < i), for finite, positive, ascending limits. The first two terms are
/// exact. The others are orthant probabilities by separation of variables; terms that contribute more to the error get more
/// samples.
RareFailure telescope(const Orthant& orthant, const Goal& goal, Arena& arena);

/// q by importance sampling from a mixture with one component for each limit that may fail. Faster than `telescope` if there are
/// many limits.
RareFailure importance_sample(const Orthant& orthant, const Goal& goal, Arena& arena);

}  // namespace probust::normal
