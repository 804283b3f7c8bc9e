// SPDX-License-Identifier: MIT
// Separation of variables (Genz 1992) for many problems at once, with the same functions, lattice and variable order as the
// core (normal/separation.cpp, normal/ordering.cpp).
#include <cmath>

#include "cuda/kernels.h"
#include "cuda/launch.h"
#include "probust/normal/lattice.h"
#include "probust/normal/rational.h"

namespace probust::cuda {
namespace {

namespace rational = normal::rational;

// The mean of a standard normal variable, given that it is below `bound`.
PROBUST_HOST_DEVICE inline double mean_below(double bound) {
  if (bound < 0.0) return -1.0 / rational::mills_ratio(rational::smaller(-bound, rational::kFar));
  double below, above;
  rational::cdf(bound, below, above);
  return -rational::density(rational::smaller(bound, rational::kFar)) / below;
}

struct Start {
  NormalProblems all;
  PROBUST_HOST_DEVICE void operator()(std::int64_t entry) const {
    all.residual[entry] = 1.0;
    all.slack[entry] = all.limits[entry];
    if (entry % all.size == 0) all.least[entry / all.size] = 1.0;
  }
};

// Chooses the most restrictive variable, given the means of the previous ones.
struct Choose {
  NormalProblems all;
  std::int64_t column;
  PROBUST_HOST_DEVICE void operator()(std::int64_t problem) const {
    const double *residual = all.residual + problem * all.size, *slack = all.slack + problem * all.size;
    std::int64_t pivot = -1;
    double lowest = 0.0;
    for (std::int64_t i = 0; i < all.size; ++i) {
      if (residual[i] < 0.0) continue;
      const double bound = slack[i] / std::sqrt(rational::larger(residual[i], NormalProblems::kSmallest));
      if (pivot >= 0 && !(bound < lowest)) continue;
      pivot = i;
      lowest = bound;
    }
    const double variance = rational::larger(residual[pivot], NormalProblems::kSmallest);
    all.least[problem] = rational::smaller(all.least[problem], residual[pivot]);
    all.order[problem * all.size + column] = static_cast<std::int32_t>(pivot);
    all.root[problem] = std::sqrt(variance);
    all.mean[problem] = mean_below(lowest);
  }
};

// Computes the next column of the Cholesky factor.
struct Take {
  NormalProblems all;
  std::int64_t column;
  PROBUST_HOST_DEVICE void operator()(std::int64_t problem, std::int64_t i) const {
    const std::int64_t m = all.size, at = problem * m + i;
    double* const factor = all.factor + problem * m * m;
    if (all.residual[at] < 0.0) return;  // already placed
    const std::int64_t pivot = all.order[problem * m + column];
    if (i == pivot) {
      factor[column * m + i] = all.root[problem];
      all.residual[at] = -1.0;
      return;
    }
    double entry = all.correlations[(problem * m + pivot) * m + i];
    for (std::int64_t c = 0; c < column; ++c) entry -= factor[c * m + i] * factor[c * m + pivot];
    entry /= all.root[problem];
    factor[column * m + i] = entry;
    all.residual[at] = rational::larger(0.0, all.residual[at] - entry * entry);
    all.slack[at] -= entry * all.mean[problem];
  }
};

// Writes the rows in the order of the variables, divided by their diagonal elements.
struct Sort {
  NormalProblems all;
  PROBUST_HOST_DEVICE void operator()(std::int64_t row, std::int64_t c) const {
    const std::int64_t m = all.size, problem = row / m, r = row % m;
    if (c > r) return;
    const double* const factor = all.factor + problem * m * m;
    const std::int64_t i = all.order[row];
    const double last = factor[r * m + i];
    if (c < r) {
      all.rows[row * m + c] = factor[c * m + i] / last;
    } else {
      all.bounds[row] = all.limits[problem * m + i] / last;
    }
  }
};

// Evaluates the integrand at one lattice point with one shift.
struct Evaluate {
  NormalProblems all;
  NormalPoints at;
  PROBUST_HOST_DEVICE void operator()(std::int64_t thread) const {
    const std::int64_t each = at.points * normal::kShifts, k = thread % each, shift = k % normal::kShifts;
    const std::int64_t problem = at.problems[thread / each], m = all.size;
    const double fraction = static_cast<double>(at.first + at.stride * (k / normal::kShifts)) / static_cast<double>(at.whole);
    double* const y = at.y + thread;  // variable c at y[c * threads]
    const std::int64_t threads = at.count * each;
    double p = 1.0, q = 0.0;
    for (std::int64_t r = 0; r < m; ++r) {
      const double* const row = all.rows + (problem * m + r) * m;
      double bound = all.bounds[problem * m + r], below, above;
      for (std::int64_t c = 0; c < r; ++c) bound = rational::multiply_add(-row[c], y[c * threads], bound);
      rational::cdf(bound, below, above);
      q += p * above;
      p *= below;
      if (r + 1 < m) {
        const double u = normal::ShiftedLattice::folded(fraction, at.generator[r], at.shifts[r * normal::kShifts + shift]);
        y[r * threads] = rational::quantile(u * below);
      }
    }
    at.values[thread] = p;
    at.values[threads + thread] = q;
  }
};

struct LevelTerm {
  NormalPoints at;
  // Sums are stored as [p or q][problem][shift].
  PROBUST_HOST_DEVICE double operator()(std::int64_t sum, std::int64_t point) const {
    const std::int64_t shift = sum % normal::kShifts, problem = sum / normal::kShifts;  // sums of p, followed by those of q
    return at.values[(problem * at.points + point) * normal::kShifts + shift];
  }
};

struct StoreSum {
  double* to;
  PROBUST_HOST_DEVICE void operator()(std::int64_t i, double sum) const { to[i] = sum; }
};

}  // namespace

void order_variables(Device& device, const NormalProblems& all) {
  for_each(device, all.count * all.size, Start{all});
  for (std::int64_t column = 0; column < all.size; ++column) {
    for_each(device, all.count, Choose{all, column});
    for_each_element(device, all.count, all.size, Take{all, column});
  }
  for_each_element(device, all.count * all.size, all.size, Sort{all});
}

void evaluate_level(Device& device, const NormalProblems& all, const NormalPoints& at, double* sums) {
  for_each(device, at.count * at.points * normal::kShifts, Evaluate{all, at});
  for_each_sum(device, 2 * at.count * normal::kShifts, at.points, LevelTerm{at}, StoreSum{sums});
}

}  // namespace probust::cuda
