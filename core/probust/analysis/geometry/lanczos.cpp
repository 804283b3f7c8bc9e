// SPDX-License-Identifier: MIT
#include "probust/analysis/geometry/lanczos.h"

#include <algorithm>
#include <cmath>

namespace probust {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kInvariant = 1e-12;  // a remainder this small, relative to the matrix, is rounding

// Subtracts the parts of v along the columns of Q. Two passes: after one, rounding errors may be as large as the remainder.
void orthogonalise(VectorXd& v, const Eigen::Ref<const MatrixXd>& Q) {
  for (int pass = 0; pass < 2; ++pass) v -= times(Q, transposed_times(Q, v));
}

// The ends of the spectrum of the tridiagonal matrix T. `beta` is the length of the next remainder.
void update(SpectrumEnds& ends, const MatrixXd& T, double beta, const LanczosGoal& goal) {
  const Spectrum ritz = symmetric_spectrum(T);
  const Index last = T.rows() - 1;
  ends.smallest = ritz.values[0];
  ends.largest = ritz.values[last];
  const double residual = beta * std::max(std::abs(ritz.vectors(last, 0)), std::abs(ritz.vectors(last, last)));
  ends.converged = residual <= std::max(goal.relative * std::abs(ends.dominant()), goal.absolute);
}

}  // namespace

SpectrumEnds spectrum_ends(const std::function<VectorXd(const VectorXd&)>& times_matrix, const VectorXd& start,
                           const LanczosGoal& goal) {
  const Index size = start.size(), steps = std::min<Index>(size, goal.most);
  MatrixXd Q(size, steps), T = MatrixXd::Zero(steps, steps);
  SpectrumEnds ends;
  VectorXd next = start;
  for (Index k = 0; k < steps && !ends.converged; ++k) {
    Q.col(k) = next.normalized();
    next = times_matrix(Q.col(k));
    ++ends.products;
    if (!next.allFinite()) return {NAN, NAN, ends.products, false};
    T(k, k) = Q.col(k).dot(next);
    const double length = next.norm();
    orthogonalise(next, Q.leftCols(k + 1));
    double beta = next.norm();
    if (k + 1 == size || beta <= kInvariant * length) beta = 0;  // the columns span an invariant subspace
    update(ends, T.topLeftCorner(k + 1, k + 1), beta, goal);
    if (k + 1 < steps) T(k + 1, k) = T(k, k + 1) = beta;
  }
  return ends;
}

}  // namespace probust
