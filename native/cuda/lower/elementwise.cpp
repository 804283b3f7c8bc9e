// SPDX-License-Identifier: MIT
// Element-wise operators. A chain of them is one kernel: intermediate values are never written.
#include <algorithm>

#include "cuda/lowering.h"
#include "probust/exec/gather_offsets.h"

namespace probust::cuda {
namespace {

bool is_elementwise(const Node& node) { return lower_function(node.op) == lower_elementwise; }

// The number of reads of each value, counting every operand and output.
std::vector<int> reads_of(const Graph& graph) {
  std::vector<int> reads(graph.nodes.size(), 0);
  for (const Node& node : graph.nodes) {
    for (const ValueId input : node.inputs) ++reads[input];
  }
  for (const ValueId output : graph.outputs) ++reads[output];
  return reads;
}

struct Size {
  int steps = 1, operands = 0;
};

// The position of a value among the operands, added if it is new.
std::int8_t position_of(std::vector<ValueId>& operands, ValueId id) {
  auto found = std::find(operands.begin(), operands.end(), id);
  if (found == operands.end()) found = operands.insert(operands.end(), id);
  return static_cast<std::int8_t>(found - operands.begin());
}

ChainPlan chain_of(DeviceLowering& l, ValueId id) {
  const Node& node = l.node(id);
  ChainPlan chain;
  ValueId before = kNoValue;
  for (const ValueId input : node.inputs) {
    if (l.absorbed_by[input] == id) before = input;
  }
  if (before != kNoValue) chain = l.pending.at(before);
  Chain::Step step;
  step.op = node.op;
  std::int8_t* const slots[] = {&step.a, &step.b, &step.c};
  for (std::size_t k = 0; k < node.inputs.size(); ++k)
    *slots[k] = node.inputs[k] == before ? Chain::kSoFar : position_of(chain.operands, node.inputs[k]);
  chain.steps.push_back(step);
  return chain;
}

// Channels-last if any full-size operand that is not constant is stored that way.
Order order_of(DeviceLowering& l, const ChainPlan& chain, const Shape& shape) {
  for (const ValueId operand : chain.operands) {
    if (l.node(operand).shape == shape && l.node(operand).op != Op::constant && l.order(operand) != Order::plain)
      return l.order(operand);
  }
  return Order::plain;
}

}  // namespace

std::vector<ValueId> plan_chains(const Graph& graph, const std::map<ValueId, Epilogue>& epilogues) {
  std::vector<ValueId> absorbed_by(graph.nodes.size(), kNoValue);
  std::vector<bool> free(graph.nodes.size());
  for (std::size_t id = 0; id < free.size(); ++id) free[id] = is_elementwise(graph.nodes[id]);
  for (const auto& [product, epilogue] : epilogues) {
    for (const ValueId id : epilogue.operators) free[id] = false;
  }
  const std::vector<int> reads = reads_of(graph);
  std::vector<Size> sizes(graph.nodes.size());
  for (ValueId id = 0; id < static_cast<ValueId>(graph.nodes.size()); ++id) {
    const Node& node = graph[id];
    if (!free[id]) continue;
    sizes[id] = {1, static_cast<int>(node.inputs.size())};
    for (const ValueId input : node.inputs) {
      const Node& before = graph[input];
      const auto own = std::count(node.inputs.begin(), node.inputs.end(), input);
      const Size joined{sizes[input].steps + 1, sizes[input].operands + sizes[id].operands - static_cast<int>(own)};
      const bool fits = free[input] && reads[input] == own && before.shape == node.shape && before.extent == node.extent &&
                        joined.steps <= Chain::kSteps && joined.operands <= Chain::kOperands;
      if (!fits) continue;
      absorbed_by[input] = id;
      sizes[id] = joined;
      break;
    }
  }
  return absorbed_by;
}

void lower_elementwise(DeviceLowering& l, ValueId id) {
  ChainPlan plan = chain_of(l, id);
  if (l.absorbed_by[id] != kNoValue) {
    l.pending[id] = std::move(plan);
    return;
  }
  const Node& node = l.node(id);
  const Order order = order_of(l, plan, node.shape);
  Chain chain;
  std::vector<int> reads;
  for (const ValueId operand : plan.operands) {
    const Shape& shape = l.node(operand).shape;
    reads.push_back(l.as_it_lies(operand));
    const auto sources =
        DeviceLowering::offsets(broadcast_offsets(shape, node.shape), shape, l.order(operand), node.shape, order);
    chain.operands[chain.operand_count++].source = l.table(sources, element_count(shape));
  }
  std::copy(plan.steps.begin(), plan.steps.end(), chain.steps);
  chain.step_count = static_cast<int>(plan.steps.size());
  l.emit(id, order, std::move(reads), [chain](const Call& call) {
    Chain placed = chain;
    for (int k = 0; k < placed.operand_count; ++k) placed.operands[k].from = call.in(static_cast<std::size_t>(k));
    run(call.device, placed, call.out());
  });
}

}  // namespace probust::cuda
