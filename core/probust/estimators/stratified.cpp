// SPDX-License-Identifier: MIT
// mc:N:stratified, Monte Carlo with samples spread evenly along the direction in which the prediction changes most. Let the noise
// be a function of standard normals w. The component of sample j along a unit vector v is the normal quantile at (j + u_j) / N
// with u_j uniform; the other components are drawn as usual (Cochran, "Sampling techniques", 1977, chapter 5). The estimate is
// unbiased for any v. Here v is the gradient of p for the classifier linearised at x, with rivals treated separately. The
// variance perpendicular to v, which is most of it, is not reduced (docs/estimators.md).
#include <algorithm>
#include <cmath>
#include <limits>

#include "probust/base/linear_algebra.h"
#include "probust/estimators/common.h"
#include "probust/estimators/statistics/binomial.h"
#include "probust/estimators/statistics/counts.h"
#include "probust/estimators/statistics/pair_statistics.h"
#include "probust/normal/univariate.h"

namespace probust {
namespace {

constexpr std::uint32_t kStream = 77;  // stream of the uniforms u_j, distinct from the streams of noise

// The gradients of the margins with respect to w, in columns: [normals, rivals].
Eigen::MatrixXf margin_gradients(const Points& point, const NoiseShape& shape, std::span<const float> jacobian,
                                 std::int64_t classes) {
  const std::int64_t elements = point.x.size(), target = point.target[0];
  Eigen::MatrixXf lanes(classes - 1, elements);  // by columns: [elements][lanes]
  for (std::int64_t c = 0, row = 0; c < classes; ++c) {
    if (c == target) continue;
    for (std::int64_t e = 0; e < elements; ++e) lanes(row, e) = jacobian[target * elements + e] - jacobian[c * elements + e];
    ++row;
  }
  const std::vector<std::uint32_t> index(static_cast<std::size_t>(classes - 1), static_cast<std::uint32_t>(point.index[0]));
  shape.whiten(index, elements, lanes.data());
  const Eigen::Map<const Eigen::MatrixXf> whitened(lanes.data(), classes - 1, elements);
  return whitened.leftCols(*shape.normals(elements)).transpose();
}

// The direction of the gradient of p: the normalized sum of the margin gradients, each weighted by the density at its boundary.
// Zero if the sum is zero.
Eigen::VectorXd direction(const Eigen::MatrixXf& gradients, const Eigen::VectorXd& margins, double sigma) {
  Eigen::VectorXd z(margins.size());
  for (Eigen::Index i = 0; i < z.size(); ++i) z[i] = std::fabs(margins[i]) / (sigma * gradients.col(i).cast<double>().norm());
  double nearest = std::numeric_limits<double>::infinity();
  for (const double value : z) nearest = value < nearest ? value : nearest;
  Eigen::VectorXd sum = Eigen::VectorXd::Zero(gradients.rows());
  if (!std::isfinite(nearest)) return sum;
  for (Eigen::Index i = 0; i < z.size(); ++i) {
    if (std::isfinite(z[i]))
      sum += std::exp((nearest * nearest - z[i] * z[i]) / 2) * gradients.col(i).cast<double>().normalized();
  }
  const double length = sum.norm();
  return length > 0 && std::isfinite(length) ? Eigen::VectorXd(sum / length) : Eigen::VectorXd::Zero(sum.size());
}

// Moves the samples' w [lanes, normals] to their quantiles along v. Each lane is computed separately, because the result must
// not depend on the other lanes.
void stratify(Eigen::MatrixXf& w, const Eigen::VectorXd& v, const std::vector<double>& quantiles) {
  for (Eigen::Index lane = 0; lane < w.rows(); ++lane) {
    double along = 0;
    for (Eigen::Index e = 0; e < w.cols(); ++e) along += v[e] * double{w(lane, e)};
    const double shift = quantiles[lane] - along;
    for (Eigen::Index e = 0; e < w.cols(); ++e) w(lane, e) += static_cast<float>(shift * v[e]);
  }
}

// Samples first .. first + count - 1 out of the `of` samples that are spread along v.
Tensor stratified_samples(const Points& point, const Noise& noise, const Eigen::VectorXd& v, std::int64_t first,
                          std::int64_t count, std::int64_t of, int threads) {
  return noisy_rows(point, first, count, threads, [&](const NoiseLanes& lanes, float* x) {
    Eigen::MatrixXf w = Eigen::MatrixXf::Zero(static_cast<Eigen::Index>(lanes.samples.size()), v.size());
    isotropic_gaussian()->add(lanes, v.size(), 1, w.data());
    std::vector<double> quantiles;
    quantiles.reserve(lanes.samples.size());
    for (const std::uint32_t sample : lanes.samples) {
      const double within = NoiseStream(lanes.seed, lanes.points[0], sample, kStream).uniform();
      quantiles.push_back(normal::quantile((static_cast<double>(sample) + within) / static_cast<double>(of)));
    }
    stratify(w, v, quantiles);
    noise.shape->add_normals(lanes.points, point.x.size(), static_cast<float>(noise.scale), w.data(), x);
  });
}

// The estimate from strata of one sample each. Its variance, the sum of p_j (1 - p_j) / N², is estimated from the differences
// of neighbours, which include the change of p_j (Wolter, "Introduction to variance estimation", 2007, section 8.2), with 1 added
// to the sum for differences that few samples may have missed. This variance is limited to that of independent samples, which is
// the largest possible for given p (Hoeffding 1956). The interval is that of independent samples, as many as have the same
// variance.
Estimate from_strata(const std::vector<bool>& survives) {
  const auto n = static_cast<double>(survives.size());
  double changes = 1;
  for (std::size_t j = 0; j + 1 < survives.size(); ++j) changes += survives[j] != survives[j + 1] ? 0.5 * n / (n - 1) : 0;
  const auto count = static_cast<double>(std::count(survives.begin(), survives.end(), true));
  Estimate estimate;
  estimate.p = count / n;
  estimate.p_fail = (n - count) / n;
  const double variance = std::min(changes, n * estimate.p * estimate.p_fail);
  estimate.std_error = std::sqrt(variance) / n;
  const double worth = variance > 0 ? n * n * estimate.p * estimate.p_fail / variance : n;
  const auto trials = std::llround(std::floor(worth));
  const double share = estimate.p * static_cast<double>(trials);
  estimate.ci_low = clopper_pearson(std::llround(std::floor(share)), trials).low;
  estimate.ci_high = clopper_pearson(std::llround(std::ceil(share)), trials).high;
  return estimate;
}

// The directions of all points, from one forward and C backwards each. Zero if gradients are useless.
std::vector<Eigen::VectorXd> directions(Evaluation& evaluation, const Noise& noise) {
  Executor& executor = evaluation.executor();
  const Points& points = evaluation.points();
  const std::int64_t elements = element_count(executor.point_shape()), classes = executor.classes();
  std::vector<Eigen::VectorXd> result(static_cast<std::size_t>(points.size()),
                                      Eigen::VectorXd::Zero(*noise.shape->normals(elements)));
  if (executor.piecewise_constant() || classes == 1) return result;
  const auto take = [&](std::int64_t i, std::span<const float> jacobian) {
    const Points point = slice(points, i, 1);
    const Eigen::VectorXd margins = margins_of(evaluation.logits().row(i), point.target[0]);
    result[i] = direction(margin_gradients(point, *noise.shape, jacobian, classes), margins, noise.scale);
  };
  (void)executor.jacobian(points.x, take).value();
  return result;
}

}  // namespace

std::vector<Estimate> estimate_stratified(Evaluation& evaluation, const Noise& noise, const EstimatorSpec& asked) {
  Executor& executor = evaluation.executor();
  const Points& points = evaluation.points();
  check(executor, points);
  const std::int64_t elements = element_count(executor.point_shape());
  if (!noise.shape->normals(elements)) {
    throw Error{ErrorCode::usage, "mc:N:stratified", "needs noise that is a function of normal variables",
                "use mc:N for " + noise.shape->name()};
  }
  const std::int64_t n = asked.samples;
  const std::int64_t step = points_at_once(executor, 16 * (elements + executor.classes()));
  const std::vector<Eigen::VectorXd> along = directions(evaluation, noise);
  const bool gradients = !executor.piecewise_constant() && executor.classes() > 1;
  std::vector<Estimate> estimates;
  estimates.reserve(along.size());
  for (std::int64_t i = 0; i < points.size(); ++i) {
    const Points point = slice(points, i, 1);
    const std::int64_t label = other_label(points, i);
    std::vector<bool> survives, labelled;
    for (std::int64_t first = 0; first < n; first += step) {
      const std::int64_t count = std::min(step, n - first);
      const Tensor logits =
          executor.logits(stratified_samples(point, noise, along[i], first, count, n, executor.options().threads)).value();
      for (std::int64_t j = 0; j < count; ++j) {
        survives.push_back(keeps_target(evaluation.event(), logits.row(j), point.target[0]));
        if (label >= 0) labelled.push_back(keeps_target(evaluation.event(), logits.row(j), label));
      }
    }
    estimates.push_back(from_strata(survives));
    if (label >= 0) estimates.back().set_label(from_strata(labelled));
    estimates.back().forwards = n + (gradients ? 1 : 0);
    estimates.back().backwards = gradients ? executor.classes() : 0;
  }
  return estimates;
}

}  // namespace probust
