// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "probust/estimators/rows.h"
#include "probust/exec/stepwise.h"

namespace probust {

/// How many points are best estimated together: kBlock where the answer at one rests on the others, few otherwise.
std::int64_t block_size(std::span<const EstimatorSpec> estimators);

/// What to estimate: every point under every noise model by every estimator.
struct EstimateRequest {
  Tensor x;                           ///< [N, ...] in the natural space
  std::vector<std::int64_t> targets;  ///< [N]; empty: the predicted classes
  std::int64_t offset = 0;            ///< position of the first point in the data: part of the noise's key
  std::uint64_t seed = 0;
  std::vector<Noise> noises;
  std::vector<EstimatorSpec> estimators;
};

/// Estimates in steps, for callers that may not be kept waiting: the rows are those of `probust estimate`, wherever steps end.
class EstimateRun {
 public:
  /// `executor` must outlive it, and so must `outside`, where its answers come from there. Throws Error where points, targets,
  /// noise or estimators do not fit it.
  EstimateRun(Executor& executor, EstimateRequest request, Outside* outside = nullptr);

  /// Works for about as long as `milliseconds`, or until `outside` wants an answer; true once all rows are there. Throws Error,
  /// but where one of several estimators cannot answer for this model: its rows say why (refused_estimates).
  bool step(double milliseconds);

  /// For each point, each noise model and each estimator, in that order, as far as blocks are done.
  const std::vector<Row>& rows() const { return rows_; }

  /// Forward and backward passes that all of it takes, as far as estimators tell beforehand.
  std::int64_t planned() const;

 private:
  bool find_logits();
  bool estimate_next();
  void begin_block();
  void finish_block();
  std::int64_t size() const { return points_.size(); }

  StepwiseExecutor executor_;
  EstimateRequest request_;
  std::int64_t block_;
  bool begun_ = false;
  Points points_;
  Tensor logits_;
  std::int64_t first_ = 0;                        // of the block
  std::unique_ptr<Evaluation> evaluation_;        // of the block
  std::vector<std::vector<Estimate>> estimates_;  // [noise, estimator][point] of the block, as far as they are made
  std::vector<Row> rows_;
};

}  // namespace probust
