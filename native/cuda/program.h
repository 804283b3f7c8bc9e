// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cuda/graph_replay.h"
#include "cuda/lowering.h"

namespace probust::cuda {

/// A graph compiled for a device: a sequence of kernel calls, with values in slots of one arena. A slot is reused after its
/// value has been read for the last time.
class DeviceProgram {
 public:
  /// Throws Error{unsupported} if the device does not support an operator, and Error{resources} if constants do not fit into
  /// its memory.
  DeviceProgram(
      Device& device, const Graph& graph, Warn warn = [](const std::string&) {});

  /// The bytes of device memory that a run of this size needs, in addition to its inputs.
  std::int64_t workspace_bytes(const Batch& batch) const;

  /// A value of a run: [lanes][elements], elements in row-major order. Valid until the next run with the same arena.
  struct Value {
    const float* data;
    std::int64_t lanes;
  };

  /// Runs the program. inputs[i] is the graph's i-th input, [lanes][elements]. Returns the graph's outputs. The number of lanes
  /// of an input or output depends on its extent.
  std::vector<Value> run(const Batch& batch, std::span<const float* const> inputs, Array<float>& arena) const;

  /// The steps of a run.
  const std::vector<Step>& steps() const { return lowered_.steps; }
  /// The bytes of memory that a step reads and writes.
  std::int64_t traffic(const Step& step, const Batch& batch) const;

  /// Nodes with slow kernels of our own, by reason.
  const std::map<std::string, std::vector<std::string>>& slow() const { return lowered_.slow; }
  /// Convolutions that the library computes without their epilogues, by reason.
  const std::map<std::string, std::vector<std::string>>& unfused() const { return lowered_.unfused; }
  /// Operators without a kernel, which run on the host.
  const std::vector<std::string>& on_the_host() const { return lowered_.on_the_host; }

 private:
  void plan();
  void trace(const Batch& batch, std::span<void* const> addresses) const;

  Device& device_;
  Lowered lowered_;
  std::vector<int> slot_of_;  // by storage
  struct Slot {
    Extent extent;
    std::int64_t bytes;  ///< size of one lane
  };
  std::vector<Slot> slots_;
  mutable GraphReplay replays_;                                               // mutable, because it does not change results
  mutable std::map<std::pair<std::int64_t, std::int64_t>, int> traced_runs_;  // number of runs by batch size, while tracing
};

}  // namespace probust::cuda
