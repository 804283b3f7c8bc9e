// SPDX-License-Identifier: MIT
// Field numbers are those of onnx.proto (ONNX IR version 8). A value of one example, [n] or [1, ...], is written as [batch, ...]:
// the batch replaces the single row, so reshapes that only add or remove that row need no node. The input, of any shape, gets a
// batch, too.
#include "probust/onnx/export.h"

#include <algorithm>
#include <protozero/pbf_writer.hpp>
#include <utility>
#include <vector>

#include "probust/onnx/elements.h"
#include "probust/onnx/lower/lower.h"
#include "probust/onnx/node_attributes.h"
#include "probust/ops/op.h"

namespace probust {
namespace {

using onnx::NodeAttributes;
using protozero::pbf_writer;

constexpr int kIrVersion = 8, kLeastOpset = 13, kMlOpset = 1;
constexpr const char* kMl = "ai.onnx.ml";
constexpr const char* kLogits = "logits";

// The ONNX operator for an element-wise operator, which is the same for [batch, n] as for [n].
const onnx::OnnxOperator* elementwise_operator(Op op) {
  const auto all = onnx::elementwise_operators();
  const auto entry = std::find_if(all.begin(), all.end(), [op](const auto& e) { return e.exported == op; });
  return entry == all.end() ? nullptr : &*entry;
}

// Whether a value is one row of numbers per example.
bool is_row(const Shape& shape) { return shape.size() == 1 || (shape.size() == 2 && shape[0] == 1); }

NodeAttributes window_attributes(const Window& window) {
  Shape pads = window.pad_low;
  pads.insert(pads.end(), window.pad_high.begin(), window.pad_high.end());
  NodeAttributes attributes;
  attributes.add("kernel_shape", window.kernel).add("strides", window.stride).add("dilations", window.dilation).add("pads", pads);
  return attributes;
}

using TreeWriter = std::optional<NodeAttributes> (*)(const Trees&);

class Exporter {
 public:
  // If `trees` is null, trees are not supported.
  explicit Exporter(const Graph& graph, TreeWriter trees = nullptr)
      : graph_(graph), tree_writer_(trees), uses_(use_counts(graph)) {
    if (graph.inputs().size() != 1 || graph.outputs.size() != 1 || graph[graph.outputs[0]].shape.size() != 1 ||
        graph[graph.outputs[0]].extent != Extent::example)
      throw Error{ErrorCode::unsupported, "the graph", "is not a classifier", "give it one input and one output [C]"};
    names_.resize(graph.nodes.size());
    logits_ = graph.outputs[0];
    while (graph[logits_].op == Op::reshape && is_row(graph[graph[logits_].inputs[0]].shape)) logits_ = graph[logits_].inputs[0];
  }

  std::string model(std::string_view name, const Metadata& metadata) {
    for (ValueId id = 0; id < static_cast<ValueId>(graph_.nodes.size()); ++id) {
      if (graph_[id].extent == Extent::example && names_[id].empty()) write_value(id);
    }
    if (names_[graph_.outputs[0]] != kLogits) write_node("Identity", {names_[graph_.outputs[0]]}, kLogits);
    pbf_writer graph(graph_bytes_);
    graph.add_string(2, name.data(), name.size());
    add_port(graph, 11, "x", graph_[graph_.inputs()[0]].shape);
    add_port(graph, 12, kLogits, graph_[graph_.outputs[0]].shape);
    std::string bytes;
    pbf_writer model(bytes);
    model.add_int64(1, kIrVersion);
    model.add_string(2, "probust");
    model.add_message(7, graph_bytes_);
    add_opset(model, "", opset_);
    if (has_trees_) add_opset(model, kMl, kMlOpset);
    for (const auto& [key, value] : metadata) {
      std::string entry;
      pbf_writer writer(entry);
      writer.add_string(1, key);
      writer.add_string(2, value);
      model.add_message(14, entry);
    }
    return bytes;
  }

 private:
  [[noreturn]] void refuse(const Node& node) const {
    throw Error{ErrorCode::unsupported, "the ONNX export", "cannot write the operator " + std::string(definition(node.op).name),
                ""};
  }

