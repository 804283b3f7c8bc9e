// SPDX-License-Identifier: MIT
#include "probust/model.h"

#include <algorithm>
#include <set>
#include <utility>

namespace probust {
namespace {

Shape shape_of_points(const Model& model, const Shape& given) {
  if (!given.empty()) return given;
  return {model.input_shape.begin() + (model.input_shape.size() > 1 ? 1 : 0), model.input_shape.end()};
}

}  // namespace

Tensor LoadedModel::batched(const Tensor& x) const {
  if (x.shape != point_shape()) return x;
  Tensor one = x;
  one.shape.insert(one.shape.begin(), 1);
  return one;
}

Tensor LoadedModel::logits(const Tensor& x) { return executor_->logits(batched(x)).value(); }

Tensor LoadedModel::margins(const Tensor& x, const std::vector<std::int64_t>& targets) {
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

CheckReport LoadedModel::check(const Tensor& x, const std::vector<std::int64_t>& labels, const std::vector<double>& sigmas) {
  return check_model({*executor_, model_.input_shape, preprocessing_, model_.decision}, batched(x), labels, sigmas);
}

CheckReport LoadedModel::first_check(const EstimateRequest& request, std::int64_t points) {
  return probust::first_check({*executor_, model_.input_shape, preprocessing_, model_.decision}, request, points);
}

std::vector<std::string> attach_check(CheckReport report, bool labelled, std::vector<Row>& rows) {
  std::set<std::int64_t> points;
  for (const Row& row : rows) points.insert(row.index);
  const auto same = [&](const Row& row) { return row.predicted == rows.front().predicted; };
  if (!labelled && !rows.empty() && std::all_of(rows.begin(), rows.end(), same))
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
  for (const std::string& estimator : estimators) request.estimators.push_back(parse_estimator(estimator));
  return {*executor_, std::move(request)};
}

std::vector<Row> LoadedModel::estimate(const Tensor& x, const std::vector<std::string>& noises,
                                       const std::vector<std::string>& estimators, const EstimateOptions& options) {
  EstimateRun run = start_estimate(x, noises, estimators, options);
  run.finish();
  return run.rows();
}

LoadedModel load_model(std::span<const std::byte> bytes, const LoadOptions& options) {
  ImportOptions import;
  import.output_name = options.output_name;
  import.decide = true;
  import.threshold = options.threshold;
  import.outputs = options.outputs;
  import.data_classes = options.data_classes;
  import.input_shape = options.input_shape;
  import.data_shape = options.point_shape;
  import.layout = options.preprocessing.layout;
  import.external = options.external_files;
  Model model = import_onnx(bytes, import).value();
  const Graph graph = with_preprocessing(model, shape_of_points(model, options.point_shape), options.preprocessing).value();
  auto warnings = std::make_shared<DeviceWarnings>();
  ExecutorOptions execution = options.execution;
  if (!execution.warn) execution.warn = [warnings](const std::string& text) { warnings->add(text); };
  auto executor = make_executor(options.device, graph, execution).value();
  return {std::move(model), std::move(executor), options.preprocessing, std::move(warnings)};
}

LoadedModel model_from_function(ClassifierFunctions functions, Shape point_shape, std::int64_t classes,
                                const ExecutorOptions& execution) {
  constexpr std::int64_t kMostPoints = 8192, kMostElements = std::int64_t{1} << 24;  // so that a call does not take minutes
  const std::int64_t d = element_count(point_shape);
  if (point_shape.empty() || d < 1)
    throw Error{ErrorCode::usage, option("point_shape"), "has no elements", "give the shape of one point"};
  if (classes < 2) throw Error{ErrorCode::usage, option("classes"), "are fewer than two", "give the number of logits"};
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
