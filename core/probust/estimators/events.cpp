// SPDX-License-Identifier: MIT
// Events other than the survival of one class, for a linearised classifier. The probability that class c wins is the normal
// probability of its margins f_c - f_i, which are differences of the target's margins.
#include <algorithm>
#include <iterator>

#include "probust/base/parallel.h"
#include "probust/estimators/common.h"
#include "probust/estimators/statistics/pair_statistics.h"
#include "probust/exec/host/head_margins.h"

namespace probust {

namespace {

// The row of class c among the margins over the rivals of `target`.
std::int64_t row_of(std::int64_t c, std::int64_t target) { return c < target ? c : c - 1; }

// The margins of class c = `other` as differences of the margins of t = `target`: f_c - f_i = (f_t - f_i) - (f_t - f_c).
// Returns the row of f_t - f_i for each class i, or -1 if i = t, for which it is 0. The subtracted row is always that of c.
std::vector<std::int64_t> minuends(std::int64_t rivals, std::int64_t target, std::int64_t other) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(rivals), -1);
  for (std::int64_t i = 0; i <= rivals; ++i) {
    if (i != other && i != target) rows[row_of(i, other)] = row_of(i, target);
  }
  return rows;
}

// Rows `from` minus row `subtracted`. A row of -1 is zero.
Eigen::MatrixXd retargeted_rows(const Eigen::MatrixXd& rows, const std::vector<std::int64_t>& from, std::int64_t subtracted) {
  Eigen::MatrixXd result(rows.rows(), rows.cols());
  for (Eigen::Index i = 0; i < rows.rows(); ++i) {
    result.row(i) = -rows.row(subtracted);
    if (from[i] >= 0) result.row(i) += rows.row(from[i]);
  }
  return result;
}

// Scales the probabilities of all classes so that their sum is one. The sum differs from one by up to the tolerance of the normal
// CDF, and by more with the mv-sigmoid. If all are zero, the event fails.
void normalise(Estimate& estimate) {
  const double total = estimate.p + estimate.p_fail;
  if (total == 0) {
    estimate.p_fail = 1;
    return;
  }
  estimate.p /= total;
  estimate.p_fail /= total;
  for (double& each : estimate.classes) each /= total;
}

Estimate of_event(const Event& event, const Linearization& linearization, std::int64_t target, double sigma, NormalCdf cdf,
                  std::int64_t samples, const std::atomic<bool>* stop) {
  Estimate own = from_linearization(linearization, target, sigma, cdf, samples, stop);
  if (event.plain() || own.status == Status::nonfinite) return own;
  const std::int64_t classes = linearization.rivals() + 1;
  Estimate whole = own;
  whole.p = whole.p_fail = 0;
  if (!event.group.empty()) whole.std_error.reset();  // the errors of the classes are not independent
  for (std::int64_t c = 0; c < classes; ++c) {
    stop_if_asked(stop);
    const Estimate wins =
        c == target ? own : from_linearization(retargeted(linearization, target, c), c, sigma, cdf, samples, stop);
    (event.same_group(c, target) ? whole.p : whole.p_fail) += wins.p;
    if (event.per_class) whole.classes.push_back(wins.p);
    if (wins.status != Status::ok && whole.status == Status::ok) whole.set(wins.status, wins.note);
  }
  if (event.group.empty()) {
    whole.p = own.p;
    whole.p_fail = own.p_fail;
    whole.set(own.status, own.note);
  } else {
    normalise(whole);
  }
  return whole;
}

// Estimates from `some` linearizations, those of consecutive points beginning with point `first`.
std::vector<Estimate> part_to_estimates(Evaluation& evaluation, std::span<const Linearization> some, std::int64_t first,
                                        double sigma, const ProbabilityRule& rule) {
  const auto targets = std::span(evaluation.points().target).subspan(first, some.size());
  if (evaluation.event().plain() && rule.cdf == NormalCdf::exact)
    return from_linearizations(evaluation.executor(), some, targets, sigma, rule.samples);
  std::vector<Estimate> estimates(some.size());
  parallel_for(static_cast<std::int64_t>(some.size()), evaluation.executor().options().threads, [&](std::int64_t i, int) {
    estimates[i] =
        of_event(evaluation.event(), some[i], targets[i], sigma, rule.cdf, rule.samples, &evaluation.executor().progress.stop);
  });
  return estimates;
}

