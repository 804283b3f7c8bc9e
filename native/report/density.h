// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

namespace probust::report {

/// The density of a sample at `heights`, relative to the largest of them.
struct Density {
  std::vector<double> heights, shares;  ///< ascending from the smallest to the largest value; 0..1
};

/// A kernel estimate with Gaussian kernels, cut off at the smallest and the largest value. The bandwidth is Silverman's, 0.9
/// min(deviation, interquartile range / 1.34) n^(-1/5) ("Density estimation", 1986, equation 3.31), and at least a hundredth of
/// `range`, so that equal values have a visible shape. Empty without values.
Density density(std::vector<double> values, double range, int heights = 60);

}  // namespace probust::report
