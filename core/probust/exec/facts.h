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
  /// Bytes for activations, gradients and the algebra of estimators, all threads together. 0: what suits the device, which is
  /// kProcessorMemory on the processor and most of what is free on a GPU.
  std::int64_t memory = 0;
  std::int64_t batch = 0;         ///< lanes per run; 0: chosen by memory and model
  bool verify = false;            ///< for tests: see Workspace::verify
  bool weights_included = false;  ///< whether `memory` includes the weights
  Precision precision = Precision::float32;
  std::function<void(const std::string&)> warn{};  ///< told what runs slower or elsewhere than it could; empty: nobody is
  Progress* progress = nullptr;  ///< counts passes and carries stop requests, and outlives the executor; null: its own
};
inline constexpr std::int64_t kProcessorMemory = std::int64_t{2} << 30;

/// What an executor is. Only the batch and the memory change, when a call compiles another program.
struct ExecutorFacts {
  std::string name{};
  Shape point_shape{};
  /// The classifier, simplified; null if it has no graph. It lives as long as the executor.
  const Graph* classifier = nullptr;
  std::int64_t classes = 0;
  /// Whether gradients are available. If not, estimators that need them are refused (require_answerable), and those that can do
  /// without do so.
  bool differentiable = true;
  /// Whether points may have NaN for values that are missing, as trees and imputers take them: their logits are finite then.
  bool handles_missing = false;
  /// Backward passes per linearization: one per margin, or fewer if the last layer is linear with few inputs.
  std::int64_t backwards_to_linearize = 0;
  Batch forward_batch{};  ///< per run of forwards
  /// Callers that keep margins or noise use `memory` to decide how many points to request at once.
  ExecutorOptions options{};
};

}  // namespace probust
