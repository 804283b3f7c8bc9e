// SPDX-License-Identifier: MIT
#include "probust/onnx/parameters.h"

#include <set>

namespace probust::onnx {
namespace {

// Calls visit(node) for every node, including those of graphs in attributes.
template <class Visit>
void for_each_node(const std::vector<NodeProto>& nodes, const Visit& visit) {
  for (const NodeProto& node : nodes) {
    visit(node);
    for (const auto& [name, attribute] : node.attributes) {
      if (attribute.g != nullptr) for_each_node(attribute.g->nodes, visit);
    }
  }
}

// The names of the tensors that DequantizeLinear reads, directly or through Identity. Those that are stored in the model are
// quantized weights.
std::set<std::string> quantised_names(const std::vector<NodeProto>& nodes) {
  std::map<std::string, std::string> copies;  // from the output of an Identity to its input
  std::set<std::string> names;
  for_each_node(nodes, [&](const NodeProto& node) {
    if (!node.domain.empty() || node.inputs.empty() || node.outputs.empty()) return;
    if (node.op_type == "Identity") copies[node.outputs[0]] = node.inputs[0];
    if (node.op_type == "DequantizeLinear") names.insert(node.inputs[0]);
  });
  const std::vector<std::string> read(names.begin(), names.end());
  for (const std::string& name : read) {
    for (auto copy = copies.find(name); copy != copies.end(); copy = copies.find(copy->second)) {
      if (!names.insert(copy->second).second) break;
    }
  }
  return names;
}

std::int64_t count(const HostTensor& tensor, bool quantised) {
  return tensor.values == nullptr || (tensor.integer && !quantised) ? 0 : tensor.values->size();
}

std::int64_t count_constant(const NodeProto& node, const std::set<std::string>& quantised) {
  std::int64_t total = 0;
  for (const auto& [name, attribute] : node.attributes) {
    if (name == "value" && attribute.has_tensor)
      total += count(attribute.t, !node.outputs.empty() && quantised.count(node.outputs[0]) != 0);
    if (name == "value_float") total += 1;
    if (name == "value_floats") total += static_cast<std::int64_t>(attribute.floats.size());
  }
  return total;
}

std::int64_t count_initializers(const GraphProto& graph, const std::set<std::string>& quantised) {
  std::int64_t total = 0;
  for (const auto& [name, tensor] : graph.initializers) total += count(tensor, quantised.count(name) != 0);
  return total;
}

std::int64_t count_in_nodes(const std::vector<NodeProto>& nodes, const std::set<std::string>& quantised) {
  std::int64_t total = 0;
  for_each_node(nodes, [&](const NodeProto& node) {
    if (node.op_type == "Constant" && node.domain.empty()) total += count_constant(node, quantised);
    for (const auto& [name, attribute] : node.attributes) {
      if (attribute.g != nullptr) total += count_initializers(*attribute.g, quantised);
    }
  });
  return total;
}

}  // namespace

std::int64_t count_parameters(const ModelProto& model) {
  const std::set<std::string> quantised = quantised_names(model.graph.nodes);
  std::int64_t total = count_initializers(model.graph, quantised) + count_in_nodes(model.graph.nodes, quantised);
  for (const auto& [key, function] : model.functions) total += count_in_nodes(function.nodes, quantised_names(function.nodes));
  return total;
}

}  // namespace probust::onnx
