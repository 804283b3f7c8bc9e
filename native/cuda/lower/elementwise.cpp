// SPDX-License-Identifier: MIT
// Lowers element-wise operators. A chain of them becomes one kernel, which does not write intermediate values.
#include <algorithm>

#include "cuda/lowering.h"
#include "probust/exec/programs/gather_offsets.h"
#include "probust/ops/op.h"

namespace probust::cuda {
namespace {

bool is_elementwise(const Node& node) { return lower_function(node.op) == lower_elementwise; }

struct Size {
  int steps = 1, operands = 0;
};

// Chooses the step operators that are not stored, because their readers compute them from the step's operand. Examples are the
// masks of rectifiers, whose operands are stored anyway. Steps that can join the chain of their operand are excluded.
std::vector<bool> plan_masks(const Graph& graph, const std::vector<bool>& free, const std::vector<int>& reads) {
  std::vector<bool> masks(graph.nodes.size());
  std::vector<int> elementwise_reads(graph.nodes.size(), 0);
  for (std::size_t id = 0; id < free.size(); ++id) {
    if (!free[id]) continue;
    for (const ValueId input : graph.nodes[id].inputs) ++elementwise_reads[input];
  }
  for (std::size_t id = 0; id < free.size(); ++id) {
    const Node& node = graph.nodes[id];
    if (!free[id] || node.op != Op::step || elementwise_reads[id] != reads[id]) continue;
    const ValueId operand = node.inputs[0];
    masks[id] = !masks[operand] && (reads[operand] > 1 || !free[operand]);
  }
  return masks;
}

// The position of an operand in the list. If the operand is not in the list, it is added.
std::int8_t position_of(std::vector<ChainPlan::Operand>& operands, const ChainPlan::Operand& operand) {
  auto found = std::find(operands.begin(), operands.end(), operand);
  if (found == operands.end()) found = operands.insert(operands.end(), operand);
  return static_cast<std::int8_t>(found - operands.begin());
}

ChainPlan chain_of(DeviceLowering& l, ValueId id) {
  const Node& node = l.node(id);
  ChainPlan chain;
  ValueId before = kNoValue;
  for (const ValueId input : node.inputs) {
    if (l.chains.absorbed_by[input] == id) before = input;
  }
  if (before != kNoValue) chain = l.pending.at(before);
  Chain::Step step;
  step.op = node.op;
  step.parameter = parameter_of(node.attributes);
  std::int8_t* const slots[] = {&step.a, &step.b, &step.c};
  for (std::size_t k = 0; k < node.inputs.size(); ++k) {
    const ValueId input = node.inputs[k];
    const bool mask = l.chains.masks[input];
    *slots[k] = input == before ? Chain::kSoFar : position_of(chain.operands, {mask ? l.node(input).inputs[0] : input, mask});
  }
  chain.steps.push_back(step);
  return chain;
}

// The form of the values of a chain: channels-last if any full-size operand that is not constant is, and bf16 if any such
// operand is.
Form form_of(DeviceLowering& l, const ChainPlan& chain, const Shape& shape) {
  Form form;
  for (const auto& [id, positive] : chain.operands) {
    const Form own = l.form(id);
    if (l.node(id).shape == shape && l.node(id).op != Op::constant && own.order != Order::plain) form = std::max(form, own);
  }
  return form;
}

// The period of offsets 0, 1, ..., period - 1, 0, 1, ...; 0 if the offsets do not have this pattern.
std::int64_t period_of(const std::vector<std::int64_t>& offsets, std::int64_t period) {
  for (std::size_t e = 0; e < offsets.size(); ++e) {
    if (offsets[e] != static_cast<std::int64_t>(e) % period) return 0;
  }
  return period;
}

// Describes how a chain whose values have this form reads an operand.
Chain::Read read_of(DeviceLowering& l, const ChainPlan::Operand& operand, const Shape& shape, Form form) {
  const Shape& own = l.node(operand.id).shape;
  const std::int64_t elements = element_count(own);
  const auto offsets = DeviceLowering::offsets(broadcast_offsets(own, shape), own, l.order(operand.id), shape, form.order);
  Chain::Read read;
  read.positive = operand.positive;
  read.period = elements == element_count(shape) ? 0 : period_of(offsets, elements);
  if (read.period == 0) read.source = l.table(offsets, elements);
  return read;
}

std::string name_of(const ChainPlan& plan) {
  std::string name;
  for (const Chain::Step& step : plan.steps) name.append(name.empty() ? "" : ", ").append(definition(step.op).name);
  return name;
}

}  // namespace

Chains plan_chains(const Graph& graph, const std::map<ValueId, Epilogue>& epilogues) {
  Chains chains{std::vector<ValueId>(graph.nodes.size(), kNoValue), {}};
  std::vector<bool> free(graph.nodes.size());
  for (std::size_t id = 0; id < free.size(); ++id) free[id] = is_elementwise(graph.nodes[id]);
  for (const auto& [product, epilogue] : epilogues) {
    for (const ValueId id : epilogue.operators) free[id] = false;
  }
  const std::vector<int> reads = use_counts(graph);
  chains.masks = plan_masks(graph, free, reads);
  for (std::size_t id = 0; id < free.size(); ++id) free[id] = free[id] && !chains.masks[id];
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
      chains.absorbed_by[input] = id;
      sizes[id] = joined;
      break;
    }
  }
  return chains;
}

void lower_elementwise(DeviceLowering& l, ValueId id) {
  if (l.chains.masks[id]) return;
  ChainPlan plan = chain_of(l, id);
  if (l.chains.absorbed_by[id] != kNoValue) {
    l.pending[id] = std::move(plan);
    return;
  }
  const Node& node = l.node(id);
  const Form form = form_of(l, plan, node.shape);
  Chain chain;
  std::vector<int> reads;
  for (const ChainPlan::Operand& operand : plan.operands) {
    reads.push_back(l.as_it_lies(operand.id));
    chain.operands[chain.operand_count++] = read_of(l, operand, node.shape, form);
  }
  std::copy(plan.steps.begin(), plan.steps.end(), chain.steps);
  chain.step_count = static_cast<int>(plan.steps.size());
  const auto run_chain = [chain](const Call& call) {
    Chain placed = chain;
    for (int k = 0; k < placed.operand_count; ++k) placed.operands[k].from = call.in(static_cast<std::size_t>(k));
    run(call.device, placed, call.out());
  };
  l.emit(id, form, std::move(reads), run_chain, {name_of(plan)});
}

}  // namespace probust::cuda
