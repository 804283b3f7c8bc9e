// SPDX-License-Identifier: MIT
// Field numbers are those of onnx.proto (ONNX IR version 8). A value of one example, [n] or [1, n], is written as [batch, n]: the
// batch replaces the single row, so reshapes between the two need no node.
#include "probust/onnx/export.h"

#include <algorithm>
#include <iterator>
#include <protozero/pbf_writer.hpp>
#include <utility>
#include <vector>

#include "probust/onnx/elements.h"
#include "probust/ops/op.h"

namespace probust {
namespace {

using protozero::pbf_writer;

constexpr int kIrVersion = 8, kOpset = 13;
constexpr const char* kLogits = "logits";

// Operators that mean the same on [batch, n] as on [n], with their ONNX names.
constexpr std::pair<Op, const char*> kElementwise[] = {
    {Op::negate, "Neg"},      {Op::absolute, "Abs"}, {Op::sign, "Sign"},
    {Op::relu, "Relu"},       {Op::exp, "Exp"},      {Op::log, "Log"},
    {Op::sqrt, "Sqrt"},       {Op::tanh, "Tanh"},    {Op::erf, "Erf"},
    {Op::sigmoid, "Sigmoid"}, {Op::add, "Add"},      {Op::subtract, "Sub"},
    {Op::multiply, "Mul"},    {Op::divide, "Div"},   {Op::softplus, "Softplus"},
    {Op::maximum, "Max"},     {Op::minimum, "Min"},  {Op::power, "Pow"},
    {Op::sine, "Sin"},        {Op::cosine, "Cos"},   {Op::reciprocal, "Reciprocal"},
};

const char* elementwise_name(Op op) {
  const auto* entry =
      std::find_if(std::begin(kElementwise), std::end(kElementwise), [op](const auto& e) { return e.first == op; });
  return entry == std::end(kElementwise) ? nullptr : entry->second;
}

// One row of numbers per example.
bool is_row(const Shape& shape) { return shape.size() == 1 || (shape.size() == 2 && shape[0] == 1); }

class Exporter {
 public:
  explicit Exporter(const Graph& graph) : graph_(graph) {
    if (graph.inputs().size() != 1 || graph.outputs.size() != 1 || graph[graph.outputs[0]].shape.size() != 1 ||
        graph[graph.outputs[0]].extent != Extent::example)
      throw Error{ErrorCode::unsupported, "ONNX export", "the graph is no classifier", "it has one input and one output [C]"};
    names_.resize(graph.nodes.size());
    logits_ = graph.outputs[0];
    while (graph[logits_].op == Op::reshape && is_row(graph[graph[logits_].inputs[0]].shape)) logits_ = graph[logits_].inputs[0];
  }

  std::string model(std::string_view name) {
    for (ValueId id = 0; id < static_cast<ValueId>(graph_.nodes.size()); ++id) {
      if (graph_[id].extent == Extent::example) write_value(id);
    }
    if (names_[graph_.outputs[0]] != kLogits) write_node("Identity", {names_[graph_.outputs[0]]}, kLogits);
    pbf_writer graph(graph_bytes_);
    graph.add_string(2, name.data(), name.size());
    add_port(graph, 11, "x", graph_[graph_.inputs()[0]].shape);
    add_port(graph, 12, kLogits, graph_[graph_.outputs[0]].shape);
    std::string bytes, opset;
    pbf_writer(opset).add_int64(2, kOpset);
    pbf_writer model(bytes);
    model.add_int64(1, kIrVersion);
    model.add_string(2, "probust");
    model.add_message(7, graph_bytes_);
    model.add_message(8, opset);
    return bytes;
  }

 private:
  [[noreturn]] void refuse(const Node& node) const {
    throw Error{ErrorCode::unsupported, "ONNX export", "cannot write " + std::string(definition(node.op).name), ""};
  }

  void write_value(ValueId id) {
    const Node& node = graph_[id];
    if (node.op == Op::input) {
      names_[id] = "x";
      return;
    }
    if (!is_row(node.shape)) refuse(node);
    if (node.op == Op::reshape) {
      write_reshape(id);
    } else if (node.op == Op::matmul) {
      write_matmul(id);
    } else if (const char* name = elementwise_name(node.op); name != nullptr) {
      write_node(name, operands(node), new_name(id));
    } else {
      refuse(node);
    }
  }

  void write_reshape(ValueId id) {
    const ValueId from = graph_[id].inputs[0];
    if (is_row(graph_[from].shape)) {
      names_[id] = names_[from];
    } else {
      write_node("Flatten", {names_[from]}, new_name(id));  // its default axis is 1
    }
  }

  void write_matmul(ValueId id) {
    const Node& node = graph_[id];
    const bool constant = graph_[node.inputs[1]].op == Op::constant && graph_[node.inputs[1]].shape.size() == 2;
    if (!constant || std::get<MatmulAttributes>(node.attributes) != MatmulAttributes{}) refuse(node);
    write_node("MatMul", operands(node), new_name(id));
  }

  // Constants become initializers at first use.
  std::vector<std::string> operands(const Node& node) {
    std::vector<std::string> names;
    names.reserve(node.inputs.size());
    for (const ValueId input : node.inputs) {
      const Node& operand = graph_[input];
      const bool fits = operand.op == Op::constant ? operand.shape.size() <= 2 : is_row(operand.shape);
      if (!fits || operand.extent == Extent::seeded || (operand.extent == Extent::constant && operand.op != Op::constant))
        refuse(node);
      if (names_[input].empty()) write_initializer(input);
      names.push_back(names_[input]);
    }
    return names;
  }

  const std::string& new_name(ValueId id) { return names_[id] = id == logits_ ? kLogits : "v" + std::to_string(id); }

  void write_initializer(ValueId id) {
    const Tensor& tensor = constant_value(graph_, id);
    std::string bytes;
    pbf_writer writer(bytes);
    for (const std::int64_t extent : tensor.shape) writer.add_int64(1, extent);
    writer.add_int32(2, onnx::kFloat);
    writer.add_string(8, new_name(id));
    writer.add_bytes(9, reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size() * sizeof(float));  // little-endian
    pbf_writer(graph_bytes_).add_message(5, bytes);
  }

  void write_node(const char* op, const std::vector<std::string>& inputs, const std::string& output) {
    std::string bytes;
    pbf_writer writer(bytes);
    for (const std::string& input : inputs) writer.add_string(1, input);
    writer.add_string(2, output);
    writer.add_string(3, output + "/" + op);
    writer.add_string(4, op);
    pbf_writer(graph_bytes_).add_message(1, bytes);
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
  ValueId logits_;                  ///< the value whose node gives the output, ignoring reshapes
  std::vector<std::string> names_;  ///< of each value; empty: not written
  std::string graph_bytes_;         ///< of the GraphProto, as written so far
};

}  // namespace

Result<std::string> export_onnx(const Graph& classifier, std::string_view name) {
  return guarded("ONNX export", [&] { return Exporter(classifier).model(name); });
}

}  // namespace probust
