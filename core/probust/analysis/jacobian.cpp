// SPDX-License-Identifier: MIT
#include "probust/analysis/jacobian.h"

namespace probust {

LogitJacobian jacobian_at(Executor& executor, const Tensor& x) {
  LogitJacobian jacobian;
  const auto take = [&](std::int64_t, std::span<const float> J) {
    jacobian = Eigen::Map<const LogitJacobian>(J.data(), executor.classes(), x.size());
  };
  executor.jacobian(x, take).value();
  return jacobian;
}

Eigen::VectorXd margin_gradient(const LogitJacobian& J, std::int64_t target, std::int64_t rival) {
  return (J.row(target).cast<double>() - J.row(rival).cast<double>()).transpose();
}

}  // namespace probust
