// SPDX-License-Identifier: MIT
#pragma once

#include <Eigen/Core>
#include <random>

namespace probust::test {

inline Eigen::MatrixXd normals(Eigen::Index rows, Eigen::Index columns, std::mt19937& random) {
  std::normal_distribution<double> normal;
  Eigen::MatrixXd draws(rows, columns);
  for (double& draw : draws.reshaped()) draw = normal(random);
  return draws;
}

}  // namespace probust::test
