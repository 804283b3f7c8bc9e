// SPDX-License-Identifier: MIT
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "probust/exec/programs/workspace.h"
#include "probust/graph/graph.h"

namespace probust {

/// The number of examples and cotangent seeds of a run. A value's elements are laid out [elements][lanes], with one lane per
/// example (lane b) or per seed and example (lane s * examples + b). Every lane is computed by the same arithmetic, so its
/// result depends neither on its position nor on the number of lanes.
struct Batch {
  std::int64_t examples = 1;
  std::int64_t seeds = 1;

  std::int64_t lanes(Extent extent) const {
    return extent == Extent::constant ? 1 : extent == Extent::example ? examples : examples * seeds;
  }
};

/// A step of a program: its kind, in a few words, and its cost for one lane of its extent.
struct ProgramStep {
  std::string kind;  ///< "conv 3x3", "matmul", "relu"
  double flops = 0;
  Extent extent = Extent::example;
};

/// Weights that a program holds in packed form. Programs with the same constants share them.
struct PackedConstant {
  const Tensor* constant;
  std::int64_t order;  ///< distinguishes the packed forms of a constant
  std::int64_t bytes;
  auto operator<=>(const PackedConstant&) const = default;
};

/// What a run may reuse from the previous run of the same program in the same workspace.
enum class Reuse {
  nothing,
  examples,  ///< all values that do not depend on the seed; the run must have the same examples and inputs
};

/// A graph compiled for the CPU.
class Program {
 public:
  virtual ~Program() = default;

  /// The bytes of workspace for a run of this size, without inputs and outputs.
  virtual std::int64_t workspace_bytes(const Batch& batch) const = 0;

  /// The bytes of additional scratch memory, if more than a few hundred KB are needed.
  virtual std::int64_t scratch_bytes(const Batch&) const { return 0; }

  /// All packed weights, which take memory in addition to the graph's constants.
  virtual std::vector<PackedConstant> packed() const { return {}; }

  /// The smallest number of lanes at which most of the work runs at full speed.
  virtual std::int64_t least_lanes() const { return 1; }

  /// Whether a run may end because an answer is not known yet, to be repeated later (external_engine.h).
  virtual bool answers_later() const { return false; }

  /// The steps of a run, in order; empty if unknown.
  virtual std::vector<ProgramStep> steps() const { return {}; }

  /// Runs the graph. inputs[i] and outputs[i] are the graph's i-th input and output, laid out [elements][lanes]. An input has the
  /// lanes of its extent. All outputs have one lane per seed and example if any input is seeded, else one per example.
  /// Throws Error{interrupted} soon after workspace.stop is set.
  virtual void run(const Batch& batch, std::span<const float* const> inputs, std::span<float* const> outputs,
                   Workspace& workspace, Reuse reuse = Reuse::nothing) const = 0;
};

/// Evaluates one node after another, one lane at a time, by the operators' reference evaluations. Slow; the other programs are
/// tested against it.
std::unique_ptr<Program> compile_reference(const Graph& graph);

/// Runs kernels over planned buffers, with the fastest algorithm for each product.
std::unique_ptr<Program> compile_cpu(const Graph& graph);

/// Compiles with the fastest backend that the build contains (devices.cpp).
std::unique_ptr<Program> compile_on_processor(const Graph& graph);

/// compile_cpu with only Eigen's matrix products, as in browsers.
std::unique_ptr<Program> compile_eigen(const Graph& graph);

}  // namespace probust
