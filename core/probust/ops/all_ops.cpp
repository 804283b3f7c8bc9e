// SPDX-License-Identifier: MIT
#include <algorithm>
#include <vector>

#include "probust/base/error.h"
#include "probust/ops/families.h"

namespace probust {
namespace {

// The shapes of leaves are set by `append_input` and `append_constant`.
Shape infer_leaf(const Attributes& attributes, std::span<const Shape>) {
  if (const auto* data = std::get_if<ConstantData>(&attributes)) return data->tensor->shape;
  if (const auto* shape = std::get_if<ShapeAttribute>(&attributes)) return shape->shape;
  ops::misfit("leaf", "has neither a value nor a shape");
}

void eval_constant(const Attributes& attributes, std::span<const Tensor* const>, Tensor& y) {
  y = *std::get<ConstantData>(attributes).tensor;
}

constexpr OpDefinition kLeaves[] = {
    {Op::input, "input", "y is given", 0, 0, infer_leaf, nullptr, nullptr, ops::flops_none},
    {Op::constant, "constant", "y is fixed", 0, 0, infer_leaf, eval_constant, nullptr, ops::flops_none},
};

// The list of all operators. The README says how to add one.
std::vector<OpDefinition> collect() {
  std::vector<OpDefinition> all(std::begin(kLeaves), std::end(kLeaves));
  for (const auto family : {ops::matmul_family(), ops::conv_family(), ops::pool_family(), ops::grid_sample_family(),
                            ops::unary_family(), ops::binary_family(), ops::reduce_family(), ops::arrange_family(),
                            ops::softmax_family(), ops::choice_family(), ops::trees_family(), ops::gaussian_family()}) {
    all.insert(all.end(), family.begin(), family.end());
  }
  std::sort(all.begin(), all.end(), [](const OpDefinition& a, const OpDefinition& b) { return a.op < b.op; });
  return all;
}

}  // namespace

std::span<const OpDefinition> all_ops() {
  static const std::vector<OpDefinition> all = collect();
  return all;
}

const OpDefinition& definition(Op op) { return all_ops()[static_cast<std::size_t>(op)]; }

double flops(const Graph& graph) {
  double sum = 0;
  for (const Node& node : graph.nodes) {
    if (node.extent == Extent::constant) continue;
    std::vector<Shape> operands;
    operands.reserve(node.inputs.size());
    for (const ValueId input : node.inputs) operands.push_back(graph[input].shape);
    sum += definition(node.op).flops(node.attributes, operands, node.shape);
  }
  return sum;
}

namespace ops {

ValueId vjp_zero(Graph&, ValueId, std::size_t, ValueId) { return kNoValue; }

void require_axis(std::string_view op, std::int64_t axis, const Shape& shape) {
  if (axis < 0 || axis >= static_cast<std::int64_t>(shape.size()))
    misfit(op, "has axis " + std::to_string(axis) + ", which does not exist in an operand of shape " + to_string(shape));
}

double count(const Shape& shape) {
  double product = 1;
  for (const std::int64_t extent : shape) product *= static_cast<double>(extent);
  return product;
}

double flops_elementwise(const Attributes&, std::span<const Shape>, const Shape& y) { return count(y); }

double flops_none(const Attributes&, std::span<const Shape>, const Shape&) { return 0; }

void misfit(std::string_view op, const std::string& what) {
  throw Error{ErrorCode::unreadable, "operator " + std::string(op), what, ""};
}

}  // namespace ops
}  // namespace probust
