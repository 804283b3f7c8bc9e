// SPDX-License-Identifier: MIT
// A graph as a sequence of kernel calls over planned buffers. Values are in slots of one arena. A slot is reused after the last
// read of its value, a reshape shares its operand's slot, element-wise kernels write in place, and the sums of a product start
// at its bias.
#include <algorithm>
#include <chrono>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "probust/base/error.h"
#include "probust/exec/cpu/fusion.h"
#include "probust/exec/cpu/gemm.h"
#include "probust/exec/cpu/kernel.h"
#include "probust/exec/programs/program.h"
#include "probust/ops/append.h"
#include "probust/ops/op.h"

namespace probust {
namespace {

constexpr int kNoSlot = -1;

// A part of the arena: `elements` floats for each lane of its extent.
struct Slot {
  Extent extent;
  std::int64_t elements;
};

struct Step {
  ValueId value;
  std::vector<ValueId> operands;
  cpu::Product product;  // only the kernel is set if the node is not a product with a constant
  std::vector<cpu::Fused> fused;
};

// The name of a step: the operator with its window size, and whether it is depthwise or grouped.
std::string kind_of(const Node& node, const std::vector<Shape>& operands) {
  std::string kind(definition(node.op).name);
  const auto* window = std::get_if<Window>(&node.attributes);
  if (window == nullptr) return kind;
  if (window->groups > 1) kind = (window->groups == operands[0][1] ? "depthwise " : "grouped ") + kind;
  for (std::size_t i = 0; i < window->kernel.size(); ++i) kind += (i == 0 ? " " : "x") + std::to_string(window->kernel[i]);
  return kind;
}

// Adds the time from its construction to its destruction to `seconds`, unless that is null.
class StepTimer {
 public:
  explicit StepTimer(double* seconds) : seconds_(seconds) {
    if (seconds_ != nullptr) start_ = Clock::now();
  }
  ~StepTimer() {
    if (seconds_ != nullptr) *seconds_ += std::chrono::duration<double>(Clock::now() - start_).count();
  }
  StepTimer(const StepTimer&) = delete;
  StepTimer& operator=(const StepTimer&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  double* seconds_;
  Clock::time_point start_;
};

class CpuProgram final : public Program {
 public:
  CpuProgram(const Graph& graph, cpu::MakeProduct make_product)
      : graph_(cpu::seeded_last(graph)),
        make_product_(make_product),
        inputs_(graph_.inputs()),
        slot_of_(graph.nodes.size(), kNoSlot),
        renamed_(graph.nodes.size(), kNoValue) {
    check(graph_);
    for (const ValueId id : inputs_) largest_ = std::max(largest_, graph_[id].extent);
    plan();
  }

  std::int64_t workspace_bytes(const Batch& batch) const override {
    std::int64_t floats = 0;
    for (const Slot& slot : slots_) floats += Stretch::footprint(slot.elements * batch.lanes(slot.extent));
    return floats * static_cast<std::int64_t>(sizeof(float));
  }

  std::int64_t scratch_bytes(const Batch& batch) const override {
    std::int64_t most = 0;
    for (const Step& step : steps_) {
      if (step.product.scratch_bytes) most = std::max(most, step.product.scratch_bytes(batch.lanes(graph_[step.value].extent)));
    }
    return most;
  }

  std::vector<PackedConstant> packed() const override {
    std::vector<PackedConstant> packed;
    for (const Step& step : steps_) {
      if (step.product.packed_bytes == 0) continue;
      // Different products pack the same constant in different orders.
      const Node& node = graph_[step.value];
      const auto* matmul = std::get_if<MatmulAttributes>(&node.attributes);
      const std::int64_t order = static_cast<std::int64_t>(node.op) * 4 + (matmul != nullptr && matmul->transpose_b ? 2 : 0);
      packed.push_back({&constant_value(graph_, cpu::constant_factor(graph_, node)), order, step.product.packed_bytes});
    }
    return packed;
  }

  // The smallest number of lanes at which products with at least kFullRows rows do at least 80% of the flops of all products with
  // constants.
  std::int64_t least_lanes() const override {
    constexpr std::int64_t kFullRows = 48;
    const std::vector<ProgramStep> all = steps();
    const auto full = [&](std::int64_t lanes) {
      double flops = 0, of_full = 0;
      for (std::size_t i = 0; i < steps_.size(); ++i) {
        const std::int64_t rows = steps_[i].product.rows * lanes;
        flops += rows > 0 ? all[i].flops : 0;
        of_full += rows >= kFullRows ? all[i].flops : 0;
      }
      return of_full >= 0.8 * flops;
    };
    for (const std::int64_t lanes : {1, 3, 6, 12, 24}) {
      if (full(lanes)) return lanes;
    }
    return kFullRows;
  }

