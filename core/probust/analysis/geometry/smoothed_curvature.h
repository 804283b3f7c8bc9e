// SPDX-License-Identifier: MIT
//
// Curvature of the mean margin under the noise. It is defined for every network, while the curvature of a ReLU network at the
// point itself is zero almost everywhere.
#pragma once

#include <cstdint>
#include <vector>

#include "probust/exec/executor.h"

namespace probust {

/// A number estimated from noisy samples.
struct Sampled {
  double value = 0, std_error = 0;
};

/// Properties of the smoothed margin G(x) = E g(x + eps), eps ~ N(0, sigma² I), over the nearest rival: the one with the smallest
/// G / (sigma |grad G|). H is the Hessian of G.
struct SmoothedCurvature {
  std::int64_t rival = -1;   ///< the class of the nearest rival
  double margin = 0;         ///< G
  double gradient_norm = 0;  ///< |grad G|
  /// vᵀH v for unit v found by Lanczos iterations: within the range of H's eigenvalues and close to its ends; `largest` is at
  /// least `mean`, `smallest` at most `mean`.
  Sampled largest, smallest;
  Sampled mean;  ///< the mean eigenvalue, trace(H) / d
};

struct SmoothedCurvatureOptions {
  std::int64_t pairs = 256;            ///< antithetic pairs for each of the three numbers (6 forwards each)
  std::int64_t gradient_samples = 32;  ///< samples for the gradient of G, and for each product with H in the iterations
  int iterations = 8;
};

/// The three numbers are means of second differences
///   (g(x + eps' + s v) - 2 g(x + eps') + g(x + eps' - s v)) / s²,   s = sigma,
/// each of which is the second derivative along v, smoothed with a triangular density of variance s² / 6. The variance of the
/// noise eps' along v is smaller by s² / 6, so that the total is sigma². This is exact for polynomials of degree five, and within
/// 0.5% of the peak value for a kink. The directions come from other samples, so the standard errors cover all sampling errors
/// but those of the directions.
///
/// Error{unsupported} if the executor has no gradients or its classifier is piecewise constant, Error{usage} if an option is not
/// positive.
Result<std::vector<SmoothedCurvature>> smoothed_curvature(Executor& executor, const Points& points, double sigma,
                                                          const SmoothedCurvatureOptions& options = {});

}  // namespace probust
