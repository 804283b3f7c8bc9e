// SPDX-License-Identifier: MIT
//
// What the points of a block tell each other. What a point's few copies leave uncertain is the covariance of its margins, and the
// covariance of the logits has much the same shape at points with like logits: each point's is shrunk towards the mean shape of
// the others, as an inverse Wishart prior has it (Haff, "Empirical Bayes estimation of the multivariate normal covariance
// matrix", Annals of Statistics 1980), and the scale of that prior half way, in its logarithm, from the point's own towards the
// others'. How many draws the prior counts for is what the block finds likely (Chen, "Bayesian inference for a normal dispersion
// matrix", Journal of the Royal Statistical Society B 1979): many where shapes are alike, few where they are not.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

#include "probust/estimators/pairs.h"

namespace probust {

/// Points that are estimated together where there are more: what is pooled over them depends on which they are.
inline constexpr std::int64_t kBlock = 128;

/// For each point the covariance of its margins, given `own` [m, m], what its own `pairs` say of it, the targets that the margins
/// are of, and the logits [N, C] without noise; the own alone where no other point says anything. There is one pair at least.
std::vector<CovarianceModel> pooled_covariances(const std::vector<Eigen::MatrixXd>& own, const std::vector<std::int64_t>& targets,
                                                const Tensor& logits, std::int64_t pairs);

}  // namespace probust
