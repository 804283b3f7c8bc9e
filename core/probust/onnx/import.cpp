// SPDX-License-Identifier: MIT
#include "probust/onnx/import.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <set>

#include "probust/base/text.h"
#include "probust/onnx/choose_output.h"
#include "probust/onnx/class_names.h"
#include "probust/onnx/decision.h"
#include "probust/onnx/input_shape.h"
#include "probust/onnx/lower/lower_graph.h"
#include "probust/onnx/parameters.h"
#include "probust/onnx/trial.h"
#include "probust/onnx/wire.h"
#include "probust/ops/build.h"
#include "probust/ops/op.h"
#include "probust/passes/simplify.h"

namespace probust {
namespace {

using namespace onnx;

void require_opset(const ModelProto& model) {
  const std::int64_t opset = opset_of(model.opsets);
  const auto& nodes = model.graph.nodes;
  const bool only_other_domains = opset == 0 && !nodes.empty() &&
                                  std::all_of(nodes.begin(), nodes.end(), [](const NodeProto& n) { return !n.domain.empty(); });
  if (only_other_domains) return;  // the first node's error names what is unsupported
  if (opset < kOldestOpset || opset > kNewestOpset) {
    throw Error{ErrorCode::unsupported, "the model", "uses opset " + std::to_string(opset),
                "export it with an opset from " + std::to_string(kOldestOpset) + " to " + std::to_string(kNewestOpset)};
  }
}

// A batch axis with a fixed number of examples, for which a model was exported.
struct FixedBatch {
  std::size_t axis = 0;
  std::int64_t extent = 1;
  enum class Treatment { none, shaped_away, copies } treatment = Treatment::none;
};

// The requested names, and the names of all values from which they are computed.
std::set<std::string> names_behind(const GraphProto& graph, std::vector<std::string> wanted) {
  std::map<std::string, const NodeProto*> makers;
  for (const NodeProto& node : graph.nodes) {
    for (const std::string& name : node.outputs) makers[name] = &node;
  }
  std::set<std::string> names;
  while (!wanted.empty()) {
    const std::string name = wanted.back();
    wanted.pop_back();
    if (!names.insert(name).second) continue;
    const auto maker = makers.find(name);
    if (maker == makers.end()) continue;
    const std::vector<std::string> reads = reads_of(*maker->second);
    wanted.insert(wanted.end(), reads.begin(), reads.end());
  }
  return names;
}

std::vector<std::string> wanted_outputs(const ModelProto& proto, const ImportOptions& options) {
  if (!options.output_name.empty()) return {options.output_name};
  std::vector<std::string> names;
  for (const ValueInfo& output : proto.graph.outputs) names.push_back(output.name);
  return names;
}

// The one input that is not a weight; if there are several, the one on which the requested outputs depend.
const ValueInfo& find_input(const ModelProto& proto, const ImportOptions& options) {
  std::vector<const ValueInfo*> inputs;
  for (const ValueInfo& input : proto.graph.inputs) {
    if (proto.graph.initializers.count(input.name) == 0) inputs.push_back(&input);
  }
  if (inputs.empty()) throw Error{ErrorCode::unreadable, "the model", "has no input", "export it with one input"};
  if (inputs.size() == 1) return *inputs[0];
  const std::set<std::string> needed = names_behind(proto.graph, wanted_outputs(proto, options));
  std::erase_if(inputs, [&](const ValueInfo* input) { return needed.count(input->name) == 0; });
  if (inputs.size() == 1) return *inputs[0];
  if (inputs.empty()) throw Error{ErrorCode::unsupported, "the model", "has outputs that depend on none of its inputs", ""};
  throw Error{ErrorCode::unsupported, "the model",
              "has outputs that depend on two inputs, '" + inputs[0]->name + "' and '" + inputs[1]->name + "'",
              "fix one of the inputs at export, or choose an output that depends on only one with " + option("output_name")};
}

// The result of one of several ways to import a model, or its Error. Other exceptions, such as bad_alloc, are passed on.
template <class Way>
Result<std::invoke_result_t<Way>> attempt(const Way& way) {
  try {
    return way();
  } catch (const Error& error) {
    return error;
  }
}

// The model's input if it has dynamic extents besides the batch; empty if not, or if the import fails for another reason.
std::string open_input(const ModelProto& proto) {
  const Result<std::string> name = attempt([&] {
    require_opset(proto);
    const ImportOptions options;  // not a temporary, because compilers would warn that the input refers to it
    const ValueInfo& input = find_input(proto, options);
    return needs_data_shape(input) ? input.name : std::string();
  });
  return name ? *name : "";
}

ModelSummary summarize(const ModelProto& model) {
  ModelSummary summary;
  summary.producer = model.producer_name + (model.producer_version.empty() ? "" : " " + model.producer_version);
  summary.graph_name = model.graph.name;
  summary.ir_version = model.ir_version;
  summary.opset = opset_of(model.opsets);
  summary.parameters = count_parameters(model);
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
  summary.class_names = class_names_of(model, 0);
  summary.open_input = open_input(model);
  return summary;
}

class Importer {
 public:
  Importer(const ModelProto& proto, const ImportOptions& options, std::size_t file_bytes, const FixedBatch& batch)
      : proto_(proto), options_(options), budget_bytes_(file_bytes), budget_(file_bytes), batch_(batch) {
    model_.summary = summarize(proto);
  }

