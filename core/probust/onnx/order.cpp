// SPDX-License-Identifier: MIT
#include "probust/onnx/order.h"

#include <algorithm>

#include "probust/onnx/decision.h"
#include "probust/onnx/value_range.h"
#include "probust/ops/op.h"

namespace probust::onnx {
namespace {

ValueId before_broadcast(const Graph& graph, ValueId id) {
  while (graph[id].op == Op::reshape || graph[id].op == Op::broadcast) id = graph[id].inputs[0];
  return id;
}

}  // namespace

bool moves_elements(Op op) {
  return definition(op).traits.moves && op != Op::pad;  // a pad also adds zeros
}

bool is_single(const Graph& graph, ValueId id) { return element_count(graph[id].shape) == 1; }

// Skips operators that change only the shape (reshapes, transposes, slices, ...): the result has the same numbers in the same
// order as `id`.
ValueId before_moves(const Graph& graph, ValueId id) {
  while (true) {
    const Node& node = graph[id];
    const bool moves = node.op == Op::reshape || node.op == Op::transpose || node.op == Op::slice || node.op == Op::broadcast ||
                       (node.op == Op::concat && node.inputs.size() == 1);
    if (!moves) return id;
    const ValueId from = node.inputs[0];
    if (!is_vector(graph[from].shape) || element_count(graph[from].shape) != element_count(node.shape)) return id;
    id = from;
  }
}

// The value that all elements of a constant share; empty if they differ.
std::optional<double> uniform(const Graph& graph, ValueId id) {
  id = before_broadcast(graph, id);
  if (graph[id].op != Op::constant) return std::nullopt;
  const std::vector<float>& values = constant_value(graph, id).data;
  if (values.empty() || std::any_of(values.begin(), values.end(), [&](float v) { return v != values[0]; })) return std::nullopt;
  return values[0];
}

namespace {

// Whether every element is above zero for all inputs, before rounding to float32.
bool is_positive(const Graph& graph, ValueId id, int depth = 0) {
  constexpr int kDeepFactor = 8;
  const Node& node = graph[id];
  const auto operands_are = [&] {
    return std::all_of(node.inputs.begin(), node.inputs.end(),
                       [&](ValueId operand) { return is_positive(graph, operand, depth + 1); });
  };
  if (moves_elements(node.op) && depth < kDeepFactor) return operands_are();
  switch (node.op) {
    case Op::sigmoid:
    case Op::softmax:
    case Op::exp:
    case Op::softplus:
      return true;
    case Op::add:
    case Op::multiply:
    case Op::divide:
    case Op::reduce_sum:
    case Op::sqrt:
    case Op::reciprocal:
    case Op::concat:
      if (depth < kDeepFactor) return operands_are();
      [[fallthrough]];
    default:
      return Ranges(graph).of(id).low > 0;
  }
}

// Whether dividing by `id` keeps the order of elements: it is a single nonnegative number. In is_common_factor, whether
// multiplying does: `id` must be positive, because a factor of zero would make all elements equal.
bool is_common_divisor(const Graph& graph, ValueId id) {
  id = before_broadcast(graph, id);
  return is_single(graph, id) && Ranges(graph).of(id).low >= 0;
}

bool is_common_factor(const Graph& graph, ValueId id) {
  id = before_broadcast(graph, id);
  return is_single(graph, id) && is_positive(graph, id);
}

}  // namespace

bool is_whole_softmax(const Graph& graph, ValueId id) {
  const Node& node = graph[id];
  if (node.op != Op::softmax && node.op != Op::log_softmax) return false;
  return node.shape[std::get<AxisAttribute>(node.attributes).axis] == element_count(node.shape);
}

ValueId softsign_operand(const Graph& graph, ValueId id) {
  const Node& node = graph[id];
  if (node.op != Op::divide || graph[node.inputs[1]].op != Op::add) return kNoValue;
  const Node& divisor = graph[node.inputs[1]];
  for (const std::size_t i : {0, 1}) {
    const Node& size = graph[divisor.inputs[i]];
    if (size.op == Op::absolute && size.inputs[0] == node.inputs[0] && uniform(graph, divisor.inputs[1 - i]) == 1)
      return node.inputs[0];
  }
  return kNoValue;
}

Step keeps_order(const Graph& graph, ValueId id) {
  const Node& node = graph[id];
  const auto other = [&](std::size_t i) { return uniform(graph, node.inputs[i]); };
  switch (node.op) {
    case Op::softmax:
    case Op::log_softmax:
      return is_whole_softmax(graph, id) ? Step{node.inputs[0]} : Step{};
    case Op::exp:
    case Op::log:
    case Op::sqrt:
    case Op::sigmoid:
    case Op::tanh:
    case Op::erf:
    case Op::softplus:
      return {node.inputs[0]};
    case Op::floor:
    case Op::round:
      return {node.inputs[0], false};
    case Op::maximum:
    case Op::minimum:
      if (other(1)) return {node.inputs[0], false};
      return other(0) ? Step{node.inputs[1], false} : Step{};
    case Op::add:
      if (other(1)) return {node.inputs[0]};
      return other(0) ? Step{node.inputs[1]} : Step{};
    case Op::subtract:
      return other(1) ? Step{node.inputs[0]} : Step{};
    case Op::multiply:
      if (other(1).value_or(0) > 0) return {node.inputs[0]};
      if (other(0).value_or(0) > 0) return {node.inputs[1]};
      if (is_common_factor(graph, node.inputs[1])) return {node.inputs[0]};
      return is_common_factor(graph, node.inputs[0]) ? Step{node.inputs[1]} : Step{};
    case Op::divide:
      if (other(1).value_or(0) > 0 || is_common_divisor(graph, node.inputs[1])) return {node.inputs[0]};
      return {softsign_operand(graph, id)};
    case Op::power:
      return other(1).value_or(0) > 0 && Ranges(graph).of(node.inputs[0]).low >= 0 ? Step{node.inputs[0]} : Step{};
    default:
      return {};
  }
}

// Whether all entries of a constant table are different, so that a label looked up in it identifies its class.
bool has_distinct_values(const Graph& graph, ValueId id) {
  id = before_broadcast(graph, id);
  if (graph[id].op != Op::constant) return false;
  std::vector<float> values = constant_value(graph, id).data;
  std::sort(values.begin(), values.end());
  return std::adjacent_find(values.begin(), values.end()) == values.end();
}

bool saturates(Op op) {
  return op == Op::softmax || op == Op::log_softmax || op == Op::sigmoid || op == Op::tanh || op == Op::erf;
}

std::string onnx_name(Op op) {
  switch (op) {
    case Op::softmax:
      return "Softmax";
    case Op::log_softmax:
      return "LogSoftmax";
    case Op::sigmoid:
      return "Sigmoid";
    case Op::tanh:
      return "Tanh";
    case Op::erf:
      return "Erf";
    case Op::exp:
      return "Exp";
    default:
      return "";
  }
}

}  // namespace probust::onnx