  std::vector<ProgramStep> steps() const override {
    std::vector<ProgramStep> described;
    described.reserve(steps_.size());
    for (const Step& step : steps_) {
      const Node& node = graph_[step.value];
      std::vector<Shape> operands;
      operands.reserve(node.inputs.size());
      for (const ValueId input : node.inputs) operands.push_back(graph_[input].shape);
      described.push_back(
          {kind_of(node, operands), definition(node.op).flops(node.attributes, operands, node.shape), node.extent});
    }
    return described;
  }

  void run(const Batch& batch, std::span<const float* const> inputs, std::span<float* const> outputs, Workspace& workspace,
           Reuse reuse) const override {
    std::vector<std::int64_t> sizes;
    for (const Slot& slot : slots_) sizes.push_back(slot.elements * batch.lanes(slot.extent));
    std::vector<float*> slots(slots_.size());
    workspace.values.take(sizes, slots);
    const auto address = [&](ValueId id) -> const float* {
      if (graph_[id].op == Op::constant) return constant_value(graph_, id).data.data();
      const ValueId source = storage(id);
      if (graph_[source].op == Op::input) return inputs[std::find(inputs_.begin(), inputs_.end(), source) - inputs_.begin()];
      if (graph_[source].op == Op::constant) return constant_value(graph_, source).data.data();
      return slots[slot_of_[source]];
    };
    std::vector<cpu::Operand> operands;
    if (workspace.seconds != nullptr) workspace.seconds->resize(steps_.size(), 0.0);
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const Step& step = steps_[i];
      if (reuse == Reuse::examples && graph_[step.value].extent != Extent::seeded) continue;
      const StepTimer timer(workspace.seconds == nullptr ? nullptr : &(*workspace.seconds)[i]);
      stop_if_asked(workspace.stop);
      const Node& node = graph_[step.value];
      operands.clear();
      for (const ValueId input : step.operands) operands.push_back({address(input), &graph_[input].shape, graph_[input].extent});
      float* const out = slots[slot_of_[step.value]];
      const std::int64_t lanes = batch.lanes(node.extent);
      if (workspace.verify) prepare_to_verify(operands, out, element_count(node.shape) * lanes, workspace);
      step.product.kernel({operands, out, &node.shape, batch, lanes, &workspace, step.fused});
      if (workspace.verify) verify(node, workspace);
    }
    for (std::size_t i = 0; i < outputs.size(); ++i)
      write_output(batch, graph_.outputs[i], address(graph_.outputs[i]), outputs[i]);
  }

 private:
  // Prepares the check of a kernel before it runs: limits the output to its own size, because the slot may be larger, and fills
  // it with NaN unless the kernel writes in place.
  static void prepare_to_verify(std::span<const cpu::Operand> operands, float* out, std::int64_t size, Workspace& workspace) {
    workspace.values.limit(out, size);
    const bool in_place = std::any_of(operands.begin(), operands.end(), [&](const cpu::Operand& o) { return o.data == out; });
    if (!in_place) std::fill_n(out, size, std::numeric_limits<float>::quiet_NaN());
    workspace.scratch.spoil();
    workspace.packed.spoil();
  }

  static void verify(const Node& node, const Workspace& workspace) {
    if (workspace.values.intact() && workspace.scratch.intact() && workspace.packed.intact()) return;
    throw std::logic_error("the kernel of " + std::string(definition(node.op).name) + " " + to_string(node.shape) +
                           " wrote beyond its memory");
  }

  // The value whose memory `id` uses. A reshape uses that of its operand, and a node that is fused into a product uses that of
  // the product.
  ValueId storage(ValueId id) const {
    while (renamed_[id] != kNoValue) id = renamed_[id];
    return id;
  }

  // Sets the operands of each kernel, and which values share memory.
  void rename(const std::vector<cpu::Fusion>& fusions) {
    for (ValueId id = 0; id < static_cast<ValueId>(graph_.nodes.size()); ++id) {
      std::vector<ValueId>& operands = operands_of_.emplace_back(graph_[id].inputs);
      operands.insert(operands.end(), fusions[id].extra.begin(), fusions[id].extra.end());
      for (const ValueId replaced : fusions[id].nodes) renamed_[replaced] = id;
      if (graph_[id].op == Op::reshape) renamed_[id] = graph_[id].inputs[0];
    }
  }

