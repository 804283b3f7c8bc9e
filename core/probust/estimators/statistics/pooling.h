// SPDX-License-Identifier: MIT
//
// Pooling over the points of a block. With few noisy samples, the covariance of a point's margins is uncertain. But the
// covariance of the logits has a similar shape at points with similar logits. So each point's covariance is shrunk towards the
// weighted mean shape of the other points, with an inverse Wishart prior (Haff, "Empirical Bayes estimation of the multivariate
// normal covariance matrix", Annals of Statistics 1980). The prior's scale is the geometric mean of the point's own scale and
// that of the others. How many draws the prior is worth follows from its likelihood over the block (Chen, "Bayesian inference for
// a normal dispersion matrix", Journal of the Royal Statistical Society B 1979): large if the shapes are similar, small if not.
#pragma once

#include <cstdint>
#include <vector>

#include "probust/base/linear_algebra.h"
#include "probust/estimators/statistics/pair_statistics.h"

namespace probust {

/// Points per block. Pooled estimates depend on which points share a block, so this number is fixed.
inline constexpr std::int64_t kBlock = 256;

/// The covariance model of each point's margins. `own` [m, m] are the covariances of each point's own pairs, `pairs` is the
/// number of pairs per point (at least 1), `targets` are the points' targets, and `logits` [N, C] are the logits without noise.
/// The model is own_alone if no other point is usable.
std::vector<CovarianceModel> pooled_covariances(const std::vector<Eigen::MatrixXd>& own, const std::vector<std::int64_t>& targets,
                                                const Tensor& logits, std::int64_t pairs);

}  // namespace probust
