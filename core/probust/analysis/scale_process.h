// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "probust/base/linear_algebra.h"

namespace probust {

/// Smooths functions of t = ln sigma observed with errors at the scales of a sweep: a Gaussian process (Rasmussen and Williams,
/// "Gaussian processes for machine learning", 2006, chapter 2) with a linear trend and a deviation from it, whose amplitude is
/// inferred from the observations.
class ScaleProcess {
 public:
  /// The scales must be positive and finite.
  explicit ScaleProcess(std::span<const double> sigmas);

  Eigen::Index size() const { return t_.size(); }

  /// ln sigma minus its mean.
  const Eigen::VectorXd& t() const { return t_; }

  /// The least-squares line through values [S], evaluated at the scales.
  Eigen::VectorXd line(const Eigen::VectorXd& values) const;

  struct Posterior {
    Eigen::MatrixXd mean;      ///< [S, m]
    Eigen::VectorXd variance;  ///< [S] error variance of the smoothed functions, averaged over the functions
  };

  /// The posterior of m functions at the scales, given values [S, m] there and the positive variances [S] of their errors.
  /// `independent` is the share of a function's errors that is independent of the other functions.
  Posterior smooth(const Eigen::MatrixXd& values, const Eigen::VectorXd& variances, double independent) const;

 private:
  Eigen::VectorXd t_;
  Eigen::MatrixXd trend_, wander_;
};

}  // namespace probust
