// SPDX-License-Identifier: MIT
//
// Reads the problems that normal_against_scipy.py writes.
#pragma once

#include <Eigen/Core>
#include <fstream>
#include <string>
#include <vector>

#include "probust/normal/multivariate.h"

namespace probust::bench {

struct Problem {
  std::string name;
  std::vector<double> z;  ///< [m] the limits
  Eigen::MatrixXd U;      ///< [m, d] R = U Uᵀ; rows have length 1
};

/// Reads one problem per line: name, m, d, z_1 ... z_m, U_11 U_12 ... U_md. Returns none if the file cannot be read.
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

/// Computes a problem in the form in which a caller would pass it: as U if the rank is low (d < m), otherwise as R, as for
/// scipy.
class Call {
 public:
  explicit Call(const Problem& problem) : problem_(problem), low_rank_(problem.U.cols() < problem.U.rows()) {
    if (!low_rank_) R_ = problem.U * problem.U.transpose();
  }

  normal::Probability operator()(const normal::Options& options) const {
    return low_rank_ ? normal::mvn_cdf_factor(problem_.z, problem_.U, options) : normal::mvn_cdf(problem_.z, R_, options);
  }

 private:
  const Problem& problem_;
  bool low_rank_;
  Eigen::MatrixXd R_;
};

}  // namespace probust::bench
