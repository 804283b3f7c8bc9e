// SPDX-License-Identifier: MIT
#include "probust/estimators/statistics/logit_covariance.h"

#include "probust/base/linear_algebra.h"
#include "probust/exec/margins.h"

namespace probust {

Eigen::MatrixXd logits_of_margins(std::int64_t rivals, std::int64_t target) {
  Eigen::MatrixXd from_margins = Eigen::MatrixXd::Zero(rivals + 1, rivals);
  for (std::int64_t i = 0; i < rivals; ++i) from_margins(rival_of(i, target), i) = -1;
  from_margins.rowwise() -= from_margins.colwise().mean().eval();
  return from_margins;
}

Eigen::MatrixXd covariance_of_logits(const Eigen::MatrixXd& margins, std::int64_t target) {
  return congruent(logits_of_margins(margins.rows(), target), margins);
}

Eigen::MatrixXd covariance_of_margins(const Eigen::MatrixXd& logits, std::int64_t target) {
  const Eigen::Index m = logits.rows() - 1;
  Eigen::MatrixXd result(m, m);
  for (Eigen::Index i = 0; i < m; ++i) {
    for (Eigen::Index j = 0; j < m; ++j) {
      const Eigen::Index a = rival_of(i, target), b = rival_of(j, target);
      result(i, j) = logits(target, target) - logits(target, b) - logits(a, target) + logits(a, b);
    }
  }
  return result;
}

Eigen::VectorXd margins_of_logits(const Eigen::VectorXd& logits, std::int64_t target) {
  Eigen::VectorXd margins(logits.size() - 1);
  for (Eigen::Index i = 0; i < margins.size(); ++i) margins[i] = logits[target] - logits[rival_of(i, target)];
  return margins;
}

}  // namespace probust
