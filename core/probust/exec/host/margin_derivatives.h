// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "probust/exec/executor.h"
#include "probust/exec/host/host_rows.h"
#include "probust/exec/programs/workspace.h"

namespace probust {

/// Margins of one example and their gradients.
struct MarginGradients {
  Eigen::VectorXd margins;  ///< [m]
  RowMatrix gradients;      ///< [m, d]
};

/// First and second derivatives of the margins of a classifier with a graph, computed on the CPU. Each example's results depend
/// neither on the others nor on the batch. Workers may use it at the same time.
class MarginDerivatives {
 public:
  /// Examples [B][d], row after row, with their targets [B] and, for LinearizeAt::noise_mean, the variances [B][d] of the noise.
  struct Examples {
    std::span<const float> x;
    std::span<const std::int64_t> targets;
    std::span<const float> variances{};
    std::int64_t size() const { return std::ssize(targets); }
  };

  /// Of the margins at the input, or of their means under the noise. Throws Error{resources} if an example does not fit into the
  /// executor's memory, and Error{unsupported} if an operator has no moment rule. The executor's progress counts passes and
  /// carries stop requests.
  MarginDerivatives(Executor& executor, LinearizeAt at);

  /// The largest number of examples of a call.
  std::int64_t batch() const { return batch_.examples; }
  int workers() const { return static_cast<int>(workspaces_.size()); }
  /// Whether second derivatives are not always zero.
  bool curved() const { return hessian_ != nullptr; }

  /// The margins and their gradients, for each example.
  std::vector<MarginGradients> gradients(int worker, const Examples& examples);

  /// For each example, the sum over margins i of H_i w_i, with the Hessian H_i of margin i and row i of w [m, d]. Zero if not
  /// curved.
  std::vector<Eigen::VectorXd> hessian_products(int worker, const Examples& examples, const std::vector<RowMatrix>& w);

 private:
  struct Run;
  template <class Take>
  void sweep(int worker, const Program& program, const Examples& examples, const std::vector<RowMatrix>* w, const Take& take);

  Executor& executor_;
  std::int64_t elements_, classes_;
  std::unique_ptr<Program> gradient_, hessian_;  // hessian_: null if all second derivatives are zero
  Batch batch_;
  std::vector<Workspace> workspaces_;
};

}  // namespace probust
