// SPDX-License-Identifier: MIT
#include "probust/analysis/scale_process.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

namespace probust {
namespace {

// Standard deviations of the level, the slope and the wandering, whose amplitude differs from function to function, and how far
// over t the latter is alike; measured on shifts of margins and on Phi^-1(p), which are of order one (docs/estimators.md).
constexpr double kLevel = 2, kTrend = 1.5, kReach = 0.6;
constexpr double kWanders[] = {0.1, 0.3, 1, 3};

}  // namespace

ScaleProcess::ScaleProcess(std::span<const double> sigmas) : t_(static_cast<Eigen::Index>(sigmas.size())) {
  for (Eigen::Index s = 0; s < size(); ++s) t_[s] = std::log(sigmas[s]);
  t_.array() -= t_.mean();
  const Eigen::MatrixXd gap = t_.rowwise().replicate(size()) - t_.transpose().colwise().replicate(size());
  wander_ = (-gap.array().square() / (2 * kReach * kReach)).exp();
  trend_ = kTrend * kTrend * t_ * t_.transpose();
  trend_.array() += kLevel * kLevel;
}

double ScaleProcess::slope(const Eigen::VectorXd& values, double variance, double expected) const {
  return t_.dot(values) / (t_.squaredNorm() + variance / expected);
}

ScaleProcess::Posterior ScaleProcess::smooth(const Eigen::MatrixXd& values, const Eigen::VectorXd& variances,
                                             double independent) const {
  Posterior sum{Eigen::MatrixXd::Zero(values.rows(), values.cols()), Eigen::VectorXd::Zero(size())};
  double weights = 0, first = 0;
  for (const double wander : kWanders) {
    const Eigen::MatrixXd prior = trend_ + wander * wander * wander_;
    const Eigen::LLT<Eigen::MatrixXd> observed(prior + Eigen::MatrixXd(variances.asDiagonal()));
    const Eigen::MatrixXd solved = observed.solve(values);
    const double log_determinant = 2 * observed.matrixLLT().diagonal().array().log().sum();
    const double misfit = values.cwiseProduct(solved).sum() + static_cast<double>(values.cols()) * log_determinant;
    const double log_likelihood = -independent * misfit / 2;
    if (weights == 0) first = log_likelihood;
    constexpr double kFar = 300;
    const double weight = std::exp(std::clamp(log_likelihood - first, -kFar, kFar));
    const Eigen::MatrixXd explained = prior * observed.solve(prior);
    sum.mean += weight * prior * solved;
    sum.variance += weight * (prior - explained).diagonal().cwiseMax(0);
    weights += weight;
  }
  return {sum.mean / weights, sum.variance / weights};
}

}  // namespace probust
