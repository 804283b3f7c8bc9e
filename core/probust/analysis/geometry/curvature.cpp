// SPDX-License-Identifier: MIT
#include "probust/analysis/geometry/curvature.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "probust/analysis/geometry/jacobian.h"
#include "probust/analysis/geometry/lanczos.h"
#include "probust/base/linear_algebra.h"
#include "probust/estimators/statistics/pair_statistics.h"
#include "probust/normal/univariate.h"

namespace probust {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kEigenvalueTolerance = 1e-3;  // relative to the eigenvalue of largest modulus
constexpr int kProbes = 12;                    // random directions for a mean eigenvalue

Curvature of_pairs(const Pairs& sampled, const VectorXd& at_x) {
  const auto pairs = static_cast<double>(sampled.size());
  const MatrixXd even = (0.5 * (sampled.plus + sampled.minus)).colwise() - at_x, odd = 0.5 * (sampled.plus - sampled.minus);
  const VectorXd mean = even.rowwise().mean();
  const VectorXd unit = (odd.array().square().rowwise().sum() / pairs).sqrt();
  const VectorXd scatter = ((even.colwise() - mean).array().square().rowwise().sum() / (pairs - 1)).sqrt();
  Curvature result;
  result.shift = VectorXd::Zero(mean.size());
  result.scatter = VectorXd::Zero(mean.size());
  for (Index i = 0; i < mean.size(); ++i) {
    if (unit[i] == 0 && mean[i] == 0 && scatter[i] == 0) continue;  // the margin does not vary with the noise, so it is linear
    result.shift[i] = mean[i] / unit[i];
    result.scatter[i] = scatter[i] / unit[i];
  }
  const auto largest = [](const VectorXd& v) {
    if (v.array().isNaN().any()) return std::numeric_limits<double>::quiet_NaN();
    return v.size() > 0 ? v.cwiseAbs().maxCoeff() : 0.0;
  };
  result.largest_shift = largest(result.shift);
  result.largest_scatter = largest(result.scatter);
  return result;
}

// Margin gradients [d, m] at x + step.
class Gradients {
 public:
  Gradients(Executor& executor, const Points& points, std::int64_t i)
      : executor_(executor), x_(rows(points.x, i, 1)), target_(points.target[i]) {}
  Index size() const { return x_.size(); }
  double scale() const {
    return std::max(1.0, VectorXd(Eigen::Map<const Eigen::VectorXf>(x_.data.data(), size()).cast<double>()).norm());
  }

  MatrixXd at(const VectorXd& step) {
    Tensor x = x_;
    for (Index e = 0; e < size(); ++e) x.data[e] += static_cast<float>(step[e]);
    const LogitJacobian J = jacobian_at(executor_, x);
    MatrixXd gradients(size(), J.rows() - 1);
    for (Index c = 0, row = 0; c < J.rows(); ++c) {
      if (c != target_) gradients.col(row++) = (J.row(target_) - J.row(c)).transpose().cast<double>();
    }
    return gradients;
  }

 private:
  Executor& executor_;
  Tensor x_;
  std::int64_t target_;
};

// The largest density of normal variables whose correlations are those of the gradients u [d, m].
double largest_density(const MatrixXd& u) {
  const MatrixXd units = u.colwise().normalized();
  const Cholesky gram(transposed_product(units, units));
  const double log_determinant = gram.definite() ? gram.log_determinant() : -INFINITY;
  return std::exp(static_cast<double>(u.cols()) * std::log(normal::pdf(0)) - log_determinant / 2);
}

// Products with the Hessian 2 A of a margin, as differences of gradients over `step`.
class HalfHessian {
 public:
  HalfHessian(Gradients& gradients, Index rival, double step) : gradients_(gradients), rival_(rival), step_(step) {}

  VectorXd times(const VectorXd& v) const {
    return (gradients_.at(step_ * v) - gradients_.at(-step_ * v)).col(rival_) / (4 * step_);
  }
  // The length of the rounding error of a product, for a gradient of this length.
  double rounding(double gradient_norm) const { return kGradientRounding * gradient_norm / (2 * step_); }

