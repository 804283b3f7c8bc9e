// SPDX-License-Identifier: MIT
// p = Phi_R(z) with z_i = g_i / (sigma s_i), R_ij = A_ij / (s_i s_j), s_i² = A_ii, so
//
//     dp/dg_i  = dp/dz_i / (sigma s_i),
//     dp/dA_ij = dp/dR_ij / (2 s_i s_j) for i != j (A_ij and A_ji each get half),
//     dp/dA_ii = -(z_i dp/dz_i + sum_j R_ij dp/dR_ij) / (2 A_ii).
#include "probust/estimators/gradient/normal_gradient.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "probust/normal/gradient.h"
#include "probust/normal/mv_sigmoid.h"

namespace probust {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// The derivatives are sums over many terms, so each is computed more accurately than p.
constexpr double kAbsolute = 1e-5, kRelative = 1e-3;

LinearizedP constant(double p, Index m) { return {p, VectorXd::Zero(m), MatrixXd::Zero(m, m)}; }

// p with its derivatives with respect to z and R, for the rivals of the problem.
struct ByBoundaries {
  double p;
  VectorXd dz;
  MatrixXd dR;
};

ByBoundaries by_normal_cdf(const NormalProblem& problem, const std::atomic<bool>* stop) {
  normal::MvnGradient gradient = normal::mvn_gradient(problem.z, problem.R, {.abs = kAbsolute, .rel_q = kRelative, .stop = stop});
  if (!gradient.valid()) return {std::numeric_limits<double>::quiet_NaN(), {}, {}};
  // The correlation of two boundaries that coincide has an infinite derivative, but is 1 at every point.
  gradient.dR = gradient.dR.unaryExpr([](double value) { return std::isinf(value) ? 0.0 : value; });
  return {gradient.value.p, std::move(gradient.dz), std::move(gradient.dR)};
}

ByBoundaries by_mv_sigmoid(const NormalProblem& problem) {
  const auto m = static_cast<Index>(problem.z.size());
  const double p = normal::mv_sigmoid(problem.z).p;
  return {p, mv_sigmoid_gradient(problem, p), MatrixXd::Zero(m, m)};
}

void chain(const NormalProblem& problem, const ByBoundaries& by, double sigma, LinearizedP& result) {
  const VectorXd& s = problem.deviations;
  for (Index a = 0; a < s.size(); ++a) {
    const Index i = problem.rows[a];
    result.by_margins[i] = by.dz[a] / (sigma * s[a]);
    double through_length = problem.z[a] * by.dz[a];
    for (Index b = 0; b < s.size(); ++b) {
      if (a == b || by.dR(a, b) == 0) continue;
      result.by_gram(i, problem.rows[b]) = by.dR(a, b) / (2 * s[a] * s[b]);
      through_length += problem.R(a, b) * by.dR(a, b);
    }
    result.by_gram(i, i) = -through_length / (2 * s[a] * s[a]);
  }
}

}  // namespace

LinearizedP differentiated(const Linearization& linearization, std::int64_t target, double sigma, NormalCdf cdf,
                           const std::atomic<bool>* stop) {
  const bool exact = cdf == NormalCdf::exact;
  const NormalProblem problem = normal_problem(linearization, target, sigma, exact ? Wanted::z_and_R : Wanted::all_z);
  LinearizedP result = constant(std::numeric_limits<double>::quiet_NaN(), linearization.rivals());
  if (!problem.finite) return result;
  if (problem.always_fails || problem.z.empty()) return constant(problem.always_fails ? 0 : 1, linearization.rivals());
  const ByBoundaries by = exact ? by_normal_cdf(problem, stop) : by_mv_sigmoid(problem);
  stop_if_asked(stop);
  if (std::isnan(by.p)) return result;
  result.p = by.p;
  chain(problem, by, sigma, result);
  return result;
}

}  // namespace probust
