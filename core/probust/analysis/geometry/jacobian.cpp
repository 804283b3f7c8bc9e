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

LogitJacobian averaged_jacobian(Executor& executor, const Points& points, std::int64_t i, const Noise& noise,
                                std::int64_t samples) {
  check(executor, points);
  const Tensor x = rows(points.x, i, 1);
  if (samples <= 0) return jacobian_at(executor, x);
  Eigen::MatrixXd sum = Eigen::MatrixXd::Zero(executor.classes(), x.size());
  const auto point = static_cast<std::uint32_t>(points.index[i]);
  for (std::int64_t j = 0; j < samples; ++j) {
    const auto sample = static_cast<std::uint32_t>(j);
    Tensor copy = x;
    noise.shape->add({points.seed, {&point, 1}, {&sample, 1}}, x.size(), static_cast<float>(noise.scale), copy.data.data());
    sum += jacobian_at(executor, copy).cast<double>();
  }
  return (sum / static_cast<double>(samples)).cast<float>();
}

LogitJacobian margin_gradients(Executor& executor, const Points& points, std::int64_t i, const Noise& noise,
                               std::int64_t samples) {
  const LogitJacobian J = averaged_jacobian(executor, points, i, noise, samples);
  LogitJacobian margins(J.rows() - 1, J.cols());
  for (Eigen::Index row = 0; row < margins.rows(); ++row)
    margins.row(row) = margin_gradient(J, points.target[i], rival_of(row, points.target[i])).transpose().cast<float>();
  return margins;
}

}  // namespace probust
