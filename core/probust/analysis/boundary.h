// SPDX-License-Identifier: MIT
//
// How far the nearest other answer is: the adversarial distance, beside p. The two rank points differently (Scher and Trügler,
// section 3.3), which is why both are worth seeing.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "probust/exec/executor.h"

namespace probust {

/// The nearest point with another answer that was found.
struct NearestBoundary {
  double distance = 0;      ///< Euclidean, in the natural space; infinity where none was found, NaN where logits are
  std::int64_t rival = -1;  ///< the class there
  std::vector<float> step;  ///< [d] from x to just beyond the boundary
  std::int64_t forwards = 0, backwards = 0;
};

/// By gradients, after DeepFool (Moosavi-Dezfooli, Fawzi and Frossard, CVPR 2016): steps to the nearest boundary of the
/// linearised classifier until the answer changes, then bisection along the last line. Exact for linear classifiers; otherwise
/// an upper bound. Targets must be the answers at x.
Result<std::vector<NearestBoundary>> nearest_boundary(Executor& executor, const Points& points, int most_steps = 50);

struct BlackBoxSearch {
  std::int64_t directions = 1000;  ///< random ones to begin with
  int rounds = 30;                 ///< of refinement
  std::int64_t tries = 64;         ///< a round
  double reach = 10;               ///< no farther than this; in the units of the input
};

/// Without gradients, for any black box such as a forest of trees: the shortest of many random directions, then its neighbours
/// and what is left without single elements of it (of the first 64), each bisected. An upper bound that tightens with effort.
/// Deterministic for given points and seed.
Result<std::vector<NearestBoundary>> nearest_boundary_black_box(Executor& executor, const Points& points,
                                                                const BlackBoxSearch& search = {});

/// The same for one point, question by question, for callers that may not be kept waiting: a StepwiseExecutor can forget what
/// was answered after each.
class BoundarySearch {
 public:
  /// Asks nothing yet. `executor` must outlive it. Throws Error where point or search are wrong.
  BoundarySearch(Executor& executor, const Points& point, const BlackBoxSearch& search = {});
  ~BoundarySearch();
  BoundarySearch(BoundarySearch&&) noexcept;
  BoundarySearch& operator=(BoundarySearch&&) noexcept;

  /// Asks for logits once; whether there is more to ask. Throws the executor's Error, and then the same is asked the next time.
  bool advance();

  /// What was found, once there is no more to ask.
  const NearestBoundary& nearest() const;

  /// Forward passes that all of it takes, as they are known so far: hardly fewer than it will.
  std::int64_t planned() const;

 private:
  class BlackBox;
  std::unique_ptr<BlackBox> search_;
};

}  // namespace probust
