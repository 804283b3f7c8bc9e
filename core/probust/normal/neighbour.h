// SPDX-License-Identifier: MIT
//
// The nearest one-factor matrix to a correlation matrix, and the expansion of the probability around it. With X_i = a_i T + s_i
// e_i, the probability and all its derivatives with respect to correlations are integrals over T (one_factor.h).
#pragma once

#include <span>

#include "probust/normal/arena.h"
#include "probust/normal/orthant.h"

namespace probust::normal {

/// Loadings a, |a_i| <= largest, that minimise the sum of (R_ij - a_i a_j)^2 over i < j: a local minimum, found from the
/// leading eigenvector by iteration until no loading moves by more than `settled`. The limits of `orthant` are not used. The
/// result is allocated from `arena`.
std::span<const double> nearest_one_factor(const Orthant& orthant, double largest, double settled, Arena& arena);

/// p(t) for the correlations (1 - t) a a^T + t R off the diagonal: p(t) = zeroth + first t + second t^2 + O(t^3).
struct Expansion {
  double zeroth, first, second;
  double error;  ///< absolute error of each coefficient, from the quadrature
};

/// Computes the expansion in about 70 m^2 multiplications. Limits must be finite, and |loading| < 1. (closed_form.h has the same
/// expansion as a public function, with a complement that does not cancel and a check of its error.)
Expansion expand_one_factor(const Orthant& orthant, std::span<const double> loading, Arena& arena);

}  // namespace probust::normal
