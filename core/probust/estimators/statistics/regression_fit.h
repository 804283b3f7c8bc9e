// SPDX-License-Identifier: MIT
// The regression of a point's margins on the noise along the gradients of the nearest ones (regression.cpp).
#pragma once

#include <cstdint>
#include <vector>

#include "probust/base/linear_algebra.h"
#include "probust/estimators/estimator.h"
#include "probust/estimators/statistics/pair_statistics.h"

namespace probust {

/// How a cost in forwards is split.
struct RegressionBudget {
  std::int64_t gradients, pairs;
  double roughness;  ///< a

  /// Pairs that are used to choose the gradients. Their noise is drawn twice.
  std::int64_t pilot() const { return std::min(pairs, std::max<std::int64_t>(6, pairs / 8)); }
};

RegressionBudget regression_budget(std::int64_t cost, std::int64_t classes, LinearizeAt around);

/// Sets the number of passes of a regression with this budget.
void count_passes(Estimate& estimate, const RegressionBudget& budget, LinearizeAt around);

/// Sampled pairs of each point, and the margins of the nearest rivals, which get gradients.
struct PickedGradients {
  std::vector<Pairs> pairs;
  std::vector<std::vector<std::int64_t>> rows, rivals;  ///< [points] as rows of the margins and as classes
};
PickedGradients pick_gradients(std::vector<Pairs> pairs, const std::vector<std::int64_t>& targets, std::int64_t gradients);

/// The part of h pairs that the noise along the gradients explains.
struct Explained {
  Eigen::MatrixXd slopes;       ///< B [m, r]
  Eigen::MatrixXd coordinates;  ///< w_j [r, h] of the first of each pair
  Eigen::VectorXd leverage;     ///< [h]
  /// E [r, r]: given the pairs, the slopes are B + S_r^(1/2) Z Eᵀ with Z [m, r] standard normal.
  Eigen::MatrixXd errors;
};

/// A point's regression, margins = mean + slopes w + residual, for the rivals that matter.
struct RegressionFit {
  Rivals rivals;
  std::int64_t survivors;  ///< of all samples
  Pairs left;              ///< margins without the explained part
  Explained explained;
  Eigen::VectorXd mean;      ///< [m]
  Eigen::MatrixXd scatter;   ///< residuals [m, 2h]
  Eigen::MatrixXd residual;  ///< their covariance S_r [m, m]
  bool finite = true;

  Eigen::MatrixXd explained_covariance() const;
  /// The share of the margins' standard deviation that is not explained, in [0, 1].
  double unexplained() const;
};

/// The part of the margins `rows` of a point that the gradients may explain, given its pairs.
class SlopePosterior {
 public:
  SlopePosterior(const RegressionFit& fit, const std::vector<std::int64_t>& rows);

  /// [rows, rows] B Bᵀ for drawn slopes; the same for equal `point` and `number`.
  Eigen::MatrixXd covariance(std::int64_t point, std::uint32_t number) const;

 private:
  Eigen::MatrixXd slopes_, root_, errors_;  // B, S_r^(1/2), E
};

/// `kept` of all samples keep the target. `rows` are the margins whose gradients the projection has.
RegressionFit fit_regression(Rivals rivals, std::int64_t survivors, const Projection& projection, std::vector<std::int64_t> rows,
                             double sigma);

/// The point's estimate; `model` gives the covariance of the margins: the point's own, or shrunk towards that of others.
Estimate estimate_from_fit(const RegressionFit& fit, const CovarianceModel& model, double roughness, const StopToken* stop);

/// The estimate for a single class, which always survives.
std::vector<Estimate> certain_estimates(std::int64_t points);

/// All pairs of `a`, then those of `b`.
Pairs joined(const Pairs& a, const Pairs& b);

}  // namespace probust
