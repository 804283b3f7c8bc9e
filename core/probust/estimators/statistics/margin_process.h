// SPDX-License-Identifier: MIT
// Gaussian processes for margins as functions of the k normal parameters w of a perturbation. A margin is a constant plus a
// process with the covariance s² (m(|w - w'| / lengths) + slope² w·w'), where m is Matern's function for 3/2 and each margin has
// its own s; the constant is estimated by generalised least squares (Rasmussen and Williams, "Gaussian processes for machine
// learning", 2006, sections 2.7 and 4.2).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "probust/base/linear_algebra.h"
#include "probust/base/stop.h"

namespace probust {

/// The parameters of the covariance that all margins share.
struct ProcessScales {
  Eigen::VectorXd lengths;  ///< [k]
  double slope = 0;
};

/// Functions with values at common nodes.
struct Curves {
  Eigen::MatrixXd nodes;   ///< [N, k]
  Eigen::MatrixXd values;  ///< [N, curves]
};

/// The scales with the largest mean restricted likelihood over all curves, each with its own variance, times a log-normal prior
/// of the lengths. Constant curves are skipped.
ProcessScales fit_scales(std::span<const Curves> designs, int threads, const StopToken* stop);

/// What nodes tell about the process at other places, for any values at the nodes.
class ProcessPosterior {
 public:
  /// Without nodes yet, for the places at [M, k].
  ProcessPosterior(ProcessScales scales, const Eigen::MatrixXd& at);

  /// Adds a node w [k].
  void add(const Eigen::VectorXd& w);

  std::int64_t nodes() const { return count_; }
  std::int64_t places() const { return at_.rows(); }

  /// [count] The squared distances of the first places from w, in units of the lengths.
  std::vector<float> squared_distances(const Eigen::VectorXd& w, std::int64_t count) const;

  /// [N, c] The coefficients of values [N, c] at the nodes. Their Gram matrix divided by N - 1 is the estimated covariance of the
  /// curves' processes.
  struct Coefficients {
    Eigen::MatrixXd values;    ///< [N, c]
    Eigen::VectorXd constant;  ///< [c]
  };
  Coefficients coefficients(const Eigen::MatrixXd& values) const;

  /// Posterior means [c][count] at the first places, written to `means`.
  void means(const Coefficients& coefficients, std::int64_t count, float* means) const;

  /// [M] The posterior variances at the places, for s = 1.
  std::vector<float> variances() const;

  /// [count, count] L with L Lᵀ = the posterior covariance at the first places, for s = 1.
  Eigen::MatrixXf root(std::int64_t count) const;

  /// [N, N] The matrix P for predictions of each node from the others: the residual of values y at node i is (P y)_i / P_ii, and
  /// its variance is 1 / P_ii for s = 1 (Dubrule, "Cross validation of kriging in a unique neighborhood", Math. Geology 1983).
  Eigen::MatrixXd precision() const;

 private:
  double covariance(const Eigen::VectorXd& a, const Eigen::VectorXd& b) const;
  void covariances(const Eigen::VectorXd& w, std::int64_t count, float* to) const;

  ProcessScales scales_;
  Eigen::MatrixXf at_;                    // [M, k] the places
  std::vector<Eigen::VectorXd> nodes_;    // [N]
  Eigen::MatrixXd lower_;                 // [N, N] Cholesky factor L of the nodes' covariance
  Eigen::VectorXd ones_;                  // [N] L⁻¹ 1
  std::vector<std::vector<float>> rows_;  // [N][M] L⁻¹ times the covariances of nodes and places
  std::int64_t count_ = 0;
};

}  // namespace probust
