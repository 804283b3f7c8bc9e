// SPDX-License-Identifier: MIT
//
// Corrects the bias of a run's estimates, using the run's own noisy samples.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "probust/estimators/estimator.h"
#include "probust/run/row.h"

namespace probust {

struct Calibration {
  std::int64_t points = 0;       ///< number of estimates changed; 0 if there were too few
  double before = 0, after = 0;  ///< mean p of these estimates before and after the correction
};

/// Corrects the estimates of one estimator at one noise model for the bias that their own noisy samples show. The
/// observed share of survivors minus p is regressed on phi(z) [1, z, z²], z = Phi^-1(p), shrunk towards zero. Each z is then
/// shifted by the polynomial fitted to the other nine tenths of the points (cross-fitting). By Hausman (1978), the share minus p
/// is independent of the sampling error of an efficient p. Only estimates that report their counts are used and corrected, and
/// only if there are at least 30. Intervals are widened to contain p, and notes mention the correction. The corrected estimate of
/// a point depends on the other points.
Calibration calibrate(std::span<Estimate> estimates);

/// Calibrates the rows of a run that has `questions` rows per point, one for each noise and estimator, in the same order
/// for every point. The rows of each question are calibrated separately.
std::vector<Calibration> calibrate_questions(std::span<Row> rows, std::size_t questions);

}  // namespace probust
