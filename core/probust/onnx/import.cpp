// SPDX-License-Identifier: MIT
#include "probust/onnx/import.h"

#include <algorithm>
#include <optional>

#include "probust/graph/simplify.h"
#include "probust/onnx/lower_graph.h"
#include "probust/onnx/wire.h"
#include "probust/ops/build.h"
#include "probust/ops/op.h"

namespace probust {
namespace {

using namespace onnx;

constexpr std::int64_t kOldestOpset = 7, kNewestOpset = 28;

ModelSummary summarize(const ModelProto& model) {
  ModelSummary summary;
  summary.producer = model.producer_name + (model.producer_version.empty() ? "" : " " + model.producer_version);
  summary.graph_name = model.graph.name;
  summary.ir_version = model.ir_version;
  summary.opset = opset_of(model.opsets);
  for (const auto& [name, tensor] : model.graph.initializers) summary.parameters += tensor.integer ? 0 : tensor.values->size();
  for (const ValueInfo& input : model.graph.inputs) {
    if (model.graph.initializers.count(input.name) == 0) summary.inputs.push_back({input.name, input.type, input.shape});
  }
  for (const ValueInfo& output : model.graph.outputs) summary.outputs.push_back({output.name, output.type, output.shape});
  std::map<std::pair<std::string, std::string>, std::size_t> rows;
  for (const NodeProto& node : model.graph.nodes) {
    const auto [row, is_new] = rows.try_emplace({node.domain, node.op_type}, summary.operators.size());
    if (is_new) {
      const OnnxOperator* known = find_operator(node.op_type, node.domain);
      const bool function = model.functions.count({node.domain, node.op_type}) != 0;
      const bool differentiable = function || (known != nullptr && known->differentiable);
      summary.operators.push_back({node.op_type, node.domain, 0, function || known != nullptr, differentiable});
    }
    ++summary.operators[row->second].count;
  }
  return summary;
}

void require_opset(const ModelProto& model) {
  const std::int64_t opset = opset_of(model.opsets);
  const auto& nodes = model.graph.nodes;
  const bool only_other_domains = opset == 0 && !nodes.empty() &&
                                  std::all_of(nodes.begin(), nodes.end(), [](const NodeProto& n) { return !n.domain.empty(); });
  if (only_other_domains) return;  // the first node says what is unsupported
  if (opset < kOldestOpset || opset > kNewestOpset) {
    throw Error{ErrorCode::unsupported, "model", "uses opset " + std::to_string(opset),
                "export it with an opset from " + std::to_string(kOldestOpset) + " to " + std::to_string(kNewestOpset)};
  }
}

class Importer {
 public:
  Importer(const ModelProto& proto, const ImportOptions& options, std::size_t file_bytes)
      : proto_(proto), options_(options), budget_(file_bytes) {
    model_.summary = summarize(proto);
  }

  Model import() {
    require_opset(proto_);
    std::map<std::string, Named> values = {add_input()};
    add_initializers(target(), proto_.graph, values);
    body_.emplace(target(), proto_.graph.nodes, proto_.opsets, std::move(values));
    choose_output();
    strip_softmax();
    const ValueId logits = model_.graph.outputs[0];
    model_.classes = element_count(model_.graph[logits].shape);
    model_.graph.outputs = {build::reshape(model_.graph, logits, {model_.classes})};
    model_.graph = simplify(model_.graph);
    return std::move(model_);
  }

 private:
  LoweringTarget target() { return {model_.graph, proto_, budget_}; }

