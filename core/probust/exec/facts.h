// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "probust/base/tensor.h"
#include "probust/exec/precision.h"
#include "probust/exec/programs/program.h"
#include "probust/graph/graph.h"

namespace probust {

struct Progress;

struct ExecutorOptions {
  int threads = 1;
  /// Bytes for activations, gradients and the algebra of estimators, for all threads together. 0 stands for kProcessorMemory on
  /// the CPU, and for most of the free memory on a GPU.
  std::int64_t memory = 0;
  std::int64_t batch = 0;         ///< lanes per run; 0: chosen from the memory and the model
  bool verify = false;            ///< for tests: see Workspace::verify
  bool weights_included = false;  ///< whether `memory` includes the weights
  Precision precision = Precision::float32;
  std::function<void(const std::string&)> warn{};  ///< called if something runs slower than it could; may be empty
  Progress* progress = nullptr;  ///< counts passes and carries stop requests; must outlive the executor; null: its own
};
inline constexpr std::int64_t kProcessorMemory = std::int64_t{2} << 30;

/// The properties of an executor. The batch and the memory change when a call compiles another program; the rest is fixed.
struct ExecutorFacts {
  std::string name{};
  Shape point_shape{};
  /// The classifier, simplified; null if the classifier has no graph. The graph lives as long as the executor.
  const Graph* classifier = nullptr;
  std::int64_t classes = 0;
  /// Whether gradients are available. If not, estimators that need gradients are refused (require_answerable), and others do not
  /// use them.
  bool differentiable = true;
  /// Whether points may contain NaN for missing values, as trees and imputers accept; logits are then still finite.
  bool handles_missing = false;
  /// Backward passes per linearization: one per margin, or fewer if the last layer is linear with few inputs.
  std::int64_t backwards_to_linearize = 0;
  Batch forward_batch{};  ///< batch of a forward run
  /// Callers that store margins or noise derive their number of points per call from options.memory.
  ExecutorOptions options{};
};

}  // namespace probust
