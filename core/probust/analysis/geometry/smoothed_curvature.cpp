// SPDX-License-Identifier: MIT
#include "probust/analysis/geometry/smoothed_curvature.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "probust/analysis/geometry/jacobian.h"
#include "probust/base/linear_algebra.h"

namespace probust {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr std::uint32_t kDirections = 0xd1f;  // stream of the draws that determine directions
constexpr double kTriangle = 1.0 / 6;         // variance of the triangular density on (-1, 1)

// Noisy samples of one point, with the margin over one rival at each of them.
class PointCopies {
 public:
  PointCopies(Executor& executor, const Points& points, std::int64_t i, double sigma)
      : executor_(executor),
        x_(rows(points.x, i, 1)),
        target_(points.target[i]),
        index_(static_cast<std::uint32_t>(points.index[i])),
        seed_(points.seed),
        sigma_(sigma) {}

  void set_rival(std::int64_t rival) { rival_ = rival; }
  Index size() const { return x_.size(); }

  VectorXd noise(std::int64_t sample, std::uint32_t stream = 0) const {
    const auto number = static_cast<std::uint32_t>(sample);
    std::vector<float> draw(x_.data.size(), 0.0F);
    isotropic_gaussian()->add({seed_, {&index_, 1}, {&number, 1}, stream}, size(), static_cast<float>(sigma_), draw.data());
    return Eigen::Map<const Eigen::VectorXf>(draw.data(), size()).cast<double>();
  }

  VectorXd unit_direction(std::int64_t number) const { return noise(number, kDirections).normalized(); }

  VectorXd gradient(const VectorXd& step) const {
    Tensor copy = x_;
    put(step, copy.data.data());
    return margin_gradient(jacobian_at(executor_, copy), target_, rival_);
  }

  // The margins at x + each column of `steps`.
  VectorXd margins(const MatrixXd& steps) const {
    Shape shape = x_.shape;
    shape[0] = steps.cols();
    Tensor copies(shape);
    for (Index j = 0; j < steps.cols(); ++j) put(steps.col(j), copies.row(j).data());
    const Tensor logits = executor_.logits(copies).value();
    VectorXd result(steps.cols());
    for (Index j = 0; j < steps.cols(); ++j)
      result[j] = static_cast<double>(logits.row(j)[target_]) - static_cast<double>(logits.row(j)[rival_]);
    return result;
  }

 private:
  void put(const VectorXd& step, float* to) const {
    for (Index e = 0; e < size(); ++e) to[e] = static_cast<float>(static_cast<double>(x_.data[e]) + step[e]);
  }

