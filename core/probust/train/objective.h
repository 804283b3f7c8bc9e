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

/// The mean over the rows of the cross-entropy l or, if regularised, of l + lambda ||grad_x l||² (Drucker and LeCun, "Improving
/// generalization performance using double backpropagation", IEEE Trans. Neural Networks 3, 1992), with its gradient with respect
/// to every weight. With batch normalization, rows depend on each other, and grad_x is the gradient of the sum of the losses.
class Objective {
 public:
  /// For batches of `rows` rows; only the layers and shapes of `network` are used. `stop`, if given, ends a run with
  /// Error{interrupted}.
  Objective(const Network& network, std::int64_t rows, bool regularised, const StopToken* stop = nullptr);

  /// Bytes of memory for a run, without weights and their gradients.
  std::int64_t workspace_bytes() const { return program_->workspace_bytes({1, 1}); }

  /// Returns the objective and writes its gradients to `gradients`, shaped like the weights, and the moments of the batch to
  /// `observed`, shaped like the statistics. `lambda` is ignored if not regularised.
  float run(const Batched& batch, const std::vector<Parameter>& weights, double lambda, std::vector<Tensor>& gradients,
            std::vector<Tensor>& observed);

  const Program& program() const { return *program_; }
  Workspace& workspace() { return workspace_; }

 private:
  bool regularised_;
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
