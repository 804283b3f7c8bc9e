// SPDX-License-Identifier: MIT
// The regression of a point's margins on the noise along the gradients of the nearest margins (regression.cpp).
#pragma once

#include <cstdint>
#include <vector>

#include "probust/base/linear_algebra.h"
#include "probust/estimators/estimator.h"
#include "probust/estimators/statistics/pair_statistics.h"

namespace probust {

/// How the cost of an estimate, in forwards, is divided.
struct RegressionBudget {
  std::int64_t gradients, pairs;
  double roughness;  ///< a in regression.cpp

  /// The number of pairs that are used to pick the gradients. Their noise is drawn twice.
  std::int64_t pilot() const { return std::min(pairs, std::max<std::int64_t>(6, pairs / 8)); }
};

RegressionBudget regression_budget(std::int64_t cost, std::int64_t classes, LinearizeAt around);

/// Sets the numbers of passes that a regression with this budget takes for one estimate.
void count_passes(Estimate& estimate, const RegressionBudget& budget, LinearizeAt around);

/// Sampled pairs of each point, and the nearest rivals, whose margin gradients are to be computed.
struct PickedGradients {
  std::vector<Pairs> pairs;
  std::vector<std::vector<std::int64_t>> rows, rivals;  ///< [points] the rivals, as rows of the margins and as classes
};
PickedGradients pick_gradients(std::vector<Pairs> pairs, const std::vector<std::int64_t>& targets, std::int64_t gradients);

/// The regression of a point's h pairs on the noise along the gradients.
struct Explained {
  Eigen::MatrixXd slopes;       ///< B [m, r]
  Eigen::MatrixXd coordinates;  ///< [r, h] w_j of the first sample of each pair
  Eigen::VectorXd leverage;     ///< [h]
  /// E [r, r]: given the pairs, the slopes are B + S_r^(1/2) Z Eᵀ with Z [m, r] standard normal.
  Eigen::MatrixXd errors;
};

/// The regression of a point: margins = mean + slopes w + residual, for the rivals that matter.
struct RegressionFit {
  Rivals rivals;
  std::int64_t survivors;  ///< number of samples that keep the target
  Pairs left;              ///< margins minus the explained part
  Explained explained;
  Eigen::VectorXd mean;      ///< [m] the means of the margins
  Eigen::MatrixXd scatter;   ///< [m, 2h] the residuals
  Eigen::MatrixXd residual;  ///< [m, m] the covariance S_r of the residuals
  bool finite = true;

  Eigen::MatrixXd explained_covariance() const;
  /// The share of the margins' standard deviation that the gradients do not explain, in [0, 1].
  double unexplained() const;
};

/// The posterior of the slopes of some margins of a point, given its pairs.
class SlopePosterior {
 public:
  SlopePosterior(const RegressionFit& fit, const std::vector<std::int64_t>& rows);

  /// [rows, rows] B Bᵀ for slopes drawn from the posterior. Equal `point` and `number` give the same draw.
  Eigen::MatrixXd covariance(std::int64_t point, std::uint32_t number) const;

 private:
  Eigen::MatrixXd slopes_, root_, errors_;  // B, S_r^(1/2), E
};

/// `survivors` is the number of samples that keep the target. `rows` are the margins whose gradients `projection` contains.
RegressionFit fit_regression(Rivals rivals, std::int64_t survivors, const Projection& projection, std::vector<std::int64_t> rows,
                             double sigma);

/// The point's estimate. `model` is the covariance of the margins: the point's own, or shrunk towards those of other points.
Estimate estimate_from_fit(const RegressionFit& fit, const CovarianceModel& model, double roughness, const StopToken* stop);

/// The estimates if there is only one class, which always survives.
std::vector<Estimate> certain_estimates(std::int64_t points);

/// All pairs of `a`, followed by those of `b`.
Pairs joined(const Pairs& a, const Pairs& b);

}  // namespace probust
