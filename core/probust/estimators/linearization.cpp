// SPDX-License-Identifier: MIT
#include "probust/estimators/linearization.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "probust/normal/univariate.h"

namespace probust {
namespace {

constexpr std::size_t kAlwaysUsed = 64;
// Failure probabilities below these limits, absolute and relative to that of the most likely rival, are negligible.
constexpr double kNegligible = 1e-5, kNegligibleShare = 1e-3;

// The number of rivals, in ascending order of z, that must be used so that the failure probabilities of all others are
// negligible; at most kMostRivals.
struct Nearest {
  std::size_t count = 0;
  double left_out = 0;  // sum of the failure probabilities of the others
};

Nearest select_nearest(const std::vector<double>& z) {
  if (z.empty()) return {};
  const double most = normal::complement(z.front()), negligible = std::min(kNegligible, kNegligibleShare * most);
  Nearest nearest{z.size(), 0};
  while (nearest.count > kAlwaysUsed) {
    const double with_next = nearest.left_out + normal::complement(z[nearest.count - 1]);
    if (with_next > negligible && nearest.count <= kMostRivals) break;
    nearest.left_out = with_next;
    --nearest.count;
  }
  return nearest;
}

// If there are many rivals, drops those that cannot matter from z and rows. Returns an upper bound on what the dropped rivals may
// add to the failure probability.
double drop_negligible(std::vector<double>& z, std::vector<std::int64_t>& rows) {
  std::vector<std::size_t> order(z.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return z[a] < z[b]; });
  std::vector<double> ascending;
  ascending.reserve(z.size());
  for (const std::size_t i : order) ascending.push_back(z[i]);
  const Nearest nearest = select_nearest(ascending);
  order.resize(nearest.count);
  std::sort(order.begin(), order.end());
  for (std::size_t k = 0; k < order.size(); ++k) {
    z[k] = z[order[k]];
    rows[k] = rows[order[k]];
  }
  z.resize(nearest.count);
  rows.resize(nearest.count);
  return nearest.left_out;
}

// Sets z and rows, and whether the problem always fails or is degenerate, for margins with these variances at unit scale.
void standardise(NormalProblem& problem, const Eigen::VectorXd& margins, const Eigen::VectorXd& variances, std::int64_t target,
                 double sigma) {
  for (Eigen::Index i = 0; i < margins.size(); ++i) {
    if (variances[i] > 0) {
      problem.rows.push_back(i);
      problem.z.push_back(margins[i] / (sigma * std::sqrt(variances[i])));
    } else {
      const bool rival_wins_ties = i < target;  // row i is class i below the target and class i + 1 above it
      problem.always_fails = problem.always_fails || margins[i] < 0 || (margins[i] == 0 && rival_wins_ties);
    }
  }
  problem.degenerate = margins.size() > 0 && problem.rows.empty();
}

// Computes R and the standard deviations, given the covariance of the rows.
void correlate(NormalProblem& problem, Eigen::MatrixXd covariance) {
  const auto m = static_cast<Eigen::Index>(problem.rows.size());
  problem.R = std::move(covariance);
  problem.deviations = problem.R.diagonal().cwiseSqrt();
  for (Eigen::Index a = 0; a < m; ++a) {
    for (Eigen::Index b = 0; b < m; ++b) {
      const double correlation = problem.R(a, b) / problem.deviations[a] / problem.deviations[b];
      problem.R(a, b) = a == b ? 1.0 : std::min(1.0, std::max(-1.0, correlation));
    }
  }
}

}  // namespace

NormalProblem normal_problem(const Linearization& linearization, std::int64_t target, double sigma, Wanted wanted) {
  const Eigen::VectorXd variances = linearization.variances();
  NormalProblem problem;
  problem.finite = linearization.margins.allFinite() && variances.allFinite() && linearization.gram.allFinite();
  if (!problem.finite) return problem;
  standardise(problem, linearization.margins, variances, target, sigma);
  if (wanted == Wanted::all_z) {
    problem.deviations = variances(problem.rows).cwiseSqrt();
    return problem;
  }
  if (linearization.last || problem.rows.size() > kMostRivals) problem.left_out = drop_negligible(problem.z, problem.rows);
  correlate(problem, linearization.covariance(problem.rows));
  return problem;
}

NormalProblem normal_problem(const MarginMoments& moments, std::int64_t target) {
  NormalProblem problem;
  problem.finite = moments.mean.allFinite() && moments.covariance.allFinite();
  if (!problem.finite) return problem;
  standardise(problem, moments.mean, moments.covariance.diagonal(), target, 1);
  if (problem.rows.size() > kMostRivals) problem.left_out = drop_negligible(problem.z, problem.rows);
  correlate(problem, moments.covariance(problem.rows, problem.rows));
  return problem;
}

}  // namespace probust
