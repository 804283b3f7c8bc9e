// SPDX-License-Identifier: MIT
//
// What training minimises, as graphs: a function of one "example", which is a whole batch and the weights.
#pragma once

#include <memory>
#include <vector>

#include "probust/exec/program.h"
#include "probust/train/mlp.h"

namespace probust {

/// A batch: points as rows, and their labels as rows with a one each.
struct Batched {
  Tensor x;       ///< [rows, d]
  Tensor wanted;  ///< [rows, classes]
};

/// The mean over the rows of the cross-entropy l, and, where it is regularised, of l + lambda ||grad_x l||² (Drucker and LeCun,
/// "Improving generalization performance using double backpropagation", IEEE Trans. Neural Networks 3, 1992), with its gradient
/// with respect to every weight.
class Objective {
 public:
  /// For batches of `rows` rows; of `mlp` only shapes and the activation are looked at.
  Objective(const Mlp& mlp, std::int64_t rows, bool regularised);

  /// Bytes of memory that a run takes, weights and their gradients not counted.
  std::int64_t workspace_bytes() const { return program_->workspace_bytes({1, 1}); }

  /// The objective; its gradients are left in `gradients`, shaped as the weights. `lambda` is not looked at where it is not
  /// regularised.
  float run(const Batched& batch, const std::vector<Tensor>& weights, double lambda, std::vector<Tensor>& gradients);

 private:
  bool regularised_;
  std::unique_ptr<Program> program_;
  Workspace workspace_;
};

/// The logits [rows, classes] of batches of `rows` rows.
class BatchLogits {
 public:
  BatchLogits(const Mlp& mlp, std::int64_t rows);
  void run(const Tensor& x, const std::vector<Tensor>& weights, Tensor& logits);

 private:
  std::unique_ptr<Program> program_;
  Workspace workspace_;
};

}  // namespace probust
