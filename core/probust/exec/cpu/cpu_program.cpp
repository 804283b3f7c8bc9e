// SPDX-License-Identifier: MIT
// A graph as a sequence of kernel calls over planned buffers. Values live in slots of one arena; a slot is taken again as soon as
// its value has been read for the last time, a reshape shares its operand's slot, element-wise kernels write in place, and a bias
// is what the sums of a product begin with.
#include <algorithm>

#include "probust/base/error.h"
#include "probust/exec/cpu/kernel.h"
#include "probust/exec/program.h"
#include "probust/ops/op.h"

namespace probust {
namespace {

constexpr int kNoSlot = -1;

// A stretch of the arena: `elements` for each lane of its extent.
struct Slot {
  Extent extent;
  std::int64_t elements;
};

struct Step {
  ValueId value;
  cpu::Kernel kernel;
};

std::int64_t padded(std::int64_t floats) { return (floats + 15) / 16 * 16; }

class CpuProgram final : public Program {
 public:
  explicit CpuProgram(const Graph& graph)
      : graph_(graph), inputs_(graph.inputs()), slot_of_(graph.nodes.size(), kNoSlot), renamed_(graph.nodes.size(), kNoValue) {
    check(graph_);
    for (const ValueId id : inputs_) largest_ = std::max(largest_, graph_[id].extent);
    plan();
  }

  std::int64_t workspace_bytes(const Batch& batch) const override {
    std::int64_t floats = 0;
    for (const Slot& slot : slots_) floats += padded(slot.elements * batch.lanes(slot.extent));
    return floats * static_cast<std::int64_t>(sizeof(float));
  }

  void run(const Batch& batch, std::span<const float* const> inputs, std::span<float* const> outputs,
           Workspace& workspace) const override {
    std::vector<float*> slots(slots_.size());
    std::int64_t size = 0;
    for (const Slot& slot : slots_) size += padded(slot.elements * batch.lanes(slot.extent));
    if (static_cast<std::int64_t>(workspace.arena.size()) < size) workspace.arena.resize(static_cast<std::size_t>(size));
    float* next = workspace.arena.data();
    for (std::size_t i = 0; i < slots.size(); ++i) {
      slots[i] = next;
      next += padded(slots_[i].elements * batch.lanes(slots_[i].extent));
    }
    const auto address = [&](ValueId id) -> const float* {
      if (graph_[id].op == Op::constant) return constant_value(graph_, id).data.data();
      const ValueId source = storage(id);
      if (graph_[source].op == Op::input) return inputs[std::find(inputs_.begin(), inputs_.end(), source) - inputs_.begin()];
      if (graph_[source].op == Op::constant) return constant_value(graph_, source).data.data();
      return slots[slot_of_[source]];
    };
    std::vector<cpu::Operand> operands;
    for (const Step& step : steps_) {
      const Node& node = graph_[step.value];
      operands.clear();
      for (const ValueId input : node.inputs) operands.push_back({address(input), &graph_[input].shape, graph_[input].extent});
      step.kernel({operands, slots[slot_of_[step.value]], &node.shape, batch, batch.lanes(node.extent), &workspace.scratch});
    }
    for (std::size_t i = 0; i < outputs.size(); ++i)
      write_output(batch, graph_.outputs[i], address(graph_.outputs[i]), outputs[i]);
  }

 private:
  // The value whose memory a value shares: a reshape only renames elements, and so does a sum whose product has its bias.
  ValueId storage(ValueId id) const {
    while (renamed_[id] != kNoValue) id = renamed_[id];
    return id;
  }

  // Kernels of products that add their bias, which is all that the product is used for.
  std::vector<cpu::Kernel> find_biases() {
    std::vector<cpu::Kernel> biased(graph_.nodes.size());
    std::vector<int> uses(graph_.nodes.size(), 0);
    for (const Node& node : graph_.nodes) {
      for (const ValueId input : node.inputs) ++uses[input];
    }
    for (const ValueId id : graph_.outputs) ++uses[id];
    for (ValueId id = 0; id < static_cast<ValueId>(graph_.nodes.size()); ++id) {
      const Node& sum = graph_[id];
      if (sum.op == Op::reshape) renamed_[id] = sum.inputs[0];
      if (sum.op != Op::add) continue;
      for (const std::size_t side : {0U, 1U}) {
        const ValueId product = sum.inputs[side];
        if (uses[product] != 1 || graph_[product].shape != sum.shape || graph_[product].extent != sum.extent) continue;
        biased[product] = cpu::make_biased(graph_, graph_[product], sum.inputs[1 - side]);
        if (biased[product]) renamed_[id] = product;
      }
    }
    return biased;
  }

