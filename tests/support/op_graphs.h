// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "probust/ops/append.h"
#include "support/evaluate.h"
#include "support/op_cases.h"

// The table of operators as graphs that programs can run.
namespace probust::test {

inline std::string describe(const OpCase& row) {
  std::string text(definition(row.op).name);
  for (const Shape& shape : row.operands) text += " " + to_string(shape);
  return text;
}

// All combinations of extents for the operands in which at least one operand varies.
inline std::vector<std::vector<Extent>> extent_choices(std::size_t operands) {
  std::vector<std::vector<Extent>> choices{{}};
  for (std::size_t i = 0; i < operands; ++i) {
    std::vector<std::vector<Extent>> longer;
    for (const auto& choice : choices) {
      for (const Extent extent : {Extent::constant, Extent::example, Extent::seeded}) {
        longer.push_back(choice);
        longer.back().push_back(extent);
      }
    }
    choices = longer;
  }
  std::erase_if(choices, [](const auto& choice) {
    return std::all_of(choice.begin(), choice.end(), [](Extent e) { return e == Extent::constant; });
  });
  return choices;
}

// The case as a graph; its constant operands become constants.
inline Graph with_constants(const OpCase& row, const std::vector<Extent>& extents, std::mt19937& random) {
  Graph graph;
  std::vector<ValueId> operands;
  for (std::size_t i = 0; i < row.operands.size(); ++i) {
    operands.push_back(extents[i] == Extent::constant
                           ? append_constant(graph, random_tensor(row.operands[i], random, row.low, row.high))
                           : append_input(graph, row.operands[i], extents[i], "x"));
  }
  graph.outputs = {append(graph, row.op, operands, row.attributes)};
  return graph;
}

// Runs a program. Inputs and outputs are [elements][lanes]. Detects kernels that write beyond their memory.
inline std::vector<std::vector<float>> run(const Program& program, const Graph& graph, const Batch& batch,
                                           const std::vector<std::vector<float>>& inputs) {
  Extent largest = Extent::example;
  for (const ValueId id : graph.inputs()) largest = std::max(largest, graph[id].extent);
  std::vector<std::vector<float>> outputs;
  std::vector<const float*> in;
  std::vector<float*> out;
  for (const auto& input : inputs) in.push_back(input.data());
  for (const ValueId id : graph.outputs)
    outputs.emplace_back(static_cast<std::size_t>(element_count(graph[id].shape) * batch.lanes(largest)));
  for (auto& output : outputs) out.push_back(output.data());
  Workspace workspace;
  workspace.verify = true;
  program.run(batch, in, out, workspace);
  return outputs;
}

}  // namespace probust::test
