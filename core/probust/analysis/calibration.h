// SPDX-License-Identifier: MIT
//
// What a run's own copies say of the bias of its estimates.
#pragma once

#include <cstdint>
#include <span>

#include "probust/estimators/estimator.h"

namespace probust {

struct Calibration {
  std::int64_t points = 0;       ///< how many estimates were moved; 0 where there were too few
  double before = 0, after = 0;  ///< their mean p
};

/// Moves the estimates of a run, one estimator at one noise model, by the bias that their own copies show: the share of copies
/// that kept the answer, less p, is regressed on phi(z) [1, z, z²], z = Phi^-1(p), shrunk towards no bias, and each z moves by
/// the polynomial that the other nine tenths of the points gave. By Hausman (1978) that difference does not depend on the
/// sampling error of an efficient p. Only estimates that say how many of their copies were kept take part, and
/// none where these are fewer than 30; intervals widen to hold p, and statuses add "calibrated". What a point gets depends
/// on the others.
Calibration calibrate(std::span<Estimate> estimates);

}  // namespace probust
