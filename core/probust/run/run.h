// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "probust/exec/pause/executor_job.h"
#include "probust/run/request.h"
#include "probust/run/row.h"

namespace probust {

/// Whether an estimator pools points, so that an estimate depends on the points of its block.
bool borrows(std::span<const EstimatorSpec> estimators);

/// The number of points to estimate together: kBlock if an estimator pools points, otherwise few.
std::int64_t block_size(std::span<const EstimatorSpec> estimators);

/// The number of points from this position on to estimate together: blocks of `size` begin at multiples of it, so that pooled
/// estimates do not depend on where a run starts or was interrupted.
inline std::int64_t points_in_block(std::int64_t position, std::int64_t size) { return size - position % size; }

/// Estimates at several scales of one noise shape, [scales][points]: estimate_curve of analysis/curve.h.
using CurveEstimator = Result<std::vector<std::vector<Estimate>>> (*)(Executor&, const Points&, const Tensor& logits,
                                                                      const std::shared_ptr<const NoiseShape>&,
                                                                      std::span<const double> sigmas, const EstimatorSpec&,
                                                                      const Event&);

/// The noise models from `first` on that differ only in scale: a sweep. Returns the position after them.
std::size_t end_of_sweep(std::span<const Noise> noises, std::size_t first);

/// Estimates of `auto` for all points of the data, which share a total of forwards.
struct Scheduled {
  std::vector<std::int64_t> index{};               ///< positions of the points, ascending
  std::vector<std::vector<Estimate>> estimates{};  ///< [noise models][points]
};

/// What to estimate: every point under every noise model with every estimator.
struct EstimateRequest {
  Tensor x;                            ///< [N, ...] in the natural space
  std::vector<std::int64_t> targets;   ///< [N]; empty: given by `target`
  std::string target = "predicted";    ///< as in targets_of
  std::vector<std::int64_t> labels{};  ///< [N] classes of the model; empty: none
  std::vector<std::string> names{};    ///< of the classes; empty: none
  Event event{};                       ///< what has to survive, if not only the target
  bool other_labels = false;  ///< whether labels that are not classes of the model count as none instead of being an error
  std::int64_t offset = 0;    ///< position of the first point in the data, which keys the noise
  std::vector<std::int64_t> index{};  ///< [N] positions of all points, ascending; empty: from `offset` on
  std::uint64_t seed = 0;
  std::vector<Noise> noises;
  std::vector<EstimatorSpec> estimators;
  /// For the executor of within_tolerance: the regression model, which must outlive the run. Then x has points of its shape, and
  /// noises are for them (tolerance.h).
  Executor* regression = nullptr;
  bool others = false;         ///< whether this is one of several estimators, although it is the only one here
  bool one_block = false;      ///< whether all points form one block
  std::vector<bool> wanted{};  ///< [noise models * estimators] the questions to answer; empty: all. A sweep is not split
  std::int64_t total = 0;      ///< forwards that `auto` shares among all points and noise models; 0: a budget per estimate
  std::shared_ptr<const Scheduled> scheduled{};  ///< the schedule of the total over all points; null: these are all points
  CurveEstimator curve = nullptr;                ///< how to estimate sweeps; null: each scale separately
  /// Called once if only this one of several estimators is not supported, with its name in rows and the reason.
  std::function<void(const std::string&, const Error&)> refused{};
};

/// Estimates as a job. The rows equal those of `probust estimate`. A step throws Error if points or targets do not fit the model;
/// if only one of several estimators is not supported, its rows give the reason instead (refused_estimates).
class EstimateRun final : public ExecutorJob {
 public:
  /// `executor` must outlive this, and so must `external`, the source of its logits, if any. Throws Error if noise, points or
  /// estimators are missing or an estimator needs gradients that the executor does not have.
  EstimateRun(Executor& executor, EstimateRequest request, ExternalEngine* external = nullptr);

  /// Rows by point, noise model and estimator, in that order, of the blocks that are done.
  const std::vector<Row>& rows() const { return rows_; }
  std::vector<Row> take_rows() { return std::move(rows_); }

  /// [N, C] of the points without noise, once a block is done.
  const Tensor& logits() const { return logits_; }

  /// The schedule of the total, once it is known; null without a total.
  const std::shared_ptr<const Scheduled>& scheduled() const { return request_.scheduled; }

  /// Expected total of forward and backward passes.
  std::int64_t planned() const override;

 private:
  bool piece() override;
  bool outputs_known() const;
  void find_outputs();
  void find_logits();
  void share_total();
  void estimate_next();
  std::vector<std::vector<Estimate>> next_sweep(std::size_t noise, std::size_t estimator);
  std::vector<Estimate> next_question(std::size_t noise, const EstimatorSpec& estimator);
  std::vector<Estimate> answers(const EstimatorSpec& estimator, Result<std::vector<Estimate>> made, std::int64_t points) const;
  std::vector<Estimate> scheduled_of(std::size_t noise) const;
  void begin_block();
  void finish_block();
  WholeRunOptions whole_run() const { return {request_.total, request_.curve != nullptr, false}; }

  EstimateRequest request_;
  std::vector<Noise> noises_;   // as rows name them
  std::int64_t block_, count_;  // points of a block, and all points
  bool begun_ = false;
  Tensor outputs_;  // passes of the regression model so far
  Points points_;
  Tensor logits_;
  std::int64_t first_ = 0;                        // of the block
  std::unique_ptr<Evaluation> evaluation_;        // of the block
  std::size_t next_ = 0;                          // question of the block
  std::vector<std::vector<Estimate>> estimates_;  // [noise, estimator][point] of the block; empty: not yet, or not wanted
  std::vector<Row> rows_;
};

}  // namespace probust
