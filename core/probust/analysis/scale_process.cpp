// SPDX-License-Identifier: MIT
#include "probust/analysis/scale_process.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "probust/base/linear_algebra.h"

namespace probust {
namespace {

// Prior standard deviations of the level and the slope, and the correlation length, in t, of the deviation from this line. The
// amplitude of the deviation (kWanders) differs between functions, so several amplitudes are mixed. All constants were measured
// on shifts of margins and on Phi^-1(p), which are of order one (docs/estimators.md).
constexpr double kLevel = 2, kTrend = 1.5, kMemory = 0.6;
constexpr double kWanders[] = {0.1, 0.3, 1, 3};

}  // namespace

ScaleProcess::ScaleProcess(std::span<const double> sigmas) : t_(static_cast<Eigen::Index>(sigmas.size())) {
  for (Eigen::Index s = 0; s < size(); ++s) t_[s] = std::log(sigmas[s]);
  t_.array() -= t_.mean();
  const Eigen::MatrixXd gap = t_.rowwise().replicate(size()) - t_.transpose().colwise().replicate(size());
  wander_ = (-gap.array().square() / (2 * kMemory * kMemory)).exp();
  trend_ = kTrend * kTrend * t_ * t_.transpose();
  trend_.array() += kLevel * kLevel;
}

Eigen::VectorXd ScaleProcess::line(const Eigen::VectorXd& values) const {
  constexpr double kNone = 1e-12;  // avoids 0 / 0 if all scales are equal
  return values.mean() + t_.dot(values) / (t_.squaredNorm() + kNone) * t_.array();
}

ScaleProcess::Posterior ScaleProcess::smooth(const Eigen::MatrixXd& values, const Eigen::VectorXd& variances,
                                             double independent) const {
  struct Component {
    double weight;  // first the log likelihood, then the weight
    Posterior posterior;
  };
  std::vector<Component> components;
  double best = -std::numeric_limits<double>::infinity();
  for (const double wander : kWanders) {
    const Eigen::MatrixXd prior = trend_ + wander * wander * wander_;
    const Cholesky observed(prior + Eigen::MatrixXd(variances.asDiagonal()));
    const Eigen::MatrixXd solved = observed.solve(values), explained = product(prior, observed.solve(prior));
    const double misfit = values.cwiseProduct(solved).sum() + static_cast<double>(values.cols()) * observed.log_determinant();
    components.push_back({-independent * misfit / 2, {product(prior, solved), (prior - explained).diagonal().cwiseMax(0)}});
    best = std::max(best, components.back().weight);
  }
  Posterior mixed{Eigen::MatrixXd::Zero(values.rows(), values.cols()), Eigen::VectorXd::Zero(size())};
  double weights = 0;
  for (Component& each : components) weights += each.weight = std::exp(each.weight - best);
  for (const Component& each : components) mixed.mean += each.weight / weights * each.posterior.mean;
  for (const Component& each : components) {
    const Eigen::VectorXd between =
        (each.posterior.mean - mixed.mean).rowwise().squaredNorm() / static_cast<double>(values.cols());
    mixed.variance += each.weight / weights * (each.posterior.variance + between);
  }
  return mixed;
}

}  // namespace probust
