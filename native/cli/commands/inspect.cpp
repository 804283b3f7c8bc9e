// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <functional>

#include "cli/command_line.h"
#include "cli/options.h"
#include "cli/run/load.h"
#include "datasets/json.h"
#include "datasets/sibling_files.h"
#include "probust/graph/graph.h"
#include "probust/ops/op.h"
#include "probust/ops/print.h"

namespace probust::cli {
namespace {

struct InspectArguments : Arguments {
  bool graph = false;
};

std::string yes(bool flag) { return flag ? "yes" : "no"; }

std::string with_unit(double count) {
  for (const auto& [size, unit] : {std::pair{1e9, "G"}, std::pair{1e6, "M"}, std::pair{1e3, "k"}}) {
    if (count >= size) return fmt::format("{:.3g} {}", count / size, unit);
  }
  return fmt::format("{:.0f}", count);
}

std::string shape_text(const Shape& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + (shape[i] < 0 ? std::string("?") : std::to_string(shape[i]));
  return text + "]";
}

Document ports_json(const std::vector<Port>& ports) {
  Document list = Document::List{};
  for (const Port& port : ports)
    list.push_back(Document::Object{{"name", port.name}, {"type", port.type}, {"shape", port.shape}});
  return list;
}

// A note about a model with dynamic dimensions other than the batch: such a model is valid, but cannot be imported without
// data.
std::string open_note(const ModelSummary& summary) {
  return "input '" + summary.open_input +
         "' has dynamic dimensions besides the batch, which the data determine; give --input-shape to see FLOPs and logits";
}

bool waits_for_data(const ModelSummary& summary, const Result<Model>& model, const Arguments& arguments) {
  return !model && !summary.open_input.empty() && arguments.input_shape.empty();
}

void print_json(const ModelSummary& summary, const Result<Model>& model, bool waits) {
  Document json = Document::object();
  json["producer"] = summary.producer;
  json["graph"] = summary.graph_name;
  json["ir_version"] = summary.ir_version;
  json["opset"] = summary.opset;
  json["parameters"] = summary.parameters;
  json["inputs"] = ports_json(summary.inputs);
  json["outputs"] = ports_json(summary.outputs);
  json["operators"] = Document::List{};
  for (const OperatorUse& use : summary.operators) {
    json["operators"].push_back(Document::Object{{"op_type", use.op_type},
                                                 {"domain", use.domain},
                                                 {"count", use.count},
                                                 {"runs", use.runs},
                                                 {"differentiable", use.differentiable}});
  }
  json["runs"] = static_cast<bool>(model);
  if (waits) {
    json["runs"] = nullptr;  // unknown
    json["notes"] = Document::List{open_note(summary)};
  } else if (model) {
    json["input_shape"] = model->input_shape;
    json["logits"] = model->output_name;
    json["classes"] = model->classes;
    json["decision"] = model->decision;
    if (!model->class_names.empty()) json["class_names"] = model->class_names;
    json["flops"] = flops(model->graph);
    json["notes"] = model->notes;
  } else {
    json["error"] = model.error().message(as_flag);
  }
  fmt::print("{}\n", datasets::json_text(json, 2));
}

void print_text(const std::string& path, const ModelSummary& summary, const Result<Model>& model, bool waits) {
  fmt::print("{}\n", path);
  fmt::print("  made by     {}, opset {}\n", summary.producer.empty() ? "an unnamed tool" : summary.producer, summary.opset);
  for (const Port& port : summary.inputs) fmt::print("  input       {} {} {}\n", port.name, port.type, shape_text(port.shape));
  for (const Port& port : summary.outputs) fmt::print("  output      {} {} {}\n", port.name, port.type, shape_text(port.shape));
  fmt::print("  parameters  {}\n", summary.parameters);
  if (waits) fmt::print("  note        {}\n", open_note(summary));
  if (model) {
    fmt::print("  FLOPs       {} per example\n", with_unit(flops(model->graph)));
    fmt::print("  decides     {}\n", model->decision);
    fmt::print("  logits      {}, {} classes\n", model->output_name, model->classes);
    for (const std::string& note : model->notes) fmt::print("  note        {}\n", note);
  }
  fmt::print("\n  {:<28} {:>6}  {:<5} {}\n", "operator", "nodes", "runs", "differentiable");
  for (const OperatorUse& use : summary.operators) {
    const std::string name = (use.domain.empty() ? "" : use.domain + ".") + use.op_type;
    fmt::print("  {:<28} {:>6}  {:<5} {}\n", name, use.count, yes(use.runs), yes(use.differentiable));
  }
}

int run_inspect(const InspectArguments& arguments) {
  const std::vector<std::byte> bytes = read_file(arguments.model);
  datasets::SiblingFiles files(arguments.model);
  LoadOptions options = load_options(arguments);
  options.external_files = std::ref(files);
  auto summary = summarize_onnx(bytes, options.external_files);
  if (!summary) {
    Error error = summary.error();
    add_file_name(error, arguments.model);
    throw error;
  }
  const Result<Model> model = guarded("the model", [&] { return probust::import_model(bytes, options); });
  const bool waits = waits_for_data(*summary, model, arguments);
  if (arguments.json) {
    print_json(*summary, model, waits);
  } else {
    print_text(arguments.model, *summary, model, waits);
    if (model && arguments.graph) fmt::print("\n{}", to_text(model->graph));
  }
  if (model || waits) return 0;
  Error error = model.error();
  add_file_name(error, arguments.model);
  throw error;
}

}  // namespace

void describe_inspect(CommandLine& line) {
  auto [command, own] = line.add<InspectArguments>(
      "inspect", "show the operators, inputs and outputs of a model, and whether they are supported", run_inspect);
  add_model(command, own);
  add_decision_options(command, own);
  command.add_flag("--json", own.json, "print one JSON object");
  command.add_flag("--graph", own.graph, "also print the imported graph");
}

}  // namespace probust::cli