// Adds to each of these estimates the probability of the point's label.
void attach_labels(const Evaluation& evaluation, std::span<const Linearization> some, std::int64_t first, double sigma,
                   const ProbabilityRule& rule, std::vector<Estimate>& estimates) {
  const Points& points = evaluation.points();
  if (points.label.empty()) return;
  const Event event{evaluation.event().group};
  const std::atomic<bool>* stop = &evaluation.executor().progress.stop;
  parallel_for(static_cast<std::int64_t>(some.size()), evaluation.executor().options().threads, [&](std::int64_t k, int) {
    const std::int64_t label = other_label(points, first + k), target = points.target[first + k];
    if (label < 0) return;
    stop_if_asked(stop);
    estimates[k].set_label(of_event(event, retargeted(some[k], target, label), label, sigma, rule.cdf, rule.samples, stop));
  });
}

}  // namespace

std::vector<Estimate> to_estimates(Evaluation& evaluation, const Linearizing& how, double sigma, const ProbabilityRule& rule) {
  const auto rivals = std::clamp<std::int64_t>(evaluation.executor().classes() - 1, 1, kMostRivals);
  const std::int64_t matrices = rule.repair == nullptr ? 2 : 4;  // number of matrices in memory for each point
  const std::int64_t step = std::max<std::int64_t>(1, evaluation.executor().options().memory / (8 * matrices * rivals * rivals));
  std::vector<Estimate> estimates;
  evaluation.each_linearized(how, [&](std::span<const Linearization> part, std::int64_t begin) {
    const auto count = static_cast<std::int64_t>(part.size());
    for (std::int64_t first = 0; first < count; first += step) {
      std::span<const Linearization> some = part.subspan(first, std::min(step, count - first));
      std::vector<Linearization> repaired;
      if (rule.repair != nullptr) {
        std::transform(some.begin(), some.end(), std::back_inserter(repaired), rule.repair);
        some = repaired;
      }
      std::vector<Estimate> made = part_to_estimates(evaluation, some, begin + first, sigma, rule);
      attach_labels(evaluation, some, begin + first, sigma, rule, made);
      for (Estimate& estimate : made) {
        estimate.forwards = rule.forwards;
        estimate.backwards = rule.backwards;
        estimates.push_back(std::move(estimate));
      }
    }
  });
  return estimates;
}

Pairs retargeted(const Pairs& pairs, std::int64_t target, std::int64_t other) {
  const std::vector<std::int64_t> from = minuends(pairs.rivals(), target, other);
  const std::int64_t subtracted = row_of(other, target);
  return {retargeted_rows(pairs.plus, from, subtracted), retargeted_rows(pairs.minus, from, subtracted)};
}

Linearization retargeted(const Linearization& linearization, std::int64_t target, std::int64_t other) {
  if (other == target) return linearization;
  const std::vector<std::int64_t> from = minuends(linearization.rivals(), target, other);
  const std::int64_t subtracted = row_of(other, target);
  Linearization result;
  result.margins = retargeted_rows(linearization.margins, from, subtracted);
  if (linearization.sampled.size() > 0) result.sampled = retargeted_rows(linearization.sampled, from, subtracted);
  if (linearization.last) {
    result.last = linearization.last;
    result.target = other;
    result.gram = linearization.gram;
    result.margin_variances = margin_variances(*result.last, result.gram, other, nullptr);
    return result;
  }
  result.gram = retargeted_rows(linearization.gram, from, subtracted);
  result.gram = retargeted_rows(result.gram.transpose(), from, subtracted).eval();
  return result;
}

}  // namespace probust
