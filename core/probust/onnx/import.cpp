// SPDX-License-Identifier: MIT
#include "probust/onnx/import.h"

#include <algorithm>
#include <set>

#include "probust/graph/simplify.h"
#include "probust/onnx/lower.h"
#include "probust/onnx/wire.h"
#include "probust/ops/build.h"
#include "probust/ops/op.h"

namespace probust {
namespace {

using namespace onnx;

constexpr std::int64_t kOldestOpset = 7, kNewestOpset = 21;

std::int64_t opset_of(const ModelProto& model) {
  const auto found = model.opsets.find("");
  return found == model.opsets.end() ? 0 : found->second;
}

ModelSummary summarize(const ModelProto& model) {
  ModelSummary summary;
  summary.producer = model.producer_name + (model.producer_version.empty() ? "" : " " + model.producer_version);
  summary.graph_name = model.graph_name;
  summary.ir_version = model.ir_version;
  summary.opset = opset_of(model);
  for (const auto& [name, tensor] : model.initializers) summary.parameters += tensor.integer ? 0 : tensor.values->size();
  for (const ValueInfo& input : model.inputs) {
    if (model.initializers.count(input.name) == 0) summary.inputs.push_back({input.name, input.type, input.shape});
  }
  for (const ValueInfo& output : model.outputs) summary.outputs.push_back({output.name, output.type, output.shape});
  std::map<std::pair<std::string, std::string>, std::size_t> rows;
  for (const NodeProto& node : model.nodes) {
    const auto [row, is_new] = rows.try_emplace({node.domain, node.op_type}, summary.operators.size());
    if (is_new) {
      const OnnxOperator* known = find_operator(node.op_type, node.domain);
      summary.operators.push_back({node.op_type, node.domain, 0, known != nullptr, known != nullptr && known->differentiable});
    }
    ++summary.operators[row->second].count;
  }
  return summary;
}

class Importer {
 public:
  Importer(const ModelProto& proto, const ImportOptions& options, std::size_t file_bytes)
      : proto_(proto), options_(options), budget_(file_bytes) {
    model_.summary = summarize(proto);
  }

  Model import() {
    require_opset();
    add_input();
    for (const auto& [name, tensor] : proto_.initializers) {
      values_[name] = {append(model_.graph, Op::constant, {}, ConstantData{tensor.values}, name), tensor.integer};
    }
    find_producers();
    choose_output();
    strip_softmax();
    const ValueId logits = model_.graph.outputs[0];
    model_.classes = element_count(model_.graph[logits].shape);
    model_.graph.outputs = {build::reshape(model_.graph, logits, {model_.classes})};
    model_.graph = simplify(model_.graph);
    return std::move(model_);
  }

 private:
  void require_opset() const {
    const std::int64_t opset = opset_of(proto_);
    const bool only_other_domains =
        opset == 0 && !proto_.nodes.empty() &&
        std::all_of(proto_.nodes.begin(), proto_.nodes.end(), [](const NodeProto& n) { return !n.domain.empty(); });
    if (only_other_domains) return;  // the first node says what is unsupported
    if (opset < kOldestOpset || opset > kNewestOpset) {
      throw Error{ErrorCode::unsupported, "model", "uses opset " + std::to_string(opset),
                  "export it with an opset from " + std::to_string(kOldestOpset) + " to " + std::to_string(kNewestOpset)};
    }
  }

