// SPDX-License-Identifier: MIT
#include "probust/onnx/lower/lower.h"

#include <algorithm>
#include <cmath>

#include "probust/base/error.h"
#include "probust/onnx/lower/lower_graph.h"
#include "probust/ops/append.h"
#include "probust/ops/op.h"

namespace probust::onnx {
namespace {

// Integers are stored as float32, which is exact up to 2^24; sentinels of 2^30 and more merely stand for "to the end".
void require_exact(Lowering& l, const Tensor& integers) {
  for (const float value : integers.data) {
    if (std::fabs(value) > 0x1p24F && std::fabs(value) < 0x1p30F)
      l.unsupported("computes an integer beyond 2^24, which is not supported");
  }
}

}  // namespace

Budget::Budget(std::size_t file_bytes)
    : elements_(0x1p24 + 4 * static_cast<double>(file_bytes)), flops_(1e9 + 1e3 * static_cast<double>(file_bytes)) {}

void Budget::spend(std::int64_t elements, double flops) {
  elements_ -= static_cast<double>(elements);
  flops_ -= flops;
  if (elements_ < 0 || flops_ < 0) {
    throw Error{ErrorCode::resources, "the model",
                "has constants whose computation takes too much memory or time for a file of its size", ""};
  }
}

ValueId fold(Graph& graph, ValueId id, Budget& budget, const std::string& name) {
  if (graph[id].extent != Extent::constant || graph[id].op == Op::constant) return id;
  std::vector<const Tensor*> operands;
  std::vector<Shape> shapes;
  const std::vector<ValueId> inputs = graph[id].inputs;
  for (const ValueId input : inputs) {
    const ValueId constant = fold(graph, input, budget, name);
    operands.push_back(&constant_value(graph, constant));
    shapes.push_back(operands.back()->shape);
  }
  const Node& node = graph[id];
  budget.spend(element_count(node.shape), definition(node.op).flops(node.attributes, shapes, node.shape));
  Tensor result(node.shape);
  definition(node.op).eval(node.attributes, operands, result);
  return append_constant(graph, std::move(result), name);
}

Lowering::Lowering(Graph& g, const NodeProto& n, std::int64_t version, const std::map<std::string, Named>& values, Budget& budget,
                   GraphLowering& body, std::int64_t batch)
    : graph(g), node(n), opset(version), values_(values), budget_(budget), body_(body), batch_(batch) {}

ValueId Lowering::add_node(Op op, std::vector<ValueId> operands, Attributes attributes) {
  return fold(graph, append(graph, op, std::move(operands), std::move(attributes), label()), budget_, label());
}

namespace {

const std::string& name_of(const NodeProto& node) {
  return node.name.empty() && !node.outputs.empty() ? node.outputs[0] : node.name;
}

}  // namespace

std::string Lowering::where() const {
  const std::string domain = node.domain.empty() ? "" : node.domain + ", ";
  return "node '" + name_of(node) + "' (" + node.op_type + ", " + domain + "opset " + std::to_string(opset) + ")";
}

Error Lowering::error(ErrorCode code, const std::string& what, const std::string& hint) const {
  return {code, where(), what, hint, node.op_type, name_of(node)};
}

void Lowering::malformed(const std::string& what) const { throw error(ErrorCode::unreadable, what, "the model may be damaged"); }

void Lowering::unsupported(const std::string& what, const std::string& hint) const {
  throw error(ErrorCode::unsupported, what, hint);
}

const Named& Lowering::named(std::size_t i) const {
  if (!has(i)) malformed("has no operand " + std::to_string(i) + " (counted from 0)");
  const auto found = values_.find(node.inputs[i]);
  if (found == values_.end()) malformed("reads '" + node.inputs[i] + "', which the model does not define");
  if (found->second.id == kNoValue)
    unsupported("reads '" + node.inputs[i] + "', an output of another node that probust does not compute");
  return found->second;
}

const Tensor& Lowering::constant(std::size_t i) const {
  if (!is_constant(i))
    unsupported("has an operand " + std::to_string(i) + " that depends on the input", "make it a constant at export");
  return constant_value(graph, in(i));
}

std::vector<std::int64_t> Lowering::integers(std::size_t i) const {
  std::vector<std::int64_t> result;
  for (const float value : constant(i).data) {
    if (std::isnan(value)) malformed("has NaN in operand " + std::to_string(i) + ", which must contain integers");
    result.push_back(static_cast<std::int64_t>(std::clamp(double{value}, -4e18, 4e18)));
  }
  return result;
}

// The attribute of this name; null if there is none. Throws if it has a different type.
const AttributeProto* Lowering::find_attribute(const std::string& name, AttributeType type) const {
  const auto found = node.attributes.find(name);
  if (found == node.attributes.end()) return nullptr;
  if (found->second.type != 0 && found->second.type != type) malformed("has an attribute " + name + " of the wrong type");
  return &found->second;
}

std::int64_t Lowering::attribute(const std::string& name, std::int64_t otherwise) const {
  const AttributeProto* found = find_attribute(name, kIntAttribute);
  return found == nullptr ? otherwise : found->i;
}

float Lowering::attribute(const std::string& name, float otherwise) const {
  const AttributeProto* found = find_attribute(name, kFloatAttribute);
  return found == nullptr ? otherwise : found->f;
}

std::string Lowering::attribute(const std::string& name, const std::string& otherwise) const {
  const AttributeProto* found = find_attribute(name, kStringAttribute);
  return found == nullptr ? otherwise : found->s;
}

std::vector<std::int64_t> Lowering::attribute(const std::string& name, const std::vector<std::int64_t>& otherwise) const {
  const AttributeProto* found = find_attribute(name, kIntsAttribute);
  return found == nullptr ? otherwise : found->ints;
}

std::vector<float> Lowering::attribute(const std::string& name, const std::vector<float>& otherwise) const {
  const AttributeProto* found = find_attribute(name, kFloatsAttribute);
  return found == nullptr ? otherwise : found->floats;
}

std::vector<std::string> Lowering::attribute(const std::string& name, const std::vector<std::string>& otherwise) const {
  const AttributeProto* found = find_attribute(name, kStringsAttribute);
  return found == nullptr ? otherwise : found->strings;
}

std::vector<Named> Lowering::branch(const std::string& name) const {
  const auto found = node.attributes.find(name);
  if (found == node.attributes.end() || found->second.g == nullptr) malformed("needs a graph in its attribute " + name);
  return body_.branch(*found->second.g);
}

std::optional<std::vector<std::int64_t>> Lowering::attribute_or_input(const std::string& name, std::size_t i) const {
  if (has_attribute(name)) return find_attribute(name, kIntsAttribute)->ints;
  if (has(i)) return integers(i);
  return std::nullopt;
}

void Lowering::set(std::size_t output, ValueId value, bool is_integer, std::int32_t type) {
  value = fold(graph, value, budget_, label());
  if (is_integer && is_constant_value(value)) require_exact(*this, constant_value(graph, value));
  if (output < node.outputs.size() && !node.outputs[output].empty()) results_[node.outputs[output]] = {value, is_integer, type};
}

void Lowering::set(ValueId value) {
  bool all = inputs() > 0;
  for (std::size_t i = 0; i < inputs(); ++i) all = all && (!has(i) || integer(i));
  set(0, value, all);
}

ValueId Lowering::scalar(float value) { return tensor(Tensor::scalar(value)); }

Shape Lowering::without_batch(Shape shape) const {
  if (batch_ > 1 && !shape.empty() && shape[0] > 0 && shape[0] % batch_ == 0) shape[0] /= batch_;
  return shape;
}

std::int64_t Lowering::axis(std::int64_t value, std::int64_t rank) const {
  if (value < -rank || value >= rank)
    malformed("has axis " + std::to_string(value) + ", which does not exist in a tensor of rank " + std::to_string(rank));
  return value < 0 ? value + rank : value;
}

std::span<const OperatorFamily> operator_families() {
  static const OperatorFamily families[] = {
      {"Functions of elements, comparisons, products", "", elementwise_operators()},
      {"Reductions", "", reduce_operators()},
      {"Windows", "", window_operators()},
      {"Normalisation", "", normalize_operators()},
      {"Attention", "", attention_operators()},
      {"Sums of products", "", einsum_operators()},
      {"Shapes and moves", "", arrange_operators()},
      {"Positions", "", index_operators()},
      {"Resizing", "", resize_operators()},
      {"Sampling at positions", "", grid_operators()},
      {"Quantisation", "", quantize_operators()},
      {"Classical models", "ai.onnx.ml", ml_operators()},
      {"Decision trees", "ai.onnx.ml", tree_operators()},
  };
  return families;
}

const OnnxOperator* find_operator(const std::string& op_type, const std::string& domain) {
  for (const OperatorFamily& family : operator_families()) {
    if (family.domain != domain) continue;
    for (const OnnxOperator& entry : family.operators) {
      if (entry.op_type == op_type) return &entry;
    }
  }
  return nullptr;
}

}  // namespace probust::onnx
