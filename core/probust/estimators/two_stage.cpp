// SPDX-License-Identifier: MIT
// mc:±h and mc:p>tau draw as many samples as the requested accuracy or decision needs.
//
// mc:±h, a half-width: a pilot of 150 samples determines how many more to draw. Only the later samples are counted. Their number
// does not depend on their outcome, so the Clopper-Pearson interval keeps its coverage (Stein 1945 for normals).
//
// mc:p>tau, a decision: draws samples until a confidence sequence excludes tau, or up to a cap. If p = tau, the likelihood ratio
// between a uniform prior of p and p = tau, for k survivors among n samples, is a martingale. So the probability that the ratio
// ever reaches 1/alpha is at most alpha (Ville 1939; Robbins, "Statistical methods related to the law of the iterated logarithm",
// 1970). The interval holds for all n at once.
#include <algorithm>
#include <cmath>

#include "probust/base/text.h"
#include "probust/estimators/common.h"
#include "probust/estimators/statistics/binomial.h"
#include "probust/estimators/statistics/counts.h"

namespace probust {
namespace {

constexpr std::int64_t kFirstSamples = 150;
constexpr std::int64_t kMostTrials = std::int64_t{1} << 26;
constexpr std::int64_t kDecisionCap = std::int64_t{1} << 20;
constexpr double kLevel = 0.95;

double half_width(double share, std::int64_t trials) {
  const Interval interval = clopper_pearson(std::llround(share * static_cast<double>(trials)), trials, kLevel);
  return (interval.high - interval.low) / 2;
}

// The smallest number of trials whose interval, at this share, has a half-width of at most h.
std::int64_t trials_for(double share, double h) {
  std::int64_t low = 1, high = 2;
  while (high < kMostTrials && half_width(share, high) > h) high *= 2;
  while (low + 1 < high) {
    const std::int64_t middle = low + (high - low) / 2;
    (half_width(share, middle) > h ? low : high) = middle;
  }
  return high;
}

// The share in the pilot's 80% interval that is nearest to 1/2 and therefore needs the most trials.
double careful_share(std::int64_t survivors) {
  const Interval interval = clopper_pearson(survivors, kFirstSamples, 0.8);
  return std::min(std::max(0.5, interval.low), interval.high);
}

// A point, its noise, and the event that is counted.
struct Question {
  Executor& executor;
  const Event& event;
  const Points& point;
  const Noise& noise;
};

// The numbers of samples that keep the target and, if the label is not the target, the number that get the label.
struct Counts {
  std::int64_t survivors = 0, labelled = 0;
};

// The counts for samples first .. first + count - 1.
Counts counts_among(const Question& asked, std::int64_t first, std::int64_t count) {
  const auto placed = count_placed(asked.executor, asked.point, asked.noise, count, asked.event.top, first);
  const std::int64_t label = other_label(asked.point, 0);
  return {survivors_of(asked.event, placed[0], asked.point.target[0]),
          label < 0 ? 0 : survivors_of(asked.event, placed[0], label)};
}

// The estimate from counts; interval_of(count) gives the interval of a count.
template <class IntervalOf>
Estimate estimate_of(const Question& asked, const Counts& counts, std::int64_t trials, IntervalOf interval_of) {
  Estimate estimate = from_counts(counts.survivors, trials, interval_of(counts.survivors));
  if (other_label(asked.point, 0) >= 0) estimate.set_label(from_counts(counts.labelled, trials, interval_of(counts.labelled)));
  return estimate;
}

// The values of p that the likelihood ratio between a uniform prior and p does not reject:
// log B(k+1, n-k+1) - k log p - (n-k) log(1-p) < log(1 / alpha).
class ConfidenceSequence {
 public:
  ConfidenceSequence(std::int64_t survivors, std::int64_t trials)
      : k_(static_cast<double>(survivors)), n_(static_cast<double>(trials)), beta_(log_beta(k_ + 1, n_ - k_ + 1)) {}

  bool rejects(double p) const { return evidence(p) >= -std::log(1 - kLevel); }

  Interval interval() const { return {edge(0), edge(1)}; }

 private:
  double evidence(double p) const {
    const double survived_part = k_ == 0 ? 0 : k_ * std::log(p), lost_part = k_ == n_ ? 0 : (n_ - k_) * std::log1p(-p);
    return beta_ - survived_part - lost_part;
  }
  // The bound of the interval on the side of `end` (0 or 1). p = `end` is always rejected unless the observed share equals it.
  double edge(double end) const {
    double outside = end, inside = k_ / n_;
    if (inside == end) return end;
    for (int i = 0; i < 60; ++i) {
      const double middle = (outside + inside) / 2;
      (rejects(middle) ? outside : inside) = middle;
    }
    return outside;
  }
  double k_, n_, beta_;
};

Estimate to_half_width(const Question& asked, double h) {
  const std::int64_t pilot = counts_among(asked, 0, kFirstSamples).survivors;
  const std::int64_t trials = trials_for(careful_share(pilot), h);
  const Counts counts = counts_among(asked, kFirstSamples, trials);
  Estimate estimate = estimate_of(asked, counts, trials, [&](std::int64_t k) { return clopper_pearson(k, trials, kLevel); });
  estimate.forwards += kFirstSamples;
  if (trials >= kMostTrials) estimate.set(Status::capped, "the half-width was not reached");
  return estimate;
}

Estimate decide(const Question& asked, double tau) {
  Counts counts;
  std::int64_t trials = 0;
  Status status = Status::undecided;
  for (std::int64_t next = 64; trials < kDecisionCap; next = std::max<std::int64_t>(64, trials / 8)) {
    next = std::min(next, kDecisionCap - trials);
    const Counts more = counts_among(asked, trials, next);
    counts.survivors += more.survivors;
    counts.labelled += more.labelled;
    trials += next;
    if (!ConfidenceSequence(counts.survivors, trials).rejects(tau)) continue;
    status = Status::decided;
    break;
  }
  Estimate estimate =
      estimate_of(asked, counts, trials, [&](std::int64_t k) { return ConfidenceSequence(k, trials).interval(); });
  const std::string about = status == Status::undecided ? " is undecided" : estimate.p > tau ? " holds" : " does not hold";
  estimate.set(status, "p > " + shortest_text(tau) + about);
  return estimate;
}

template <class One>
std::vector<Estimate> point_by_point(Evaluation& evaluation, const Noise& noise, const EstimatorSpec& asked, One one) {
  std::vector<Estimate> estimates;
  for (std::int64_t i = 0; i < evaluation.points().size(); ++i) {
    const Points point = slice(evaluation.points(), i, 1);
    estimates.push_back(one(Question{evaluation.executor(), evaluation.event(), point, noise}, asked.value));
  }
  return estimates;
}

}  // namespace

std::vector<Estimate> estimate_to_half_width(Evaluation& evaluation, const Noise& noise, const EstimatorSpec& asked) {
  return point_by_point(evaluation, noise, asked, to_half_width);
}

std::vector<Estimate> estimate_decision(Evaluation& evaluation, const Noise& noise, const EstimatorSpec& asked) {
  return point_by_point(evaluation, noise, asked, decide);
}

}  // namespace probust
