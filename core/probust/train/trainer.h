// SPDX-License-Identifier: MIT
//
// Training with the library's own derivatives, one step at a time, so that a page can show progress and change the options.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "probust/base/job.h"
#include "probust/train/augmentation.h"
#include "probust/train/objective.h"
#include "probust/train/optimizer.h"

namespace probust {

/// Options fixed before training begins.
struct TrainerOptions {
  Optimizer optimizer = Optimizer::adam;
  std::int64_t batch = 32;  ///< points per step; all of them if there are fewer
  std::uint64_t seed = 0;   ///< seed for the order of points, the noise and other augmentation
  /// Bytes for weights, gradients, moments and a batch, and as many bytes again for activations.
  std::int64_t memory = std::int64_t{1} << 30;
};

/// Options that may change from step to step.
struct TrainingOptions {
  double rate = 5e-3;  ///< learning rate; positive
  double sigma = 0;    ///< standard deviation of the Gaussian noise added to every input at every step, in the units of x
  double lambda = 0;   ///< factor of the mean of ||grad_x loss||², which is added to the loss
  /// If positive, maximises p of the label under noise of this standard deviation instead (Loss::p_robust); lambda must be 0.
  double robust_sigma = 0;
  double decay = 0;                        ///< weight decay, decoupled (Loshchilov and Hutter, ICLR 2019); biases do not decay
  double momentum = 0;                     ///< momentum of sgd; below 1
  bool flip = false;                       ///< whether to mirror images at random
  std::int64_t crop = 0;                   ///< maximum number of pixels by which images are shifted at random
  Schedule schedule = Schedule::constant;  ///< schedule of the rate, from the trainer's first step to the last one of a run
};

/// Throws Error{usage} naming the first option that is not finite, is negative, or is zero if it must be positive.
void check(const TrainingOptions& options);

/// The performance of a classifier on the points without noise.
struct Score {
  double loss = 0;      ///< mean cross-entropy
  double accuracy = 0;  ///< share of points whose largest logit is that of the label
};

/// Mean loss and accuracy of a network on points x [N, point...], N > 0, in batches of `rows`. Throws Error{usage} if points or
/// labels do not fit, Error{interrupted} after a stop request.
Score evaluate(const Network& network, const Tensor& x, const std::vector<std::int64_t>& labels, std::int64_t rows = 250,
               const StopToken* stop = nullptr);

/// A classifier that is being trained. Deterministic: a step depends on data, options and the previous steps. Every epoch
/// shuffles the points and uses as many whole batches as fit; the remaining points are skipped in that epoch. Noise is keyed
/// by a point's position in x and the epoch.
class Trainer {
 public:
  /// x [N, point...] with labels 0 .. classes - 1. Throws Error{usage} if sizes, labels or options do not fit, Error{resources}
  /// if weights and a batch take more than options.memory.
  Trainer(Network network, Tensor x, std::vector<std::int64_t> labels, const TrainerOptions& options = {});

  /// Trains on one batch. Returns the objective on it, before the step. Throws Error{usage} for invalid options (see check),
  /// Error{resources} if activations take more than options.memory, Error{numerical} if the objective or its gradient is not
  /// finite, and Error{interrupted} after a stop request; then no weight has changed. The schedule is ignored: the rate is the
  /// given one.
  double step(const TrainingOptions& options);

  /// Runs count * steps_an_epoch() steps. Returns the mean objective of each epoch. Throws as step does.
  std::vector<double> epochs(std::int64_t count, const TrainingOptions& options = {});

  std::int64_t steps_an_epoch() const { return points() / rows_; }
  std::int64_t steps() const { return steps_; }
  double epoch() const { return static_cast<double>(steps_) / static_cast<double>(steps_an_epoch()); }

  /// Sums of loss and accuracy over the points first .. first + count - 1, cut off at the last point; divide by the number of
  /// points.
  Score sums(std::int64_t first, std::int64_t count);
  /// Mean loss and accuracy over all points.
  Score score();

  std::int64_t points() const { return x_.shape[0]; }
  std::int64_t batch() const { return rows_; }
  const Network& network() const { return network_; }
  const TrainerOptions& options() const { return options_; }
  /// The classifier with its current weights: x [...] -> logits [classes].
  Graph classifier() const { return classifier_of(network_); }

  /// The state that a resumed training needs besides the data, as a plain value (checkpoint.h converts it to bytes).
  struct State {
    std::vector<Parameter> weights, statistics;
    OptimizerMoments moments;
    std::int64_t steps = 0;
  };
  State state() const { return {network_.weights, network_.statistics, moments_, steps_}; }
  /// Throws Error{usage} if the state belongs to a different network or optimizer.
  void resume(State state);

  StopToken stop{false};  ///< if set, the running call ends with Error{interrupted}

 private:
  void begin_epoch();
  void fill(const TrainingOptions& options);
  void follow_batch();
  bool gradients_are_finite() const;
  Objective& objective(Loss loss);

  Network network_;
  Tensor x_;
  std::vector<std::int64_t> labels_;
  TrainerOptions options_;
  std::int64_t rows_;
  BatchLogits logits_;
  std::array<std::unique_ptr<Objective>, 3> objectives_;  ///< by loss; compiled when first needed
  Batched batch_;
  Tensor batch_logits_;
  std::vector<Tensor> gradients_, observed_;
  OptimizerMoments moments_;
  std::vector<std::int64_t> order_;  ///< order of the points in this epoch
  bool order_is_old_ = true;
  std::int64_t steps_ = 0;
};

/// `epochs` more epochs and then the score, as a job. Its steps throw as Trainer::step does.
class TrainingRun final : public Job {
 public:
  /// `trainer` must outlive this object. Throws Error{usage} if `epochs` is negative or above 2^30, or `options` are invalid.
  TrainingRun(Trainer& trainer, std::int64_t epochs, const TrainingOptions& options);
  /// Trains until trainer.epoch() is `epochs`, which completes a resumed training.
  static TrainingRun up_to(Trainer& trainer, std::int64_t epochs, const TrainingOptions& options);

  std::int64_t planned() const override { return steps_ + scores_; }  ///< training steps, plus batches to score
  std::int64_t done() const override { return done_; }
  Score score() const;                   ///< available once the run is finished
  double loss() const { return loss_; }  ///< the objective on the latest batch

 private:
  TrainingRun(Trainer& trainer, const TrainingOptions& options, std::int64_t steps);
  bool advance() override;

  Trainer& trainer_;
  TrainingOptions options_;
  std::int64_t steps_, last_, scores_, done_ = 0;  ///< last_: the number of the trainer's steps at the end of this run
  double loss_ = 0;
  Score sums_;
};

}  // namespace probust