  Model import() {
    std::map<std::string, Named> values = {add_input()};
    add_initializers(target(), proto_.graph, values);
    body_.emplace(target(), proto_.graph.nodes, proto_.opsets, std::move(values));
    if (const auto plain = plain_scores()) {
      const std::int64_t count = element_count(model_.graph[plain->value].shape);
      settle(*plain, {plain->value, "the largest of " + std::to_string(count) + " values of '" + plain->name + "'"});
      return std::move(model_);
    }
    const ChosenOutput chosen = choose();
    settle(chosen, options_.decide ? decide(chosen) : before_softmax(model_.graph, chosen.value));
    return std::move(model_);
  }

  /// The shapes of the outputs computed so far, even if the import failed; after success, the last one is the chosen output's.
  const std::vector<Shape>& output_shapes() const { return output_shapes_; }

 private:
  LoweringTarget target() {
    return {model_.graph, proto_, budget_, batch_.treatment == FixedBatch::Treatment::shaped_away ? batch_.extent : 1};
  }

  std::pair<const std::string, Named> add_input() {
    const ValueInfo& input = find_input(proto_, options_);
    const Shape declared = shape_of_one(input, options_);
    model_.input_name = input.name;
    model_.input_shape = declared;
    if (batch_.treatment != FixedBatch::Treatment::none) model_.input_shape[batch_.axis] = 1;
    ValueId x = append_input(model_.graph, model_.input_shape, Extent::example, input.name);
    if (batch_.treatment == FixedBatch::Treatment::copies) x = build::broadcast(model_.graph, x, declared);
    return {input.name, {x, false}};
  }

  // The output's value; if the model runs on copies of the example, the value of the first copy.
  Named lower(const std::string& output) {
    Named value = body_->value(output);
    if (value.id == kNoValue) return value;
    const Shape shape = model_.graph[value.id].shape;
    output_shapes_.push_back(shape);
    if (batch_.treatment == FixedBatch::Treatment::copies && !shape.empty() && shape[0] == batch_.extent) {
      SliceAttributes first{Shape(shape.size(), 0), shape, Shape(shape.size(), 1)};
      first.size[0] = 1;
      value.id = append(model_.graph, Op::slice, {value.id}, first);
    }
    return value;
  }

