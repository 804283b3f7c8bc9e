// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "probust/base/text.h"
#include "probust/estimators/common.h"

namespace probust {
namespace {

using Parameter = EstimatorDefinition::Parameter;

std::int64_t passes_sampled(std::int64_t, double samples) { return static_cast<std::int64_t>(samples); }
std::int64_t passes_linearized(std::int64_t classes, double) { return classes; }
std::int64_t passes_averaged(std::int64_t classes, double samples) { return static_cast<std::int64_t>(samples) * classes; }
std::int64_t passes_one(std::int64_t, double) { return 1; }

// The one list of estimators.
constexpr EstimatorDefinition kEstimators[] = {
    {"mc",
     "share of N noisy copies that keep the answer",
     Parameter::samples,
     {},
     false,
     estimate_monte_carlo,
     passes_sampled,
     true},
    {"taylor",
     "normal CDF of the classifier linearised at x",
     Parameter::none,
     {},
     true,
     estimate_taylor,
     passes_linearized,
     true},
    {"taylor_mvs",
     "mv-sigmoid of the classifier linearised at x",
     Parameter::none,
     {},
     true,
     estimate_taylor_mvs,
     passes_linearized,
     true},
    {"mmse",
     "normal CDF of the linearisation averaged over N noisy copies",
     Parameter::samples,
     {},
     true,
     estimate_mmse,
     passes_averaged,
     true},
    {"mmse_mvs",
     "mv-sigmoid of the linearisation averaged over N noisy copies",
     Parameter::samples,
     {},
     true,
     estimate_mmse_mvs,
     passes_averaged,
     true},
    {"adf",
     "normal CDF of the classifier linearised under the noise, by moment propagation",
     Parameter::none,
     {},
     true,
     estimate_adf,
     passes_linearized,
     true},
    {"softmax", "softmax probability at temperature T, blind to the noise", Parameter::temperature, 1.0, false, estimate_softmax,
     passes_one},
};

constexpr std::int64_t kMostSamples = std::int64_t{1} << 31;  // the noise is keyed by 32-bit sample numbers

std::string known_names() {
  std::string names;
  for (const EstimatorDefinition& entry : kEstimators) {
    names +=
        std::string(names.empty() ? "" : ", ") + std::string(entry.name) + (entry.parameter == Parameter::samples ? ":N" : "");
  }
  return names;
}

double parse_parameter(const EstimatorDefinition& entry, const std::string& text, const std::string& where) {
  const auto value = parse_double(text);
  if (entry.parameter == Parameter::samples) {
    const auto samples = parse_integer(text);
    if (!samples || *samples < 1 || *samples > kMostSamples) {
      throw Error{ErrorCode::usage, where, "'" + text + "' is not a number of samples",
                  "write for example " + std::string(entry.name) + ":100"};
    }
    return static_cast<double>(*samples);
  }
  if (!value || !std::isfinite(*value) || *value <= 0) {
    throw Error{ErrorCode::usage, where, "'" + text + "' is not a positive temperature",
                "write for example " + std::string(entry.name) + ":1"};
  }
  return *value;
}

}  // namespace

std::span<const EstimatorDefinition> all_estimators() { return kEstimators; }

std::string EstimatorSpec::text() const {
  std::string name(definition->name);
  if (definition->parameter == Parameter::samples) return name + ":" + std::to_string(static_cast<std::int64_t>(parameter));
  if (definition->parameter == Parameter::temperature && parameter != definition->default_parameter)
    return name + ":" + shortest_text(parameter);
  return name;
}

EstimatorSpec parse_estimator(const std::string& text) {
  const std::string where = "estimator '" + text + "'";
  const std::size_t colon = text.find(':');
  for (const EstimatorDefinition& entry : kEstimators) {
    if (text.substr(0, colon) != entry.name) continue;
    if (colon != std::string::npos) {
      if (entry.parameter == Parameter::none)
        throw Error{ErrorCode::usage, where, "takes no parameter", "write " + std::string(entry.name)};
      return {&entry, parse_parameter(entry, text.substr(colon + 1), where)};
    }
    if (entry.parameter != Parameter::none && !entry.default_parameter) {
      throw Error{ErrorCode::usage, where, "needs a number of samples", "write for example " + std::string(entry.name) + ":100"};
    }
    return {&entry, entry.default_parameter.value_or(0)};
  }
  throw Error{ErrorCode::usage, where, "is not known", "use one of " + known_names()};
}

const std::vector<Linearization>& Evaluation::linearized(const Noise& noise) {
  auto [entry, fresh] = linearized_.try_emplace(noise.shape->name());
  if (fresh) entry->second = executor_.linearize(points_, *noise.shape).value();
  return entry->second;
}

const std::vector<Linearization>& Evaluation::smoothed(const Noise& noise) {
  auto [entry, fresh] = smoothed_.try_emplace(noise.text());
  if (fresh) entry->second = executor_.linearize_smoothed(points_, noise).value();
  return entry->second;
}

const std::vector<Linearization>& Evaluation::averaged(const Noise& noise, std::int64_t samples) {
  auto [entry, fresh] = averaged_.try_emplace({noise.text(), samples});
  if (fresh) entry->second = executor_.linearize_averaged(points_, noise, samples).value();
  return entry->second;
}

namespace {

// Why an estimator that rests on gradients has nothing to say, or nothing.
// A sign network or a tree: its margins are constant around almost every point, and a gradient of zero is no robustness.
std::string obstacle(Evaluation& evaluation, const GaussianView& view) {
  if (evaluation.executor().piecewise_constant()) return "degenerate: the classifier is piecewise constant; use mc:N";
  return view.kind == GaussianView::Kind::absent ? "undefined: " + view.reason : "";
}

std::vector<Estimate> unanswered(std::int64_t points, const std::string& status) {
  Estimate estimate = nonfinite_estimate();
  estimate.status = status;
  return std::vector<Estimate>(static_cast<std::size_t>(points), estimate);
}

// Estimates from margins that are linear and noise that is Gaussian, or is taken as such.
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

Result<std::vector<Estimate>> estimate(Evaluation& evaluation, const Noise& noise, const EstimatorSpec& estimator) {
  return guarded("estimator " + estimator.text(), [&] {
    const Points& points = evaluation.points();
    if (!evaluation.event().plain() && !estimator.definition->knows_events) {
      throw Error{ErrorCode::usage, "estimator " + estimator.text(), "answers for the target alone, not for groups or each class",
                  "use mc:N, taylor, mmse:N or adf"};
    }
    std::vector<Estimate> estimates = estimator.definition->needs_gradients
                                          ? analytical(evaluation, noise, estimator)
                                          : estimator.definition->estimate(evaluation, noise, estimator.parameter);
    for (std::int64_t i = 0; i < points.size(); ++i) {
      const auto x = points.x.row(i);
      const auto row = evaluation.logits().row(i);
      const auto finite = [](float value) { return std::isfinite(value); };
      if (std::all_of(x.begin(), x.end(), finite) && std::all_of(row.begin(), row.end(), finite)) continue;
      Estimate replaced = nonfinite_estimate();
      replaced.forwards = estimates[i].forwards;
      replaced.backwards = estimates[i].backwards;
      estimates[i] = replaced;
    }
    return estimates;
  });
}

}  // namespace probust
