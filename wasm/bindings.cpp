// SPDX-License-Identifier: MIT
// The functions that JavaScript can call. An Error becomes a plain object; no exception reaches JavaScript. Only the package's
// own code (src/) calls them.
#include <emscripten/bind.h>

#include <limits>

#include "analysis.h"
#include "calls.h"
#include "convert.h"
#include "probust/estimators/statistics/pooling.h"
#include "probust/graph/graph.h"
#include "probust/ops/append.h"
#include "probust/ops/op.h"

namespace probust::wasm {
namespace {

// A model, as an object that JavaScript holds and deletes. Networks in training and calls in progress are also such objects.
class ModelHandle {
 public:
  /// `run` is called at the start of each call; it returns the model that the call uses.
  ModelHandle(val info, std::function<Runner()> run) : info_(std::move(info)), run_(std::move(run)) {}

  val info() const { return info_; }

  /// Starts an operation. Returns {value: Call} or {error}.
  val start(const std::string& operation, const val& arguments) {
    return outcome(operation, [&] { return val(wasm::start(operation, run_(), CallArguments(arguments))); });
  }

 private:
  val info_;
  std::function<Runner()> run_;
};

// A network in training.
class Training {
 public:
  explicit Training(std::shared_ptr<Trainer> trainer) : trainer_(std::move(trainer)) {}

  /// Starts "run" or "save". Returns {value: Call} or {error}.
  val start(const std::string& operation, const val& arguments) {
    return outcome(operation, [&] { return val(start_training(operation, trainer_, CallArguments(arguments))); });
  }

