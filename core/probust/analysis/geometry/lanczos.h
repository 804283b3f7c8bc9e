// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>

#include "probust/base/linear_algebra.h"

namespace probust {

/// The ends of the spectrum of a symmetric matrix.
struct SpectrumEnds {
  double smallest = 0, largest = 0;  ///< Ritz values, which lie within the spectrum
  std::int64_t products = 0;         ///< products with the matrix
  bool converged = false;            ///< whether both residuals are within the tolerance
  /// The end of larger modulus.
  double dominant() const { return -smallest > largest ? smallest : largest; }
};

/// When to end the iterations: once both residuals |A v - theta v| are at most `relative` times the larger modulus, or at most
/// `absolute`, the rounding of a product. An eigenvalue is then at most this far from each end. Gives up after `most` products.
struct LanczosGoal {
  double relative = 1e-3, absolute = 0;
  std::int64_t most = 100;
};

/// Lanczos iterations (Golub and Van Loan, Matrix Computations, section 10.1) with complete reorthogonalisation, from `start`,
/// a vector of any nonzero length. NaN if a product is not finite.
SpectrumEnds spectrum_ends(const std::function<Eigen::VectorXd(const Eigen::VectorXd&)>& times, const Eigen::VectorXd& start,
                           const LanczosGoal& goal);

}  // namespace probust
