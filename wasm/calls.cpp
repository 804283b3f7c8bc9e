// SPDX-License-Identifier: MIT
#include "calls.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "probust/analysis/calibration.h"
#include "probust/analysis/curve.h"
#include "probust/analysis/geometry/boundary.h"
#include "probust/analysis/geometry/cloud.h"
#include "probust/analysis/geometry/jacobian.h"
#include "probust/analysis/geometry/slice.h"
#include "probust/estimators/gradient/gradient_of_p.h"
#include "probust/estimators/linearization.h"
#include "probust/estimators/tolerance.h"
#include "probust/perturb/noise_text.h"
#include "probust/run/run.h"

namespace probust::wasm {
namespace {

std::uint64_t read_seed(const CallArguments& arguments) { return static_cast<std::uint64_t>(arguments.integer("seed", 0, 0)); }

// A job that uses the model; write(job) converts its result.
template <class ModelJob, class Write>
std::shared_ptr<Call> call(const Runner& runner, std::shared_ptr<ModelJob> job, Write write) {
  const auto value = [job, write] { return write(*job); };
  return std::make_shared<Call>(job, value, runner);
}

// A call that returns the result of `body` for an executor of the runner.
std::shared_ptr<Call> computation(const Runner& runner, Executor& executor, std::int64_t planned,
                                  std::function<val(Executor&)> body) {
  auto job = std::make_shared<Computation<val>>(executor, planned, std::move(body), runner.external.get());
  return call(runner, std::move(job), [](const Computation<val>& done) { return done.result(); });
}

std::shared_ptr<Call> computation(const Runner& runner, std::int64_t planned, std::function<val(Executor&)> body) {
  return computation(runner, runner.executor(), planned, std::move(body));
}

val write_rows(std::span<const Row> rows) {
  val list = val::array();
  for (const Row& row : rows) list.call<void>("push", write(row));
  return list;
}

void reject_classifier_options(const Runner& runner, const CallArguments& arguments) {
  if (runner.regression() == nullptr) return;
  probust::reject_classifier_options({{"target", arguments.has("target") || arguments.has("targetText")},
                                      {"groups", arguments.has("groups")},
                                      {"top", arguments.has("top")},
                                      {"labels", arguments.has("labels")}});
}

// The noise, prepared for an estimate at the points x. Some kinds of noise are clipped to the range of the data: that of x or, if
// x has only some of the points, the argument `dataRange`. Noise that depends on the data gets x or the argument `data`.
Noise for_points(Noise noise, const Tensor& x, const Runner& runner, const CallArguments& arguments) {
  const auto range = [&] {
    if (!arguments.has("dataRange")) return range_of(x.data);
    const std::vector<double> given = arguments.numbers("dataRange");
    return DataRange{given.at(0), given.at(1)};
  };
  if (noise.shape->needs_data())
    use_data(std::span(&noise, 1),
             [&] { return arguments.has("data") ? read_points(arguments, runner.model->point_shape(), "data") : x; });
  if (noise.shape->clips_like_data()) clip_like_data(std::span(&noise, 1), range);
  return bound_to(std::move(noise), x, runner.model->point_shape());
}

EstimateRequest read_request(const Runner& runner, const CallArguments& arguments) {
  reject_classifier_options(runner, arguments);
  EstimateRequest request;
  request.x = read_points(arguments, runner.model->point_shape());
  request.regression = runner.regression();
  request.targets = arguments.integers("target");
  request.target = arguments.text("targetText", "predicted");
  request.labels = arguments.integers("labels");
  request.names = read_class_names(arguments);
  request.event = read_event(arguments, runner.executor().classes());
  request.offset = arguments.integer("index", 0, 0);
  request.seed = read_seed(arguments);
  std::vector<Noise> noises = read_noises(arguments, runner.external);
  for (Noise& noise : noises) request.noises.push_back(for_points(std::move(noise), request.x, runner, arguments));
  request.estimators = read_estimators(arguments, "estimators");
  request.others = arguments.flag("others");
  request.total = static_cast<std::int64_t>(arguments.number("totalBudget", 0));
  if (arguments.flag("smooth")) request.curve = estimate_curve;
  return request;
}

std::shared_ptr<Call> start_estimate(const Runner& runner, const CallArguments& arguments) {
  EstimateRequest request = read_request(runner, arguments);
  const bool calibrated = arguments.flag("calibrate");
  require_combinable({request.total, request.curve != nullptr, calibrated}, request.estimators);
  const std::size_t questions = request.noises.size() * request.estimators.size();
  return call(runner, std::make_shared<EstimateRun>(runner.executor(), std::move(request), runner.external.get()),
              [calibrated, questions](const EstimateRun& run) {
                if (!calibrated) return write_rows(run.rows());
                std::vector<Row> rows = run.rows();
                calibrate_questions(rows, questions);
                return write_rows(rows);
              });
}

struct Setting {
  Points points;
  Tensor logits;
};

// The arguments that all calls at one point have.
struct PointArguments {
  Tensor x;
  std::vector<std::int64_t> target;  // if empty, `wanted` determines the target
  std::string wanted;                // as targets_of expects it
  std::vector<std::int64_t> labels;
  std::vector<std::string> names;
  std::int64_t index;
  std::uint64_t seed;
  Executor* regression;  // the regression model, if the executor is for a tolerance