 private:
  std::shared_ptr<Trainer> trainer_;
};

val train(const val& given) {
  return outcome("train", [&] { return val(std::make_shared<Training>(make_trainer(CallArguments(given)))); });
}

// Starts generating data. Returns {value: Call} or {error}.
val data(const val& given) {
  return outcome("data", [&] { return val(start_data(CallArguments(given))); });
}

LoadOptions load_options(const CallArguments& options) {
  constexpr std::int64_t kMemory = std::int64_t{1} << 30;
  LoadOptions asked;
  asked.preprocessing = {options.numbers("mean"), options.numbers("std"), parse_layout(options.text("layout", "auto"), "layout")};
  asked.point_shape = options.extents("shape");
  asked.input_shape = options.extents("inputShape");
  asked.output_name = options.text("output", "");
  if (options.has("threshold")) asked.threshold = options.number("threshold", 0);
  asked.outputs = options.integers("outputs");
  asked.tolerance = options.one_or_more("tolerance");
  asked.execution = {static_cast<int>(options.integer("threads", 1, 1)), options.integer("memory", kMemory, 1)};
  return asked;
}

val load_model(const val& bytes, const val& given) {
  return outcome("model", [&] {
    const LoadOptions asked = load_options(CallArguments(given));
    const auto buffer = emscripten::convertJSArrayToNumberVector<std::uint8_t>(bytes);
    Model model = import_model(std::as_bytes(std::span(buffer)), asked);
    const double cost = flops(model.graph);
    const Runner runner{std::make_shared<LoadedModel>(compile_model(std::move(model), asked))};
    const val info = write(runner.model->imported(), runner.model->point_shape(), "probust", cost);
    return val(std::make_shared<ModelHandle>(info, [runner] { return runner; }));
  });
}

Graph identity(const Shape& shape) {
  Graph graph;
  graph.outputs = {append_input(graph, shape, Extent::example, "x")};
  return graph;
}

// Loads a model that another engine runs. That engine reports the input shape and the classes; this module computes everything
// else. `bytes` is empty if the model is not an ONNX model.
val load_external(const val& bytes, const val& given) {
  return outcome("model", [&] {
    const CallArguments options(given);
    const auto buffer = emscripten::convertJSArrayToNumberVector<std::uint8_t>(bytes);
    const Shape input = options.extents("inputShape");
    const std::int64_t classes = options.integer("classes", 1, 1);
    const std::string engine = options.text("engine", "");
    const Model model{buffer.empty() ? ModelSummary{} : summarize_onnx(std::as_bytes(std::span(buffer))).value(),
                      identity(input),
                      "input",
                      options.text("output", ""),
                      input,
                      classes,
                      options.texts("notes", ""),
                      false,
                      options.text("decision", ""),
                      {},
                      {}};
    LoadOptions asked = load_options(options);
    const Shape point = asked.point_shape.empty() ? point_shape_of(model) : asked.point_shape;
    const Graph preparation = with_preprocessing(model, point, asked.preprocessing).value();
    ExecutorOptions& running = asked.execution;
    running.batch = options.integer("batch", 1, 1);
    running.threads = 1;  // only one thread may call ExternalEngine
    val info = write(model, point, engine, std::numeric_limits<double>::quiet_NaN());
    if (buffer.empty()) info.set("parameters", std::numeric_limits<double>::quiet_NaN());
    const bool gradients = options.flag("gradients");
    return val(std::make_shared<ModelHandle>(info, [=] {
      auto external = std::make_shared<ExternalEngine>();
      auto forward = external_program(*external, preparation, classes);
      auto gradient = gradients ? external_gradient_program(*external, preparation, classes, asked.execution.batch) : nullptr;
      auto executor = make_forward_executor(engine, std::move(forward), point, classes, asked.execution, std::move(gradient));
      return Runner{std::make_shared<LoadedModel>(model, std::move(executor), asked.preprocessing), external};
    }));
  });
}

// Computes P(X <= z) for the correlations R, or for R = U Uᵀ.
val mvn(const val& given) {
  return outcome("mvn", [&] {
    const CallArguments arguments(given);
    const std::vector<double> z = arguments.numbers("z");
    normal::Options options;
    options.abs = arguments.number("abs", options.abs);
    options.rel_q = arguments.number("relFail", options.rel_q);
    options.seed = static_cast<std::uint64_t>(arguments.integer("seed", 0, 0));
    if (arguments.has("U")) return write(normal::mvn_cdf_factor(z, read_matrix(arguments, "U", z.size()), options));
    return write(normal::mvn_cdf(z, read_matrix(arguments, "R", z.size()), options));
  });
}

// The list of estimators, for user interfaces.
val estimators() {
  val list = val::array();
  for (const EstimatorDefinition& definition : all_estimators()) {
    val entry = val::object();
    entry.set("name", std::string(definition.name));
    entry.set("form", form(definition));
    entry.set("summary", std::string(definition.summary));
    list.call<void>("push", entry);
  }
  return list;
}

// Analyses rows. Returns {value} or {error}.
val analysis(const std::string& operation, const val& given) {
  return outcome(operation, [&] { return analyse(operation, CallArguments(given)); });
}

// Returns {value: {points, estimators}}: the number of points that a call estimates together, and the full names of its
// estimators.
val points_together(const val& given) {
  return outcome("estimators", [&] {
    const CallArguments arguments(given);
    const std::vector<EstimatorSpec> estimators = read_estimators(arguments, "estimators");
    val names = val::array();
    for (const EstimatorSpec& estimator : estimators) names.call<void>("push", estimator.text());
    val answer = val::object();
    answer.set("points", static_cast<double>(arguments.flag("smooth") ? kBlock : block_size(estimators)));
    answer.set("estimators", names);
    return answer;
  });
}

}  // namespace
}  // namespace probust::wasm

EMSCRIPTEN_BINDINGS(probust) {
  using namespace probust::wasm;
  emscripten::constant("version", std::string(PROBUST_VERSION));
  emscripten::function("loadModel", &load_model);
  emscripten::function("loadExternal", &load_external);
  emscripten::function("train", &train);
  emscripten::function("data", &data);
  emscripten::function("mvn", &mvn);
  emscripten::function("analyse", &analysis);
  emscripten::function("estimators", &estimators);
  emscripten::function("pointsTogether", &points_together);
  emscripten::class_<ModelHandle>("Model")
      .smart_ptr<std::shared_ptr<ModelHandle>>("Model")
      .function("info", &ModelHandle::info)
      .function("start", &ModelHandle::start);
  emscripten::class_<Training>("Training").smart_ptr<std::shared_ptr<Training>>("Training").function("start", &Training::start);
  emscripten::class_<Call>("Call")
      .smart_ptr<std::shared_ptr<Call>>("Call")
      .function("step", &Call::step)
      .function("answer", &Call::answer);
}