  void plan() {
    std::vector<cpu::Kernel> biased = find_biases();
    const std::vector<ValueId> last_use = last_uses();
    std::vector<int> free_slots;
    for (ValueId id = 0; id < static_cast<ValueId>(graph_.nodes.size()); ++id) {
      const Node& node = graph_[id];
      if (node.op == Op::input || node.op == Op::constant || renamed_[id] != kNoValue) continue;
      const cpu::KernelEntry entry = cpu::kernel_entry(node.op);
      steps_.push_back({id, biased[id] ? std::move(biased[id]) : entry.make(graph_, node)});
      slot_of_[id] =
          entry.in_place && can_overwrite(node, id, last_use) ? slot_of_[storage(node.inputs[0])] : take_slot(free_slots, node);
      for (std::size_t i = 0; i < node.inputs.size(); ++i) release(storage(node.inputs[i]), id, last_use, free_slots);
    }
  }

  // For each storage, the last node that reads it; outputs are read at the end.
  std::vector<ValueId> last_uses() const {
    std::vector<ValueId> last(graph_.nodes.size(), kNoValue);
    for (ValueId id = 0; id < static_cast<ValueId>(graph_.nodes.size()); ++id) {
      if (renamed_[id] != kNoValue) continue;
      for (const ValueId input : graph_[id].inputs) last[storage(input)] = id;
    }
    for (const ValueId id : graph_.outputs) last[storage(id)] = static_cast<ValueId>(graph_.nodes.size());
    return last;
  }

  bool can_overwrite(const Node& node, ValueId id, const std::vector<ValueId>& last_use) const {
    const ValueId source = storage(node.inputs[0]);
    if (slot_of_[source] == kNoSlot || last_use[source] != id) return false;
    if (graph_[source].extent != node.extent || element_count(graph_[source].shape) != element_count(node.shape)) return false;
    // The second operand must not be read at other elements than are written.
    return node.inputs.size() < 2 || storage(node.inputs[1]) != source || graph_[node.inputs[1]].shape == node.shape;
  }

  // The smallest free slot that is large enough, else the largest one grown, else a new one.
  int take_slot(std::vector<int>& free_slots, const Node& node) {
    const std::int64_t elements = element_count(node.shape);
    auto best = free_slots.end();
    for (auto it = free_slots.begin(); it != free_slots.end(); ++it) {
      if (slots_[*it].extent != node.extent) continue;
      const bool fits = slots_[*it].elements >= elements,
                 best_fits = best != free_slots.end() && slots_[*best].elements >= elements;
      const bool better = best == free_slots.end() || (fits && (!best_fits || slots_[*it].elements < slots_[*best].elements)) ||
                          (!fits && !best_fits && slots_[*it].elements > slots_[*best].elements);
      if (better) best = it;
    }
    if (best == free_slots.end()) {
      slots_.push_back({node.extent, elements});
      return static_cast<int>(slots_.size()) - 1;
    }
    const int slot = *best;
    free_slots.erase(best);
    slots_[slot].elements = std::max(slots_[slot].elements, elements);
    return slot;
  }

  void release(ValueId source, ValueId reader, const std::vector<ValueId>& last_use, std::vector<int>& free_slots) {
    const int slot = slot_of_[source];
    if (slot == kNoSlot || last_use[source] != reader || slot == slot_of_[reader]) return;
    if (std::find(free_slots.begin(), free_slots.end(), slot) == free_slots.end()) free_slots.push_back(slot);
  }

  // Outputs have one lane per seed and example (or per example), whatever they depend on.
  void write_output(const Batch& batch, ValueId id, const float* from, float* to) const {
    const std::int64_t own = batch.lanes(graph_[id].extent), lanes = batch.lanes(std::max(largest_, Extent::example));
    const std::int64_t elements = element_count(graph_[id].shape);
    if (own == lanes) {
      std::copy_n(from, elements * lanes, to);  // an empty output may have no address
      return;
    }
    for (std::int64_t e = 0; e < elements; ++e) {
      for (std::int64_t first = 0; first < lanes; first += own) std::copy_n(from + e * own, own, to + e * lanes + first);
    }
  }

  Graph graph_;
  std::vector<ValueId> inputs_;
  Extent largest_ = Extent::example;
  std::vector<Slot> slots_;
  std::vector<int> slot_of_;
  std::vector<ValueId> renamed_;  ///< the value that has the same memory
  std::vector<Step> steps_;
};

}  // namespace

std::unique_ptr<Program> compile_cpu(const Graph& graph) { return std::make_unique<CpuProgram>(graph); }

}  // namespace probust
