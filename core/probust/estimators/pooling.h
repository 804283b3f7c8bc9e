// SPDX-License-Identifier: MIT
//
// What the points of a block tell each other. What a point's few copies leave uncertain is the covariance of its margins, and the
// covariance of the logits has much the same shape at every point: each point's is shrunk towards the mean shape of the others,
// as an inverse Wishart prior has it (Haff, "Empirical Bayes estimation of the multivariate normal covariance matrix", Annals of
// Statistics 1980), and the scale of that prior half way, in its logarithm, from the point's own towards the others'.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

#include "probust/estimators/pairs.h"

namespace probust {

/// Points that are estimated together where there are more: what is pooled over them depends on which they are.
inline constexpr std::int64_t kBlock = 128;

/// For each point the prior mean of the covariance of its margins [m, m], given what every point's own copies say, and the
/// targets that the margins are of; empty where no other point says anything.
std::vector<Eigen::MatrixXd> prior_covariances(const std::vector<Eigen::MatrixXd>& own, const std::vector<std::int64_t>& targets);

/// A covariance from so many pairs, shrunk towards its prior.
CovarianceModel shrunk(std::int64_t pairs, const Eigen::MatrixXd& prior);

}  // namespace probust
