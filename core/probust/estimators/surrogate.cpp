// SPDX-License-Identifier: MIT
// surrogate:N, for the one to six parameters of a perturbation: margins are smooth functions of them, though far from normal
// ones. With one parameter, each point chooses its own N nodes and its margins are interpolated between them. With two to six,
// margins are modelled by Gaussian processes (surrogate_process.cpp). Noise on single pixels in addition, or more parameters,
// are counted by mc:N:sobol.
#include "probust/estimators/surrogate.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "probust/base/parallel.h"
#include "probust/estimators/margin_line.h"
#include "probust/estimators/noisy_logits.h"
#include "probust/estimators/statistics/regression_fit.h"
#include "probust/normal/univariate.h"

namespace probust {
namespace {

// With fewer nodes, they are placed in advance, at scaled quantiles.
constexpr std::int64_t kLeastAdaptive = 9;
constexpr std::array kFirstNodes = {-0.8, 0.8, -1.7, 1.7, -3.0, 3.0};
constexpr double kQuantileScale = 1.4;

std::vector<double> first_nodes(std::int64_t count, bool zero_known) {
  if (count >= kLeastAdaptive) return {kFirstNodes.begin(), kFirstNodes.end()};
  std::vector<double> nodes;
  for (std::int64_t i = 0; i < count; ++i) {
    const double t = kQuantileScale * normal::quantile((static_cast<double>(i) + 0.5) / static_cast<double>(count));
    if (t != 0 || !zero_known) nodes.push_back(t);
  }
  return nodes;
}

std::vector<float> margins_of(std::span<const float> logits, std::int64_t target) {
  std::vector<float> margins;
  for (std::int64_t row = 0; row < std::ssize(logits) - 1; ++row)
    margins.push_back(finite_margin(logits, target, rival_of(row, target)));
  return margins;
}

// The lines of all points, for the targets and, where they differ, for the labels.
class Lines {
 public:
  Lines(Evaluation& evaluation, const Noise& noise)
      : executor_(evaluation.executor()),
        points_(evaluation.points()),
        noise_(noise),
        targets_(static_cast<std::size_t>(points_.size())),
        labels_(targets_.size()) {
    // Additive noise without its normals changes nothing, so this node costs no forward.
    if (!noise.shape->additive()) return;
    for (std::int64_t i = 0; i < points_.size(); ++i) add(i, 0, evaluation.logits().row(i));
  }

  // Evaluates all points at the same nodes.
  void evaluate_at(const std::vector<double>& nodes) {
    std::vector<double> all;
    for (std::int64_t i = 0; i < points_.size(); ++i) all.insert(all.end(), nodes.begin(), nodes.end());
    evaluate(all);
  }

  // Evaluates the points at their own nodes [points, nodes of each].
  void evaluate(const std::vector<double>& nodes) {
    const std::int64_t each = std::ssize(nodes) / std::max<std::int64_t>(1, points_.size());
    std::vector<std::int64_t> which;
    Eigen::MatrixXf w(std::ssize(nodes), 1);
    for (std::int64_t row = 0; row < std::ssize(nodes); ++row) {
      which.push_back(row / each);
      w(row, 0) = static_cast<float>(nodes[row]);
    }
    const Tensor logits = noisy_logits(executor_, points_, which, noise_, w);
    for (std::int64_t row = 0; row < std::ssize(nodes); ++row) add(which[row], w(row, 0), logits.row(row));
    forwards_ += each;
  }

  std::vector<double> next_nodes() const {
    std::vector<double> nodes(targets_.size());
    each([&](std::int64_t i) {
      MarginLine::Next next = targets_[i].next_node();
      if (labels_[i].nodes() > 0) {
        const MarginLine::Next other = labels_[i].next_node();
        if (other.doubt > next.doubt) next = other;
      }
      nodes[i] = next.t;
    });
    return nodes;
  }

  std::vector<Estimate> estimates() const {
    std::vector<Estimate> all(targets_.size());
    each([&](std::int64_t i) {
      all[i] = targets_[i].estimate();
      all[i].forwards = forwards_;
      if (labels_[i].nodes() > 0) all[i].set_label(labels_[i].estimate());
    });
    return all;
  }

 private:
  void add(std::int64_t i, double t, std::span<const float> logits) {
    targets_[i].add(t, margins_of(logits, points_.target[i]));
    if (const std::int64_t label = other_label(points_, i); label >= 0) labels_[i].add(t, margins_of(logits, label));
  }

  template <class Use>
  void each(const Use& use) const {
    parallel_for(points_.size(), executor_.options().threads, [&](std::int64_t i, int) {
      stop_if_asked(&executor_.progress.stop);
      use(i);
    });
  }

  Executor& executor_;
  const Points& points_;
  const Noise& noise_;
  std::vector<MarginLine> targets_, labels_;
  std::int64_t forwards_ = 0;
};

std::vector<Estimate> estimates_on_lines(Evaluation& evaluation, const Noise& noise, std::int64_t count) {
  const std::int64_t n = evaluation.points().size();
  check_all_fit(evaluation.executor(), n, 2 * (count + 1) * evaluation.executor().classes() * 4);
  Lines lines(evaluation, noise);
  const std::vector<double> first = first_nodes(count, noise.shape->additive());
  lines.evaluate_at(first);
  for (std::int64_t k = std::ssize(first); k < count; ++k) lines.evaluate(lines.next_nodes());
  return lines.estimates();
}

std::vector<Estimate> counted(Evaluation& evaluation, const Noise& noise, std::int64_t count) {
  const EstimatorSpec counting = spec_of(estimate_monte_carlo_sobol, count);
  std::vector<Estimate> estimates = counting.definition->estimate(evaluation, noise, counting);
  for (Estimate& estimate : estimates) estimate.method = counting;
  return estimates;
}

}  // namespace

SurrogateUse surrogate_use(const NoiseShape& noise, std::int64_t elements) {
  const std::optional<std::int64_t> normals = noise.normals(elements);
  if (!normals) return {};
  const std::int64_t parameters = std::ssize(noise.parameters(elements));
  return {*normals, *normals <= kMostParameters && (parameters == 0 || parameters == *normals)};
}

std::vector<Estimate> estimate_surrogate(Evaluation& evaluation, const Noise& noise, const EstimatorSpec& asked) {
  constexpr std::int64_t kMostNodes = 500;
  const std::int64_t n = evaluation.points().size();
  if (asked.samples > kMostNodes)
    throw Error{ErrorCode::usage, "estimator " + asked.text(), "has too many samples",
                "give at most " + std::to_string(kMostNodes)};
  if (n == 0) return {};
  const auto elements = static_cast<std::int64_t>(evaluation.points().x.row(0).size());
  const SurrogateUse use = surrogate_use(*noise.shape, elements);
  const bool perturbs = !noise.shape->parameters(elements).empty();
  if (use.normals == 0 || (!use.applies && !perturbs))
    throw Error{ErrorCode::usage, "estimator " + asked.text(),
                use.normals == 0 ? "needs noise that is a function of normal variables"
                                 : "needs a perturbation, or noise of at most " + std::to_string(kMostParameters) +
                                       " normal variables, not " + std::to_string(use.normals),
                "use mc:N for " + noise.shape->name()};
  if (evaluation.executor().classes() == 1) return certain_estimates(n);
  if (!use.applies) return counted(evaluation, noise, asked.samples);
  if (use.normals == 1) return estimates_on_lines(evaluation, noise, asked.samples);
  return estimates_by_process(evaluation, noise, use.normals, asked.samples);
}

}  // namespace probust
