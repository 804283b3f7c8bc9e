// SPDX-License-Identifier: MIT
//
// Training by the library's own derivatives, a step at a time, so that a page can show it and change its mind.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "probust/train/mlp.h"
#include "probust/train/objective.h"

namespace probust {

enum class Optimizer : std::uint8_t {
  adam,  ///< Kingma and Ba, ICLR 2015
  sgd    ///< plain gradient descent over batches
};

/// Reads "adam" or "sgd". Throws Error{usage} naming them.
Optimizer parse_optimizer(const std::string& text);

/// What is decided before training begins.
struct TrainerOptions {
  std::vector<std::int64_t> hidden = {32};  ///< widths of the hidden layers; none: a linear classifier
  Activation activation = Activation::relu;
  Optimizer optimizer = Optimizer::adam;
  std::int64_t batch = 32;                      ///< points a step; all of them where there are fewer
  std::uint64_t seed = 0;                       ///< of initial weights, orders and noise
  std::int64_t memory = std::int64_t{1} << 30;  ///< bytes that weights and their gradients may take, and as many for activations
};

/// What may change from step to step.
struct TrainingOptions {
  double rate = 5e-3;  ///< the optimiser's; positive
  double sigma = 0;    ///< standard deviation of Gaussian noise that is added to every input afresh, in the units of x
  double lambda = 0;   ///< of the mean of ||grad_x loss||², which is added to the loss
  double decay = 0;    ///< of weights, decoupled (Loshchilov and Hutter, ICLR 2019); biases do not decay
};

/// Throws Error{usage} naming what is not a number of its kind.
void check(const TrainingOptions& options);

/// How well a classifier does on points as they are, without noise.
struct Score {
  double loss = 0;      ///< mean cross-entropy
  double accuracy = 0;  ///< the share of points whose label has the largest logit
};

/// A classifier under training. Deterministic: a step depends on data, options and the steps before. The first batches of an
/// epoch go through the points in a new order; those left over after the last whole batch wait for the next one's. Noise is keyed
/// by a point's position and the epoch.
class Trainer {
 public:
  /// x [N, ...] with labels 0 .. classes - 1. Throws Error{usage} where sizes, labels or options do not fit, Error{resources}
  /// where it takes more than options.memory.
  Trainer(Tensor x, std::vector<std::int64_t> labels, std::int64_t classes, TrainerOptions options = {});

  /// One batch. Returns the objective there, before the step. Throws Error{usage} for options that are not numbers of their kind,
  /// and Error{numerical} where the objective is not finite: no weight has moved then.
  double step(const TrainingOptions& options);

  /// So many times steps_an_epoch() steps. Returns the mean objective of each epoch. Throws as step does.
  std::vector<double> epochs(std::int64_t count, const TrainingOptions& options = {});

  std::int64_t steps_an_epoch() const { return points() / rows_; }
  std::int64_t steps() const { return steps_; }
  double epoch() const { return static_cast<double>(steps_) / static_cast<double>(steps_an_epoch()); }

  /// On the points first .. first + count - 1, as far as they go: sums, to be divided by the number of points.
  Score sums(std::int64_t first, std::int64_t count);
  /// On all points.
  Score score();

  std::int64_t points() const { return x_.shape[0]; }
  std::int64_t batch() const { return rows_; }
  const Mlp& network() const { return mlp_; }
  /// The present classifier: x [...] -> logits [classes].
  Graph classifier() const { return classifier_of(mlp_); }

 private:
  void begin_epoch();
  void fill(const TrainingOptions& options);
  void move(const TrainingOptions& options);
  Objective& objective(bool regularised);

  Tensor x_;
  std::vector<std::int64_t> labels_;
  TrainerOptions options_;
  std::int64_t rows_;
  Mlp mlp_;
  BatchLogits logits_;
  std::unique_ptr<Objective> plain_, regularised_;  ///< as they are needed
  Batched batch_;
  Tensor batch_logits_;
  std::vector<Tensor> gradients_;
  std::vector<std::vector<double>> first_, second_;  ///< Adam's moments; empty for other optimisers
  double first_power_ = 1, second_power_ = 1;        ///< what is left of the moments' beginning at zero
  std::vector<std::int64_t> order_;                  ///< of the points in this epoch
  std::int64_t steps_ = 0;
};

/// `epochs` more epochs in pieces, and the score behind them, for callers that may not be kept waiting.
class TrainingRun {
 public:
  /// `trainer` must outlive it. Throws Error{usage} where `epochs` is negative.
  TrainingRun(Trainer& trainer, std::int64_t epochs, const TrainingOptions& options);

  /// Works for about as long as `milliseconds`; true once all is done. Throws as Trainer::step does.
  bool step(double milliseconds);

  std::int64_t planned() const { return steps_ + scores_; }  ///< steps, and batches to be scored
  std::int64_t done() const { return done_; }
  Score score() const;  ///< once all is done

 private:
  void work();

  Trainer& trainer_;
  TrainingOptions options_;
  std::int64_t steps_, scores_, done_ = 0;
  Score sums_;
};

}  // namespace probust