  void write_value(ValueId id) {
    const Node& node = graph_[id];
    if (node.op == Op::input) {
      names_[id] = "x";
      return;
    }
    if (!is_batched(id)) refuse(node);
    if (const auto* entry = elementwise_operator(node.op); entry != nullptr) {
      NodeAttributes attributes;
      if (!entry->parameter.empty()) attributes.add(entry->parameter, parameter_of(node.attributes));
      write_node(entry->op_type, operands(node), new_name(id), attributes);
      opset_ = std::max(opset_, entry->since);
      return;
    }
    switch (node.op) {
      case Op::reshape:
        return write_reshape(id);
      case Op::matmul:
        return write_matmul(id);
      case Op::conv:
        return write_conv(id);
      case Op::max_pool:
        return write_node("MaxPool", operands(node), new_name(id), window_attributes(std::get<Window>(node.attributes)));
      case Op::reduce_sum:
        return write_sum(id);
      case Op::softmax:
        return write_node("Softmax", operands(node), new_name(id),
                          NodeAttributes().add("axis", row_axis(id, std::get<AxisAttribute>(node.attributes).axis)));
      case Op::transpose:
        return write_transpose(id);
      case Op::tree_ensemble:
        return write_trees(id);
      default:
        refuse(node);
    }
  }

  // Whether the value can be written with a batch as its first extent.
  bool is_batched(ValueId id) const {
    const Node& node = graph_[id];
    return node.extent == Extent::example && (node.op == Op::input || is_row(node.shape) || node.shape[0] == 1);
  }

  // The extents after the batch axis.
  Shape own_extents(ValueId id) const {
    const Node& node = graph_[id];
    const bool whole = node.op == Op::input || node.shape.size() == 1;
    return {node.shape.begin() + (whole ? 0 : 1), node.shape.end()};
  }

  // The axis that corresponds to an axis of the graph's value, with the batch included.
  std::int64_t row_axis(ValueId id, std::int64_t axis) const {
    const std::int64_t counted = axis + (graph_[id].shape.size() == 1 ? 1 : 0);
    if (counted == 0) refuse(graph_[id]);
    return counted;
  }

  void write_reshape(ValueId id) {
    const ValueId from = graph_[id].inputs[0];
    Shape extents = own_extents(id);
    if (own_extents(from) == extents) {
      names_[id] = names_[from];
    } else if (extents.size() == 1) {
      write_node("Flatten", {names_[from]}, new_name(id));  // its default axis is 1
    } else {
      extents.insert(extents.begin(), 0);  // 0 keeps the operand's extent
      const std::string shape = write_integers(extents);
      write_node("Reshape", {names_[from], shape}, new_name(id));
    }
  }

  void write_matmul(ValueId id) {
    const Node& node = graph_[id];
    const auto t = std::get<MatmulAttributes>(node.attributes);
    const Node &a = graph_[node.inputs[0]], &b = graph_[node.inputs[1]];
    if (b.op == Op::constant && b.shape.size() == 2) {
      if (t != MatmulAttributes{}) refuse(node);
      return write_node("MatMul", operands(node), new_name(id));
    }
    if (a.shape.size() < 3 || a.shape.size() != b.shape.size()) refuse(node);
    std::vector<std::string> factors = operands(node);
    if (t.transpose_a) factors[0] = write_transposed(factors[0], a.shape.size());
    if (t.transpose_b) factors[1] = write_transposed(factors[1], b.shape.size());
    write_node("MatMul", factors, new_name(id));
  }

  std::string write_transposed(const std::string& operand, std::size_t rank) {
    Shape order(rank);
    for (std::size_t i = 0; i < rank; ++i) order[i] = static_cast<std::int64_t>(i);
    std::swap(order[rank - 1], order[rank - 2]);
    std::string name = operand + "_transposed" + std::to_string(extra_++);
    write_node("Transpose", {operand}, name, NodeAttributes().add("perm", order));
    return name;
  }