  // Whether the model's only output comes directly from a layer. If so, browsers need not download the code that chooses outputs
  // and removes operators.
  bool gives_plain_scores() const {
    if (!options_.output_name.empty() || options_.threshold || proto_.graph.outputs.size() != 1) return false;
    const auto is_softmax = [](const NodeProto& node) { return node.op_type == "Softmax"; };  // a layer's output may be a Softmax
                                                                                              // that mixes its classes
    if (std::any_of(proto_.graph.nodes.begin(), proto_.graph.nodes.end(), is_softmax)) return false;
    const auto is_layer = [](const NodeProto* node) {
      return node != nullptr && node->domain.empty() && (node->op_type == "MatMul" || node->op_type == "Gemm");
    };
    const NodeProto* last = maker_of(proto_.graph, proto_.graph.outputs[0].name);
    if (last != nullptr && last->op_type == "Add" && last->inputs.size() == 2)
      return is_layer(maker_of(proto_.graph, last->inputs[0])) && proto_.graph.initializers.count(last->inputs[1]) != 0;
    return is_layer(last);
  }

  std::optional<ChosenOutput> plain_scores() {
    if (!gives_plain_scores()) return std::nullopt;
    const std::string& name = proto_.graph.outputs[0].name;
    const Named value = lower(name);
    if (value.id == kNoValue || value.integer) return std::nullopt;
    const Node& node = model_.graph[value.id];
    if (node.extent == Extent::constant || !is_vector(node.shape) || element_count(node.shape) < 2) return std::nullopt;
    return ChosenOutput{name, value.id};
  }

  [[gnu::noinline]] ChosenOutput choose() {
    const Outputs outputs{proto_, options_, model_.graph, *body_, [this](const std::string& name) { return lower(name); }};
    return options_.output_name.empty() ? choose_output(outputs) : named_output(outputs);
  }

  void settle(const ChosenOutput& chosen, Deciding deciding) {
    Graph& graph = model_.graph;
    output_shapes_.push_back(graph[chosen.value].shape);
    model_.output_name = chosen.name;
    model_.notes.insert(model_.notes.end(), chosen.notes.begin(), chosen.notes.end());
    model_.notes.insert(model_.notes.end(), deciding.notes.begin(), deciding.notes.end());
    model_.classifies = deciding.classifies;
    const std::int64_t values = element_count(graph[deciding.logits].shape);
    ValueId logits = build::reshape(graph, deciding.logits, {values});
    model_.class_names = class_names_of(proto_, values);
    if (!options_.outputs.empty()) {
      logits = restricted(logits, values, chosen.name);
      deciding.rule += ", restricted to " + std::to_string(options_.outputs.size()) + " of them";
    }
    model_.decision = deciding.rule;
    model_.threshold = deciding.threshold;
    graph.outputs = {logits};
    model_.classes = graph[logits].shape[0];
    graph = simplify(graph);
  }

  // Not inlined, like the next functions: browsers download them only for models without plain scores.
  [[gnu::noinline]] Deciding decide(const ChosenOutput& chosen) {
    Graph& graph = model_.graph;
    const std::int64_t values = element_count(graph[chosen.value].shape);
    const bool label = compared_by_argmax(graph, chosen.value) != kNoValue;
    if (values > 1 || label) {
      if (!options_.threshold) return decide_by_largest(graph, chosen.value, chosen.name);
      if (values != 2 || label)
        throw Error{ErrorCode::usage, option("threshold"),
                    "applies to one number, but output '" + chosen.name + "' has " + std::to_string(values) + " values",
                    "leave it out"};
      const ValueId number = append(graph, Op::slice, {build::reshape(graph, chosen.value, {2})}, SliceAttributes{{1}, {1}, {1}});
      return *decide_by_threshold(graph, number, chosen.name + "[1]", options_.threshold, false, false, [] { return true; });
    }
    const bool probability = !options_.threshold && !shows_range(graph, chosen.value) && looks_like_probability(chosen.name);
    auto deciding = decide_by_threshold(graph, chosen.value, chosen.name, options_.threshold, probability, chosen.integer,
                                        [&] { return crosses_zero(chosen.name); });
    if (deciding) {
      if (probability)
        deciding->notes.push_back("'" + chosen.name + "' is treated as a probability: it was between 0 and 1 for trial inputs");
      return *std::move(deciding);
    }
    throw Error{ErrorCode::unsupported, "output '" + chosen.name + "'",
                "is one number, but the model does not define which values mean class 1",
                "give " + option("threshold") + ", or " + option("tolerance") + " for a regression model"};
  }

