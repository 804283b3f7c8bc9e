// SPDX-License-Identifier: MIT
#include <algorithm>

#include "probust/base/error.h"
#include "probust/exec/programs/program.h"
#include "probust/ops/append.h"
#include "probust/ops/op.h"

namespace probust {
namespace {

// Reads lane `lane` of a value laid out [elements][lanes].
void read_lane(const float* from, std::int64_t lanes, std::int64_t lane, Tensor& to) {
  for (std::int64_t i = 0; i < to.size(); ++i) to.data[i] = from[i * lanes + lane];
}

void write_lane(const Tensor& from, std::int64_t lanes, std::int64_t lane, float* to) {
  for (std::int64_t i = 0; i < from.size(); ++i) to[i * lanes + lane] = from.data[i];
}

class ReferenceProgram final : public Program {
 public:
  explicit ReferenceProgram(const Graph& graph) : graph_(graph), inputs_(graph.inputs()) {
    check(graph_);
    for (const ValueId id : inputs_) seeded_ = seeded_ || graph_[id].extent == Extent::seeded;
  }

  std::int64_t workspace_bytes(const Batch&) const override {
    std::int64_t elements = 0;
    for (const Node& node : graph_.nodes) elements += element_count(node.shape);
    return elements * static_cast<std::int64_t>(sizeof(float));
  }

  void run(const Batch& batch, std::span<const float* const> inputs, std::span<float* const> outputs, Workspace& workspace,
           Reuse) const override {
    const std::int64_t lanes = batch.lanes(seeded_ ? Extent::seeded : Extent::example);
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      const std::vector<Tensor> values = evaluate(batch, lane, inputs, workspace);
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        const ValueId id = graph_.outputs[i];
        write_lane(graph_[id].op == Op::constant ? constant_value(graph_, id) : values[id], lanes, lane, outputs[i]);
      }
    }
  }

 private:
  std::vector<Tensor> evaluate(const Batch& batch, std::int64_t lane, std::span<const float* const> inputs,
                               const Workspace& workspace) const {
    std::vector<Tensor> values(graph_.nodes.size());  // constants are not copied
    const auto value = [&](ValueId id) {
      return graph_[id].op == Op::constant ? &constant_value(graph_, id) : &values[static_cast<std::size_t>(id)];
    };
    for (std::size_t id = 0; id < values.size(); ++id) {
      stop_if_asked(workspace.stop);
      const Node& node = graph_.nodes[id];
      if (node.op == Op::constant) continue;
      values[id] = Tensor(node.shape);
      if (node.op == Op::input) {
        const auto position = std::find(inputs_.begin(), inputs_.end(), static_cast<ValueId>(id)) - inputs_.begin();
        const std::int64_t own_lanes = batch.lanes(node.extent);
        read_lane(inputs[position], own_lanes, lane % own_lanes, values[id]);
        continue;
      }
      std::vector<const Tensor*> operands;
      operands.reserve(node.inputs.size());
      for (const ValueId input : node.inputs) operands.push_back(value(input));
      definition(node.op).eval(node.attributes, operands, values[id]);
    }
    return values;
  }

  Graph graph_;
  std::vector<ValueId> inputs_;
  bool seeded_ = false;
};

}  // namespace

std::unique_ptr<Program> compile_reference(const Graph& graph) { return std::make_unique<ReferenceProgram>(graph); }

}  // namespace probust
