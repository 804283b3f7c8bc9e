// SPDX-License-Identifier: MIT
#include "probust/ops/append.h"

#include <algorithm>

#include "probust/base/error.h"
#include "probust/ops/op.h"

namespace probust {
namespace {

std::vector<Shape> operand_shapes(const Graph& graph, const std::vector<ValueId>& inputs) {
  std::vector<Shape> shapes;
  shapes.reserve(inputs.size());
  for (const ValueId id : inputs) shapes.push_back(graph[id].shape);
  return shapes;
}

Extent largest_extent(const Graph& graph, const std::vector<ValueId>& inputs) {
  Extent extent = Extent::constant;
  for (const ValueId id : inputs) extent = std::max(extent, graph[id].extent);
  return extent;
}

[[noreturn]] void broken(ValueId id, const Node& node, const std::string& what) {
  const std::string name = node.name.empty() ? "" : " (" + node.name + ")";
  throw Error{ErrorCode::unreadable, "node %" + std::to_string(id) + " " + std::string(definition(node.op).name) + name, what,
              ""};
}

void require_operands(const Graph& graph, ValueId id, const Node& node) {
  const OpDefinition& op = definition(node.op);
  const int operands = static_cast<int>(node.inputs.size());
  if (operands < op.min_inputs || operands > op.max_inputs)
    broken(id, node, "has the wrong number of operands: " + std::to_string(operands));
  for (const ValueId input : node.inputs) {
    if (input < 0 || input >= id || input >= static_cast<ValueId>(graph.nodes.size()))
      broken(id, node, "reads the value %" + std::to_string(input) + ", which does not come before it");
  }
}

}  // namespace

ValueId append(Graph& graph, Op op, std::vector<ValueId> inputs, Attributes attributes, std::string name) {
  const auto id = static_cast<ValueId>(graph.nodes.size());
  Node node{op, std::move(inputs), std::move(attributes), {}, Extent::constant, std::move(name)};
  require_operands(graph, id, node);
  try {
    node.shape = definition(op).infer(node.attributes, operand_shapes(graph, node.inputs));
    element_count(node.shape);
  } catch (const std::bad_variant_access&) {
    broken(id, node, "has the attributes of a different operator");
  }
  node.extent = largest_extent(graph, node.inputs);
  graph.nodes.push_back(std::move(node));
  return id;
}

ValueId append_input(Graph& graph, Shape shape, Extent extent, std::string name) {
  const ValueId id = append(graph, Op::input, {}, ShapeAttribute{std::move(shape)}, std::move(name));
  graph.nodes.back().extent = extent;
  return id;
}

ValueId append_constant(Graph& graph, Tensor value, std::string name) {
  return append(graph, Op::constant, {}, ConstantData{std::make_shared<const Tensor>(std::move(value))}, std::move(name));
}

ValueId append_function(Graph& graph, const Graph& function, std::span<const ValueId> inputs) {
  std::vector<ValueId> map(function.nodes.size(), kNoValue);
  std::size_t input_number = 0;
  for (std::size_t i = 0; i < function.nodes.size(); ++i) {
    Node node = function.nodes[i];
    if (node.op == Op::input) {
      map[i] = inputs[input_number++];
      continue;
    }
    for (ValueId& input : node.inputs) input = map[input];
    graph.nodes.push_back(std::move(node));
    map[i] = static_cast<ValueId>(graph.nodes.size()) - 1;
  }
  return map[function.outputs[0]];
}

void check(const Graph& graph) {
  for (ValueId id = 0; id < static_cast<ValueId>(graph.nodes.size()); ++id) {
    const Node& node = graph[id];
    require_operands(graph, id, node);
    try {
      if (definition(node.op).infer(node.attributes, operand_shapes(graph, node.inputs)) != node.shape)
        broken(id, node, "has a shape that is inconsistent with its operands");
    } catch (const std::bad_variant_access&) {
      broken(id, node, "has the attributes of a different operator");
    }
    if (node.op != Op::input && node.extent != largest_extent(graph, node.inputs))
      broken(id, node, "has an extent that is inconsistent with its operands");
    if (node.op == Op::constant && constant_value(graph, id).size() != element_count(node.shape))
      broken(id, node, "has the wrong number of values");
  }
  for (const ValueId id : graph.outputs) {
    if (id < 0 || id >= static_cast<ValueId>(graph.nodes.size()))
      throw Error{ErrorCode::unreadable, "the graph", "lists an output that does not exist", ""};
  }
}

}  // namespace probust
