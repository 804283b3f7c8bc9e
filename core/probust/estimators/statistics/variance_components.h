// SPDX-License-Identifier: MIT
// Estimates the share of the variation between points that each of several similarities explains. The cross-products of different
// points are regressed on the similarities (Haseman and Elston, "The investigation of linkage between a quantitative trait and a
// marker locus", Behavior Genetics 1972). A point's product with itself is not used, so sampling errors, which are independent
// from point to point, do not enter the weights.
#pragma once

#include <vector>

#include "probust/base/linear_algebra.h"

namespace probust {

/// Similarities between n points, [n, n] each: positive semidefinite, with ones on the diagonal.
using Similarities = std::vector<Eigen::MatrixXd>;

/// Weights w >= 0, one per similarity, that minimise the sum over pairs i < k of c_ik (y_ik / c_ik - sum_s w_s K_s,ik)².
/// `products` y and `counts` c are [n, n] and symmetric; a pair with c_ik = 0 is not used. There may be at most eight
/// similarities, because all subsets are tried.
Eigen::VectorXd component_weights(const Similarities& similarities, const Eigen::MatrixXd& products,
                                  const Eigen::MatrixXd& counts);

/// [n, n] sum_s w_s K_s.
Eigen::MatrixXd weighted_sum(const Similarities& similarities, const Eigen::VectorXd& weights);

/// The posterior of values at n points under a normal prior.
struct Smoothed {
  Eigen::MatrixXd values;     ///< [n, d] posterior means
  Eigen::VectorXd variances;  ///< [n] posterior variance of each value of a point
};

/// Smooths `observed` [n, d], whose columns are observations with sampling errors of variance `sampling`: Gaussian process
/// regression on the similarities, with weights from component_weights. The unexplained remainder is each point's own variance.
/// All columns share the weights.
Smoothed smooth(const Similarities& similarities, const Eigen::MatrixXd& observed, double sampling);

}  // namespace probust