  // Includes the bias that is added to the convolution, if there is one.
  void write_conv(ValueId id) {
    const Node& node = graph_[id];
    const auto& window = std::get<Window>(node.attributes);
    if (graph_[node.inputs[1]].op != Op::constant) refuse(node);
    std::vector<std::string> factors = {names_[node.inputs[0]], initializer(node.inputs[1])};
    const ValueId sum = biased(id);
    const ValueId result = sum == kNoValue ? id : sum;
    if (sum != kNoValue) {
      const Node& add = graph_[sum];
      const ValueId bias = add.inputs[0] == id ? add.inputs[1] : add.inputs[0];
      factors.push_back(write_initializer(new_name(bias), Tensor({node.shape[1]}, constant_value(graph_, bias).data)));
    }
    NodeAttributes attributes = window_attributes(window);
    if (window.groups != 1) attributes.add("group", window.groups);
    write_node("Conv", factors, new_name(result), attributes);
    names_[id] = names_[result];
  }

  // The node that adds one constant per channel to a convolution that has no other reader; kNoValue if there is none.
  ValueId biased(ValueId id) const {
    if (uses_[id] != 1) return kNoValue;
    for (auto reader = id + 1; reader < static_cast<ValueId>(graph_.nodes.size()); ++reader) {
      const Node& node = graph_[reader];
      if (std::find(node.inputs.begin(), node.inputs.end(), id) == node.inputs.end()) continue;
      if (node.op != Op::add || node.shape != graph_[id].shape) return kNoValue;
      const ValueId other = node.inputs[0] == id ? node.inputs[1] : node.inputs[0];
      Shape channels(graph_[other].shape.size(), 1);
      if (channels.size() + 1 >= node.shape.size()) channels[channels.size() + 1 - node.shape.size()] = node.shape[1];
      const bool fits = graph_[other].op == Op::constant && graph_[other].shape == channels && uses_[other] == 1;
      return fits ? reader : kNoValue;
    }
    return kNoValue;
  }

  void write_sum(ValueId id) {
    const Node& node = graph_[id];
    Shape axes;
    for (const std::int64_t axis : std::get<AxesAttributes>(node.attributes).axes) axes.push_back(row_axis(node.inputs[0], axis));
    std::vector<std::string> inputs = operands(node);
    inputs.push_back(write_integers(axes));
    write_node("ReduceSum", inputs, new_name(id));
  }

  void write_transpose(ValueId id) {
    const Node& node = graph_[id];
    const auto& order = std::get<PermutationAttribute>(node.attributes).permutation;
    if (order.empty() || order[0] != 0) refuse(node);
    write_node("Transpose", operands(node), new_name(id), NodeAttributes().add("perm", order));
  }

  // Writes a regressor with one target per output: its only result is the sums, whereas a classifier would also have labels.
  void write_trees(ValueId id) {
    const Node& node = graph_[id];
    const auto attributes =
        tree_writer_ != nullptr ? tree_writer_(*std::get<TreesAttribute>(node.attributes).trees) : std::nullopt;
    if (!attributes) refuse(node);
    has_trees_ = true;
    write_node("TreeEnsembleRegressor", operands(node), new_name(id), *attributes, kMl);
  }

  // The operands of a node that treats all examples alike. Constants become initializers when first used.
  std::vector<std::string> operands(const Node& node) {
    std::vector<std::string> names;
    names.reserve(node.inputs.size());
    const std::size_t rank = std::max<std::size_t>(2, node.shape.size());  // including the batch axis
    for (const ValueId input : node.inputs) {
      const Node& operand = graph_[input];
      const bool constant = operand.op == Op::constant;
      const bool leaves_batch = operand.shape.size() < rank || operand.shape[0] == 1 || (node.op == Op::matmul && rank == 2);
      const bool same_rank = is_row(operand.shape) == is_row(node.shape) || node.op == Op::reduce_sum;
      if (constant ? !leaves_batch : !(is_batched(input) && same_rank)) refuse(node);
      names.push_back(constant ? initializer(input) : names_[input]);
    }
    return names;
  }

