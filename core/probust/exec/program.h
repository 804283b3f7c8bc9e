// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "probust/graph/graph.h"

namespace probust {

/// How many examples and cotangent seeds a run has. A value's elements are laid out [elements][lanes], with one lane per example
/// (lane b) or per seed and example (lane s * examples + b): each instruction does the same to every lane, so a lane's result
/// does not depend on how many others there are, or on which of them it is.
struct Batch {
  std::int64_t examples = 1;
  std::int64_t seeds = 1;

  std::int64_t lanes(Extent extent) const {
    return extent == Extent::constant ? 1 : extent == Extent::example ? examples : examples * seeds;
  }
};

/// Memory that runs of a program reuse; one per thread.
struct Workspace {
  std::vector<float> arena;    ///< the values
  std::vector<float> scratch;  ///< what one kernel needs
};

/// A graph compiled for this machine's processor.
class Program {
 public:
  virtual ~Program() = default;

  /// Bytes of workspace that a run of this size takes, inputs and outputs not counted.
  virtual std::int64_t workspace_bytes(const Batch& batch) const = 0;

  /// Runs the graph. inputs[i] and outputs[i] belong to the graph's i-th input and output and are laid out [elements][lanes],
  /// where lanes is that of the input's extent; outputs are always given one lane per seed and example if any input is seeded,
  /// one per example otherwise.
  virtual void run(const Batch& batch, std::span<const float* const> inputs, std::span<float* const> outputs,
                   Workspace& workspace) const = 0;
};

/// Evaluates node by node, one example at a time, with the operators' own definitions: slow, and the oracle for the others.
std::unique_ptr<Program> compile_reference(const Graph& graph);

/// Eigen kernels over planned buffers.
std::unique_ptr<Program> compile_cpu(const Graph& graph);

}  // namespace probust
