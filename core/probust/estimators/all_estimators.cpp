// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <utility>

#include "probust/base/text.h"
#include "probust/estimators/common.h"

namespace probust {

std::string form(const EstimatorDefinition& entry) {
  using Parameter = EstimatorDefinition::Parameter;
  std::string text(entry.name);
  if (entry.parameter == Parameter::samples) text += ":N";
  if (entry.parameter == Parameter::half_width) text += ":±H";
  if (entry.parameter == Parameter::threshold) text += ":p>TAU";
  if (!entry.variant.empty()) text += ":" + std::string(entry.variant);
  return text;
}

namespace {

using Parameter = EstimatorDefinition::Parameter;

std::int64_t passes_sampled(std::int64_t, double samples) { return static_cast<std::int64_t>(samples); }
std::int64_t passes_stratified(std::int64_t classes, double samples) { return static_cast<std::int64_t>(samples) + 1 + classes; }
std::int64_t passes_linearized(std::int64_t classes, double) { return classes; }
std::int64_t passes_averaged(std::int64_t classes, double samples) { return static_cast<std::int64_t>(samples) * classes; }
std::int64_t passes_half_width(std::int64_t, double h) { return static_cast<std::int64_t>(0.9 / (h * h)); }
std::int64_t passes_decision(std::int64_t, double) { return 1000; }
std::int64_t passes_one(std::int64_t, double) { return 1; }

// For two normals; one normal takes fewer.
std::int64_t passes_grid(std::int64_t, double cells) { return static_cast<std::int64_t>((cells + 1) * (cells + 1)); }

constexpr double kDefaultBudget = 100;  ///< of auto, in forwards
constexpr double kDefaultCells = 256;   ///< of quadrature, per side

// The only list of estimators.
constexpr EstimatorDefinition kEstimators[] = {
    {.name = "auto",
     .summary = "chosen for a budget of N forwards a point and by how rare failure is; the status says what was used",
     .parameter = Parameter::samples,
     .default_parameter = kDefaultBudget,
     .least = 2,
     .estimate = estimate_auto,
     .passes = passes_sampled,
     .knows_events = true,
     .counts = true,
     .smooths = true,
     .pools = true},
    {.name = "mc",
     .summary = "share of N noisy copies that keep the answer",
     .parameter = Parameter::samples,
     .estimate = estimate_monte_carlo,
     .passes = passes_sampled,
     .knows_events = true,
     .counts = true},
    {.name = "mc",
     .variant = "stratified",
     .summary = "the same with copies spread evenly along the gradient of p",
     .parameter = Parameter::samples,
     .least = 2,
     .estimate = estimate_stratified,
     .passes = passes_stratified,
     .counts = true},
    {.name = "mc",
     .summary = "the same with as many copies as a 95% interval of +-H needs",
     .parameter = Parameter::half_width,
     .estimate = estimate_to_half_width,
     .passes = passes_half_width,
     .counts = true},
    {.name = "mc",
     .summary = "copies until p > TAU is decided with 95% confidence, at every moment",
     .parameter = Parameter::threshold,
     .estimate = estimate_decision,
     .passes = passes_decision,
     .counts = true},
    {.name = "taylor",
     .summary = "normal CDF of the classifier linearised at x",
     .needs_gradients = true,
     .estimate = estimate_taylor,
     .passes = passes_linearized,
     .knows_events = true},
    {.name = "taylor_mvs",
     .summary = "mv-sigmoid of the classifier linearised at x",
     .needs_gradients = true,
     .estimate = estimate_taylor_mvs,
     .passes = passes_linearized,
     .knows_events = true},
    {.name = "mmse",
     .summary = "normal CDF of the linearisation averaged over N noisy copies",
     .parameter = Parameter::samples,
     .needs_gradients = true,
     .estimate = estimate_mmse,
     .passes = passes_averaged,
     .knows_events = true},
    {.name = "mmse",
     .variant = "centered",
     .summary = "the same, exact on linear models, with a bias of its own on others",
     .parameter = Parameter::samples,
     .needs_gradients = true,
     .estimate = estimate_mmse_centered,
     .passes = passes_averaged,
     .knows_events = true},
    {.name = "mmse",
     .variant = "loo",
     .summary = "the same with the gradients of the other copies: neither bias, more variance",
     .parameter = Parameter::samples,
     .least = 2,
     .needs_gradients = true,
     .estimate = estimate_mmse_loo,
     .passes = passes_averaged,
     .knows_events = true},
    {.name = "mmse_mvs",
     .summary = "mv-sigmoid of the linearisation averaged over N noisy copies",
     .parameter = Parameter::samples,
     .needs_gradients = true,
     .estimate = estimate_mmse_mvs,
     .passes = passes_averaged,
     .knows_events = true},
    {.name = "probit",
     .summary = "normal CDF with the mean and covariance of the margins of N noisy copies",
     .parameter = Parameter::samples,
     .least = 2,
     .estimate = estimate_probit,
     .passes = passes_sampled,
     .smooths = true,
     .pairs_alone = true},
    {.name = "probit",
     .variant = "pooled",
     .summary = "the same with covariances shrunk towards their mean shape over the points of a block",
     .parameter = Parameter::samples,
     .least = 2,
     .estimate = estimate_probit_pooled,
     .passes = passes_sampled,
     .smooths = true,
     .pairs_alone = true,
     .pools = true},
    {.name = "regression",
     .summary = "normal CDF of what a few gradients explain of N noisy copies, averaged over the residuals",
     .parameter = Parameter::samples,
     .least = 8,
     .needs_gradients = true,
     .estimate = estimate_regression,
     .passes = passes_sampled,
     .smooths = true},
    {.name = "regression",
     .variant = "adf",
     .summary = "the same with gradients of the classifier's mean under the noise, by moment propagation",
     .parameter = Parameter::samples,
     .least = 16,
     .needs_gradients = true,
     .estimate = estimate_regression_adf,
     .passes = passes_sampled,
     .smooths = true},
    {.name = "regression",
     .variant = "pooled",
     .summary = "the same with covariances shrunk towards their mean shape over the points of a block",
     .parameter = Parameter::samples,
     .least = 8,
     .needs_gradients = true,
     .estimate = estimate_regression_pooled,
     .passes = passes_sampled,
     .smooths = true,
     .pools = true},
    {.name = "adf",
     .summary = "normal CDF of the classifier linearised under the noise, by moment propagation",
     .needs_gradients = true,
     .estimate = estimate_adf,
     .passes = passes_linearized,
     .knows_events = true},
    {.name = "subset",
     .summary = "rare failures by subset simulation",
     .parameter = Parameter::samples,
     .least = 200,
     .estimate = estimate_subset,
     .passes = passes_sampled},
    {.name = "quadrature",
     .summary = "no sampling: margins on a grid of N cells a side, for noise of one or two normal variables",
     .parameter = Parameter::samples,
     .default_parameter = kDefaultCells,
     .least = 8,
     .estimate = estimate_quadrature,
     .passes = passes_grid},
    {.name = "softmax",
     .summary = "softmax probability at temperature T, blind to the noise",
     .parameter = Parameter::temperature,
     .default_parameter = 1.0,
     .estimate = estimate_softmax,
     .passes = passes_one},
};

constexpr std::int64_t kMostSamples = std::int64_t{1} << 31;  // noise is keyed by 32-bit sample numbers

std::string example(const EstimatorDefinition& entry) {
  std::string text(entry.name);
  if (entry.parameter == Parameter::samples) text += ":" + std::to_string(std::max<std::int64_t>(100, entry.least));
  if (entry.parameter == Parameter::temperature) text += ":1";
  if (entry.parameter == Parameter::half_width) text += ":±0.01";
  if (entry.parameter == Parameter::threshold) text += ":p>0.95";
  if (!entry.variant.empty()) text += ":" + std::string(entry.variant);
  return text;
}

std::string known_forms(bool without_gradients = false) {
  std::string forms;
  for (const EstimatorDefinition& entry : kEstimators) {
    if (without_gradients && entry.needs_gradients) continue;
    forms += std::string(forms.empty() ? "" : ", ") + form(entry);
  }
  return forms;
}

// A prefix gives the kind of a parameter.
struct Written {
  Parameter kind;
  std::string number;
};

Written read_kind(const std::string& text) {
  const std::pair<std::string_view, Parameter> marks[] = {
      {"±", Parameter::half_width}, {"+-", Parameter::half_width}, {"p>", Parameter::threshold}};
  for (const auto& [mark, kind] : marks) {
    if (text.rfind(mark, 0) == 0) return {kind, text.substr(mark.size())};
  }
  return {Parameter::samples, text};
}

double parse_samples(const EstimatorDefinition& entry, const std::string& text, const std::string& where) {
  const auto samples = parse_integer(text);
  if (samples && *samples >= entry.least && *samples <= kMostSamples) return static_cast<double>(*samples);
  const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  if (digits && samples.value_or(kMostSamples + 1) > kMostSamples)  // also a number that overflows
    throw Error{ErrorCode::usage, where, "'" + text + "' is too many samples", "at most " + std::to_string(kMostSamples)};
  const std::string least = entry.least > 1 ? " of at least " + std::to_string(entry.least) : "";
  throw Error{ErrorCode::usage, where, "'" + text + "' is not a number of samples" + least,
              "write for example " + example(entry)};
}

// A number in (low, high). Throws Error{usage} otherwise.
double parse_within(const EstimatorDefinition& entry, const std::string& text, double low, double high, const std::string& what,
                    const std::string& where) {
  const auto value = parse_double(text);
  if (value && *value > low && *value < high) return *value;
  throw Error{ErrorCode::usage, where, "'" + text + "' is not " + what, "write for example " + example(entry)};
}

double parse_parameter(const EstimatorDefinition& entry, const std::string& text, const std::string& where) {
  switch (entry.parameter) {
    case Parameter::samples:
      return parse_samples(entry, text, where);
    case Parameter::half_width:
      return parse_within(entry, text, 1e-4, 0.5, "a half-width between 0.0001 and 0.5", where);
    case Parameter::threshold:
      return parse_within(entry, text, 0, 1, "a probability between 0 and 1", where);
    default:
      return parse_within(entry, text, 0, INFINITY, "a positive temperature", where);
  }
}

// The parts of an estimator's text.
struct Parts {
  std::string name, variant;
  std::optional<std::string> parameter;
};

Parts parts_of(const std::string& text) {
  const std::size_t first = text.find(':');
  if (first == std::string::npos) return {text, "", {}};
  const std::size_t second = text.find(':', first + 1);
  if (second == std::string::npos) return {text.substr(0, first), "", text.substr(first + 1)};
  return {text.substr(0, first), text.substr(second + 1), text.substr(first + 1, second - first - 1)};
}

bool takes(const EstimatorDefinition& entry, Parameter written) {
  return entry.parameter == written || (written == Parameter::samples && entry.parameter == Parameter::temperature);
}

// For a text without parameter: the default, if the entry has one or takes none.
EstimatorSpec without_parameter(const EstimatorDefinition& entry, const std::string& where) {
  if (entry.parameter == Parameter::none || entry.default_parameter) return {&entry, entry.default_parameter.value_or(0)};
  throw Error{ErrorCode::usage, where, "needs a number of samples", "write for example " + example(entry)};
}

}  // namespace

std::span<const EstimatorDefinition> all_estimators() { return kEstimators; }

std::string EstimatorSpec::text() const {
  std::string text(definition->name);
  if (definition->parameter == Parameter::samples) text += ":" + std::to_string(static_cast<std::int64_t>(parameter));
  if (definition->parameter == Parameter::temperature && parameter != definition->default_parameter)
    text += ":" + shortest_text(parameter);
  if (definition->parameter == Parameter::half_width) text += ":±" + shortest_text(parameter);
  if (definition->parameter == Parameter::threshold) text += ":p>" + shortest_text(parameter);
  if (!definition->variant.empty()) text += ":" + std::string(definition->variant);
  return text;
}

EstimatorSpec parse_estimator(const std::string& text) {
  const std::string where = "estimator '" + text + "'";
  const Parts parts = parts_of(text);
  const EstimatorDefinition* of_name = nullptr;
  for (const EstimatorDefinition& entry : kEstimators) {
    if (parts.name != entry.name) continue;
    if (of_name == nullptr) of_name = &entry;
    if (parts.variant != entry.variant || text.ends_with(':')) continue;
    if (!parts.parameter) return without_parameter(entry, where);
    const Written written = read_kind(*parts.parameter);
    if (takes(entry, written.kind)) return {&entry, parse_parameter(entry, written.number, where)};
  }
  if (of_name == nullptr) throw Error{ErrorCode::usage, where, "is not known", "use one of " + known_forms()};
  if (of_name->parameter == Parameter::none)
    throw Error{ErrorCode::usage, where, "takes no parameter", "write " + example(*of_name)};
  throw Error{ErrorCode::usage, where, "has no such form", "write for example " + example(*of_name)};
}

void require_answerable(const Executor& executor, const EstimatorSpec& estimator) {
  if (executor.differentiable() || !estimator.definition->needs_gradients) return;
  throw Error{ErrorCode::unsupported, "estimator " + estimator.text(),
              "needs gradients, which " + std::string(executor.name()) + " does not give", "use one of " + known_forms(true)};
}

Linearizing at_points(const Noise& noise) {
  return {"at the points, " + noise.shape->name(), 0,
          [noise](Executor& executor, const Points& points) { return executor.linearize(points, *noise.shape).value(); }};
}

Linearizing under_noise(const Noise& noise) {
  return {"under the noise, " + noise.text(), 0,
          [noise](Executor& executor, const Points& points) { return executor.linearize_smoothed(points, noise).value(); }};
}

Linearizing over_copies(const Noise& noise, std::int64_t samples) {
  return {"over " + std::to_string(samples) + " copies, " + noise.text(), samples,
          [noise, samples](Executor& executor, const Points& points) {
            return executor.linearize_averaged(points, noise, samples).value();
          }};
}

void Evaluation::each_linearized(const Linearizing& how,
                                 const std::function<void(std::span<const Linearization>, std::int64_t)>& use) {
  const auto known = known_.find(how.key);
  if (known != known_.end()) return use(known->second, 0);
  const std::int64_t n = points_.size(), gradients = executor_.backwards_to_linearize(), budget = executor_.options().memory / 4;
  const std::int64_t numbers = gradients * gradients + executor_.classes() * (2 + 3 * how.samples);
  const std::int64_t bytes = numbers * static_cast<std::int64_t>(sizeof(double));
  if (bytes > budget)
    throw Error{ErrorCode::resources, option("memory"),
                "the products of one point's margin gradients take " + std::to_string(bytes >> 10) + "K",
                "give at least " + std::to_string((bytes >> 8) + 1) + "K, or use mc:N"};
  if (known_bytes_ + n * bytes <= budget) {
    known_bytes_ += n * bytes;
    return use(known_[how.key] = how.ask(executor_, points_), 0);
  }
  const std::int64_t step = budget / bytes;
  for (std::int64_t first = 0; first < n; first += step)
    use(how.ask(executor_, slice(points_, first, std::min(step, n - first))), first);
}

namespace {

// The status if an estimator that uses gradients cannot answer, else "". Margins of sign networks and trees are constant around
// almost every point, so a gradient of zero does not mean robustness.
std::string obstacle(Evaluation& evaluation, const GaussianView& view) {
  if (evaluation.executor().piecewise_constant()) return "degenerate: the classifier is piecewise constant; use mc:N";
  return view.kind == GaussianView::Kind::absent ? "undefined: " + view.reason : "";
}

// Throws if the event is impossible with this many classes, or the estimator does not support it.
void refuse_unanswered(const Event& event, std::int64_t classes, const EstimatorSpec& estimator) {
  const EstimatorDefinition& definition = *estimator.definition;
  const std::string where = "estimator " + estimator.text();
  if (event.top < 1 || event.top > classes)
    throw Error{ErrorCode::usage, "event",
                "the " + std::to_string(event.top) + " largest of " + std::to_string(classes) + " logits",
                "ask for 1 to " + std::to_string(classes)};
  if (event.top > 1 && !event.group.empty())
    throw Error{ErrorCode::usage, "event", "a place among the largest logits is asked of a group", "ask for one of the two"};
  if (event.top > 1 && !definition.counts)
    throw Error{ErrorCode::usage, where, "does not know whether a class stays among the largest logits",
                "use mc:N, mc:±H, mc:p>TAU or auto"};
  if ((event.per_class || !event.group.empty()) && !definition.counts && classes > static_cast<std::int64_t>(kMostRivals))
    throw Error{ErrorCode::resources, where,
                "would take a normal probability for each of " + std::to_string(classes) + " classes", "use mc:N"};
  const bool answers = definition.knows_events || (definition.counts && !event.per_class);
  if (!event.plain() && !answers)
    throw Error{ErrorCode::usage, where, "answers for the target alone, not for groups or each class",
                "use mc:N, taylor, mmse:N or adf"};
}

std::vector<Estimate> unanswered(std::int64_t points, const std::string& status) {
  Estimate estimate = nonfinite_estimate();
  estimate.status = status;
  return std::vector<Estimate>(static_cast<std::size_t>(points), estimate);
}

// Runs an estimator that assumes linear margins and Gaussian noise.
std::vector<Estimate> analytical(Evaluation& evaluation, const Noise& noise, const EstimatorSpec& estimator) {
  const GaussianView view = noise.shape->gaussian();
  const std::string reason = obstacle(evaluation, view);
  if (!reason.empty()) return unanswered(evaluation.points().size(), reason);
  std::vector<Estimate> estimates = estimator.definition->estimate(evaluation, noise, estimator.parameter);
  for (Estimate& estimate : estimates) {
    if (view.kind == GaussianView::Kind::approximate && estimate.status == "ok") estimate.status = "approximate: " + view.reason;
  }
  return estimates;
}

}  // namespace

bool concerns_one_estimator(const Error& error) {
  return error.code == ErrorCode::unsupported || error.code == ErrorCode::resources || error.code == ErrorCode::numerical;
}

std::vector<Estimate> refused_estimates(const Error& error, std::int64_t points) {
  const std::string_view word = error.code == ErrorCode::unsupported ? "unsupported"
                                : error.code == ErrorCode::resources ? "resources"
                                                                     : "numerical";
  return unanswered(points, std::string(word) + ": " + error.message());
}

Result<std::vector<Estimate>> estimate(Evaluation& evaluation, const Noise& noise, const EstimatorSpec& estimator) {
  return guarded("estimator " + estimator.text(), [&] {
    const Points& points = evaluation.points();
    require_answerable(evaluation.executor(), estimator);
    refuse_unanswered(evaluation.event(), evaluation.executor().classes(), estimator);
    std::vector<Estimate> estimates = estimator.definition->needs_gradients
                                          ? analytical(evaluation, noise, estimator)
                                          : estimator.definition->estimate(evaluation, noise, estimator.parameter);
    stop_if_asked(&evaluation.executor().progress.stop);  // estimates of a stopped run are meaningless
    for (std::int64_t i = 0; i < points.size(); ++i) {
      if (finite_at(points, evaluation.logits(), i)) continue;
      Estimate replaced = nonfinite_estimate();
      replaced.forwards = estimates[i].forwards;
      replaced.backwards = estimates[i].backwards;
      estimates[i] = replaced;
    }
    return estimates;
  });
}

}  // namespace probust
