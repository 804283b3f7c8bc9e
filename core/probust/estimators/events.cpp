// SPDX-License-Identifier: MIT
// Events other than the survival of one class, for a linearised classifier: every class c wins with a probability Phi of its own
// margins f_c - f_i, which are differences of the target's margins.
#include <algorithm>
#include <iterator>

#include "probust/base/parallel.h"
#include "probust/estimators/common.h"

namespace probust {

namespace {

// Row of class c among the rivals of `target`.
std::int64_t row_of(std::int64_t c, std::int64_t target) { return c < target ? c : c - 1; }

// Margins of `other` as a matrix on those of `target`: (f_t - f_i) - (f_t - f_c), and -(f_t - f_c) where i = t.
Eigen::MatrixXd change_of_target(Eigen::Index rivals, std::int64_t target, std::int64_t other) {
  Eigen::MatrixXd change = Eigen::MatrixXd::Zero(rivals, rivals);
  for (std::int64_t i = 0; i <= rivals; ++i) {
    if (i == other) continue;
    const std::int64_t row = row_of(i, other);
    if (i != target) change(row, row_of(i, target)) = 1;
    change(row, row_of(other, target)) = -1;
  }
  return change;
}

Estimate of_event(const Event& event, const Linearization& linearization, std::int64_t target, double sigma, NormalCdf cdf,
                  std::int64_t samples) {
  Estimate own = from_linearization(linearization, target, sigma, cdf, samples);
  if (event.plain() || own.status.starts_with("nonfinite")) return own;
  const std::int64_t classes = linearization.margins.size() + 1;
  Estimate whole = own;
  whole.p = whole.p_fail = 0;
  if (!event.group.empty()) whole.std_error.reset();  // the classes' errors are not independent
  for (std::int64_t c = 0; c < classes; ++c) {
    const Estimate wins = c == target ? own : from_linearization(retargeted(linearization, target, c), c, sigma, cdf, samples);
    (event.same_group(c, target) ? whole.p : whole.p_fail) += wins.p;
    if (event.per_class) whole.classes.push_back(wins.p);
    if (wins.status != "ok" && whole.status == "ok") whole.status = wins.status;
  }
  if (event.group.empty()) {
    whole.p = own.p;
    whole.p_fail = own.p_fail;
    whole.status = own.status;
  }
  return whole;
}

// Linearizations first .. of as many points as `some` has.
std::vector<Estimate> read_some(Evaluation& evaluation, std::span<const Linearization> some, std::int64_t first, double sigma,
                                const Reading& reading) {
  const auto targets = std::span(evaluation.points().target).subspan(first, some.size());
  if (evaluation.event().plain() && reading.cdf == NormalCdf::exact)
    return from_linearizations(evaluation.executor(), some, targets, sigma, reading.samples);
  std::vector<Estimate> estimates(some.size());
  parallel_for(static_cast<std::int64_t>(some.size()), evaluation.executor().options().threads, [&](std::int64_t i, int) {
    estimates[i] = of_event(evaluation.event(), some[i], targets[i], sigma, reading.cdf, reading.samples);
  });
  return estimates;
}

}  // namespace

std::vector<Estimate> read(Evaluation& evaluation, const std::vector<Linearization>& linearizations, double sigma,
                           const Reading& reading) {
  const auto count = static_cast<std::int64_t>(linearizations.size());
  const std::int64_t rivals = std::max<std::int64_t>(1, evaluation.executor().classes() - 1);
  const std::int64_t matrices = reading.repair == nullptr ? 2 : 4;  // of a point at once
  const std::int64_t step = std::max<std::int64_t>(1, evaluation.executor().options().memory / (8 * matrices * rivals * rivals));
  std::vector<Estimate> estimates;
  for (std::int64_t first = 0; first < count; first += step) {
    std::span<const Linearization> some = std::span(linearizations).subspan(first, std::min(step, count - first));
    std::vector<Linearization> repaired;
    if (reading.repair != nullptr) {
      std::transform(some.begin(), some.end(), std::back_inserter(repaired), reading.repair);
      some = repaired;
    }
    for (Estimate& estimate : read_some(evaluation, some, first, sigma, reading)) {
      estimate.forwards = reading.forwards;
      estimate.backwards = reading.backwards;
      estimates.push_back(std::move(estimate));
    }
  }
  return estimates;
}

Linearization retargeted(const Linearization& linearization, std::int64_t target, std::int64_t other) {
  if (other == target) return linearization;
  const Eigen::VectorXd& margins = linearization.margins;
  const Eigen::MatrixXd &gram = linearization.gram, &covariance = linearization.sample_covariance;
  const Eigen::MatrixXd change = change_of_target(margins.size(), target, other);
  Linearization result;
  result.margins = change * margins;
  result.gram = change * gram * change.transpose();
  if (covariance.size() > 0) result.sample_covariance = change * covariance * change.transpose();
  return result;
}

}  // namespace probust
