// SPDX-License-Identifier: MIT
//
// Corrects the bias of a run's estimates, using the run's own noisy copies.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "probust/estimators/estimator.h"
#include "probust/run/row.h"

namespace probust {

struct Calibration {
  std::int64_t points = 0;       ///< the number of estimates moved; 0 if there were too few
  double before = 0, after = 0;  ///< their mean p
};

/// Corrects the estimates of a run, one estimator at one noise model, for the bias that their own copies show. The share of
/// copies that kept the answer, minus p, is regressed on phi(z) [1, z, z²], z = Phi^-1(p), shrunk towards no bias; each z moves
/// by the polynomial fitted to the other nine tenths of the points (cross-fitting). By Hausman (1978) that difference does not
/// depend on the sampling error of an efficient p. Only estimates that report how many of their copies were kept take part, and
/// nothing is done if there are fewer than 30; intervals widen to contain p, and notes say so. A point's correction
/// depends on the other points.
Calibration calibrate(std::span<Estimate> estimates);

/// The same for a run's rows, `questions` for each point in the same order: each question on its own.
std::vector<Calibration> calibrate_questions(std::span<Row> rows, std::size_t questions);

}  // namespace probust
