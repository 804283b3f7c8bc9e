// SPDX-License-Identifier: MIT
// subset:N, rare failures by subset simulation (Au and Beck, "Estimation of small failure probabilities in high dimensions by
// subset simulation", Probabilistic Engineering Mechanics 2001). The smallest margin is reduced in levels. A tenth of the
// samples of one level reach the next; p_fail is the product of these shares. The samples of a level are chains of w' = rho w +
// sqrt(1 - rho²) xi (Papaioannou et al. 2015), which keep w standard normal.
//
// Margins that are constant on regions, as those of trees are, do not move from level to level. If many of the first samples have
// equal margins, all samples are therefore counted.
//
// If gradients lead to the most likely failure point, the result is checked by importance sampling there. If the two differ by
// more than half a decade plus their errors, the status is `disagrees`.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "probust/estimators/common.h"
#include "probust/estimators/noisy_logits.h"
#include "probust/estimators/statistics/binomial.h"
#include "probust/estimators/statistics/counts.h"
#include "probust/estimators/statistics/pair_statistics.h"
#include "probust/normal/univariate.h"

namespace probust {
namespace {

constexpr double kLevelShare = 0.1;
constexpr std::int64_t kChainLength = 10;  // 1 / kLevelShare
constexpr std::int64_t kMostLevels = 10;   // p_fail down to about 1e-10
constexpr std::int64_t kSearchSteps = 12;
constexpr double kLn10 = 2.302585092994046;

using Rows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// One point with noise that is a function of standard normals w [d]: draws w, and computes the smallest margin for a given w.
class Response {
 public:
  Response(Executor& executor, const Points& point, const Noise& noise)
      : executor_(executor), point_(point), noise_(noise), d_(*noise.shape->normals(point.x.size())) {}

  std::int64_t dimension() const { return d_; }
  std::int64_t forwards() const { return forwards_; }
  std::int64_t backwards() const { return backwards_; }

  Rows draw(std::int64_t count) {
    std::vector<std::uint32_t> samples(static_cast<std::size_t>(count));
    std::iota(samples.begin(), samples.end(), drawn_);
    drawn_ += static_cast<std::uint32_t>(count);
    const std::vector<std::uint32_t> points = point_index(count);
    Eigen::MatrixXf lanes = Eigen::MatrixXf::Zero(count, d_);  // by columns: [elements][lanes]
    isotropic_gaussian()->add({point_.seed, points, samples}, d_, 1, lanes.data());
    return lanes;
  }

  // The smallest margin for each row of w; at most 0 if the target does not survive, and -infinity for NaN.
  std::vector<double> smallest_margins(const Rows& w) {
    const Tensor logits = executor_.logits(moved(w)).value();
    forwards_ += w.rows();
    std::vector<double> smallest;
    for (Eigen::Index i = 0; i < w.rows(); ++i) smallest.push_back(smallest_margin(logits.row(i)).value);
    if (!counted_) count_label(logits);
    counted_ = true;
    return smallest;
  }

  // How many of the first rows get the label, if that is not the target. The first rows are plain noisy samples.
  std::int64_t labelled() const { return labelled_; }

  struct Slope {
    double margin;
    Eigen::VectorXd gradient;  // [d] gradient with respect to w
  };
  // The smallest margin for one w, and its gradient.
  Slope slope(const Rows& w) {
    const Tensor x = moved(w);
    const Tensor logits = executor_.logits(x).value();
    const Smallest smallest = smallest_margin(logits.row(0));
    Slope result{smallest.value, Eigen::VectorXd::Zero(d_)};
    const std::int64_t elements = point_.x.size();
    std::vector<float> gradient(static_cast<std::size_t>(elements));
    const auto take = [&](std::int64_t, std::span<const float> jacobian) {
      const float *own = jacobian.data() + point_.target[0] * elements, *other = jacobian.data() + smallest.rival * elements;
      for (std::int64_t e = 0; e < elements; ++e) gradient[e] = own[e] - other[e];
    };
    (void)executor_.jacobian(x, take).value();
    noise_.shape->whiten(point_index(1), elements, gradient.data());
    for (std::int64_t k = 0; k < d_; ++k) result.gradient[k] = noise_.scale * double{gradient[k]};
    forwards_ += 2;
    backwards_ += executor_.classes();
    return result;
  }

