// SPDX-License-Identifier: MIT
#pragma once

#include <Eigen/Core>
#include <span>

namespace probust {

/// Functions of t = ln sigma that are observed with errors at the scales of a sweep: a Gaussian process (Rasmussen and Williams,
/// "Gaussian processes for machine learning", 2006, chapter 2) with a level, a trend, and a wandering about them by an amount
/// that the observations tell.
class ScaleProcess {
 public:
  /// Of positive, finite scales.
  explicit ScaleProcess(std::span<const double> sigmas);

  Eigen::Index size() const { return t_.size(); }

  /// ln sigma, less its mean.
  const Eigen::VectorXd& t() const { return t_; }

  /// The least squares line through values [S], at the scales.
  Eigen::VectorXd line(const Eigen::VectorXd& values) const;

  struct Posterior {
    Eigen::MatrixXd mean;      ///< [S, m]
    Eigen::VectorXd variance;  ///< [S] of a function, in the mean over all
  };

  /// What m functions are at the scales, given values [S, m] there and the variances [S], above zero, of their errors.
  /// `independent` is the share of a function's errors that it does not have in common with the others.
  Posterior smooth(const Eigen::MatrixXd& values, const Eigen::VectorXd& variances, double independent) const;

 private:
  Eigen::VectorXd t_;
  Eigen::MatrixXd trend_, wander_;
};

}  // namespace probust