  void plan() {
    std::vector<cpu::Fusion> fusions = cpu::find_fusions(graph_);
    rename(fusions);
    const std::vector<ValueId> last_use = last_uses();
    std::vector<int> free_slots;
    for (ValueId id = 0; id < static_cast<ValueId>(graph_.nodes.size()); ++id) {
      const Node& node = graph_[id];
      if (node.op == Op::input || node.op == Op::constant || renamed_[id] != kNoValue) continue;
      const cpu::KernelEntry entry = cpu::kernel_entry(node.op);
      cpu::Fusion& fusion = fusions[id];
      const bool is_product = cpu::constant_factor(graph_, node) != kNoValue;
      cpu::Product product =
          is_product ? make_product_(graph_, node, std::move(fusion.bias)) : cpu::Product{entry.make(graph_, node)};
      steps_.push_back({id, operands_of_[id], std::move(product), std::move(fusion.fused)});
      slot_of_[id] =
          entry.in_place && can_overwrite(node, id, last_use) ? slot_of_[storage(node.inputs[0])] : take_slot(free_slots, node);
      for (const ValueId operand : operands_of_[id]) release(storage(operand), id, last_use, free_slots);
    }
    put_seeded_last();
  }

  // Puts seeded slots last, so that the addresses of the other slots do not depend on the number of seeds (Reuse::examples).
  void put_seeded_last() {
    std::vector<int> order(slots_.size()), place(slots_.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return slots_[a].extent < slots_[b].extent; });
    std::vector<Slot> sorted;
    for (const int slot : order) {
      place[slot] = static_cast<int>(sorted.size());
      sorted.push_back(slots_[slot]);
    }
    slots_ = std::move(sorted);
    for (int& slot : slot_of_) slot = slot == kNoSlot ? kNoSlot : place[slot];
  }

  // For each storage, the last node that reads it. Outputs are read at the end, and so are values that do not depend on the seed
  // but are used by seeded nodes, because the next run may read them again.
  std::vector<ValueId> last_uses() const {
    std::vector<ValueId> last(graph_.nodes.size(), kNoValue);
    for (ValueId id = 0; id < static_cast<ValueId>(graph_.nodes.size()); ++id) {
      if (renamed_[id] != kNoValue) continue;
      for (const ValueId operand : operands_of_[id]) last[storage(operand)] = id;
    }
    for (ValueId id = 0; id < static_cast<ValueId>(graph_.nodes.size()); ++id) {
      if (graph_[id].extent != Extent::seeded) continue;
      for (const ValueId operand : operands_of_[id]) {
        if (graph_[storage(operand)].extent != Extent::seeded) last[storage(operand)] = static_cast<ValueId>(graph_.nodes.size());
      }
    }
    for (const ValueId id : graph_.outputs) last[storage(id)] = static_cast<ValueId>(graph_.nodes.size());
    return last;
  }

  bool can_overwrite(const Node& node, ValueId id, const std::vector<ValueId>& last_use) const {
    const ValueId source = storage(node.inputs[0]);
    if (slot_of_[source] == kNoSlot || last_use[source] != id) return false;
    if (graph_[source].extent != node.extent || element_count(graph_[source].shape) != element_count(node.shape)) return false;
    // If both operands share storage, the kernel must read both at the same element that it writes.
    return node.inputs.size() < 2 || storage(node.inputs[1]) != source || graph_[node.inputs[1]].shape == node.shape;
  }

  // Takes the smallest free slot that is large enough. If none is large enough, enlarges the largest free one; if none is free,
  // adds a slot.
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

  // An output has one lane per seed and example (or per example, without seeds), even if its value has fewer lanes.
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
  cpu::MakeProduct make_product_;
  std::vector<ValueId> inputs_;
  Extent largest_ = Extent::example;
  std::vector<Slot> slots_;
  std::vector<int> slot_of_;
  std::vector<std::vector<ValueId>> operands_of_;
  std::vector<ValueId> renamed_;  ///< the value whose memory this one uses, or kNoValue
  std::vector<Step> steps_;
};

}  // namespace

std::unique_ptr<Program> compile_cpu(const Graph& graph) { return std::make_unique<CpuProgram>(graph, cpu::make_fast_product); }

std::unique_ptr<Program> compile_eigen(const Graph& graph) { return std::make_unique<CpuProgram>(graph, cpu::make_product); }

}  // namespace probust