  // The one input that is not a weight. Its first extent, where symbolic, is the batch.
  std::pair<const std::string, Named> add_input() {
    const ValueInfo* chosen = nullptr;
    for (const ValueInfo& input : proto_.graph.inputs) {
      if (proto_.graph.initializers.count(input.name) != 0) continue;
      if (chosen != nullptr)
        throw Error{ErrorCode::unsupported, "model", "has two inputs, '" + chosen->name + "' and '" + input.name + "'",
                    "only one is supported"};
      chosen = &input;
    }
    if (chosen == nullptr) throw Error{ErrorCode::unreadable, "model", "has no input", ""};
    const std::string where = "input '" + chosen->name + "'";
    if (chosen->type != "float32" && chosen->type != "float64" && chosen->type != "float16") {
      throw Error{ErrorCode::unsupported, where, "takes " + chosen->type + " values", "only floating-point inputs are supported"};
    }
    if (!chosen->has_shape)
      throw Error{ErrorCode::unsupported, where, "declares no shape", "export the model with an input shape"};
    Shape shape = chosen->shape;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] > 0) continue;
      if (i > 0)
        throw Error{ErrorCode::unsupported, where, "has no fixed extent along axis " + std::to_string(i),
                    "export the model with fixed extents behind the batch"};
      shape[i] = 1;
    }
    element_count(shape);
    model_.input_name = chosen->name;
    model_.input_shape = shape;
    return {chosen->name, {append_input(model_.graph, shape, Extent::example, chosen->name), false}};
  }

  Named lower(const std::string& output) {
    const Named value = body_->value(output);
    if (value.id == kNoValue)
      throw Error{ErrorCode::unsupported, "output '" + output + "'", "is not computed", "name another with --output-name"};
    return value;
  }

  // [1, C], [C] or [1, C, 1, 1]: at most one extent is not 1.
  static bool is_vector(const Shape& shape) {
    return std::count_if(shape.begin(), shape.end(), [](std::int64_t extent) { return extent != 1; }) <= 1 &&
           element_count(shape) >= 1;
  }

  void choose_output() {
    if (!options_.output_name.empty()) {
      const bool listed = std::any_of(proto_.graph.outputs.begin(), proto_.graph.outputs.end(),
                                      [&](const ValueInfo& o) { return o.name == options_.output_name; });
      if (!listed && !body_->has(options_.output_name))
        throw Error{ErrorCode::usage, "--output-name", "the model has no output '" + options_.output_name + "'",
                    "its outputs are " + output_names()};
      return take_output(options_.output_name, "output '" + options_.output_name + "' was asked for");
    }
    if (proto_.graph.outputs.empty()) throw Error{ErrorCode::unreadable, "model", "has no output", ""};
    std::vector<Error> failures;
    std::string single;  // an output of one number serves where there is no other
    for (const ValueInfo& output : proto_.graph.outputs) {
      try {
        const Named value = lower(output.name);
        const Node& node = model_.graph[value.id];
        if (value.integer || node.extent == Extent::constant || !is_vector(node.shape)) continue;
        if (element_count(node.shape) < 2) {
          if (single.empty()) single = output.name;
          continue;
        }
        return take_output(output.name,
                           proto_.graph.outputs.size() > 1 ? "output '" + output.name + "' is the first of shape [1, C]" : "");
      } catch (const Error& error) {
        failures.push_back(error);
      }
    }
    if (!single.empty()) return take_output(single, "output '" + single + "' is one number, not classes");
    if (!failures.empty()) throw failures.front();
    throw Error{ErrorCode::unsupported, "model", "has no output of shape [1, C]",
                fixed_batch() + "name one with --output-name; its outputs are " + output_names()};
  }

  // A model for 64 examples at once is not a function of one.
  std::string fixed_batch() const {
    const std::int64_t first = model_.input_shape.empty() ? 1 : model_.input_shape[0];
    return first <= 1
               ? ""
               : "export it for batches of one or of any size (its input's first extent is " + std::to_string(first) + "), or ";
  }

  void take_output(const std::string& name, const std::string& note) {
    const ValueId id = lower(name).id;
    if (!is_vector(model_.graph[id].shape)) {
      throw Error{ErrorCode::unsupported, "output '" + name + "'",
                  "has shape " + to_string(model_.graph[id].shape) + ", which is not one vector of logits",
                  fixed_batch() + "name another with --output-name"};
    }
    if (model_.graph[id].extent == Extent::constant)
      throw Error{ErrorCode::unsupported, "output '" + name + "'", "does not depend on the input", ""};
    model_.output_name = name;
    model_.graph.outputs = {id};
    if (!note.empty()) model_.notes.push_back(note);
  }

  std::string output_names() const {
    std::string names;
    for (const ValueInfo& output : proto_.graph.outputs) names += (names.empty() ? "'" : ", '") + output.name + "'";
    return names;
  }

  // softmax(f) and log_softmax(f) over all classes have the argmax of f but saturated margins: take f.
  void strip_softmax() {
    Graph& graph = model_.graph;
    ValueId id = graph.outputs[0];
    while (graph[id].op == Op::reshape) id = graph[id].inputs[0];
    const Op op = graph[id].op;
    if (op == Op::softmax || op == Op::log_softmax) {
      const std::int64_t axis = std::get<AxisAttribute>(graph[id].attributes).axis;
      if (graph[id].shape[axis] != element_count(graph[id].shape)) return;
      graph.outputs[0] = graph[id].inputs[0];
      model_.notes.push_back(std::string("the final ") + (op == Op::softmax ? "Softmax" : "LogSoftmax") +
                             " is left out: margins need logits");
    } else if (op == Op::sigmoid) {
      model_.notes.push_back("the output passes through a Sigmoid, which saturates: margins are those of its values");
    }
  }

  const ModelProto& proto_;
  const ImportOptions& options_;
  Model model_;
  Budget budget_;
  std::optional<GraphLowering> body_;
};

