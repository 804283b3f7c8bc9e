// SPDX-License-Identifier: MIT
//
// The distance to the nearest point with a different prediction (the adversarial distance), for comparison with p. The two may
// rank points differently (Scher and Trügler, section 3.3).
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "probust/exec/pause/executor_job.h"

namespace probust {

/// The nearest point found with a different prediction.
struct NearestBoundary {
  double distance = 0;      ///< Euclidean, in the natural space; infinity if no boundary was found, NaN if logits are NaN
  std::int64_t rival = -1;  ///< the class at that point
  std::vector<float> step;  ///< [d] from x to just beyond the boundary
  std::int64_t forwards = 0, backwards = 0;
  double at_least = 0;  ///< no point nearer than this has a different prediction: the distance itself, if it is exact
};

/// With gradients, after DeepFool (Moosavi-Dezfooli, Fawzi and Frossard, CVPR 2016): steps to the nearest boundary of the
/// linearised classifier until the prediction changes, then projects x onto the boundary linearised there, as long as the result
/// gets nearer. With one or two input elements it also searches all directions, because the steepest one may lead to a farther
/// boundary. Exact for linear classifiers; otherwise an upper bound. Targets must be the predictions at x.
Result<std::vector<NearestBoundary>> nearest_boundary(Executor& executor, const Points& points, int most_steps = 50);

struct BlackBoxSearch {
  std::int64_t directions = 1000;  ///< random directions to start with
  int rounds = 30;                 ///< refinement rounds
  std::int64_t tries = 64;         ///< steps tried per round
  double reach = 10;               ///< the largest distance searched, in the units of the input
};

/// Without gradients, for any black box such as a random forest: finds the shortest of many random directions, then tries steps
/// near it, and the step without, or with only, one of its first 64 elements. Bisection shortens each step. The result is an
/// upper bound that improves with effort. Deterministic for given points and seed.
Result<std::vector<NearestBoundary>> nearest_boundary_black_box(Executor& executor, const Points& points,
                                                                const BlackBoxSearch& search = {});

/// For an ensemble of decision trees: exact, from its regions in order of distance. If a point needs more than 200,000 regions,
/// the result is the nearer of the best one so far and that of nearest_boundary_black_box. Throws Error{unsupported} for other
/// classifiers.
Result<std::vector<NearestBoundary>> nearest_boundary_of_trees(Executor& executor, const Points& points);

/// The search that suits a classifier, and its name in results.
enum class BoundaryMethod : std::uint8_t { gradients, regions, random_search };
BoundaryMethod boundary_method(Executor& executor);
std::string_view describe(BoundaryMethod method);
Result<std::vector<NearestBoundary>> nearest_boundary_by(BoundaryMethod method, Executor& executor, const Points& points);

/// nearest_boundary_black_box for one point, as a job.
class BoundarySearch final : public ExecutorJob {
 public:
  /// If the target is omitted, it is the prediction at x. `executor` must outlive this object, and so must `external`, the
  /// source of its logits, if any. Throws Error if the point or search is invalid.
  BoundarySearch(Executor& executor, const Points& point, const BlackBoxSearch& search = {}, ExternalEngine* external = nullptr);
  ~BoundarySearch() override;

  /// Valid once the job is finished.
  const NearestBoundary& nearest() const;

  /// An estimate of the number of passes that is rarely exceeded.
  std::int64_t planned() const override;

 private:
  class BlackBox;
  bool piece() override;

  std::unique_ptr<BlackBox> search_;
};

}  // namespace probust
