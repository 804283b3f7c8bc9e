// SPDX-License-Identifier: MIT
//
// Plackett, "A reduction formula for normal multivariate integrals", Biometrika 41 (1954):
//
//     dp / dz_i   = phi(z_i) P(X_j <= z_j for j != i | X_i = z_i),
//     dp / dR_ij  = phi_2(z_i, z_j; R_ij) P(X_k <= z_k for k != i, j | X_i = z_i, X_j = z_j).
//
// With X = U Y, conditioning on X_i projects the other rows of U onto the plane orthogonal to row i. The result is a correlation
// matrix despite rounding, unlike R_jk - R_ij R_ik.
#include "probust/normal/gradient.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "probust/normal/factor.h"
#include "probust/normal/limits.h"
#include "probust/normal/univariate.h"

namespace probust::normal {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kCertain = 8e-15;       ///< conditional variances up to this are rounding
constexpr double kTie = 1e-13;           ///< differences of limits up to this, relative, are ties
constexpr double kGramRounding = 2e-15;  ///< rounding error of an entry of U U^T

/// U with R = U U^T for a positive semidefinite R; it has as many columns as the rank of R.
MatrixXd factor(const MatrixXd& R) {
  Arena arena;
  const GrowingCholesky cholesky = pivoted_cholesky(Orthant{R.rows(), nullptr, R.data(), R.rows()}, arena);
  MatrixXd U(R.rows(), cholesky.rank());
  for (Index c = 0; c < U.cols(); ++c) {
    for (Index i = 0; i < U.rows(); ++i) U(i, c) = cholesky.entry(i, c);
  }
  return U.rowwise().normalized();
}

double bivariate_pdf(double a, double b, double rho) {
  const double s = std::sqrt((1.0 - rho) * (1.0 + rho));
  return pdf(a) * pdf((b - rho * a) / s) / s;
}

struct Derivative {
  double value = 0.0, error = 0.0;
  Status status = Status::ok;
};

class Conditionals {
 public:
  Conditionals(std::span<const double> z, const MatrixXd& R, const Options& options) : z_(z), U_(factor(R)), options_(options) {}

  Derivative by_limit(Index i) const {
    const double density = pdf(z_[i]);
    return density > 0.0 ? scaled(density, {U_.row(i)}, {i}, {z_[i]}) : Derivative{};
  }

  Derivative by_correlation(Index i, Index j) const {
    if (!(pdf(z_[i]) > 0.0 && pdf(z_[j]) > 0.0)) return {};
    const double rho = U_.row(i).dot(U_.row(j));
    const Eigen::RowVectorXd rest = U_.row(j) - rho * U_.row(i);
    const double s = rest.norm();
    if (s * s <= kCertain) return by_fixed_correlation(i, j, rho < 0.0 ? -1.0 : 1.0);
    const double density = bivariate_pdf(z_[i], z_[j], rho);
    if (!(density > 0.0)) return {};
    return scaled(density, {U_.row(i), rest / s}, {i, j}, {z_[i], (z_[j] - rho * z_[i]) / s});
  }

 private:
  using Rows = std::vector<Eigen::RowVectorXd>;

  /// The derivative if X_i = sign X_j. The density is concentrated on a line, which affects p only in a tie.
  Derivative by_fixed_correlation(Index i, Index j, double sign) const {
    if (!tie(z_[j], sign * z_[i])) return {};
    const Derivative given = scaled(1.0, {U_.row(i)}, {i, j}, {z_[i]});
    return given.value > given.error ? Derivative{kInfinity, 0.0, given.status} : Derivative{0.0, given.error, given.status};
  }

  static bool tie(double a, double b) { return std::abs(a - b) <= kTie * (1.0 + std::max(std::abs(a), std::abs(b))); }

  /// The limit to use for a variable that is constant given the others: +inf if the variable is within its limit, -inf if not.
  double certain_limit(Index j, double mean, const std::vector<Index>& given) const {
    if (!tie(z_[j], mean)) return z_[j] > mean ? kInfinity : -kInfinity;
    const bool earlier_twin = std::any_of(given.begin(), given.end(), [&](Index i) {
      return j < i && tie(z_[i], z_[j]) && (U_.row(i) - U_.row(j)).squaredNorm() <= kCertain;
    });
    return earlier_twin ? -kInfinity : kInfinity;
  }

