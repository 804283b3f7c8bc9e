// SPDX-License-Identifier: MIT
#pragma once

#include <Eigen/Dense>
#include <cmath>
#include <vector>

#include "probust/normal/batch.h"
#include "support/correlations.h"

namespace probust::test {

struct Owned {
  std::vector<double> z;
  Eigen::MatrixXd matrix;
  bool factor;
};

/// Problems for every method: m from 0 to 60, failure from frequent to rare, given as R and as U, of full and of low rank.
inline std::vector<Owned> mixed_problems() {
  Normals normal(7);
  std::vector<Owned> all;
  for (const Eigen::Index m : {0, 1, 2, 3, 5, 9, 9, 30, 60}) {
    for (const Eigen::Index rank : {Eigen::Index{2}, m + 3}) {
      for (const double level : {0.5, 2.0, 5.0}) {
        const Eigen::MatrixXd U = random_factor(m, rank, normal);
        std::vector<double> z(m);
        for (double& limit : z) limit = level + std::abs(normal());
        all.push_back({z, U, true});
        all.push_back({z, gram(U), false});
      }
    }
  }
  return all;
}

inline std::vector<normal::Problem> views(const std::vector<Owned>& owned) {
  std::vector<normal::Problem> problems;
  for (const Owned& each : owned) {
    problems.push_back(
        {each.z, {each.matrix.data(), static_cast<std::size_t>(each.matrix.size())}, each.factor ? each.matrix.cols() : 0});
  }
  return problems;
}

}  // namespace probust::test
