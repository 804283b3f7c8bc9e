// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "probust/exec/programs/program.h"
#include "probust/graph/graph.h"
#include "probust/ops/op.h"

namespace probust::test {

/// Runs a program for one example and one seed: a tensor per input, a tensor per output.
inline std::vector<Tensor> run_one(const Program& program, const Graph& graph, const std::vector<Tensor>& inputs) {
  std::vector<const float*> in;
  for (const Tensor& input : inputs) in.push_back(input.data.data());
  std::vector<Tensor> outputs;
  std::vector<float*> out;
  for (const ValueId id : graph.outputs) outputs.emplace_back(graph[id].shape);
  for (Tensor& output : outputs) out.push_back(output.data.data());
  Workspace workspace;
  workspace.verify = true;
  program.run({1, 1}, in, out, workspace);
  return outputs;
}

/// The values of the graph's outputs, by the operators' reference definitions.
inline std::vector<Tensor> evaluate(const Graph& graph, const std::vector<Tensor>& inputs) {
  return run_one(*compile_reference(graph), graph, inputs);
}

/// Uniform in [low, high). Does not use std::uniform_real_distribution, which generates different numbers with each standard
/// library, and would take most of the time of tests that are not optimised.
inline Tensor random_tensor(const Shape& shape, std::mt19937& random, float low = -1, float high = 1) {
  constexpr float below_one = 0x1.fffffep-1F;
  Tensor tensor(shape);
  float* value = tensor.data.data();
  for (std::size_t i = 0, n = tensor.data.size(); i < n; ++i) {
    const float unit = static_cast<float>(random()) * 0x1p-32F;
    value[i] = (unit < 1 ? unit : below_one) * (high - low) + low;
  }
  return tensor;
}

}  // namespace probust::test