  [[gnu::noinline]] ValueId restricted(ValueId logits, std::int64_t values, const std::string& name) {
    const std::vector<std::int64_t>& wanted = options_.outputs;
    for (const std::int64_t k : wanted) {
      if (k < 0 || k >= values || std::count(wanted.begin(), wanted.end(), k) > 1)
        throw Error{
            ErrorCode::usage, option("outputs"),
            "selects " + std::to_string(k) + (k < 0 || k >= values ? ", which output '" + name + "' does not have" : " twice"),
            "give at least two of 0.." + std::to_string(values - 1)};
    }
    if (wanted.size() < 2)
      throw Error{ErrorCode::usage, option("outputs"), "selects only one class",
                  "give at least two of 0.." + std::to_string(values - 1)};
    std::vector<std::string> names;
    for (const std::int64_t k : wanted) {
      if (!model_.class_names.empty()) names.push_back(model_.class_names[static_cast<std::size_t>(k)]);
    }
    model_.class_names = names;
    return append(model_.graph, Op::gather, {logits}, GatherAttributes{0, wanted, values});
  }

  // Whether the number stays in 0..1 for trial inputs of several sizes, and is not the same for all of them.
  [[gnu::noinline]] bool looks_like_probability(const std::string& name) const {
    const std::vector<float> seen = tried(name, [](float value) { return value >= 0 && value <= 1; });
    return !seen.empty() && *std::max_element(seen.begin(), seen.end()) > *std::min_element(seen.begin(), seen.end());
  }

  // Whether trial inputs give numbers of both signs.
  [[gnu::noinline]] bool crosses_zero(const std::string& name) const {
    bool above = false, below = false;
    const auto same_sign = [&](float value) {
      above = above || value > 0;
      below = below || value < 0;
      return !(above && below);
    };
    return tried(name, same_sign).empty();
  }

  std::vector<float> tried(const std::string& name, const std::function<bool(float)>& expected) const {
    if (batch_.treatment != FixedBatch::Treatment::none) return {};
    return trial_values({proto_, model_.input_name, model_.input_shape, name, budget_bytes_}, expected);
  }

