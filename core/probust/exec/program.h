// SPDX-License-Identifier: MIT
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "probust/exec/workspace.h"
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

/// A step of a program: what it does, in a few words, and what that costs for one lane of its extent.
struct ProgramStep {
  std::string kind;  ///< "conv 3x3", "matmul", "relu"
  double flops = 0;
  Extent extent = Extent::example;
};

/// Weights that a program holds in an order of its own, which programs of the same constants share.
struct PackedConstant {
  const Tensor* constant;
  std::int64_t order;  ///< tells the packed forms of a constant apart
  std::int64_t bytes;
  auto operator<=>(const PackedConstant&) const = default;
};

/// What a run may take over from the one before it in the same workspace, which was of the same program.
enum class Reuse {
  nothing,
  examples,  ///< what does not vary with the seed: the examples and their inputs are the same
};

/// A graph compiled for this machine's processor.
class Program {
 public:
  virtual ~Program() = default;

  /// Bytes of workspace that a run of this size takes, inputs and outputs not counted.
  virtual std::int64_t workspace_bytes(const Batch& batch) const = 0;

  /// Weights that are held besides the graph's own constants, at most.
  virtual std::vector<PackedConstant> packed() const { return {}; }

  /// Lanes from which on most of the work is done at full speed.
  virtual std::int64_t least_lanes() const { return 1; }

  /// What a run does, in order; empty where it is not known.
  virtual std::vector<ProgramStep> steps() const { return {}; }

  /// Runs the graph. inputs[i] and outputs[i] belong to the graph's i-th input and output and are laid out [elements][lanes],
  /// where lanes is that of the input's extent; outputs are always given one lane per seed and example if any input is seeded,
  /// one per example otherwise. Throws Error{usage, "interrupted"} soon after workspace.stop is set.
  virtual void run(const Batch& batch, std::span<const float* const> inputs, std::span<float* const> outputs,
                   Workspace& workspace, Reuse reuse = Reuse::nothing) const = 0;
};

/// Evaluates node by node, one example at a time, with the operators' own definitions: slow, and the oracle for the others.
std::unique_ptr<Program> compile_reference(const Graph& graph);

/// Eigen kernels over planned buffers.
std::unique_ptr<Program> compile_cpu(const Graph& graph);

}  // namespace probust
