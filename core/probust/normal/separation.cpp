// SPDX-License-Identifier: MIT
//
// Genz, "Numerical computation of multivariate normal probabilities", J. Comput. Graph. Statist. 1 (1992).
// Genz and Bretz, "Computation of Multivariate Normal and t Probabilities", Springer (2009), chapter 4.
// Genz and Kwong, "Numerical evaluation of singular multivariate normal distributions", J. Statist. Comput. Simul. 68 (2000).
// Botev, "The normal law under linear restrictions: simulation and estimation via minimax tilting", J. R. Statist. Soc. B 79
// (2017), tilts this integrand. This is not done here: on problems like those of classifiers, with 8 to 98 dimensions, it halved
// the integrand's standard deviation but not the error over a lattice, and rare failure is left to other methods.
#include "probust/normal/separation.h"

#include <algorithm>
#include <cmath>

#include "probust/normal/factor.h"
#include "probust/normal/limits.h"
#include "probust/normal/ordering.h"
#include "probust/normal/univariate.h"
#include "probust/normal/vector_math.h"

namespace probust::normal {
Separation::Separation(const Orthant& orthant, std::uint64_t seed, std::int64_t points, Arena& arena)
    : dimension_(static_cast<int>(orthant.size)), lattice_(dimension_, seed, arena), mean_(points) {
  arrange(orthant, arena);
  y_ = arena.take<Lanes>(columns_.size());
}

void Separation::arrange(const Orthant& orthant, Arena& arena) {
  const Eigen::Index m = orthant.size;
  GrowingCholesky cholesky(orthant, arena);
  const std::span<double> slack = arena.take<double>(m);  // each limit minus the earlier variables at their conditional means
  std::copy_n(orthant.limits, m, slack.begin());
  const std::span<Eigen::Index> group = arena.take<Eigen::Index>(m);
  const std::span<Column> columns = arena.take<Column>(m);
  Eigen::Index c = 0;
  for (;; ++c) {
    const Eigen::Index pivot = most_binding(cholesky, slack);
    if (pivot < 0) break;
    std::size_t count = 0;
    for (Eigen::Index i = 0; i < m; ++i) {
      if (cholesky.open(i)) group[count++] = i;
    }
    cholesky.take(pivot);
    // Rows that end in this column: they were open before and no longer are.
    const auto ended = std::remove_if(group.begin(), group.begin() + count, [&](Eigen::Index i) { return cholesky.open(i); });
    count = static_cast<std::size_t>(ended - group.begin());

    const std::span<Row> rows = arena.take<Row>(count);
    std::size_t upper = 0, lower = rows.size();
    double lo = -kInfinity, hi = kInfinity;  // hi becomes finite, because the pivot's own entry is positive
    for (const Eigen::Index i : group.first(count)) {
      const double last = cholesky.entry(i, c);
      bias_ += std::sqrt(std::max(0.0, cholesky.residual(i))) * pdf(orthant.z(i));
      if (last == 0.0) continue;
      const std::span<double> coefficient = arena.take<double>(c);
      for (Eigen::Index d = 0; d < c; ++d) coefficient[d] = cholesky.entry(i, d) / last;
      steepest_ = std::max(steepest_, std::sqrt(std::max(0.0, 1.0 - last * last)) / std::abs(last));
      rows[last > 0.0 ? upper++ : --lower] = {coefficient.data(), orthant.z(i) / last};
      if (last > 0.0) {
        hi = std::min(hi, slack[i] / last);
      } else {
        lo = std::max(lo, slack[i] / last);
      }
    }
    columns[c] = {rows.first(upper), rows.subspan(lower)};
    if (c == 0) first_mass_ = interval(lo, hi);
    const double mean = confined_mean(lo, hi);
    settle(cholesky, c, mean, slack);
  }
  columns_ = columns.first(c);
}

void Separation::bound(const Row& row, std::size_t column, Lanes& at) const {
  at.fill(row.limit);
  for (std::size_t d = 0; d < column; ++d) {
    const double factor = -row.coefficient[d];
    const Lanes& y = y_[d];
    for (int i = 0; i < kLanes; ++i) at[i] = rational::multiply_add(factor, y[i], at[i]);
  }
}

void Separation::evaluate(const ShiftedLattice::Block& block, Lanes& p, Lanes& q) {
  Lanes hi, lo, at, u, below, above, low_below, low_above;
  p.fill(1.0);
  q.fill(0.0);
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const Column& column = columns_[c];
    const bool last = c + 1 == columns_.size();
    hi.fill(rational::kFar);
    for (const Row& row : column.upper) {
      bound(row, c, at);
      for (int i = 0; i < kLanes; ++i) hi[i] = std::min(hi[i], at[i]);
    }
    if (!last) lattice_.coordinate(static_cast<int>(c), block, u);
    if (column.lower.empty()) {
      cdf_lanes(hi, below, above);
      for (int i = 0; i < kLanes; ++i) {
        q[i] += p[i] * above[i];
        p[i] *= below[i];
        u[i] *= below[i];
      }
      if (!last) quantile_lanes(u, y_[c]);
      continue;
    }
    lo.fill(-rational::kFar);
    for (const Row& row : column.lower) {
      bound(row, c, at);
      for (int i = 0; i < kLanes; ++i) lo[i] = std::max(lo[i], at[i]);
    }
    // Intervals that lie mostly above zero are mirrored, so that their mass is a difference of lower tails.
    Lanes sign;
    for (int i = 0; i < kLanes; ++i) {
      hi[i] = std::max(hi[i], lo[i]);
      sign[i] = lo[i] + hi[i] > 0.0 ? -1.0 : 1.0;
      const double left = sign[i] > 0.0 ? lo[i] : -hi[i], right = sign[i] > 0.0 ? hi[i] : -lo[i];
      lo[i] = left;
      hi[i] = right;
    }
    cdf_lanes(hi, below, above);
    cdf_lanes(lo, low_below, low_above);
    for (int i = 0; i < kLanes; ++i) {
      const double mass = std::max(0.0, below[i] - low_below[i]);
      q[i] += p[i] * std::min(1.0, above[i] + low_below[i]);
      p[i] *= mass;
      u[i] = low_below[i] + u[i] * mass;
    }
    if (last) continue;
    quantile_lanes(u, y_[c]);
    for (int i = 0; i < kLanes; ++i) y_[c][i] = sign[i] * std::min(std::max(y_[c][i], lo[i]), hi[i]);
  }
}

void Separation::refine(const std::atomic<bool>* stop) {
  mean_.refine([this](const ShiftedLattice::Block& block, Lanes& p, Lanes& q) { evaluate(block, p, q); }, stop);
}

double Separation::error() const {
  return kErrorFactor * mean_.standard_error() + bias_ + unseen_mass(mean_, first_mass_, steepest_);
}

double unseen_mass(const LatticeMean& mean, double most, double steepest) {
  // If none of n points is inside, 3 / n bounds the missed share with 95% confidence (the rule of three). This counts in full if
  // all points gave 0, or if bounds are so steep that the integrand jumps between neighbouring points; it counts less for gentler
  // bounds.
  constexpr double kSteep = 50.0;
  const double gentle = std::min(1.0, steepest / kSteep);
  const double share = mean.p() > 0.0 ? gentle * gentle : 1.0;
  return 3.0 * share * most / static_cast<double>(std::max<std::int64_t>(mean.points(), 1));
}

}  // namespace probust::normal