  Executor& executor_;
  Tensor x_;
  std::int64_t target_, rival_ = 0;
  std::uint32_t index_;
  std::uint64_t seed_;
  double sigma_;
};

Sampled mean_of(const VectorXd& values) {
  const auto n = static_cast<double>(values.size());
  const double mean = values.mean();
  return {mean, std::sqrt((values.array() - mean).square().sum() / (n - 1) / n)};
}

// The mean over pairs of vᵀH v, with a separate unit vector v for each pair.
Sampled second_derivative(const PointCopies& copies, double sigma, std::int64_t pairs,
                          const std::function<VectorXd(std::int64_t)>& direction) {
  constexpr Index kPlaces = 6, kPairsAtOnce = 32;
  const double left = std::sqrt(1 - kTriangle);  // standard deviation of the remaining noise along v
  VectorXd values(pairs);
  for (Index first = 0; first < pairs; first += kPairsAtOnce) {
    const Index count = std::min(kPairsAtOnce, static_cast<Index>(pairs) - first);
    MatrixXd steps(copies.size(), kPlaces * count);
    for (Index k = 0; k < count; ++k) {
      const VectorXd v = direction(first + k), draw = copies.noise(first + k), eps = draw + (left - 1) * v.dot(draw) * v;
      for (Index side = 0; side < 2; ++side) {
        const VectorXd middle = side == 0 ? eps : VectorXd(-eps);
        for (Index place = 0; place < 3; ++place)
          steps.col(kPlaces * k + 3 * side + place) = middle + static_cast<double>(place - 1) * sigma * v;
      }
    }
    const VectorXd g = copies.margins(steps);
    for (Index k = 0; k < count; ++k) {
      const auto six = g.segment(kPlaces * k, kPlaces);
      values[first + k] = 0.5 * (six[0] - 2 * six[1] + six[2] + six[3] - 2 * six[4] + six[5]) / (sigma * sigma);
    }
  }
  return mean_of(values);
}

// H v, computed from differences of gradients and averaged over the samples after the first `known`.
VectorXd hessian_times(const PointCopies& copies, const VectorXd& v, double sigma, std::int64_t known, std::int64_t samples) {
  const double step = sigma * std::sqrt(0.5), left = std::sqrt(1 - 0.5 / 3);  // a uniform density of half-width h has the
                                                                              // variance h² / 3
  VectorXd sum = VectorXd::Zero(v.size());
  for (std::int64_t j = 0; j < samples; ++j) {
    const VectorXd draw = (j % 2 == 0 ? 1 : -1) * copies.noise(known + j / 2), eps = draw + (left - 1) * v.dot(draw) * v;
    sum += copies.gradient(eps + step * v) - copies.gradient(eps - step * v);
  }
  return sum / (2 * step * static_cast<double>(samples));
}

// Unit vectors v with the largest and the smallest vᵀH v in the span of a few Lanczos vectors.
std::pair<VectorXd, VectorXd> extreme_directions(const PointCopies& copies, double sigma,
                                                 const SmoothedCurvatureOptions& options) {
  const Index most = std::min<Index>(options.iterations, copies.size());
  MatrixXd Q(copies.size(), most), HQ(copies.size(), most);
  Index used = 0;
  for (VectorXd next = copies.unit_direction(0); used < most; ++used) {
    // Orthogonalises twice, because after one pass rounding errors may be as large as the remainder.
    for (int pass = 0; pass < 2; ++pass) next -= times(Q.leftCols(used), transposed_times(Q.leftCols(used), next));
    if (!(next.norm() > 1e-9 * std::max(1.0, used > 0 ? HQ.col(used - 1).norm() : 1.0))) break;
    Q.col(used) = next.normalized();
    HQ.col(used) = hessian_times(copies, Q.col(used), sigma, options.pairs, options.gradient_samples);
    next = HQ.col(used);
  }
  Q.conservativeResize(Eigen::NoChange, used);
  const MatrixXd projected = transposed_product(Q, HQ.leftCols(used));
  const MatrixXd ritz = symmetric_spectrum(0.5 * (projected + projected.transpose())).vectors;
  return {times(Q, ritz.col(used - 1)).normalized(), times(Q, ritz.col(0)).normalized()};
}

SmoothedCurvature at_point(Executor& executor, const Points& points, std::int64_t i, double sigma,
                           const SmoothedCurvatureOptions& options) {
  const Linearization mean =
      executor.linearize_averaged(slice(points, i, 1), {isotropic_gaussian(), sigma}, options.gradient_samples).value().front();
  const VectorXd norms = mean.variances().cwiseSqrt();
  Index row = 0;
  (mean.margins.array() / norms.array()).minCoeff(&row);
  SmoothedCurvature result;
  result.rival = rival_of(row, points.target[i]);
  result.margin = mean.margins[row];
  result.gradient_norm = norms[row];
  PointCopies copies(executor, points, i, sigma);
  copies.set_rival(result.rival);
  const auto [up, down] = extreme_directions(copies, sigma, options);
  const auto along = [&](const VectorXd& v) { return second_derivative(copies, sigma, options.pairs, [&](auto) { return v; }); };
  result.largest = along(up);
  result.smallest = along(down);
  result.mean = second_derivative(copies, sigma, options.pairs, [&](std::int64_t j) { return copies.unit_direction(1 + j); });
  // The mean eigenvalue must be between the extremes. An extreme on the wrong side of the mean is replaced by the mean.
  if (result.largest.value < result.mean.value) result.largest = result.mean;
  if (result.smallest.value > result.mean.value) result.smallest = result.mean;
  return result;
}

}  // namespace

Result<std::vector<SmoothedCurvature>> smoothed_curvature(Executor& executor, const Points& points, double sigma,
                                                          const SmoothedCurvatureOptions& options) {
  return guarded("smoothed_curvature", [&] {
    if (!(sigma > 0) || options.pairs < 2 || options.gradient_samples < 2 || options.iterations < 1)
      throw Error{ErrorCode::usage, "smoothed_curvature",
                  "needs a positive sigma, at least one iteration, two pairs and two samples", ""};
    if (!executor.differentiable() || executor.piecewise_constant())
      throw Error{ErrorCode::unsupported, "smoothed_curvature", "needs gradients, but this model has none",
                  "use a differentiable model"};
    check(executor, points);
    std::vector<SmoothedCurvature> all;
    for (std::int64_t i = 0; i < points.size(); ++i) all.push_back(at_point(executor, points, i, sigma, options));
    return all;
  });
}

}  // namespace probust