 private:
  void count_label(const Tensor& logits) {
    const std::int64_t label = other_label(point_, 0);
    for (std::int64_t i = 0; label >= 0 && i < logits.shape[0]; ++i) labelled_ += argmax(logits.row(i)) == label ? 1 : 0;
  }

  struct Smallest {
    double value;
    std::int64_t rival;
  };
  Smallest smallest_margin(std::span<const float> logits) const {
    const std::int64_t target = point_.target[0];
    Smallest smallest{std::numeric_limits<double>::infinity(), 0};
    for (std::int64_t c = 0; c < static_cast<std::int64_t>(logits.size()); ++c) {
      if (c == target) continue;
      double margin = double{logits[target]} - double{logits[c]};
      if (std::isnan(margin)) return {-std::numeric_limits<double>::infinity(), c};
      if (margin == 0 && c > target) margin = std::numeric_limits<double>::min();  // the lower index wins a tie
      if (margin < smallest.value) smallest = {margin, c};
    }
    return smallest;
  }

  std::vector<std::uint32_t> point_index(std::int64_t lanes) const {
    return std::vector<std::uint32_t>(static_cast<std::size_t>(lanes), static_cast<std::uint32_t>(point_.index[0]));
  }

  Tensor moved(const Rows& w) const {
    return noisy_points(point_, std::vector<std::int64_t>(static_cast<std::size_t>(w.rows()), 0), noise_, w,
                        executor_.options().threads);
  }

