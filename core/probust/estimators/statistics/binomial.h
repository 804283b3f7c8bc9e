// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace probust {

struct Interval {
  double low, high;
};

/// The Clopper-Pearson interval for the probability of a success, given `successes` in `trials`. Its coverage is at least
/// `confidence` (Clopper and Pearson, "The use of confidence or fiducial limits ...", Biometrika 1934).
Interval clopper_pearson(std::int64_t successes, std::int64_t trials, double confidence = 0.95);

/// ln B(a, b) = ln Gamma(a) + ln Gamma(b) - ln Gamma(a + b), a, b > 0.
double log_beta(double a, double b);

/// The regularised incomplete beta function I_x(a, b), a, b > 0, 0 <= x <= 1, to about 1e-13.
double incomplete_beta(double a, double b, double x);

}  // namespace probust
