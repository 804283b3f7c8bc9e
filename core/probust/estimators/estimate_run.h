// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "probust/estimators/row.h"
#include "probust/exec/executor_job.h"

namespace probust {

/// Whether one of them pools over points, so that an estimate depends on the points of its block.
bool borrows(std::span<const EstimatorSpec> estimators);

/// How many points to estimate together: kBlock if an estimator pools over points, else few.
std::int64_t block_size(std::span<const EstimatorSpec> estimators);

/// How many points, from this position of the data on, are estimated together: blocks of `size` begin at multiples of it, so that
/// estimates that borrow from other points do not depend on where a run begins or was cut.
inline std::int64_t points_in_block(std::int64_t position, std::int64_t size) { return size - position % size; }

/// What to estimate: every point under every noise model by every estimator.
struct EstimateRequest {
  Tensor x;                           ///< [N, ...] in the natural space
  std::vector<std::int64_t> targets;  ///< [N]; empty: the predicted classes
  std::int64_t offset = 0;            ///< position of the first point in the data: part of the noise's key
  std::uint64_t seed = 0;
  std::vector<Noise> noises;
  std::vector<EstimatorSpec> estimators;
};

/// Estimates as a job. The rows equal those of `probust estimate`. A step throws Error if points or targets do not fit the model;
/// if only one of several estimators cannot answer, its rows say why instead (refused_estimates).
class EstimateRun final : public ExecutorJob {
 public:
  /// `executor` must outlive this, and so must `external`, the source of its logits, if any. Throws Error if noise, points or
  /// estimators are missing or an estimator needs gradients that the executor does not have.
  EstimateRun(Executor& executor, EstimateRequest request, ExternalEngine* external = nullptr);

  /// For each point, each noise model and each estimator, in that order; blocks that are done.
  const std::vector<Row>& rows() const { return rows_; }

  /// Expected total of forward and backward passes.
  std::int64_t planned() const override;

 private:
  bool piece() override;
  void find_logits();
  void estimate_next();
  void begin_block();
  void finish_block();
  std::int64_t size() const { return count_; }

  EstimateRequest request_;
  std::int64_t block_, count_;  // points of a block, and all points
  bool begun_ = false;
  Points points_;
  Tensor logits_;
  std::int64_t first_ = 0;                        // of the block
  std::unique_ptr<Evaluation> evaluation_;        // of the block
  std::vector<std::vector<Estimate>> estimates_;  // [noise, estimator][point] of the block, so far
  std::vector<Row> rows_;
};

}  // namespace probust
