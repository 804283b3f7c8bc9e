// SPDX-License-Identifier: MIT
#include "probust/estimators/linearization.h"

#include <algorithm>
#include <cmath>

namespace probust {

NormalProblem normal_problem(const Linearization& linearization, std::int64_t target, double sigma) {
  const Eigen::VectorXd& margins = linearization.margins;
  const Eigen::MatrixXd& gram = linearization.gram;
  NormalProblem problem;
  problem.finite = margins.allFinite() && gram.allFinite();
  if (!problem.finite) return problem;
  for (Eigen::Index i = 0; i < margins.size(); ++i) {
    if (gram(i, i) > 0) {
      problem.rows.push_back(i);
    } else {
      const bool rival_wins_ties = i < target;  // row i is class i below the target and class i + 1 above it
      problem.always_fails = problem.always_fails || margins[i] < 0 || (margins[i] == 0 && rival_wins_ties);
    }
  }
  problem.degenerate = margins.size() > 0 && problem.rows.empty();
  const auto m = static_cast<Eigen::Index>(problem.rows.size());
  problem.R.resize(m, m);
  for (Eigen::Index a = 0; a < m; ++a) {
    const std::int64_t i = problem.rows[a];
    problem.z.push_back(margins[i] / (sigma * std::sqrt(gram(i, i))));
    for (Eigen::Index b = 0; b < m; ++b) {
      const std::int64_t j = problem.rows[b];
      const double correlation = gram(i, j) / std::sqrt(gram(i, i)) / std::sqrt(gram(j, j));
      problem.R(a, b) = a == b ? 1.0 : std::min(1.0, std::max(-1.0, correlation));
    }
  }
  return problem;
}

}  // namespace probust
