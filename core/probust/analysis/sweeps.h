// SPDX-License-Identifier: MIT
//
// p as a function of sigma, from the rows of a run with several scales of one noise shape; and, for each point, the tolerated
// scale: the sigma at which p falls to a threshold.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "probust/analysis/groups.h"
#include "probust/analysis/statistics.h"

namespace probust {

/// The rows of one model, noise shape and estimator at one scale.
struct SweepScale {
  double sigma = 0;
  MeanInterval p;
  std::vector<const Row*> rows{};  ///< ordered by index; owned by the caller
};

struct RowSweep {
  std::string model, shape, estimator;  ///< shape: "gaussian" if the noise is "gaussian:0.1"
  std::vector<SweepScale> scales{};     ///< ascending
};

/// Groups rows by sweep, in order of first appearance. Rows of noise without a scale are omitted; a sweep may have a single
/// scale.
std::vector<RowSweep> sweeps_of(std::span<const Row> rows);

/// The scale at which a point's p falls to a threshold, within the sweep's range.
struct ToleratedScale {
  enum class Kind : std::uint8_t {
    within,  ///< sigma is between two scales of the sweep
    below,   ///< p is already below the threshold at the smallest scale: `sigma` is that scale, an upper bound
    above    ///< p is not below the threshold at the largest scale: `sigma` is that scale, a lower bound
  };
  Kind kind = Kind::within;
  double sigma = 0;
};

struct PointTolerance {
  const Row* row = nullptr;  ///< the point's row at the smallest scale at which it has p
  ToleratedScale scale{};
};

struct Tolerances {
  double threshold = 0;
  std::vector<PointTolerance> points{};  ///< points that have p at one scale or more, ordered by index
  std::int64_t within = 0, below = 0, above = 0;
  std::int64_t unanswered = 0;  ///< points that have no p at any scale

  static constexpr std::array<double, 5> kShares = {0.05, 0.25, 0.5, 0.75, 0.95};
  /// The quantiles at kShares, as order statistics: the rank is the share times the number of points, rounded up. Points with a
  /// scale beyond the sweep's range count, so a quantile may be beyond it, too. Empty without points.
  std::vector<ToleratedScale> quantiles{};
};

/// The first scale at which p falls to the threshold, by interpolation: Phi^-1(p) is linear in ln sigma between two
/// scales. A p of 0 or 1 is moved by half a noisy sample, 1 / (2 forwards), so that Phi^-1(p) is finite. Scales without
/// p are skipped. Throws Error{usage} unless the threshold is between 0 and 1.
Tolerances tolerances_of(const RowSweep& sweep, double threshold);

}  // namespace probust