 private:
  static constexpr double kGradientRounding = 1e-6;  // relative, of gradients in single precision
  Gradients& gradients_;
  Index rival_;
  double step_;
};

// Adds one rival's eigenvalues to the bound. False if A has a negative eigenvalue.
bool add_eigenvalues(QuadraticBound& bound, Index rival, const HalfHessian& A, std::int64_t products,
                     const std::function<VectorXd()>& direction) {
  const auto times = [&](const VectorXd& v) { return A.times(v); };
  const SpectrumEnds ends =
      spectrum_ends(times, direction(), {kEigenvalueTolerance, A.rounding(bound.gradient_norm[rival]), products});
  bound.lambda_max[rival] = ends.dominant();
  bound.converged = bound.converged && ends.converged;
  for (int k = 0; k < kProbes; ++k) {
    const VectorXd probe = direction();  // of unit length: E[vᵀA v] is the mean eigenvalue
    bound.lambda_mean[rival] += probe.dot(A.times(probe)) / kProbes;
  }
  return ends.smallest >= -kEigenvalueTolerance * std::abs(ends.dominant());
}

QuadraticBound quadratic_bound(Executor& executor, const Points& points, std::int64_t i, double sigma, double h,
                               std::int64_t products) {
  Gradients gradients(executor, points, i);
  const Index d = gradients.size(), m = executor.classes() - 1;
  NoiseStream random(points.seed, static_cast<std::uint32_t>(points.index[i]), 0, 0xc0de);
  const auto direction = [&] {
    VectorXd v(d);
    for (double& x : v) x = random.normal();
    return VectorXd(v.normalized());
  };
  const MatrixXd u = gradients.at(VectorXd::Zero(d));
  QuadraticBound bound{VectorXd::Zero(m), VectorXd::Zero(m), u.colwise().norm().transpose()};
  bound.k = largest_density(u);
  bool semidefinite = true;
  for (Index rival = 0; rival < m; ++rival)
    semidefinite &= add_eigenvalues(bound, rival, {gradients, rival, h * gradients.scale()}, products, direction);
  const double scaled = sigma * std::sqrt(static_cast<double>(d));  // the paper's noise has variance sigma² / d per element
  bound.taylor = bound.mmse = 1;
  for (Index rival = 0; rival < m; ++rival) {
    bound.taylor *= scaled * bound.lambda_max[rival] / bound.gradient_norm[rival];
    bound.mmse *= scaled * std::max(0.0, bound.lambda_max[rival] - bound.lambda_mean[rival]) / bound.gradient_norm[rival];
    bound.summed +=
        normal::pdf(0) * sigma * static_cast<double>(d) * std::abs(bound.lambda_max[rival]) / bound.gradient_norm[rival];
  }
  bound.summed = std::min(1.0, bound.summed);
  bound.defined = m > 0 && semidefinite && (bound.gradient_norm.array() > 0).all() && (bound.lambda_max.array() > 0).all();
  return bound;
}

}  // namespace

Result<std::vector<Curvature>> curvature(Executor& executor, const Points& points, const Noise& noise, std::int64_t pairs) {
  return guarded("curvature", [&] {
    if (pairs < 2)
      throw Error{ErrorCode::usage, "curvature", "needs at least two pairs of noisy samples, not " + std::to_string(pairs), ""};
    if (!noise.shape->mirrored())
      throw Error{ErrorCode::unsupported, noise.text(), "has no antithetic pairs", "use symmetric additive noise"};
    check(executor, points);
    const Tensor logits = executor.logits(points.x).value();
    const std::int64_t step = points_at_once(executor, 32 * pairs * executor.classes());
    std::vector<Curvature> all;
    for (std::int64_t first = 0; first < points.size(); first += step) {
      const Points part = slice(points, first, std::min(step, points.size() - first));
      const std::vector<Pairs> sampled = executor.pairs(part, noise, pairs).value();
      for (std::int64_t i = 0; i < part.size(); ++i)
        all.push_back(of_pairs(sampled[i], margins_of(logits.row(first + i), part.target[i])));
    }
    return all;
  });
}

Result<std::vector<QuadraticBound>> quadratic_bounds(Executor& executor, const Points& points, double sigma, double h,
                                                     std::int64_t products) {
  return guarded("quadratic_bounds", [&] {
    if (!(sigma > 0) || !(h > 0) || products < 1)
      throw Error{ErrorCode::usage, "quadratic_bounds", "needs a positive sigma, a positive h and at least one product", ""};
    check(executor, points);
    std::vector<QuadraticBound> all;
    for (std::int64_t i = 0; i < points.size(); ++i) all.push_back(quadratic_bound(executor, points, i, sigma, h, products));
    return all;
  });
}

}  // namespace probust
