// SPDX-License-Identifier: MIT
//
// The training objective as a graph whose single "example" consists of a whole batch and the weights.
#pragma once

#include <memory>
#include <vector>

#include "probust/exec/programs/program.h"
#include "probust/train/network.h"

namespace probust {

/// A batch: points as rows, and their labels as one-hot rows.
struct Batched {
  Tensor x;       ///< [rows, point...]
  Tensor wanted;  ///< [rows, classes]
};

/// What is minimised, as a mean over the rows of a batch.
enum class Loss : std::uint8_t {
  /// The cross-entropy l.
  cross_entropy,
  /// l + lambda ||grad_x l||² (Drucker and LeCun, "Improving generalization performance using double backpropagation", IEEE
  /// Trans.
  /// Neural Networks 3, 1992).
  regularised,
  /// -log p of the label under Gaussian noise of standard deviation sigma, by the estimator taylor_mvs (Han et al., section
  /// 3.2.3): p = 1 / (1 + sum exp(-z_i)), z_i = g_i / (sigma |grad_x g_i|). So that it is finite, |grad_x g_i|² is increased by
  /// 1e-6.
  p_robust
};

/// A loss with its gradient with respect to every weight. With batch normalization, rows depend on each other, and grad_x is the
/// gradient of a sum over rows.
class Objective {
 public:
  /// For batches of `rows` rows; only the layers and shapes of `network` are used. `stop`, if given, ends a run with
  /// Error{interrupted}.
  Objective(const Network& network, std::int64_t rows, Loss loss, const StopToken* stop = nullptr);

  /// Bytes of memory for a run, without weights and their gradients.
  std::int64_t workspace_bytes() const { return program_->workspace_bytes({1, 1}); }

  /// Returns the objective and writes its gradients to `gradients`, shaped like the weights, and the moments of the batch to
  /// `observed`, shaped like the statistics. `strength` is lambda or sigma; it is ignored for the cross-entropy.
  float run(const Batched& batch, const std::vector<Parameter>& weights, double strength, std::vector<Tensor>& gradients,
            std::vector<Tensor>& observed);

  const Program& program() const { return *program_; }
  Workspace& workspace() { return workspace_; }

 private:
  Loss loss_;
  std::int64_t sweeps_;  ///< gradients with respect to x that the loss contains
  std::unique_ptr<Program> program_;
  Workspace workspace_;
};

/// Computes the logits [rows, classes] of batches of `rows` rows, with the running statistics. `stop` is as in Objective.
class BatchLogits {
 public:
  BatchLogits(const Network& network, std::int64_t rows, const StopToken* stop = nullptr);
  /// Only the values of the parameters of `network` are used.
  void run(const Tensor& x, const Network& network, Tensor& logits);

 private:
  std::unique_ptr<Program> program_;
  Workspace workspace_;
};

}  // namespace probust
