// SPDX-License-Identifier: MIT
#include "probust/normal/batch.h"

#include <algorithm>

#include "probust/base/parallel.h"
#include "probust/normal/limits.h"

namespace probust::normal {
namespace {

Probability solve_one(const Problem& problem, Solver& solver, const Options& options) {
  using Map = Eigen::Map<const Eigen::MatrixXd>;
  const auto m = static_cast<Eigen::Index>(problem.z.size()), elements = static_cast<Eigen::Index>(problem.matrix.size());
  const Eigen::Index columns = problem.factor_columns > 0 ? problem.factor_columns : m;
  const Eigen::Index rows = columns > 0 && elements % columns == 0 ? elements / columns : 0;
  if (rows != m || problem.factor_columns < 0) {
    return {kNan, kNan, kNan, kNan, "none", 0, Status::size_mismatch};
  }
  const Map matrix(problem.matrix.data(), rows, columns);
  return problem.factor_columns > 0 ? solver.cdf_factor(problem.z, matrix, options) : solver.cdf(problem.z, matrix, options);
}

}  // namespace

void BatchSolver::solve(std::span<const Problem> problems, std::span<Probability> answers, const Options& options) {
  const std::size_t count = std::min(problems.size(), answers.size());
  // Costs of problems differ by a factor of a thousand, so threads take problems one by one.
  parallel_for(static_cast<std::int64_t>(count), static_cast<int>(solvers_.size()),
               [&](std::int64_t i, int worker) { answers[i] = solve_one(problems[i], solvers_[worker], options); });
}

}  // namespace probust::normal
