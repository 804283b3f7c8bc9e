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

/// Computes the estimates of one model, one block of points at a time. The rows of a block do not depend on other blocks,
/// except that all points share a total budget, so any process can compute any block.
class BlockEstimator {
 public:
  /// `plan` and `problem` must outlive this object. `model` is the model's name in rows. If the plan has a total budget, reads
  /// all points immediately to distribute it.
  BlockEstimator(const Plan& plan, Problem& problem, std::string model);

  /// The number of points to estimate at once: a whole block if estimates depend on the other points of the block, otherwise as
  /// many as take about two seconds, so that little work is lost if the run is interrupted.
  std::int64_t preferred_count() const;

  /// The rows for positions [first, first + count) of the data and the `wanted` questions, ordered by point and then as in
  /// plan.questions(). If an estimator does not support this model, its rows contain the reason. Throws Error.
  Results estimate(std::int64_t first, std::int64_t count, const std::vector<bool>& wanted);

  /// The error of an estimator that is not supported; null if all are supported.
  const Error* refusal() const { return refused_.empty() ? nullptr : &refused_.begin()->second; }

 private:
  EstimateRequest request_of(PointBlock block) const;
  void schedule();
  void note_refusal(const std::string& estimator, const Error& error);
  Results results_of(EstimateRun& run, const std::vector<std::int64_t>& index, const std::vector<std::int64_t>& labels) const;

  const Plan& plan_;
  Problem& problem_;
  std::string model_;
  EstimateRequest request_;               // the request of every block, without its points
  std::map<std::string, Error> refused_;  // by estimator: the reason why it is not supported
  double pace_ = 0;                       // seconds per point in the last block
};

/// Calibrates the estimates in `rows` by means of the points' noisy samples (analysis/calibration.h), and reports the changes.
/// `rows` must cover all points.
void calibrate_rows(const Plan& plan, std::vector<Row>& rows, bool quiet);

}  // namespace probust::cli
