// SPDX-License-Identifier: MIT
// exact:N, for ensembles of decision trees and noise with independent elements. The prediction is constant on boxes, so p is a
// sum of products of probabilities of intervals (Scher and Trügler, section 6). At most N boxes are divided, the most probable
// ones first. What is not decided then is counted: of N noisy samples, those in undecided boxes are classified. The variance is
// at most that of mc:N, because the probabilities of the other boxes are known, and p is exact if nothing is left.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "probust/base/parallel.h"
#include "probust/estimators/common.h"
#include "probust/estimators/statistics/counts.h"
#include "probust/estimators/statistics/pair_statistics.h"
#include "probust/estimators/statistics/regression_fit.h"
#include "probust/regions/region_search.h"

namespace probust {
namespace {

// Undecided probabilities that need not be counted, and their share of the less probable outcome.
constexpr double kUncounted = 1e-6, kUncountedShare = 1e-3;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 28;  // of the boxes of one point
constexpr double kDivisionCost = 2;                         // in forward passes

// Divides boxes as long as that pays. Counting what is left costs one pass for each of the samples in it, and its variance is
// proportional to what is left. So the product of cost and variance must decrease when the divisions are doubled, as far as the
// last doubling tells.
void divide(RegionSearch& search, std::int64_t most, std::int64_t samples, const StopToken* stop) {
  constexpr std::int64_t kFirst = 32;  // the first doublings are a 32nd and a 16th of the budget
  const auto work = [&](std::int64_t divisions, double open) {
    return kDivisionCost * static_cast<double>(divisions) + open * static_cast<double>(samples);
  };
  std::int64_t divisions = std::max<std::int64_t>(4, samples / kFirst);
  search.divide(std::min(divisions, most), stop);
  double before = search.open();
  while (search.divisions() < most) {
    divisions *= 2;
    search.divide(std::min(divisions, most), stop);
    if (search.divisions() < divisions) return;
    const double open = search.open(), ratio = before > 0 ? open / before : 0;
    if (ratio * work(2 * divisions, ratio * open) >= work(divisions, open)) return;
    before = open;
  }
}

struct Counted {
  std::int64_t kept = 0, trials = 0;
};

class Integration {
 public:
  Integration(Executor& executor, const StepModel& model, const Noise& noise, std::int64_t samples)
      : executor_(executor), model_(model), noise_(noise), samples_(samples) {}

  std::vector<Estimate> estimates(const Points& points) {
    for (const std::int64_t target : points.target) {
      if (!bounds_.contains(target)) bounds_.emplace(target, MarginBounds(model_, target));
    }
    std::vector<Estimate> all;
    const std::int64_t together = at_once();
    for (std::int64_t first = 0; first < points.size(); first += together) {
      const Points some = slice(points, first, std::min(together, points.size() - first));
      for (Estimate& own : estimates_of(some)) all.push_back(std::move(own));
    }
    return all;
  }

 private:
  // Depends only on the model and N, so that estimates do not depend on the memory.
  std::int64_t most_divisions() const { return std::min(samples_, kMostBytes / Boxes::bytes_of_box(model_)); }

  // As many points as threads, or fewer if memory is scarce.
  std::int64_t at_once() const {
    return std::min<std::int64_t>(executor_.options().threads,
                                  points_at_once(executor_, most_divisions() * Boxes::bytes_of_box(model_)));
  }

  std::vector<Estimate> estimates_of(const Points& points) {
    std::vector<std::unique_ptr<RegionSearch>> searches(static_cast<std::size_t>(points.size()));
    parallel_for(points.size(), executor_.options().threads, [&](std::int64_t i, int) {
      searches[i] = std::make_unique<RegionSearch>(model_, bounds_.at(points.target[i]), points.x.row(i), masses(points, i));
      divide(*searches[i], most_divisions(), samples_, &executor_.progress.stop);
    });
    std::vector<Estimate> all;
    for (std::int64_t i = 0; i < points.size(); ++i) {
      all.push_back(estimate_of(slice(points, i, 1), *searches[i]));
      searches[i].reset();
    }
    return all;
  }

  std::vector<ElementMass> masses(const Points& points, std::int64_t i) const {
    const auto index = static_cast<std::uint32_t>(points.index[i]);
    const auto laws = noise_.shape->laws(index, std::ssize(model_.cuts));
    if (!laws)
      throw Error{ErrorCode::usage, "estimator exact", "needs noise whose elements are independent",
                  "use mc:N for " + noise_.text()};
    std::vector<ElementMass> all;
    for (std::size_t e = 0; e < model_.cuts.size(); ++e) {
      if (!model_.cuts[e].empty()) all.emplace_back((*laws)[e], noise_.scale, double{points.x.row(i)[e]}, model_.cuts[e]);
    }
    return all;
  }

