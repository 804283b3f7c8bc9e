// SPDX-License-Identifier: MIT
#include "probust/exec/cpu/fusion.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace probust::cpu {
namespace {

// The values of a constant that is added to a product, one per channel; empty if `added` is not such a constant.
std::optional<std::vector<float>> bias_of(const Graph& graph, const Node& product, ValueId added) {
  if (graph[added].op != Op::constant || product.op == Op::conv_transpose) return std::nullopt;
  const std::size_t rank = product.shape.size(), channels = product.op == Op::conv ? 1 : rank - 1;
  const auto& [shape, values] = constant_value(graph, added);
  if (shape.size() > rank || static_cast<std::int64_t>(values.size()) != product.shape[channels]) return std::nullopt;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != 1 && i + rank - shape.size() != channels) return std::nullopt;
  }
  return values;
}

// Follows the element-wise nodes after a product. `known` maps each value to the node whose kernel computes it.
class Chain {
 public:
  Chain(const Graph& graph, ValueId product, const std::vector<ValueId>& readers, const std::vector<ValueId>& known)
      : graph_(graph), product_(product), readers_(readers), known_(known), last_(product) {}

  Fusion follow() {
    while (readers_[last_] != kNoValue && take(readers_[last_])) {
      last_ = readers_[last_];
      fusion_.nodes.push_back(last_);
    }
    return std::move(fusion_);
  }

 private:
  bool take(ValueId id) {
    const Node &node = graph_[id], &product = graph_[product_];
    if (node.shape != product.shape || node.extent != product.extent) return false;
    if (node.op == Op::relu) {
      fusion_.fused.push_back({Op::relu});
      return true;
    }
    if (node.op != Op::add && node.op != Op::multiply && node.op != Op::maximum && node.op != Op::minimum) return false;
    const ValueId other = node.inputs[0] == last_ ? node.inputs[1] : node.inputs[0];
    if (node.op == Op::add && fusion_.nodes.empty() && take_bias(other)) return true;
    Fused stage{node.op, product.inputs.size() + fusion_.extra.size(), 1, element_count(product.shape)};
    if (graph_[other].op == Op::constant) {
      if (!place_constant(graph_[other].shape, product.shape, stage)) return false;
    } else if (graph_[other].shape != product.shape || known_[other] >= product_) {
      return false;
    }
    fusion_.fused.push_back(stage);
    fusion_.extra.push_back(other);
    return true;
  }

  // Sets how a constant is indexed if it varies along one axis or not at all. Returns false otherwise.
  static bool place_constant(const Shape& constant, const Shape& result, Fused& stage) {
    stage.size = element_count(constant);
    stage.inner = 1;
    for (std::size_t i = 0; i < constant.size(); ++i) {
      if (constant[i] == 1) continue;
      const std::size_t axis = result.size() - constant.size() + i;
      if (constant[i] != stage.size || constant[i] != result[axis]) return false;
      stage.inner = row_major_strides(result)[axis];
    }
    return constant.size() <= result.size();
  }

  bool take_bias(ValueId added) {
    auto bias = bias_of(graph_, graph_[product_], added);
    if (!bias || !can_add_bias(graph_, graph_[product_])) return false;
    fusion_.bias = std::move(*bias);
    return true;
  }

  const Graph& graph_;
  ValueId product_;
  const std::vector<ValueId>&readers_, &known_;
  ValueId last_;
  Fusion fusion_;
};

}  // namespace

Graph seeded_last(const Graph& graph) {
  Graph result;
  std::vector<ValueId> place(graph.nodes.size());
  for (const bool last : {false, true}) {
    for (std::size_t id = 0; id < graph.nodes.size(); ++id) {
      if ((graph.nodes[id].extent == Extent::seeded && graph.nodes[id].op != Op::input) != last) continue;
      Node node = graph.nodes[id];
      for (ValueId& input : node.inputs) input = place[input];
      place[id] = static_cast<ValueId>(result.nodes.size());
      result.nodes.push_back(std::move(node));
    }
  }
  for (const ValueId id : graph.outputs) result.outputs.push_back(place[id]);
  return result;
}

std::vector<Fusion> find_fusions(const Graph& graph) {
  std::vector<Fusion> fusions(graph.nodes.size());
  const std::vector<ValueId> readers = only_readers(graph);
  std::vector<ValueId> known(graph.nodes.size());
  std::iota(known.begin(), known.end(), ValueId{0});
  for (ValueId id = 0; id < static_cast<ValueId>(graph.nodes.size()); ++id) {
    if (constant_factor(graph, graph[id]) == kNoValue) continue;
    fusions[id] = Chain(graph, id, readers, known).follow();
    for (const ValueId replaced : fusions[id].nodes) known[replaced] = id;
  }
  return fusions;
}

}  // namespace probust::cpu
