// SPDX-License-Identifier: MIT
#include "probust/ops/print.h"

#include "probust/ops/op.h"

namespace probust {
namespace {

std::string text(bool flag) { return flag ? "true" : "false"; }

// " name=value ..." for each alternative of Attributes.
struct Describe {
  std::string operator()(std::monostate) const { return ""; }
  std::string operator()(const ConstantData& a) const {
    if (a.tensor->size() != 1) return "";
    return " value=" + std::to_string(a.tensor->data[0]);
  }
  std::string operator()(const MatmulAttributes& a) const {
    return std::string(a.transpose_a ? " transpose_a=" + text(true) : "") + (a.transpose_b ? " transpose_b=" + text(true) : "");
  }
  std::string operator()(const Window& a) const {
    return " kernel=" + to_string(a.kernel) + " stride=" + to_string(a.stride) + " pad=" + to_string(a.pad_low) +
           to_string(a.pad_high) + " dilation=" + to_string(a.dilation) +
           (a.groups == 1 ? "" : " groups=" + std::to_string(a.groups));
  }
  std::string operator()(const AxesAttributes& a) const { return " axes=" + to_string(a.axes); }
  std::string operator()(const AxisAttribute& a) const { return " axis=" + std::to_string(a.axis); }
  std::string operator()(const ShapeAttribute&) const { return ""; }
  std::string operator()(const PermutationAttribute& a) const { return " permutation=" + to_string(a.permutation); }
  std::string operator()(const SliceAttributes& a) const { return " start=" + to_string(a.start) + " step=" + to_string(a.step); }
  std::string operator()(const PadAttributes& a) const {
    return " low=" + to_string(a.low) + " high=" + to_string(a.high) + " interior=" + to_string(a.interior);
  }
  std::string operator()(const GatherAttributes& a) const {
    return " axis=" + std::to_string(a.axis) + " indices=" + std::to_string(a.indices.size());
  }
  std::string operator()(const AxisExtent& a) const {
    return " axis=" + std::to_string(a.axis) + " extent=" + std::to_string(a.extent);
  }
  std::string operator()(const TreesAttribute& a) const {
    return " trees=" + std::to_string(a.trees->roots.size()) + " nodes=" + std::to_string(a.trees->nodes.size());
  }
  std::string operator()(const ParameterAttribute& a) const { return " parameter=" + std::to_string(a.value); }
  std::string operator()(const GridAttributes& a) const {
    static constexpr std::string_view kInterpolation[] = {"nearest", "linear", "cubic"};
    static constexpr std::string_view kPadding[] = {"zeros", "border", "reflect_edges", "reflect_centres"};
    std::string result = " interpolation=" + std::string(kInterpolation[static_cast<int>(a.interpolation)]) +
                         " padding=" + std::string(kPadding[static_cast<int>(a.padding)]);
    if (a.interpolation == GridAttributes::Interpolation::cubic) result += " a=" + std::to_string(a.cubic);
    if (a.row_derivative != 0) result += " row_derivative=" + std::to_string(a.row_derivative);
    if (a.column_derivative != 0) result += " column_derivative=" + std::to_string(a.column_derivative);
    return result;
  }
};

std::string_view text(Extent extent) {
  switch (extent) {
    case Extent::constant:
      return "constant";
    case Extent::example:
      return "example";
    case Extent::seeded:
      return "seeded";
  }
  return "";
}

}  // namespace

std::string to_text(const Graph& graph) {
  std::string result;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    result += "%" + std::to_string(i) + " = " + std::string(definition(node.op).name) + "(";
    for (std::size_t j = 0; j < node.inputs.size(); ++j) result += (j ? ", %" : "%") + std::to_string(node.inputs[j]);
    result +=
        ")" + std::visit(Describe{}, node.attributes) + " : " + to_string(node.shape) + " " + std::string(text(node.extent));
    if (!node.name.empty()) result += "  # " + node.name;
    result += "\n";
  }
  result += "outputs";
  for (const ValueId id : graph.outputs) result += " %" + std::to_string(id);
  return result + "\n";
}

}  // namespace probust