  Executor& executor_;
  const Points& point_;
  const Noise& noise_;
  std::int64_t d_, forwards_ = 0, backwards_ = 0, labelled_ = 0;
  bool counted_ = false;
  std::uint32_t drawn_ = 0;
};

// The samples of one level: row c + chains * s is step s of chain c.
struct Population {
  Rows w;
  std::vector<double> margin;
  std::int64_t chains;
};

// The factor of p_fail from one level: the share of its samples at or below the next threshold. `variation` is the squared
// coefficient of variation of that share, including the correlation along the chains (Au and Beck, eq. 25-29).
struct Level {
  double share, variation;
};

Level assess(const Population& population, double threshold) {
  const auto n = static_cast<std::int64_t>(population.margin.size()), length = n / population.chains;
  const auto below = [&](std::int64_t chain, std::int64_t step) {
    return population.margin[chain + population.chains * step] <= threshold ? 1.0 : 0.0;
  };
  double share = 0;
  for (std::int64_t i = 0; i < n; ++i) share += below(i % population.chains, i / population.chains) / static_cast<double>(n);
  double inflation = 1;
  for (std::int64_t lag = 1; lag < length && share > 0 && share < 1; ++lag) {
    double product = 0;
    for (std::int64_t chain = 0; chain < population.chains; ++chain) {
      for (std::int64_t step = 0; step + lag < length; ++step) product += below(chain, step) * below(chain, step + lag);
    }
    const double covariance = product / static_cast<double>((length - lag) * population.chains) - share * share;
    inflation += 2 * (1 - static_cast<double>(lag) / static_cast<double>(length)) * covariance / (share * (1 - share));
  }
  return {share, (1 - share) / (std::max(share, 1e-300) * static_cast<double>(n)) * std::max(1.0, inflation)};
}

// Starts chains from the rows with the smallest margins, which are at or below the threshold.
Population descend(const Population& from, double threshold, double& rho, Response& response) {
  std::vector<std::int64_t> order(from.margin.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return from.margin[a] < from.margin[b]; });
  const std::int64_t chains = static_cast<std::int64_t>(order.size()) / kChainLength;
  Population to{Rows(chains * kChainLength, response.dimension()), {}, chains};
  for (std::int64_t chain = 0; chain < chains; ++chain) {
    to.w.row(chain) = from.w.row(order[chain]);
    to.margin.push_back(from.margin[order[chain]]);
  }
  for (std::int64_t step = 1; step < kChainLength; ++step) {
    const Rows before = to.w.middleRows((step - 1) * chains, chains);
    const Rows candidates =
        static_cast<float>(rho) * before + static_cast<float>(std::sqrt(1 - rho * rho)) * response.draw(chains);
    const std::vector<double> margins = response.smallest_margins(candidates);
    std::int64_t accepted = 0;
    for (std::int64_t chain = 0; chain < chains; ++chain) {
      const bool accept = margins[chain] <= threshold;
      accepted += accept ? 1 : 0;
      to.w.row(step * chains + chain) = accept ? candidates.row(chain) : before.row(chain);
      to.margin.push_back(accept ? margins[chain] : to.margin[(step - 1) * chains + chain]);
    }
    // Adapts the step length to an acceptance rate of 44% (Roberts, Gelman and Gilks 1997).
    const double excess = static_cast<double>(accepted) / static_cast<double>(chains) - 0.44;
    const double length = std::sqrt(1 - rho * rho) * std::exp(excess);
    rho = std::sqrt(1 - std::pow(std::min(length, 0.98), 2));
  }
  return to;
}

struct Rare {
  double p_fail, variation;  // variation: squared coefficient of variation of p_fail
  bool reached;
};

// Chains start from samples of the previous level, so the errors of levels are correlated. On linear and quadratic problems,
// the variance of log p_fail exceeded the sum over levels by about this share for each level after the first.
constexpr double kShared = 0.13;

// The number of samples per level.
std::int64_t level_size(std::int64_t samples) {
  return std::max(kChainLength * 2, samples / kMostLevels / kChainLength * kChainLength);
}

// Plain samples.
Population first_level(Response& response, std::int64_t samples) {
  const std::int64_t n = level_size(samples);
  Population population{response.draw(n), {}, n};
  population.margin = response.smallest_margins(population.w);
  return population;
}

// Whether at least a tenth of the margins occur before.
bool has_steps(std::vector<double> margins) {
  const auto all = margins.size();
  std::sort(margins.begin(), margins.end());
  margins.erase(std::unique(margins.begin(), margins.end()), margins.end());
  return 10 * (all - margins.size()) >= all;
}

std::int64_t count_failures(const std::vector<double>& margins) {
  return std::count_if(margins.begin(), margins.end(), [](double margin) { return !(margin > 0); });
}

// The share of `samples` plain samples, those of the first level among them.
Estimate counted(Response& response, const Population& first, std::int64_t samples) {
  constexpr std::int64_t kTogether = 1024;
  std::int64_t failed = count_failures(first.margin);
  while (response.forwards() < samples)
    failed += count_failures(response.smallest_margins(response.draw(std::min(kTogether, samples - response.forwards()))));
  Estimate estimate = from_counts(samples - failed, samples, clopper_pearson(samples - failed, samples));
  estimate.note = "the margins change in steps, so samples were counted";
  return estimate;
}

Rare simulate(Response& response, Population population, std::int64_t samples) {
  const auto n = std::ssize(population.margin);
  Rare rare{1, 0, false};
  // If margins are so similar that the levels make no progress, the first samples still bound p_fail, by the rule of three.
  const double seen = std::max(3.0, static_cast<double>(count_failures(population.margin))) / static_cast<double>(n);
  double rho = 0.6;
  for (std::int64_t level_number = 0;; ++level_number) {
    std::vector<double> sorted = population.margin;
    std::sort(sorted.begin(), sorted.end());
    const double quantile = sorted[n / kChainLength - 1], threshold = std::max(0.0, quantile);
    const Level level = assess(population, threshold);
    rare.p_fail *= level.share;
    rare.variation += level.variation;
    rare.reached = quantile <= 0;
    if (rare.reached || response.forwards() + n > samples) {
      rare.variation *= 1 + kShared * static_cast<double>(level_number);
      if (!rare.reached) rare.p_fail = std::min(rare.p_fail, seen);
      return rare;
    }
    population = descend(population, threshold, rho, response);
  }
}

// Finds the most likely failure under unit noise: the point nearest to the origin at which the smallest margin is 0 (Hasofer
// and Lind; Rackwitz and Fiessler 1978). Returns false if the search fails.
bool design_point(Response& response, Eigen::VectorXd& w) {
  w = Eigen::VectorXd::Zero(response.dimension());
  double first = 0;
  for (std::int64_t step = 0; step < kSearchSteps; ++step) {
    const Response::Slope slope = response.slope(w.transpose().cast<float>());
    if (step == 0) first = std::fabs(slope.margin);
    const double squared = slope.gradient.squaredNorm();
    if (!(squared > 0) || !std::isfinite(slope.margin)) return false;
    const Eigen::VectorXd next = (slope.gradient.dot(w) - slope.margin) / squared * slope.gradient;
    const bool settled = (next - w).norm() < 0.02 * next.norm() && std::fabs(slope.margin) < 0.02 * first;
    w = next;
    if (settled) return true;
  }
  return true;  // near enough: importance sampling is unbiased for any centre
}

// Importance sampling around the most likely failure w*, with weights phi(w) / phi(w - w*).
Rare importance(Response& response, const Eigen::VectorXd& centre, std::int64_t samples) {
  const Rows fresh = response.draw(samples);
  const Rows shifted = fresh.rowwise() + centre.transpose().cast<float>();
  const std::vector<double> margins = response.smallest_margins(shifted);
  double sum = 0, squares = 0;
  for (std::int64_t i = 0; i < samples; ++i) {
    if (margins[i] > 0) continue;
    const double weight = std::exp(-centre.dot(fresh.row(i).transpose().cast<double>()) - centre.squaredNorm() / 2);
    sum += weight;
    squares += weight * weight;
  }
  const auto n = static_cast<double>(samples);
  const double mean = sum / n;
  return {mean, mean > 0 ? std::max(0.0, squares / n / (mean * mean) - 1) / n : INFINITY, mean > 0};
}

// Whether the two estimates differ by more than half a decade plus their errors.
bool disagree(const Rare& subset, const Rare& check) {
  if (!check.reached) return false;
  const double apart = std::fabs(std::log(subset.p_fail / check.p_fail));
  return !(apart < 0.5 * kLn10 + 2 * std::sqrt(subset.variation + std::min(check.variation, 1.0)));
}

Estimate by_levels(Response& response, const Population& first, std::int64_t samples, std::int64_t check_samples) {
  const Rare rare = simulate(response, first, samples);
  Estimate estimate;
  estimate.p_fail = rare.p_fail;
  estimate.p = std::max(0.0, 1 - rare.p_fail);
  estimate.std_error = rare.p_fail * std::sqrt(rare.variation);
  const double factor = std::exp(1.96 * std::sqrt(std::log1p(rare.variation)));  // p_fail is nearly lognormal
  estimate.ci_low = std::max(0.0, 1 - rare.p_fail * factor);
  estimate.ci_high = std::max(*estimate.ci_low, 1 - (rare.reached ? rare.p_fail / factor : 0));
  if (!rare.reached) estimate.set(Status::bound, "failures are rarer than " + short_text(rare.p_fail));
  Eigen::VectorXd centre;
  if (check_samples > 0 && rare.reached && rare.p_fail < kLevelShare && design_point(response, centre)) {
    const Rare other = importance(response, centre, std::max<std::int64_t>(20, check_samples));
    if (disagree(rare, other))
      estimate.set(Status::disagrees, "importance sampling at the most likely failure gives p_fail " + short_text(other.p_fail));
  }
  return estimate;
}

Estimate rare_failure(Executor& executor, const Points& point, const Noise& noise, std::int64_t samples) {
  Estimate estimate;
  estimate.p = 1;
  if (executor.classes() == 1) return estimate;
  Response response(executor, point, noise);
  const std::int64_t check_samples = executor.piecewise_constant() ? 0 : samples / 10;
  const Population first = first_level(response, samples - check_samples);
  estimate = has_steps(first.margin) ? counted(response, first, samples)
                                     : by_levels(response, first, samples - check_samples, check_samples);
  if (other_label(point, 0) >= 0) {
    const auto trials = std::ssize(first.margin);
    estimate.set_label(from_counts(response.labelled(), trials, clopper_pearson(response.labelled(), trials)));
  }
  estimate.forwards = response.forwards();
  estimate.backwards = response.backwards();
  return estimate;
}

}  // namespace

std::vector<Estimate> estimate_subset(Evaluation& evaluation, const Noise& noise, const EstimatorSpec& asked) {
  if (!noise.shape->normals(evaluation.points().x.size() / std::max<std::int64_t>(1, evaluation.points().size()))) {
    throw Error{ErrorCode::usage, "subset", "needs noise that is a function of normal variables",
                "use mc:N for " + noise.shape->name()};
  }
  const std::int64_t count = asked.samples;
  const std::int64_t width = evaluation.points().x.size() / std::max<std::int64_t>(1, evaluation.points().size());
  (void)points_at_once(evaluation.executor(), count / kMostLevels * width * 16);
  std::vector<Estimate> estimates;
  for (std::int64_t i = 0; i < evaluation.points().size(); ++i)
    estimates.push_back(rare_failure(evaluation.executor(), slice(evaluation.points(), i, 1), noise, count));
  return estimates;
}

}  // namespace probust
