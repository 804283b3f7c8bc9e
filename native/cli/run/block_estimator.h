// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/run/plan.h"
#include "cli/run/problem.h"
#include "probust/analysis/results.h"
#include "probust/run/run.h"

namespace probust::cli {

/// Estimates blocks of points of one model, one after the other. A block's rows do not depend on other blocks, so any process can
/// compute any block; only with a total budget do all points share.
class BlockEstimator {
 public:
  /// Both must outlive this. `model` is its name in rows. With a total budget, reads and schedules all points now.
  BlockEstimator(const Plan& plan, Problem& problem, std::string model);

  /// How many points to estimate at once: a whole block if an estimate borrows from other points, else as many as take about two
  /// seconds, so that little is lost if the run is cut.
  std::int64_t preferred_count() const;

  /// The rows of positions [first, first + count) of the data, by point and then in the order of plan.questions(), of those
  /// questions that are `wanted`. An estimator that cannot answer for this model gives rows that say why. Throws Error.
  Results estimate(std::int64_t first, std::int64_t count, const std::vector<bool>& wanted);

  /// Why an estimator could not answer, if any could not; the first one.
  const Error* refusal() const { return refused_.empty() ? nullptr : &refused_.begin()->second; }

 private:
  EstimateRequest request_of(PointBlock block) const;
  void schedule();
  void note_refusal(const std::string& estimator, const Error& error);
  Results results_of(EstimateRun& run, const std::vector<std::int64_t>& index, const std::vector<std::int64_t>& labels) const;

  const Plan& plan_;
  Problem& problem_;
  std::string model_;
  EstimateRequest request_;               // of every block, but for its points
  std::map<std::string, Error> refused_;  // by estimator: why it cannot answer
  double pace_ = 0;                       // seconds per point in the last block
};

/// Corrects the estimates of rows, which are of all points, from their own copies (analysis/calibration.h), and says so.
void calibrate_rows(const Plan& plan, std::vector<Row>& rows, bool quiet);

}  // namespace probust::cli
