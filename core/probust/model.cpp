// SPDX-License-Identifier: MIT
#include "probust/model.h"

#include <algorithm>
#include <set>
#include <utility>

#include "probust/base/text.h"
#include "probust/estimators/tolerance.h"
#include "probust/perturb/noise_text.h"
#include "probust/run/request.h"

namespace probust {
namespace {

ImportOptions import_options(const LoadOptions& options) {
  ImportOptions import;
  import.output_name = options.output_name;
  import.decide = options.decide && options.tolerance.empty();
  import.threshold = options.threshold;
  import.outputs = options.outputs;
  import.data_classes = options.data_classes;
  import.input_shape = options.input_shape;
  import.data_shape = options.point_shape;
  import.layout = options.preprocessing.layout;
  import.external = options.external_files;
  return import;
}

// Replaces the class names, the number of classes and the decision rule by those of the classifier that tolerance.h builds.
void describe_tolerance(Model& model, const std::vector<double>& tolerance, std::int64_t classes) {
  std::vector<std::string> texts;
  for (const double each : tolerance) texts.push_back(shortest_text(each));
  model.class_names.clear();
  if (classes == 3) model.class_names = {"below", "above", "within"};
  model.classes = classes;
  model.decision = "every output of '" + model.output_name + "' changes by less than " + join(texts);
}

void require_classifier(const Executor* regression, const char* call) {
  if (regression != nullptr)
    throw Error{ErrorCode::usage, call, "is for classifiers, but this is a regression model with a tolerance", "use estimate"};
}

}  // namespace

LoadedModel::LoadedModel(Model model, std::unique_ptr<Executor> executor, Preprocessing preprocessing,
                         std::shared_ptr<DeviceWarnings> warnings, std::unique_ptr<Executor> regression)
    : model_(std::move(model)),
      executor_(std::move(executor)),
      preprocessing_(std::move(preprocessing)),
      warnings_(std::move(warnings)),
      regression_(std::move(regression)) {
  model_.graph = {};  // its weights are in the executor
}

Tensor LoadedModel::batched(const Tensor& x) const {
  if (x.shape != point_shape()) return x;
  Tensor one = x;
  one.shape.insert(one.shape.begin(), 1);
  return one;
}

CheckedModel LoadedModel::checked(Executor& of) const {
  return {of, model_.input_shape, preprocessing_, model_.decision, regression_ == nullptr};
}

Tensor LoadedModel::logits(const Tensor& x) { return (regression_ ? *regression_ : *executor_).logits(batched(x)).value(); }

Tensor LoadedModel::margins(const Tensor& x, const std::vector<std::int64_t>& targets) {
  require_classifier(regression_.get(), "margins");
  const Tensor all = logits(x);
  const Points points = points_of(batched(x), targets.empty() ? predicted_classes(all) : targets, 0, 0);
  probust::check(*executor_, points);
  Tensor result({points.size(), classes() - 1});
  for (std::int64_t i = 0; i < points.size(); ++i) {
    const Eigen::VectorXd margins = margins_of(all.row(i), points.target[i]);
    std::copy(margins.begin(), margins.end(), result.row(i).begin());
  }
  return result;
}

GradientOfP LoadedModel::p_gradient(const Tensor& x, const std::string& noise, const std::string& estimator,
                                    const PGradientOptions& options) {
  return p_gradient(x, parse_noise(noise, options.noise_source), parse_estimator(estimator), options);
}

GradientOfP LoadedModel::p_gradient(const Tensor& x, Noise noise, const EstimatorSpec& estimator,
                                    const PGradientOptions& options) {
  require_classifier(regression_.get(), "p_gradient");
  const Tensor rows = batched(x);
  std::vector<std::int64_t> targets = options.targets;
  if (targets.empty()) targets = targets_of(options.target, options.labels, logits(rows), model_.class_names);
  const Points points = points_of(rows, std::move(targets), options.first_index, options.seed);
  return gradient_of_p(*executor_, points, bound(std::move(noise), point_shape()), estimator).value();
}

CheckReport LoadedModel::check(const Tensor& x, const std::vector<std::int64_t>& labels, const std::vector<double>& sigmas) {
  require_classifier(regression_.get(), "check");
  return check_model(checked(*executor_), batched(x), labels, sigmas);
}

CheckReport LoadedModel::first_check(const EstimateRequest& request, std::int64_t points) {
  return probust::first_check(checked(*executor_), request, points);
}

std::vector<std::string> LoadedModel::attach_check(CheckReport report, bool labelled, std::vector<Row>& rows) const {
  std::set<std::int64_t> points;
  for (const Row& row : rows) points.insert(row.index);
  const auto same = [&](const Row& row) { return row.predicted == rows.front().predicted; };
  const bool classes_differ = !labelled && regression_ == nullptr;  // within a tolerance, one class for all points is normal
  if (classes_differ && !rows.empty() && std::all_of(rows.begin(), rows.end(), same))
    add_one_class(report, std::ssize(points), rows.front().predicted);
  const std::string hint = report.hint();
  for (Row& row : rows) {
    if (!hint.empty()) row.estimate.add_note(hint);
  }
  return report.warnings();
}

EstimateRun LoadedModel::start_estimate(const Tensor& x, const std::vector<std::string>& noises,
                                        const std::vector<std::string>& estimators, const EstimateOptions& options) {
  EstimateRequest request;
  request.x = batched(x);
  request.targets = options.targets;
  request.labels = options.labels;
  request.offset = options.first_index;
  request.seed = options.seed;
  for (const std::string& noise : noises) request.noises.push_back(parse_noise(noise, options.noise_source));
  use_data(request.noises, [&] { return request.x; });
  clip_like_data(request.noises, [&] { return range_of(request.x.data); });
  for (const std::string& estimator : estimators) request.estimators.push_back(parse_estimator(estimator));
  return start_estimate(std::move(request));
}

EstimateRun LoadedModel::start_estimate(EstimateRequest request) {
  request.regression = regression_.get();
  return {*executor_, std::move(request)};
}

std::vector<Row> LoadedModel::estimate(const Tensor& x, const std::vector<std::string>& noises,
                                       const std::vector<std::string>& estimators, const EstimateOptions& options) {
  EstimateRun run = start_estimate(x, noises, estimators, options);
  run.finish();
  return run.rows();
}

Shape point_shape_of(const Model& model) {
  return {model.input_shape.begin() + (model.input_shape.size() > 1 ? 1 : 0), model.input_shape.end()};
}

Model import_model(std::span<const std::byte> bytes, const LoadOptions& options) {
  Model model = import_onnx(bytes, import_options(options)).value();
  if (!options.tolerance.empty() && model.classifies)
    throw Error{ErrorCode::usage, option("tolerance"), "applies to regression models, but this is a classifier", "leave it out"};
  return model;
}

LoadedModel compile_model(Model model, const LoadOptions& options) {
  const Shape point = options.point_shape.empty() ? point_shape_of(model) : options.point_shape;
  const Graph graph = with_preprocessing(model, point, options.preprocessing).value();
  auto warnings = std::make_shared<DeviceWarnings>();
  ExecutorOptions execution = options.execution;
  if (!execution.warn) execution.warn = [warnings](const std::string& text) { warnings->add(text); };
  const auto compiled = [&](const Graph& of) { return make_executor(options.device, of, execution).value(); };
  std::unique_ptr<Executor> executor = compiled(graph);
  if (options.tolerance.empty()) return {std::move(model), std::move(executor), options.preprocessing, std::move(warnings)};
  std::unique_ptr<Executor> within = compiled(within_tolerance(graph, options.tolerance));
  describe_tolerance(model, options.tolerance, within->classes());
  return {std::move(model), std::move(within), options.preprocessing, std::move(warnings), std::move(executor)};
}

LoadedModel load_model(std::span<const std::byte> bytes, const LoadOptions& options) {
  return compile_model(import_model(bytes, options), options);
}

LoadedModel model_from_function(ClassifierFunctions functions, Shape point_shape, std::int64_t classes,
                                const ExecutorOptions& execution) {
  constexpr std::int64_t kMostPoints = 8192, kMostElements = std::int64_t{1} << 24;  // so that a call does not take minutes
  const std::int64_t d = element_count(point_shape);
  if (point_shape.empty() || d < 1)
    throw Error{ErrorCode::usage, option("point_shape"), "has no elements", "give the shape of one point"};
  if (classes < 2) throw Error{ErrorCode::usage, option("classes"), "is less than two", "give the number of logits"};
  if (!functions.logits) throw Error{ErrorCode::usage, "logits", "is not a function", ""};
  ExecutorOptions options = execution;
  if (options.batch == 0) options.batch = std::clamp(kMostElements / d, std::int64_t{1}, kMostPoints);
  Model model;
  model.classes = classes;
  model.input_shape = point_shape;
  auto gradient = functions.vjp ? function_gradient_program(functions, point_shape, classes, options.batch) : nullptr;
  auto forward = function_program(std::move(functions), point_shape, classes);
  return {std::move(model), make_forward_executor("the function", std::move(forward), std::move(point_shape), classes, options,
                                                  std::move(gradient))};
}

}  // namespace probust
