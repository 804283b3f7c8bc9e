// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "probust/base/linear_algebra.h"
#include "probust/passes/head_split.h"

// What executors return about the margins g_i = f_t - f_i of a target t. The rivals i are the other classes, in order.
namespace probust {

/// A classifier linearised around a point: all that is needed to compute a probability. m = C - 1. Use `variances` and
/// `covariance` instead of `gram`, whose meaning is different if `last` is set.
struct Linearization {
  Eigen::VectorXd margins;  ///< [m] g_i = f_t - f_i
  /// [m, m] U C Uᵀ with the margin gradients u_i as rows of U and the noise covariance C at unit scale. If `last` is set: [w,
  /// w], with the gradients of the w inputs of the last layer as rows of U.
  Eigen::MatrixXd gram;
  /// [m, samples] For each noisy sample j: its margins g_j, and the products of its noise eps_j with the averaged gradients (U
  /// eps_j) and with the gradients at that sample (U_j eps_j). Empty if nothing was sampled.
  Eigen::MatrixXd sampled, along_mean, along_own;
  /// If set, the gradient of margin i is (W_t - W_i) H, with the gradients of the last layer's inputs as rows of H.
  std::shared_ptr<const LastLayer> last;
  std::int64_t target = 0;           ///< t, if `last` is set
  Eigen::VectorXd margin_variances;  ///< [m] u_i C u_iᵀ at unit scale, if `last` is set

  std::int64_t rivals() const { return margins.size(); }
  /// [m] u_i C u_iᵀ, with the noise covariance C at unit scale.
  Eigen::VectorXd variances() const { return last ? margin_variances : Eigen::VectorXd(gram.diagonal()); }
  /// [k, k] U C Uᵀ at unit scale for the margins `rows`.
  Eigen::MatrixXd covariance(std::span<const std::int64_t> rows) const;
};

/// Margins of antithetic pairs of noisy samples of one point: column j of `plus` is at x + eps_j, that of `minus` at x - eps_j.
/// If the noise cannot be mirrored, a pair is two independent samples. In both cases, the variance of a margin is that of the
/// pair's mean plus the mean square of half the pair's difference.
struct Pairs {
  Eigen::MatrixXd plus, minus;  ///< [m, h] NaN if the sample's logits are NaN

  std::int64_t rivals() const { return plus.rows(); }
  std::int64_t size() const { return plus.cols(); }
};

/// Allocates memory for `count` pairs of each of n points.
std::vector<Pairs> room_for_pairs(std::int64_t n, std::int64_t rivals, std::int64_t count);

/// Writes `some` pairs of a point to `all`, beginning at column `first`.
void put_pairs(const Pairs& some, std::int64_t first, Pairs& all);

/// How often each class has the largest logit, [N][C].
using PredictionCounts = std::vector<std::vector<std::int64_t>>;

/// Adds the counts `some` to `all`, which are counts of other noisy samples of the same points.
void add_counts(const PredictionCounts& some, PredictionCounts& all);

/// Moments of the logits of a point under noise, in the order of the classes.
struct LogitMoments {
  Eigen::VectorXd mean, variance;  ///< [C]
};

/// The number of passes as which a propagation of moments counts: one for means and one for variances.
inline constexpr std::int64_t kPropagationPasses = 2;

/// The noise of samples, projected on the gradients of a few margins: by how much it would change the margins if they were
/// linear.
struct Projection {
  Eigen::VectorXd margins;  ///< [m] margins of the linearization, for every rival
  Eigen::MatrixXd gram;     ///< [k, k] U C Uᵀ at unit noise scale, with the gradients of the requested margins as rows of U
  Eigen::MatrixXd along;    ///< [k, h] U eps_j for the noise of the first sample of each pair, in the units of the margins
  Pairs pairs;              ///< margins of the same pairs, without the pairs that the caller already has
};

/// The class of the rival in row `row` of the margins of `target`.
inline std::int64_t rival_of(std::int64_t row, std::int64_t target) { return row < target ? row : row + 1; }

/// The index of the largest logit, the lowest one on a tie; -1 if any is NaN.
std::int64_t argmax(std::span<const float> logits);

/// Writes the margins [C - 1] of logits [C], which are `stride` apart.
void store_margins(const float* logits, std::int64_t stride, std::int64_t target, Eigen::Ref<Eigen::VectorXd> margins);
Eigen::VectorXd margins_of(std::span<const float> logits, std::int64_t target);

}  // namespace probust