  Setting at(Executor& executor) const {
    const Tensor point = regression ? with_outputs(x, regression->logits(x).value()) : x;
    Tensor logits = executor.logits(point).value();
    std::vector<std::int64_t> targets = target.empty() ? targets_of(wanted, labels, logits, names) : target;
    return {points_of(point, std::move(targets), index, seed), std::move(logits)};
  }
};

PointArguments read_point(const Runner& runner, const CallArguments& arguments) {
  PointArguments point{read_points(arguments, runner.model->point_shape()),
                       arguments.integers("target"),
                       arguments.text("targetText", "predicted"),
                       arguments.integers("labels"),
                       read_class_names(arguments),
                       arguments.integer("index", 0, 0),
                       read_seed(arguments),
                       runner.regression()};
  if (point.regression != nullptr) point.wanted = std::to_string(2 * point.regression->classes());
  if (point.x.shape[0] != 1)
    throw Error{ErrorCode::usage, "x", "has " + std::to_string(point.x.shape[0]) + " points", "give one"};
  return point;
}

std::shared_ptr<Call> start_logits(const Runner& runner, const CallArguments& arguments) {
  const auto x = std::make_shared<const Tensor>(read_points(arguments, runner.model->point_shape()));  // not copied
  Executor& executor = runner.regression() != nullptr ? *runner.regression() : runner.executor();
  return computation(runner, executor, x->shape[0],
                     [x](Executor& of) { return write(std::span<const float>(of.logits(*x).value().data)); });
}

// An interrupted check reports its findings so far. Here, a check is interrupted only by a pause, and the next step repeats it.
CheckReport unless_paused(CheckReport report) {
  if (!report.complete) throw interruption();
  return report;
}

// Starts a check. The result has the report as JSON and as text.
std::shared_ptr<Call> start_check(const Runner& runner, const CallArguments& arguments) {
  constexpr std::int64_t kPoints = 500, kUsualAlternatives = 12;
  const auto x = std::make_shared<const Tensor>(read_points(arguments, runner.model->point_shape()));  // not copied
  const std::vector<std::int64_t> labels = arguments.integers("labels");
  const std::vector<double> sigmas = arguments.numbers("sigma");
  return computation(runner, std::min(x->shape[0], kPoints) * kUsualAlternatives, [=](Executor& of) {
    const CheckReport report = unless_paused(check_model(runner.model->checked(of), *x, labels, sigmas));
    val object = val::object();
    object.set("json", check_json(report, in_javascript));
    object.set("words", check_text(report, in_javascript));
    return object;
  });
}

// Starts the check that precedes an estimate with the same arguments. The result has its warnings and the text to add to the
// note of every row. The argument `oneClass` is given if the model predicts this one class for all points.
std::shared_ptr<Call> start_first_check(const Runner& runner, const CallArguments& arguments) {
  const auto request = std::make_shared<const EstimateRequest>(read_request(runner, arguments));
  const std::int64_t one_class = arguments.integer("oneClass", -1, -1);
  return computation(runner, 0, [=](Executor& of) {
    CheckReport report = unless_paused(first_check(runner.model->checked(of), *request));
    const bool classifies = runner.regression() == nullptr;  // with a tolerance, most points should have the same class
    if (classifies && one_class >= 0) add_one_class(report, request->x.shape[0], one_class);
    val object = val::object();
    object.set("hint", report.hint(in_javascript));
    object.set("warnings", val::array(report.warnings(in_javascript)));
    return object;
  });
}

val linearize(Executor& executor, const PointArguments& point, const Noise& noise, std::int64_t samples) {
  const auto [points, logits] = point.at(executor);
  const Linearization linear = samples > 0 ? executor.linearize_averaged(points, noise, samples).value()[0]
                                           : executor.linearize(points, *noise.shape).value()[0];
  const LogitJacobian U = margin_gradients(executor, points, 0, noise, samples);
  const NormalProblem problem = normal_problem(linear, points.target[0], noise.scale);
  val object = val::object();
  object.set("target", static_cast<double>(points.target[0]));
  object.set("scale", noise.scale);
  object.set("margins", write(std::span(linear.margins.data(), static_cast<std::size_t>(linear.margins.size()))));
  object.set("gradients", write(std::span(U.data(), static_cast<std::size_t>(U.size()))));
  std::vector<std::int64_t> every(static_cast<std::size_t>(linear.rivals()));
  std::iota(every.begin(), every.end(), 0);
  object.set("gram", write_matrix(linear.covariance(every)));
  object.set("rivals", write_ints(problem.rows));
  object.set("z", write(std::span<const double>(problem.z)));
  object.set("R", write_matrix(problem.R));
  return object;
}

std::shared_ptr<Call> start_linearize(const Runner& runner, const CallArguments& arguments) {
  const PointArguments point = read_point(runner, arguments);
  const Noise noise = for_points(read_noise(arguments, runner.external), point.x, runner, arguments);
  if (noise.shape->gaussian().kind == GaussianView::Kind::absent)
    throw Error{ErrorCode::unsupported, "linearize", "needs noise with a covariance, not " + noise.text(), "use estimate"};
  const std::int64_t samples = arguments.integer("samples", 0, 0, kMostSamples);
  const std::int64_t planned = std::max<std::int64_t>(1, samples) * (2 * runner.executor().classes());
  return computation(runner, planned, [=](Executor& of) { return linearize(of, point, noise, samples); });
}

[[gnu::noinline]] val write_gradient(const GradientOfP& found) {
  val object = val::object();
  object.set("gradient", write(std::span<const float>(found.gradient.data)));
  if (found.std_error.size() > 0) object.set("stdError", write(std::span<const float>(found.std_error.data)));
  object.set("p", write(std::span<const double>(found.p)));
  object.set("warnings", val::array(found.warnings));
  return object;
}

std::shared_ptr<Call> start_gradient(const Runner& runner, const CallArguments& arguments) {
  const Tensor x = read_points(arguments, runner.model->point_shape());
  const Noise noise = for_points(read_noise(arguments, runner.external), x, runner, arguments);
  const EstimatorSpec estimator = parse_estimator(arguments.text("estimator", "taylor"));
  const std::vector<std::int64_t> fixed = arguments.integers("target"), labels = arguments.integers("labels");
  const std::string wanted = arguments.text("targetText", "predicted");
  const std::vector<std::string> names = read_class_names(arguments);
  const std::int64_t index = arguments.integer("index", 0, 0);
  const std::uint64_t seed = read_seed(arguments);
  const auto body = [=](Executor& of) {
    std::vector<std::int64_t> targets = fixed;
    if (targets.empty()) targets = targets_of(wanted, labels, of.logits(x).value(), names);
    return write_gradient(gradient_of_p(of, points_of(x, std::move(targets), index, seed), noise, estimator).value());
  };
  return computation(runner, x.shape[0] * (1 + estimator.passes(runner.executor().classes())), body);
}

// A curve as columns, with NaN for missing numbers.
val write_curve(std::span<const double> sigmas, std::vector<std::vector<Estimate>> estimates, const EstimatorSpec& estimator) {
  for (auto& at_scale : estimates) {
    if (sees_failures_in_samples(at_scale[0].method.value_or(estimator).text())) bound_failure(at_scale[0]);
  }
  const auto column = [&](auto get) {
    std::vector<double> values;
    for (const auto& at_scale : estimates) values.push_back(get(at_scale[0]));
    return write(std::span<const double>(values));
  };
  val status = val::array(), method = val::array(), note = val::array();
  for (const auto& at_scale : estimates) {
    const Estimate& one = at_scale[0];
    status.call<void>("push", std::string(word(one.status)));
    method.call<void>("push", one.method.value_or(estimator).text());
    note.call<void>("push", text_or_null(one.note));
  }
  val object = val::object();
  object.set("sigmas", write(sigmas));
  object.set("p", column([](const Estimate& e) { return e.p; }));
  object.set("pFail", column([](const Estimate& e) { return e.p_fail; }));
  object.set("stdError", column([](const Estimate& e) { return e.std_error.value_or(NAN); }));
  object.set("ciLow", column([](const Estimate& e) { return e.ci_low.value_or(NAN); }));
  object.set("ciHigh", column([](const Estimate& e) { return e.ci_high.value_or(NAN); }));
  object.set("forwards", column([](const Estimate& e) { return static_cast<double>(e.forwards); }));
  object.set("backwards", column([](const Estimate& e) { return static_cast<double>(e.backwards); }));
  object.set("status", status);
  object.set("method", method);
  object.set("note", note);
  return object;
}

std::shared_ptr<Call> start_sweep(const Runner& runner, const CallArguments& arguments) {
  const PointArguments point = read_point(runner, arguments);
  const std::vector<double> sigmas = arguments.numbers("sigmas");
  for (const double sigma : sigmas) {
    if (!(sigma > 0) || !std::isfinite(sigma))
      throw Error{ErrorCode::usage, "sigmas", "contains a value that is not a positive number", "try [0.1, 0.2]"};
  }
  if (sigmas.empty()) throw Error{ErrorCode::usage, "sigmas", "are missing", "try [0.1, 0.2]"};
  reject_classifier_options(runner, arguments);
  Noise noise = arguments.has("noise") ? for_points(read_noise(arguments, runner.external), point.x, runner, arguments)
                                       : Noise{isotropic_gaussian(), 1};
  if (point.regression != nullptr)
    noise.shape = on_inputs(noise.shape, element_count(point.regression->point_shape()), point.regression->classes());
  const EstimatorSpec estimator = read_estimator(arguments);
  require_answerable(runner.executor(), estimator);
  const Event event = read_event(arguments, runner.executor().classes());
  const bool smooth = arguments.flag("smooth");
  const std::int64_t passes = estimator.passes(runner.executor().classes());
  const auto body = [=](Executor& of) {
    const auto [points, logits] = point.at(of);
    if (smooth)
      return write_curve(sigmas, estimate_curve(of, points, logits, noise.shape, sigmas, estimator, event).value(), estimator);
    Evaluation evaluation(of, points, logits, event);
    std::vector<std::vector<Estimate>> estimates;
    for (const double sigma : sigmas) estimates.push_back(estimate(evaluation, {noise.shape, sigma}, estimator).value());
    return write_curve(sigmas, estimates, estimator);
  };
  return computation(runner, 1 + passes * static_cast<std::int64_t>(sigmas.size()), body);
}

val write_slice(const SlicePlane& plane, const Slice& slice) {
  val object = val::object();
  object.set("resolution", static_cast<double>(slice.resolution));
  object.set("reach", plane.reach);
  object.set("u", write(std::span<const double>(plane.u)));
  object.set("v", write(std::span<const double>(plane.v)));
  object.set("predicted", write_ints(slice.predicted));
  object.set("margin", write(std::span<const double>(slice.margin)));
  return object;
}

std::shared_ptr<Call> start_slice(const Runner& runner, const CallArguments& arguments) {
  const PointArguments point = read_point(runner, arguments);
  const SlicePlane given{arguments.numbers("u"), arguments.numbers("v"), arguments.number("reach", 1),
                         arguments.integer("resolution", 64, 2)};
  const bool chosen = arguments.has("u") || arguments.has("v");
  const auto body = [=](Executor& of) {
    const auto [points, logits] = point.at(of);
    const SlicePlane plane = chosen ? orthonormal(given) : margin_plane(of, points, 0, given.reach, given.resolution).value();
    return write_slice(plane, decision_slice(of, points, 0, plane).value());
  };
  return computation(runner, given.resolution * given.resolution, body);
}

val write_cloud(const Cloud& cloud) {
  val object = val::object();
  object.set("x", write(std::span<const float>(cloud.x.data)));
  object.set("predicted", write_ints(cloud.predicted));
  return object;
}

std::shared_ptr<Call> start_cloud(const Runner& runner, const CallArguments& arguments) {
  const PointArguments point = read_point(runner, arguments);
  const Noise noise = for_points(read_noise(arguments, runner.external), point.x, runner, arguments);
  const std::int64_t count = arguments.integer("count", 1000, 1);
  const Points points{point.x, {point.index}, point.target.empty() ? std::vector<std::int64_t>{0} : point.target, point.seed};
  return call(runner, std::make_shared<CloudMaker>(runner.executor(), points, noise, count, runner.external.get()),
              [](const CloudMaker& maker) { return write_cloud(maker.cloud()); });
}

val write_nearest(const NearestBoundary& nearest) {
  val object = val::object();
  object.set("distance", nearest.distance);
  object.set("atLeast", nearest.at_least);
  object.set("rival", static_cast<double>(nearest.rival));
  object.set("step", write(std::span<const float>(nearest.step)));
  object.set("forwards", static_cast<double>(nearest.forwards));
  object.set("backwards", static_cast<double>(nearest.backwards));
  return object;
}

std::shared_ptr<Call> start_nearest_by(BoundaryMethod method, const Runner& runner, const PointArguments& point) {
  constexpr std::int64_t kSteps = 6, kHalvings = 42;  // enough steps and halvings for most networks
  const std::int64_t planned = kSteps * (1 + runner.executor().classes()) + kHalvings;
  return computation(runner, planned, [=](Executor& of) {
    return write_nearest(nearest_boundary_by(method, of, point.at(of).points).value()[0]);
  });
}

std::shared_ptr<Call> start_nearest_by_search(const Runner& runner, const PointArguments& point) {
  const Points points{point.x, {point.index}, {}, point.seed};
  return call(runner, std::make_shared<BoundarySearch>(runner.executor(), points, BlackBoxSearch{}, runner.external.get()),
              [](const BoundarySearch& search) { return write_nearest(search.nearest()); });
}

std::shared_ptr<Call> start_nearest_boundary(const Runner& runner, const CallArguments& arguments) {
  const PointArguments point = read_point(runner, arguments);
  if (!point.target.empty() || point.wanted != "predicted")
    throw Error{ErrorCode::usage, "target", "cannot be given, because the boundary is that of the class at x", "leave it out"};
  const BoundaryMethod method = boundary_method(runner.executor());
  return method == BoundaryMethod::random_search ? start_nearest_by_search(runner, point)
                                                 : start_nearest_by(method, runner, point);
}

struct Operation {
  const char* name;
  std::shared_ptr<Call> (*start)(const Runner&, const CallArguments&);
  bool of_regression = false;  // whether the operation exists for regression models, too
};

constexpr Operation kOperations[] = {
    {"logits", start_logits, true},
    {"check", start_check},
    {"firstCheck", start_first_check, true},
    {"linearize", start_linearize},
    {"pGradient", start_gradient},
    {"estimate", start_estimate, true},
    {"sweep", start_sweep, true},
    {"slice", start_slice},
    {"cloud", start_cloud},
    {"nearestBoundary", start_nearest_boundary},
};

}  // namespace

val Call::step(double milliseconds) {
  const Result<val> result = guarded("run", [&] { return job_->step(milliseconds) ? value_() : val::undefined(); });
  val report = val::object();
  report.set("passes", static_cast<double>(job_->done()));
  report.set("planned", static_cast<double>(std::max(job_->planned(), job_->done())));  // jobs may exceed their plan
  if (!result) report.set("error", write(result.error()));
  if (result && !result->isUndefined()) report.set("value", *result);
  const ExternalEngine::Inputs* wants = runner_.external ? runner_.external->wanted() : nullptr;
  if (wants != nullptr) {
    val inputs = val::object();
    inputs.set("count", static_cast<double>(wants->count));
    inputs.set("values", write(std::span<const float>(wants->values)));
    if (!wants->cotangents.empty()) inputs.set("cotangents", write(std::span<const float>(wants->cotangents)));
    if (!wants->function.empty()) {
      inputs.set("noise", wants->function);
      inputs.set("z", write(std::span<const float>(wants->latents)));
    }
    report.set("wants", inputs);
  }
  return report;
}

val Call::answer(const val& values) {
  return outcome("logits", [&] {
    if (!runner_.external)
      throw Error{ErrorCode::usage, "logits", "are not expected now", "pass them only when step() requests them"};
    runner_.external->answer(emscripten::convertJSArrayToNumberVector<float>(values), runner_.executor().classes());
    return val(true);
  });
}

std::shared_ptr<Call> start(const std::string& operation, const Runner& model, const CallArguments& arguments) {
  Runner runner = model;
  if (!runner.external && arguments.has("functions")) runner.external = std::make_shared<ExternalEngine>();
  for (const Operation& entry : kOperations) {
    if (operation != entry.name) continue;
    if (runner.regression() != nullptr && !entry.of_regression)
      throw Error{ErrorCode::usage, operation, "is for classifiers, but this is a regression model with a tolerance",
                  "use estimate or sweep"};
    return entry.start(runner, arguments);
  }
  throw Error{ErrorCode::usage, "operation", "cannot be '" + operation + "'", ""};
}

}  // namespace probust::wasm