  /// `density` times P(the other variables are within their limits | the `given` ones are at theirs). `basis` is an orthonormal
  /// basis of the span of the given rows, and `at` are the coordinates of the given point in this basis.
  Derivative scaled(double density, const Rows& basis, const std::vector<Index>& given, const std::vector<double>& at) const {
    std::vector<double> limits;
    MatrixXd rows(U_.rows(), U_.cols());
    double sharpness = 0.0;
    for (Index j = 0; j < U_.rows(); ++j) {
      if (z_[j] == kInfinity || std::find(given.begin(), given.end(), j) != given.end()) continue;
      Eigen::RowVectorXd rest = U_.row(j);
      double mean = 0.0;
      for (std::size_t k = 0; k < basis.size(); ++k) {
        const double rho = basis[k].dot(rest);
        mean += rho * at[k];
        rest -= rho * basis[k];
      }
      const double s = rest.norm();
      if (s * s <= kCertain) {
        if (certain_limit(j, mean, given) < 0.0) return {};
        continue;
      }
      rows.row(static_cast<Index>(limits.size())) = rest / s;
      limits.push_back((z_[j] - mean) / s);
      sharpness += 1.0 / s;
    }
    Options options = options_;
    options.abs = std::min(options_.abs / density, options_.rel_q);
    options.rel_q = std::numeric_limits<double>::max();  // the complements of these probabilities are not used
    const Probability kept = mvn_cdf_factor(limits, rows.topRows(static_cast<Index>(limits.size())), options);
    // The limits and correlations of the smaller problem have errors of rounding / s_j and rounding / (s_j s_k); their effect
    // follows from Plackett's formula.
    const double rounding = std::min(1.0, kGramRounding * (1.0 + sharpness * sharpness));
    return {density * kept.p, density * (kept.error + rounding), kept.status};
  }

  std::span<const double> z_;
  MatrixXd U_;
  Options options_;
};

/// The worse of two statuses: a result without numbers is worse than one that misses its tolerance.
Status worse(Status one, Status two) {
  if (one == Status::ok || (one == Status::not_reached && two != Status::ok)) return two;
  return one;
}

void fill(MvnGradient& gradient, double value, Index m, bool correlations) {
  gradient.dz = gradient.dz_error = VectorXd::Constant(m, value);
  if (!correlations) return;
  gradient.dR = gradient.dR_error = MatrixXd::Constant(m, m, value);
}

void differentiate(MvnGradient& gradient, std::span<const double> z, const MatrixXd& R, const Options& options,
                   bool correlations) {
  const Index m = static_cast<Index>(z.size());
  const Conditionals conditionals(z, R, options);
  for (Index i = 0; i < m; ++i) {
    const Derivative by_limit = conditionals.by_limit(i);
    gradient.dz[i] = by_limit.value;
    gradient.dz_error[i] = by_limit.error;
    gradient.status = worse(gradient.status, by_limit.status);
    for (Index j = i + 1; correlations && j < m; ++j) {
      const Derivative by_correlation = conditionals.by_correlation(i, j);
      gradient.dR(i, j) = gradient.dR(j, i) = by_correlation.value;
      gradient.dR_error(i, j) = gradient.dR_error(j, i) = by_correlation.error;
      gradient.status = worse(gradient.status, by_correlation.status);
    }
  }
}

Probability no_memory() { return {kNan, kNan, kNan, kNan, "none", 0, Status::out_of_memory}; }

MvnGradient gradient_of(std::span<const double> z, const MatrixXd& R, const Options& options, bool correlations) {
  try {
    const Index m = static_cast<Index>(z.size());
    const Probability value = mvn_cdf(z, R, options);
    MvnGradient gradient{value, {}, {}, {}, {}, value.status};
    fill(gradient, value.valid() ? 0.0 : kNan, m, correlations);
    if (!value.valid() || m == 0 || *std::min_element(z.begin(), z.end()) == -kInfinity) return gradient;
    differentiate(gradient, z, R, options, correlations);
    if (!gradient.valid()) fill(gradient, kNan, m, correlations);
    return gradient;
  } catch (...) {  // only std::bad_alloc is possible
    return {no_memory(), {}, {}, {}, {}, Status::out_of_memory};
  }
}

}  // namespace

MvnGradient mvn_gradient(std::span<const double> z, const MatrixXd& R, const Options& options) {
  return gradient_of(z, R, options, true);
}

MvnGradient mvn_gradient_z(std::span<const double> z, const MatrixXd& R, const Options& options) {
  return gradient_of(z, R, options, false);
}

}  // namespace probust::normal
