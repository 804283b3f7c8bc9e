// SPDX-License-Identifier: MIT
#include "probust/onnx/lower.h"

#include <algorithm>
#include <cmath>

#include "probust/base/error.h"

namespace probust::onnx {

Lowering::Lowering(Graph& g, const NodeProto& n, std::int64_t version, const std::map<std::string, Named>& values)
    : graph(g), node(n), opset(version), values_(values) {}

std::string Lowering::where() const { return "node '" + node.name + "' (" + node.op_type + ", opset " + std::to_string(opset) + ")"; }

void Lowering::malformed(const std::string& what) const { throw Error{ErrorCode::unreadable, where(), what, "the model may be damaged"}; }

void Lowering::unsupported(const std::string& what, const std::string& hint) const { throw Error{ErrorCode::unsupported, where(), what, hint}; }

const Named& Lowering::named(std::size_t i) const {
  if (!has(i)) malformed("operand " + std::to_string(i) + " is missing");
  const auto found = values_.find(node.inputs[i]);
  if (found == values_.end()) malformed("reads '" + node.inputs[i] + "', which nothing before it makes");
  return found->second;
}

const Tensor& Lowering::constant(std::size_t i) const {
  if (!is_constant(i)) unsupported("operand " + std::to_string(i) + " depends on the input", "only constants are supported there");
  return constant_value(graph, in(i));
}

std::vector<std::int64_t> Lowering::integers(std::size_t i) const {
  std::vector<std::int64_t> result;
  for (const float value : constant(i).data) {
    if (std::isnan(value)) malformed("operand " + std::to_string(i) + " is NaN where an integer is expected");
    result.push_back(static_cast<std::int64_t>(std::clamp(double{value}, -4e18, 4e18)));
  }
  return result;
}

std::int64_t Lowering::attribute(const std::string& name, std::int64_t otherwise) const {
  const auto found = node.attributes.find(name);
  return found == node.attributes.end() ? otherwise : found->second.i;
}

float Lowering::attribute(const std::string& name, float otherwise) const {
  const auto found = node.attributes.find(name);
  return found == node.attributes.end() ? otherwise : found->second.f;
}

std::string Lowering::attribute(const std::string& name, const std::string& otherwise) const {
  const auto found = node.attributes.find(name);
  return found == node.attributes.end() ? otherwise : found->second.s;
}

std::vector<std::int64_t> Lowering::attribute(const std::string& name, std::vector<std::int64_t> otherwise) const {
  const auto found = node.attributes.find(name);
  return found == node.attributes.end() ? std::move(otherwise) : found->second.ints;
}

std::optional<std::vector<std::int64_t>> Lowering::attribute_or_input(const std::string& name, std::size_t i) const {
  if (has_attribute(name)) return node.attributes.at(name).ints;
  if (has(i)) return integers(i);
  return std::nullopt;
}

void Lowering::set(std::size_t output, ValueId value, bool is_integer) {
  if (output < node.outputs.size() && !node.outputs[output].empty()) results_[node.outputs[output]] = {value, is_integer};
}

void Lowering::set(ValueId value) {
  bool all = inputs() > 0;
  for (std::size_t i = 0; i < inputs(); ++i) all = all && (!has(i) || integer(i));
  set(0, value, all);
}

ValueId Lowering::scalar(float value) { return tensor(Tensor::scalar(value)); }

std::int64_t Lowering::axis(std::int64_t value, std::int64_t rank) const {
  if (value < -rank || value >= rank) malformed("axis " + std::to_string(value) + " does not exist in a tensor of rank " + std::to_string(rank));
  return value < 0 ? value + rank : value;
}

const OnnxOperator* find_operator(const std::string& op_type, const std::string& domain) {
  if (!domain.empty()) return nullptr;
  for (const auto family : {elementwise_operators(), window_operators(), arrange_operators()}) {
    for (const OnnxOperator& entry : family) {
      if (entry.op_type == op_type) return &entry;
    }
  }
  return nullptr;
}

}  // namespace probust::onnx