  Estimate estimate_of(const Points& point, RegionSearch& search) {
    Estimate estimate;
    settle_ties(point, search);
    estimate.forwards = std::ssize(search.ties());
    const double open = search.open();
    Counted counted;
    if (open > kUncounted || open > kUncountedShare * std::min(search.kept(), search.failed())) counted = count(point, search);
    const double share = share_of(counted, search);
    const Interval interval = counted.trials == 0 ? Interval{0, 1} : clopper_pearson(counted.kept, counted.trials);
    estimate.p = std::min(1.0, search.kept() + open * share);
    estimate.p_fail = std::min(1.0, search.failed() + open * (1 - share));
    estimate.ci_low = std::min(estimate.p, search.kept() + open * interval.low);
    estimate.ci_high = std::max(estimate.p, 1 - (search.failed() + open * (1 - interval.high)));
    estimate.forwards += counted.trials;
    if (counted.trials > 0) {
      estimate.std_error = open * std::sqrt(share * (1 - share) / static_cast<double>(counted.trials));
      estimate.note = "regions with probability " + short_text(open) + " were counted, not integrated";
    }
    return estimate;
  }

  // The share of the undecided probability that keeps the target: as counted, or else as in the decided boxes.
  static double share_of(const Counted& counted, const RegionSearch& search) {
    if (counted.trials > 0) return static_cast<double>(counted.kept) / static_cast<double>(counted.trials);
    const double decided = search.kept() + search.failed();
    return decided > 0 ? search.kept() / decided : 0.5;
  }

  void settle_ties(const Points& point, RegionSearch& search) {
    constexpr std::int64_t kTogether = 1024;
    const std::int64_t count = std::ssize(search.ties());
    for (std::int64_t first = 0; first < count; first += kTogether) {
      Shape shape = point.x.shape;
      shape[0] = std::min(kTogether, count - first);
      Tensor x(shape);
      for (std::int64_t j = 0; j < shape[0]; ++j)
        std::copy_n(search.ties()[first + j].x.data(), x.row(j).size(), x.row(j).data());
      const Tensor logits = executor_.logits(x).value();
      for (std::int64_t j = 0; j < shape[0]; ++j)
        search.settle(search.ties()[first + j], keeps_target({}, logits.row(j), point.target[0]));
    }
  }

  Counted count(const Points& point, const RegionSearch& search) {
    constexpr std::int64_t kTogether = 1024;
    Counted counted;
    const std::int64_t elements = point.x.size();
    for (std::int64_t first = 0; first < samples_; first += kTogether) {
      stop_if_asked(&executor_.progress.stop);
      const Tensor drawn = noisy_rows(
          point, first, std::min(kTogether, samples_ - first), executor_.options().threads,
          [&](const NoiseLanes& lanes, float* x) { noise_.shape->add(lanes, elements, static_cast<float>(noise_.scale), x); });
      std::vector<std::int64_t> which;
      for (std::int64_t j = 0; j < drawn.shape[0]; ++j) {
        if (search.verdict_at(drawn.row(j)) == Verdict::open) which.push_back(j);
      }
      if (which.empty()) continue;
      const Tensor logits = executor_.logits(rows(drawn, which)).value();
      for (std::int64_t j = 0; j < logits.shape[0]; ++j) counted.kept += keeps_target({}, logits.row(j), point.target[0]) ? 1 : 0;
      counted.trials += logits.shape[0];
    }
    return counted;
  }

  Executor& executor_;
  const StepModel& model_;
  const Noise& noise_;
  std::int64_t samples_;
  std::map<std::int64_t, MarginBounds> bounds_;
};

// The points whose label is not the target, with the label as the target.
Points labelled(const Points& points, std::vector<std::int64_t>& which) {
  for (std::int64_t i = 0; i < points.size(); ++i) {
    if (other_label(points, i) >= 0) which.push_back(i);
  }
  Points own = select(points, which);
  own.target = own.label;
  return own;
}

}  // namespace

bool integrates(const Executor& executor, const Points& points, const NoiseShape& noise) {
  const std::int64_t elements = element_count(executor.point_shape());
  return points.size() > 0 && step_model(executor.facts().classifier) &&
         noise.laws(static_cast<std::uint32_t>(points.index[0]), elements);
}

std::vector<Estimate> estimate_exact(Evaluation& evaluation, const Noise& noise, const EstimatorSpec& asked) {
  Executor& executor = evaluation.executor();
  check(executor, evaluation.points());
  if (executor.classes() == 1) return certain_estimates(evaluation.points().size());
  const std::optional<StepModel> model = step_model(executor.facts().classifier);
  if (!model)
    throw Error{ErrorCode::unsupported, "estimator " + asked.text(),
                "needs a classifier whose logits are a sum over decision trees", "use mc:N or auto:N"};
  Integration integration(executor, *model, noise, asked.samples);
  std::vector<Estimate> estimates = integration.estimates(evaluation.points());
  std::vector<std::int64_t> which;
  const std::vector<Estimate> own = integration.estimates(labelled(evaluation.points(), which));
  for (std::size_t k = 0; k < which.size(); ++k) estimates[which[k]].set_label(own[k]);
  return estimates;
}

}  // namespace probust
