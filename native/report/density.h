// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

namespace probust::report {

/// The density of a sample. `heights` are values in ascending order, from the smallest value of the sample to the largest;
/// `shares` are the densities at these values, divided by the largest density.
struct Density {
  std::vector<double> heights, shares;
};

/// Estimates the density with Gaussian kernels, between the smallest and the largest value. The bandwidth is Silverman's, 0.9
/// min(deviation, interquartile range / 1.34) n^(-1/5) ("Density estimation", 1986, equation 3.31), but at least a hundredth of
/// `range`, so that equal values have a visible shape. Empty if there are no values.
Density density(std::vector<double> values, double range, int heights = 60);

}  // namespace probust::report
