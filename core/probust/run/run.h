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

/// Whether one of the estimators pools points, so that its estimates depend on the other points of the block.
bool borrows(std::span<const EstimatorSpec> estimators);

/// The number of points to estimate together: kBlock if an estimator pools points, otherwise few.
std::int64_t block_size(std::span<const EstimatorSpec> estimators);

/// The number of points to estimate together from this position on. Blocks begin at multiples of `size`, so that pooled estimates
/// do not depend on where a run starts or was interrupted.
inline std::int64_t points_in_block(std::int64_t position, std::int64_t size) { return size - position % size; }

/// Estimates at several scales of one noise shape, [scales][points]: estimate_curve of analysis/curve.h.
using CurveEstimator = Result<std::vector<std::vector<Estimate>>> (*)(Executor&, const Points&, const Tensor& logits,
                                                                      const std::shared_ptr<const NoiseShape>&,
                                                                      std::span<const double> sigmas, const EstimatorSpec&,
                                                                      const Event&);

/// The position after the last noise model that differs from the one at `first` only in scale (the end of a sweep).
std::size_t end_of_sweep(std::span<const Noise> noises, std::size_t first);

/// Estimates of `auto` for all points of the data, computed with a common total of forwards.
struct Scheduled {
  std::vector<std::int64_t> index{};               ///< positions of the points, ascending
  std::vector<std::vector<Estimate>> estimates{};  ///< [noise models][points]
};

/// The estimates to compute: every point under every noise model with every estimator.
struct EstimateRequest {
  Tensor x;                            ///< [N, ...] in the natural space
  std::vector<std::int64_t> targets;   ///< [N]; empty: given by `target`
  std::string target = "predicted";    ///< as in targets_of
  std::vector<std::int64_t> labels{};  ///< [N] classes of the model; empty: none
  std::vector<std::string> names{};    ///< names of the classes; empty: none
  Event event{};                       ///< what must survive, if not only the target
  bool other_labels = false;  ///< whether labels that are not classes of the model count as none instead of being an error
  std::int64_t offset = 0;    ///< position of the first point in the data, which is part of the key of the noise
  std::vector<std::int64_t> index{};  ///< [N] positions of all points, ascending; empty: consecutive, starting at `offset`
  std::uint64_t seed = 0;
  std::vector<Noise> noises;
  std::vector<EstimatorSpec> estimators;
  /// The regression model that the executor runs as a classifier within a tolerance (within_tolerance); it must outlive the
  /// run. Points and noises are then those of the regression model (tolerance.h). Null for a classifier.
  Executor* regression = nullptr;
  bool others = false;     ///< whether there are other estimators, which this run does not compute
  bool one_block = false;  ///< whether all points form one block
  /// [noise models * estimators] which estimates to compute; empty: all. Within a sweep, all or none must be requested.
  std::vector<bool> wanted{};
  std::int64_t total = 0;  ///< forwards that `auto` distributes among all points and noise models; 0: the budget is per estimate
  /// Estimates by `auto` that share `total` among all points of the data; null if this request contains all points.
  std::shared_ptr<const Scheduled> scheduled{};
  CurveEstimator curve = nullptr;  ///< how to estimate sweeps; null: each scale separately
  /// If the request has several estimators: called once for each that is not supported, with its name in rows and the reason.
  std::function<void(const std::string&, const Error&)> refused{};
};

/// Estimates as a job. The rows equal those of `probust estimate`. A step throws Error if points or targets do not fit the model,
/// but not if one of several estimators is unsupported: its rows then give the reason (refused_estimates).
class EstimateRun final : public ExecutorJob {
 public:
  /// `executor` must outlive this, and so must `external`, the source of its logits, if any. Throws Error if noise, points or
  /// estimators are missing or an estimator needs gradients that the executor does not have.
  EstimateRun(Executor& executor, EstimateRequest request, ExternalEngine* external = nullptr);

  /// The rows of all finished blocks, ordered by point, noise model and estimator.
  const std::vector<Row>& rows() const { return rows_; }
  std::vector<Row> take_rows() { return std::move(rows_); }

  /// [N, C] The logits of the points of finished blocks, without noise.
  const Tensor& logits() const { return logits_; }

  /// The estimates with a common total of forwards, once they are known; null without a total.
  const std::shared_ptr<const Scheduled>& scheduled() const { return request_.scheduled; }

  /// The expected total of forward and backward passes.
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
  std::vector<Noise> noises_;   // the noise models as rows name them
  std::int64_t block_, count_;  // number of points of a block, and of all points
  bool begun_ = false;
  Tensor outputs_;  // outputs of the regression model so far
  Points points_;
  Tensor logits_;
  std::int64_t first_ = 0;                        // first point of the block
  std::unique_ptr<Evaluation> evaluation_;        // evaluation of the block's points
  std::size_t next_ = 0;                          // next pair of noise model and estimator of the block
  std::vector<std::vector<Estimate>> estimates_;  // [noise, estimator][point] of the block; empty until computed
  std::vector<Row> rows_;
};

}  // namespace probust