// Integers and booleans are carried as floats, marked so.
bool holds_integers(const std::string& type) { return type == "bool" || type.rfind("int", 0) == 0 || type.rfind("uint", 0) == 0; }

Function lower_function(const ModelProto& proto, const FunctionOptions& options, std::size_t file_bytes) {
  require_opset(proto);
  Function function;
  Budget budget(file_bytes);
  const LoweringTarget target{function.graph, proto, budget};
  std::map<std::string, Named> values;
  for (const ValueInfo& input : proto.graph.inputs) {
    if (proto.graph.initializers.count(input.name) != 0) continue;
    const bool integer = holds_integers(input.type);
    if (const auto fixed = options.fixed.find(input.name); fixed != options.fixed.end()) {
      values[input.name] = {append_constant(function.graph, fixed->second, input.name), integer};
    } else {
      const std::string where = "input '" + input.name + "'";
      if (!input.has_shape || std::any_of(input.shape.begin(), input.shape.end(), [](std::int64_t e) { return e < 0; }))
        throw Error{ErrorCode::unsupported, where, "has no fixed shape", "give its value"};
      element_count(input.shape);
      values[input.name] = {append_input(function.graph, input.shape, Extent::example, input.name), integer};
      function.inputs.push_back(input.name);
    }
  }
  add_initializers(target, proto.graph, values);
  GraphLowering body(target, proto.graph.nodes, proto.opsets, std::move(values));
  for (const ValueInfo& output : proto.graph.outputs) {
    const Named value = body.value(output.name);
    if (value.id == kNoValue) throw Error{ErrorCode::unsupported, "output '" + output.name + "'", "is not computed", ""};
    function.graph.outputs.push_back(value.id);
    function.outputs.push_back(output.name);
  }
  return function;
}

}  // namespace

Result<Model> import_onnx(std::span<const std::byte> bytes, const ImportOptions& options) {
  return guarded("model", [&] {
    const ModelProto proto = read_model(bytes);
    return Importer(proto, options, bytes.size()).import();
  });
}

Result<Function> import_onnx_function(std::span<const std::byte> bytes, const FunctionOptions& options) {
  return guarded("model", [&] { return lower_function(read_model(bytes), options, bytes.size()); });
}

Result<ModelSummary> summarize_onnx(std::span<const std::byte> bytes) {
  return guarded("model", [&] { return summarize(read_model(bytes)); });
}

}  // namespace probust