  const std::string& initializer(ValueId id) {
    return names_[id].empty() ? write_initializer(new_name(id), constant_value(graph_, id)) : names_[id];
  }

  const std::string& new_name(ValueId id) { return names_[id] = id == logits_ ? kLogits : "v" + std::to_string(id); }

  const std::string& write_initializer(const std::string& name, const Tensor& tensor) {
    write_tensor(name, tensor.shape, onnx::kFloat,
                 {reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size() * sizeof(float)});
    return name;
  }

  std::string write_integers(const Shape& values) {
    std::string name = "integers" + std::to_string(extra_++);
    write_tensor(name, {static_cast<std::int64_t>(values.size())}, onnx::kInt64,
                 {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(std::int64_t)});
    return name;
  }

  // `elements` are little-endian.
  void write_tensor(const std::string& name, const Shape& shape, onnx::DataType type, std::string_view elements) {
    std::string bytes;
    pbf_writer writer(bytes);
    for (const std::int64_t extent : shape) writer.add_int64(1, extent);
    writer.add_int32(2, type);
    writer.add_string(8, name);
    writer.add_bytes(9, elements.data(), elements.size());
    pbf_writer(graph_bytes_).add_message(5, bytes);
  }

  void write_node(std::string_view op, const std::vector<std::string>& inputs, const std::string& output,
                  const NodeAttributes& attributes = {}, const char* domain = "") {
    std::string bytes;
    pbf_writer writer(bytes);
    for (const std::string& input : inputs) writer.add_string(1, input);
    writer.add_string(2, output);
    writer.add_string(3, output + "/" + std::string(op));
    writer.add_string(4, op.data(), op.size());
    for (const std::string& attribute : attributes.all()) writer.add_message(5, attribute);
    if (*domain != '\0') writer.add_string(7, domain);
    pbf_writer(graph_bytes_).add_message(1, bytes);
  }

  static void add_opset(pbf_writer& model, const char* domain, std::int64_t version) {
    std::string bytes;
    pbf_writer writer(bytes);
    if (*domain != '\0') writer.add_string(1, domain);
    writer.add_int64(2, version);
    model.add_message(8, bytes);
  }

  static void add_port(pbf_writer& graph, std::uint32_t field, const char* name, const Shape& shape) {
    std::string dimensions, tensor, type, port;
    pbf_writer shape_writer(dimensions);
    std::string dimension;
    pbf_writer(dimension).add_string(2, "batch");
    shape_writer.add_message(1, dimension);
    for (const std::int64_t extent : shape) {
      dimension.clear();
      pbf_writer(dimension).add_int64(1, extent);
      shape_writer.add_message(1, dimension);
    }
    pbf_writer tensor_writer(tensor);
    tensor_writer.add_int32(1, onnx::kFloat);
    tensor_writer.add_message(2, dimensions);
    pbf_writer(type).add_message(1, tensor);
    pbf_writer port_writer(port);
    port_writer.add_string(1, name);
    port_writer.add_message(2, type);
    graph.add_message(field, port);
  }

  const Graph& graph_;
  TreeWriter tree_writer_;
  std::vector<int> uses_;
  bool has_trees_ = false;
  std::int64_t opset_ = kLeastOpset;
  int extra_ = 0;                   ///< number of names created for values that are not in the graph
  ValueId logits_;                  ///< the value whose node gives the output, ignoring reshapes
  std::vector<std::string> names_;  ///< name of each value; empty if it is not written
  std::string graph_bytes_;         ///< bytes of the GraphProto written so far
};

}  // namespace

Result<std::string> export_onnx(const Graph& classifier, std::string_view name, const Metadata& metadata) {
  return guarded("the ONNX export", [&] { return Exporter(classifier).model(name, metadata); });
}

Result<std::string> export_onnx_with_trees(const Graph& classifier, std::string_view name, const Metadata& metadata) {
  return guarded("the ONNX export", [&] { return Exporter(classifier, onnx::tree_attributes).model(name, metadata); });
}

}  // namespace probust
