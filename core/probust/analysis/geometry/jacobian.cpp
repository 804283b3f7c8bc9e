// SPDX-License-Identifier: MIT
#include "probust/analysis/geometry/jacobian.h"

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

namespace {

// Adds the margin gradients computed from J, the gradients of the logits.
void add_margins(const LogitJacobian& J, std::int64_t target, Eigen::MatrixXd& sum) {
  for (Eigen::Index row = 0; row < sum.rows(); ++row)
    sum.row(row) += margin_gradient(J, target, rival_of(row, target)).transpose();
}

}  // namespace

LogitJacobian margin_gradients(Executor& executor, const Points& points, std::int64_t i, const Noise& noise,
                               std::int64_t samples) {
  check(executor, points);
  const Tensor x = rows(points.x, i, 1);
  Eigen::MatrixXd sum = Eigen::MatrixXd::Zero(executor.classes() - 1, x.size());
  if (samples <= 0) {
    add_margins(jacobian_at(executor, x), points.target[i], sum);
    return sum.cast<float>();
  }
  const auto point = static_cast<std::uint32_t>(points.index[i]);
  for (std::int64_t j = 0; j < samples; ++j) {
    const auto sample = static_cast<std::uint32_t>(j);
    Tensor copy = x;
    noise.shape->add({points.seed, {&point, 1}, {&sample, 1}}, x.size(), static_cast<float>(noise.scale), copy.data.data());
    add_margins(jacobian_at(executor, copy), points.target[i], sum);
  }
  return (sum / static_cast<double>(samples)).cast<float>();
}

}  // namespace probust
