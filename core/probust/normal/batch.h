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
  Eigen::Index factor_columns = 0;  ///< d; 0 if the matrix is R
};

/// Solves many problems, on the CPU or on another device.
class ProblemSolver {
 public:
  virtual ~ProblemSolver() = default;

  /// answers[i] is the result of problems[i], accurate to the reported error; `interrupted` after a stop request. `answers` needs
  /// one entry per problem; further entries are left unchanged.
  virtual void solve(std::span<const Problem> problems, std::span<Probability> answers, const Options& options) = 0;
};

class BatchSolver final : public ProblemSolver {
 public:
  /// Without threads (a single-threaded WebAssembly module), the calling thread does all the work.
  explicit BatchSolver(int threads = 1) : solvers_(threads < 1 ? 1 : static_cast<std::size_t>(threads)) {}

  /// answers[i] is the result of mvn_cdf or mvn_cdf_factor for problems[i], bit for bit, for any number of threads. An invalid
  /// problem gets its status and does not affect the others. Once each thread has solved the largest problem, nothing more is
  /// allocated.
  void solve(std::span<const Problem> problems, std::span<Probability> answers, const Options& options = {}) override;

 private:
  std::vector<Solver> solvers_;
};

}  // namespace probust::normal