  // The one input that is not a weight. Its first extent, where symbolic, is the batch.
  void add_input() {
    const ValueInfo* chosen = nullptr;
    for (const ValueInfo& input : proto_.inputs) {
      if (proto_.initializers.count(input.name) != 0) continue;
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
    values_[chosen->name] = {append_input(model_.graph, shape, Extent::example, chosen->name), false};
  }

  // Every name has one maker. Without this a later node could silently replace a weight or another's output.
  void find_producers() {
    for (std::size_t i = 0; i < proto_.nodes.size(); ++i) {
      for (const std::string& name : proto_.nodes[i].outputs) {
        if (name.empty()) continue;
        if (values_.count(name) != 0 || !producers_.emplace(name, i).second)
          at(proto_.nodes[i]).malformed("makes '" + name + "', which already exists");
      }
    }
  }

  Lowering at(const NodeProto& node) {
    const auto domain = proto_.opsets.find(node.domain);
    return Lowering(model_.graph, node, domain == proto_.opsets.end() ? opset_of(proto_) : domain->second, values_, budget_);
  }

  // Lowers what an output needs, in the file's order, each node once.
  ValueId lower(const std::string& output) {
    std::set<std::size_t> needed;
    std::vector<std::string> wanted{output};
    while (!wanted.empty()) {
      const auto producer = producers_.find(wanted.back());
      wanted.pop_back();
      if (producer == producers_.end() || lowered_.count(producer->second) != 0 || !needed.insert(producer->second).second)
        continue;
      for (const std::string& name : proto_.nodes[producer->second].inputs) wanted.push_back(name);
    }
    for (const std::size_t i : needed) {
      lowered_.insert(i);
      lower_node(proto_.nodes[i]);
    }
    const auto found = values_.find(output);
    if (found == values_.end())
      throw Error{ErrorCode::unreadable, "output '" + output + "'", "is made by no node", "the model may be damaged"};
    if (found->second.id == kNoValue)
      throw Error{ErrorCode::unsupported, "output '" + output + "'", "is not computed", "name another with --output-name"};
    return found->second.id;
  }

  void lower_node(const NodeProto& node) {
    Lowering lowering = at(node);
    const OnnxOperator* known = find_operator(node.op_type, node.domain);
    if (known == nullptr) {
      const std::string domain = node.domain.empty() ? "" : node.domain + ".";
      throw Error{ErrorCode::unsupported, lowering.where(), "operator " + domain + node.op_type + " is not supported",
                  "see probust inspect for what the model uses"};
    }
    try {
      known->lower(lowering);
    } catch (const Error& error) {
      // Shapes that do not fit are found by the core, which does not know the node's name.
      if (error.where.rfind("node '", 0) == 0 && error.where.find(node.op_type) != std::string::npos) throw;
      throw Error{error.code, lowering.where(), error.where + " " + error.what, error.hint};
    } catch (const std::out_of_range&) {
      lowering.malformed("has an empty operand");
    } catch (const std::bad_variant_access&) {
      lowering.malformed("is inconsistent");
    }
    for (const std::string& name : node.outputs) {
      if (!name.empty()) values_[name] = {};  // stays so where the lowering does not compute it
    }
    for (const auto& [name, value] : lowering.results()) values_[name] = value;
  }

  // [1, C], [C] or [1, C, 1, 1]: at most one extent is not 1.
  static bool is_vector(const Shape& shape) {
    return std::count_if(shape.begin(), shape.end(), [](std::int64_t extent) { return extent != 1; }) <= 1 &&
           element_count(shape) >= 1;
  }

  void choose_output() {
    if (!options_.output_name.empty()) {
      const bool listed = std::any_of(proto_.outputs.begin(), proto_.outputs.end(),
                                      [&](const ValueInfo& o) { return o.name == options_.output_name; });
      const bool inner = std::any_of(proto_.nodes.begin(), proto_.nodes.end(), [&](const NodeProto& n) {
        return std::count(n.outputs.begin(), n.outputs.end(), options_.output_name) > 0;
      });
      if (!listed && !inner)
        throw Error{ErrorCode::usage, "--output-name", "the model has no output '" + options_.output_name + "'",
                    "its outputs are " + output_names()};
      return take_output(options_.output_name, "output '" + options_.output_name + "' was asked for");
    }
    if (proto_.outputs.empty()) throw Error{ErrorCode::unreadable, "model", "has no output", ""};
    std::vector<Error> failures;
    std::string single;  // an output of one number serves where there is no other
    for (const ValueInfo& output : proto_.outputs) {
      try {
        const Node& node = model_.graph[lower(output.name)];
        if (values_.at(output.name).integer || node.extent == Extent::constant || !is_vector(node.shape)) continue;
        if (element_count(node.shape) < 2) {
          if (single.empty()) single = output.name;
          continue;
        }
        return take_output(output.name,
                           proto_.outputs.size() > 1 ? "output '" + output.name + "' is the first of shape [1, C]" : "");
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
    const ValueId id = lower(name);
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
    for (const ValueInfo& output : proto_.outputs) names += (names.empty() ? "'" : ", '") + output.name + "'";
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
  std::map<std::string, Named> values_;
  std::map<std::string, std::size_t> producers_;  // the node that makes each name
  std::set<std::size_t> lowered_;
  Budget budget_;
};

}  // namespace

Result<Model> import_onnx(std::span<const std::byte> bytes, const ImportOptions& options) {
  return guarded("model", [&] {
    const ModelProto proto = read_model(bytes);
    return Importer(proto, options, bytes.size()).import();
  });
}

Result<ModelSummary> summarize_onnx(std::span<const std::byte> bytes) {
  return guarded("model", [&] { return summarize(read_model(bytes)); });
}

}  // namespace probust
