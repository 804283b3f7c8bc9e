// SPDX-License-Identifier: MIT
// Distributes the budget of a data set so that the sum of errors is smallest. If v_i is the variance of an estimate from one
// noisy sample, the error with n_i samples is sqrt(v_i / n_i), and the sum of errors is smallest if n_i is proportional to
// v_i^(1/3).
#include "probust/estimators/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <set>

#include "probust/estimators/common.h"
#include "probust/estimators/statistics/pooling.h"

namespace probust {
namespace {

constexpr std::int64_t kPilotSamples = 12;
constexpr std::uint64_t kSchedulePilotSeed = 0xd1b54a32d192ed03;
constexpr std::int64_t kLeast = 8;  // number of samples at a point that the pilot finds certain
// Maximum number of samples of a point; rounding may increase it.
constexpr double kMost = static_cast<double>(kMostSamples) / 2;

// The nearest even number on a scale with 8 steps per octave. The scale has few values, because points with equal numbers of
// samples run together.
std::int64_t rounded(double wanted) {
  const double samples = std::min(wanted, kMost);
  if (!(samples > kLeast)) return kLeast;
  const double step = std::max(2.0, std::exp2(std::floor(std::log2(samples)) - 3));
  return std::llround(std::round(samples / step) * step);
}

std::int64_t allot(std::span<const double> weights, double scale, std::vector<std::int64_t>& samples) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) sum += samples[i] = rounded(scale * weights[i]);
  return sum;
}

// The variance of p = Phi(z) from one sample with normal margins, phi(z)² (1 + z² / 2), averaged over the pilot's uncertainty z ~
// N(m, s²).
double normal_variance(const Estimate& pilot) {
  const double m = z_of(pilot);
  if (!std::isfinite(m)) return 0;
  const double s2 = (1 + m * m / 2) / kPilotSamples, narrowed = 1 + 2 * s2;
  const double density = std::exp(-m * m / narrowed) / std::sqrt(narrowed) / (2 * std::numbers::pi);
  return density * (1 + (m * m / (narrowed * narrowed) + s2 / narrowed) / 2);
}

// The variance of a share from one sample, with Laplace's rule of succession.
double binomial_variance(const Estimate& pilot) {
  const double p = (pilot.p * kPilotSamples + 1) / (kPilotSamples + 2);
  return p * (1 - p);
}

std::vector<double> pilot_variances(Executor& executor, Points points, const Tensor& logits, const Noise& noise,
                                    const Event& event) {
  points.label.clear();
  points.seed ^= kSchedulePilotSeed;  // the samples that choose must not be part of the estimate
  Evaluation pilot(executor, std::move(points), logits, event);
  const bool plain = event.plain();
  std::vector<double> variances;
  const EstimatorSpec estimator = spec_of(plain ? estimate_probit : estimate_monte_carlo, kPilotSamples);
  for (const Estimate& one : estimate(pilot, noise, estimator).value()) {
    const double variance = plain ? normal_variance(one) : binomial_variance(one);
    variances.push_back(std::isfinite(variance) ? variance : 0);  // NaN: more samples would not help
  }
  return variances;
}

// Runs auto with n samples for each of the points `which`. These groups of points are too small to share draws of the noise.
void estimate_block(Evaluation part, const Noise& noise, std::int64_t n, std::span<const std::int64_t> which,
                    std::vector<Estimate>& estimates) {
  const EstimatorSpec independent = with_share(spec_of(estimate_auto, n), EstimatorDefinition::Share::none).value();
  std::vector<Estimate> own = estimate(part, noise, independent).value();
  for (std::size_t k = 0; k < which.size(); ++k) {
    own[k].forwards += kPilotSamples;
    estimates[which[k]] = std::move(own[k]);
  }
}

// Runs auto with samples[i] noisy samples of point i. Points with equal numbers of samples run together, in blocks that do not
// depend on the memory, because pooled estimates depend on the block.
std::vector<Estimate> estimate_each(Executor& executor, const Points& points, const Tensor& logits, const Noise& noise,
                                    const Event& event, std::span<const std::int64_t> samples) {
  std::vector<Estimate> estimates(samples.size());
  for (const std::int64_t n : std::set<std::int64_t>(samples.begin(), samples.end())) {
    std::vector<std::int64_t> equal;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      if (samples[i] == n) equal.push_back(static_cast<std::int64_t>(i));
    }
    for (std::size_t first = 0; first < equal.size(); first += kBlock) {
      const auto which = std::span(equal).subspan(first, std::min<std::size_t>(kBlock, equal.size() - first));
      estimate_block({executor, select(points, which), rows(logits, which), event}, noise, n, which, estimates);
    }
  }
  return estimates;
}

}  // namespace

std::vector<std::int64_t> allocate(std::span<const double> variances, std::int64_t total) {
  std::vector<double> weights;
  weights.reserve(variances.size());
  for (const double v : variances) weights.push_back(std::cbrt(v));
  std::vector<std::int64_t> samples(variances.size());
  if (samples.empty()) return samples;
  if (allot(weights, 0, samples) > total)
    throw Error{ErrorCode::usage, option("total_budget"),
                "is too small: " + std::to_string(total) + " noisy samples for " + std::to_string(samples.size()) + " estimates",
                "give at least " + std::to_string(kLeast) + " per estimate"};
  if (*std::max_element(weights.begin(), weights.end()) < 1e-100) return samples;  // all are certain: the minimum for each
  double low = 0, high = static_cast<double>(total) / *std::max_element(weights.begin(), weights.end());
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (allot(weights, middle, samples) <= total ? low : high) = middle;
  }
  (void)allot(weights, low, samples);
  return samples;
}

Result<std::vector<std::vector<Estimate>>> estimate_within(Executor& executor, const Points& points, const Tensor& logits,
                                                           std::span<const Noise> noises, const Event& event,
                                                           std::int64_t total) {
  return guarded(option("total_budget"), [&] {
    std::vector<std::vector<Estimate>> estimates;
    const auto n = static_cast<std::size_t>(points.size());
    const auto asked = static_cast<std::int64_t>(n * noises.size());
    if (total / (kPilotSamples + kLeast) < asked)
      throw Error{ErrorCode::usage, option("total_budget"),
                  "is too small: " + std::to_string(total) + " forward passes for " + std::to_string(asked) + " estimates",
                  "give at least " + std::to_string(asked * (kPilotSamples + kLeast))};
    std::vector<double> variances;
    for (const Noise& noise : noises) {
      const std::vector<double> own = pilot_variances(executor, points, logits, noise, event);
      variances.insert(variances.end(), own.begin(), own.end());
    }
    if (asked == 0) return std::vector<std::vector<Estimate>>(noises.size());
    const std::vector<std::int64_t> samples = allocate(variances, total - kPilotSamples * asked);
    for (std::size_t k = 0; k < noises.size(); ++k)
      estimates.push_back(estimate_each(executor, points, logits, noises[k], event, std::span(samples).subspan(k * n, n)));
    return estimates;
  });
}

}  // namespace probust
