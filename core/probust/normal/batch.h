// SPDX-License-Identifier: MIT
//
// Many multivariate normal probabilities on many threads.
//
//     BatchSolver solver(8);
//     solver.solve(problems, answers);
#pragma once

#include <span>
#include <vector>

#include "probust/normal/multivariate.h"

namespace probust::normal {

/// One problem: limits z (m) and, stored by columns, the correlation matrix R (m x m) or a factor U (m x d) with R = U U^T.
struct Problem {
  std::span<const double> z;
  std::span<const double> matrix;
  Eigen::Index factor_columns = 0;  ///< d; 0 where the matrix is R
};

class BatchSolver {
 public:
  /// Without threads (a WebAssembly module built for one) all work is done by the caller.
  explicit BatchSolver(int threads = 1) : solvers_(threads < 1 ? 1 : static_cast<std::size_t>(threads)) {}

  /// answers[i] is what mvn_cdf or mvn_cdf_factor gives for problems[i], bit for bit whatever the number of threads. A problem
  /// that is not valid gets its status and holds up nobody. No memory is asked for a problem once each thread has met the
  /// largest. `answers` has as many places as there are problems; further ones are left alone.
  void solve(std::span<const Problem> problems, std::span<Probability> answers, const Options& options = {});

 private:
  std::vector<Solver> solvers_;
};

}  // namespace probust::normal