  const ModelProto& proto_;
  const ImportOptions& options_;
  std::size_t budget_bytes_;
  Model model_;
  Budget budget_;
  FixedBatch batch_;
  std::vector<Shape> output_shapes_;
  std::optional<GraphLowering> body_;
};

// The input axes whose extent equals the number of rows of an output. There are two if a sequence is as long as the batch.
std::vector<FixedBatch> find_fixed_batches(const Shape& input, const std::vector<Shape>& outputs) {
  std::vector<FixedBatch> found;
  for (std::size_t axis = 0; axis < input.size(); ++axis) {
    const auto has_rows = [&](const Shape& output) { return !output.empty() && output[0] == input[axis]; };
    if (input[axis] > 1 && std::any_of(outputs.begin(), outputs.end(), has_rows)) found.push_back({axis, input[axis]});
  }
  return found;
}

// Quasi-random numbers in -1/2..1/2: values at entry 0 of `axis` are the same in every `variant`, all others differ.
Tensor probe_input(const Shape& shape, std::size_t axis, double variant) {
  const std::int64_t stride = row_major_strides(shape)[axis];
  Tensor x(shape);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const bool first = i / stride % shape[axis] == 0;
    const double turns = static_cast<double>(i + 1) * (first ? std::numbers::phi : std::numbers::sqrt2 + variant);
    x.data[i] = static_cast<float>(turns - std::floor(turns) - 0.5);
  }
  return x;
}

// Whether an output [n, 1] is one number per row of the input [n, ...]. An output [n] contains the scores of n classes.
bool is_number_per_row(const Shape& input, const Shape& output) {
  return input.size() > 1 && input[0] > 1 && output.size() > 1 && output[0] == input[0] && element_count(output) == output[0];
}

// The model for one example, with the batch removed from its shapes.
Model import_shaped_away(const ModelProto& proto, const ImportOptions& options, std::size_t file_bytes, FixedBatch batch) {
  batch.treatment = FixedBatch::Treatment::shaped_away;
  Model model = Importer(proto, options, file_bytes, batch).import();
  model.notes.push_back("the model was exported for " + std::to_string(batch.extent) +
                        " examples at once; this fixed batch is removed from its shapes");
  return model;
}

// Throws if the number of logits differs from the number per row that the file declares for that output: the removed extent was
// then not the batch.
void require_declared_row(const ModelProto& proto, const Model& model, std::int64_t rows) {
  const std::int64_t imported = element_count(model.graph[model.graph.outputs[0]].shape);
  for (const ValueInfo& output : proto.graph.outputs) {
    const bool known = std::all_of(output.shape.begin(), output.shape.end(), [](std::int64_t extent) { return extent > 0; });
    if (output.name != model.output_name || output.shape.size() < 2 || !known || output.shape[0] != rows) continue;
    const std::int64_t declared = element_count(output.shape) / rows;
    if (declared > 1 && declared != imported)
      throw Error{ErrorCode::unsupported, "output '" + output.name + "'",
                  "has " + std::to_string(imported) + " numbers per point, not the declared " + std::to_string(declared), ""};
  }
}

// Imports a model that was exported for a fixed number of examples as a function of one example: removes the batch from its
// shapes or, if these then do not fit, runs the unchanged model on copies of the example.
Model import_without_batch(const ModelProto& proto, const ImportOptions& options, std::size_t file_bytes, FixedBatch batch) {
  const std::string rows = std::to_string(batch.extent);
  Result<Model> batched = attempt([&] {
    Model model = import_shaped_away(proto, options, file_bytes, batch);
    require_declared_row(proto, model, batch.extent);
    return model;
  });
  if (batched) return *std::move(batched);
  batch.treatment = FixedBatch::Treatment::copies;
  Model model = Importer(proto, options, file_bytes, batch).import();
  model.notes.push_back("the model was exported for " + rows + " examples at once and cannot be batched (" +
                        batched.error().message() + "), so each row is run " + rows + " times");
  return model;
}

// If the output is one number per row, imports the model as a function of a single row; empty if that fails.
std::optional<Model> with_rows_apart(const ModelProto& proto, const ImportOptions& options, std::size_t file_bytes,
                                     const Shape& input, const Shape& output) {
  if (!is_number_per_row(input, output)) return std::nullopt;
  Result<Model> apart = attempt([&] { return import_shaped_away(proto, options, file_bytes, {0, input[0]}); });
  return apart ? std::optional(*std::move(apart)) : std::nullopt;
}

// Integers and booleans are stored as floats and marked as integers.
bool holds_integers(const std::string& type) { return type == "bool" || type.rfind("int", 0) == 0 || type.rfind("uint", 0) == 0; }

Function lower_function(const ModelProto& proto, const FunctionOptions& options, std::size_t file_bytes) {
  require_opset(proto);
  Function function{.graph = {}, .inputs = {}, .outputs = {}, .properties = proto.metadata};
  Budget budget(file_bytes);
  const LoweringTarget target{function.graph, proto, budget};
  std::map<std::string, Named> values;
  for (const ValueInfo& input : proto.graph.inputs) {
    if (proto.graph.initializers.count(input.name) != 0) continue;
    const bool integer = holds_integers(input.type);
    if (const auto fixed = options.fixed.find(input.name); fixed != options.fixed.end()) {
      values[input.name] = {append_constant(function.graph, fixed->second, input.name), integer, input.element_type};
    } else {
      const std::string where = "input '" + input.name + "'";
      Shape shape = input.shape;
      if (options.batch > 0 && !shape.empty() && shape[0] < 0) shape[0] = options.batch;
      if (!input.has_shape || std::any_of(shape.begin(), shape.end(), [](std::int64_t e) { return e < 0; }))
        throw Error{ErrorCode::unsupported, where, "has no fixed shape", "export the model with a fixed shape"};
      values[input.name] = {append_input(function.graph, std::move(shape), Extent::example, input.name), integer};
      function.inputs.push_back(input.name);
    }
  }
  add_initializers(target, proto.graph, values);
  GraphLowering body(target, proto.graph.nodes, proto.opsets, std::move(values));
  for (const ValueInfo& output : proto.graph.outputs) {
    const Named value = body.value(output.name);
    if (value.id == kNoValue) throw Error{ErrorCode::unsupported, "output '" + output.name + "'", "is not supported", ""};
    function.graph.outputs.push_back(value.id);
    function.outputs.push_back(output.name);
  }
  return function;
}

// Whether row 0 of the model's outputs depends only on entry 0 of that input axis, which is the case if the axis is the batch.
bool rows_are_entries(const ModelProto& proto, const ImportOptions& options, std::size_t file_bytes, const Shape& input,
                      const FixedBatch& batch) {
  const std::string& name = find_input(proto, options).name;
  const auto outputs_for = [&](double variant) {
    return lower_function(proto, {{{name, probe_input(input, batch.axis, variant)}}}, file_bytes).graph;
  };
  const Graph one = outputs_for(0), other = outputs_for(0.1);
  for (std::size_t i = 0; i < one.outputs.size(); ++i) {
    const Tensor &a = constant_value(one, one.outputs[i]), &b = constant_value(other, other.outputs[i]);
    const std::int64_t row = a.shape.empty() || a.shape[0] != batch.extent ? 0 : a.size() / batch.extent;
    if (!std::equal(a.data.begin(), a.data.begin() + row, b.data.begin())) return false;
  }
  return true;
}

// The batch axis among several candidates: the one that a trial confirms, or the first if the trial fails or confirms none.
FixedBatch choose_batch(const ModelProto& proto, const ImportOptions& options, std::size_t file_bytes, const Shape& input,
                        const std::vector<FixedBatch>& batches) {
  if (batches.size() == 1) return batches[0];
  for (const FixedBatch& batch : batches) {
    const Result<bool> tried = attempt([&] { return rows_are_entries(proto, options, file_bytes, input, batch); });
    if (!tried) break;
    if (*tried) return batch;
  }
  return batches[0];
}

Model import_model(const ModelProto& proto, const ImportOptions& options, std::size_t file_bytes) {
  require_opset(proto);
  Importer importer(proto, options, file_bytes, {});
  Result<Model> as_it_is = attempt([&] { return importer.import(); });
  if (as_it_is) {
    auto apart = with_rows_apart(proto, options, file_bytes, as_it_is->input_shape, importer.output_shapes().back());
    return apart ? *std::move(apart) : *std::move(as_it_is);
  }
  if (as_it_is.error().code != ErrorCode::unsupported) throw as_it_is.error();
  const Shape input = shape_of_one(find_input(proto, options), options);
  std::vector<Shape> outputs = importer.output_shapes();
  for (const ValueInfo& output : proto.graph.outputs) outputs.push_back(output.shape);
  const std::vector<FixedBatch> batches = find_fixed_batches(input, outputs);
  if (batches.empty()) throw as_it_is.error();
  Result<Model> batched = attempt(
      [&] { return import_without_batch(proto, options, file_bytes, choose_batch(proto, options, file_bytes, input, batches)); });
  if (!batched) throw as_it_is.error();  // the first error is the more informative one
  return *std::move(batched);
}

}  // namespace

Result<Model> import_onnx(std::span<const std::byte> bytes, const ImportOptions& options) {
  return guarded("the model", [&] {
    const ModelProto proto = read_model(bytes, options.external);
    ImportOptions as_read = options;
    as_read.output_name = printable(options.output_name);  // as wire.cpp reads all names
    return import_model(proto, as_read, bytes.size() + proto.external_bytes);
  });
}

Result<Function> import_onnx_function(std::span<const std::byte> bytes, const FunctionOptions& options) {
  return guarded("the model", [&] { return lower_function(read_model(bytes), options, bytes.size()); });
}

Result<ModelSummary> summarize_onnx(std::span<const std::byte> bytes, const ExternalFiles& external) {
  return guarded("the model", [&] { return summarize(read_model(bytes, external)); });
}

}  // namespace probust
