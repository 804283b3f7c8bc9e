// SPDX-License-Identifier: MIT
//
// The problems that normal_against_scipy.py writes.
#pragma once

#include <Eigen/Core>
#include <fstream>
#include <string>
#include <vector>

namespace probust::bench {

struct Problem {
  std::string name;
  std::vector<double> z;  ///< m
  Eigen::MatrixXd U;      ///< m x d, rows of length 1
};

/// One problem a line: name, m, d, z_1 ... z_m, U_11 U_12 ... U_md. Empty where the file cannot be read.
inline std::vector<Problem> read_problems(const std::string& path) {
  std::ifstream file(path);
  std::vector<Problem> problems;
  Problem problem;
  for (Eigen::Index m = 0, d = 0; file >> problem.name >> m >> d;) {
    problem.z.resize(static_cast<std::size_t>(m));
    problem.U.resize(m, d);
    for (double& limit : problem.z) file >> limit;
    for (Eigen::Index i = 0; i < m; ++i) {
      for (Eigen::Index j = 0; j < d; ++j) file >> problem.U(i, j);
    }
    problems.push_back(problem);
  }
  return problems;
}

}  // namespace probust::bench
