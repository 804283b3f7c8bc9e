// SPDX-License-Identifier: MIT
#include "probust/estimators/reconcile.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "probust/normal/univariate.h"

namespace probust {
namespace {

constexpr int kNodes = 161;
constexpr double kReach = 6;        // of the grid: |b| up to sinh(6) = 200 prior scales
constexpr double kFreedom = 1;      // of the prior, Student's t: most models are good, some are far off
constexpr double kNegligible = 25;  // log weights this far below the best are dropped
constexpr int kZooms = 3;

struct Posterior {
  std::array<double, kNodes> centre, weight;
  double spread;

  double cdf(double zeta) const {
    double sum = 0;
    for (int i = 0; i < kNodes; ++i) sum += weight[i] * normal::cdf((zeta - centre[i]) / spread);
    return sum;
  }
  double quantile(double probability) const {
    double low = centre.back() - 10 * spread, high = centre.front() + 10 * spread;
    for (int i = 0; i < 60; ++i) {
      const double middle = (low + high) / 2;
      (cdf(middle) < probability ? low : high) = middle;
    }
    return (low + high) / 2;
  }
};

// How the variance of the count is shared out: what the model explains of it, in units of zeta, and as how many samples the rest
// counts. A model that varies more than `efficiency` of the count is not the efficient one that the argument asks for: the excess
// is model error.
struct Shares {
  double std_error, model_error, samples;
};

Shares share_out(const Evidence& evidence) {
  const auto n = static_cast<double>(evidence.samples), k = static_cast<double>(evidence.kept);
  const double counted = normal::quantile((k + 1) / (n + 2));
  const double z = std::fabs(counted) < std::fabs(evidence.z) ? counted : evidence.z;
  const double count_error = std::sqrt(normal::cdf(z) * normal::complement(z) / n) / normal::pdf(z);
  const double std_error = std::min(evidence.std_error, std::sqrt(evidence.efficiency) * count_error);
  const double excess = std::sqrt(evidence.std_error * evidence.std_error - std_error * std_error);
  const double explained = std::pow(std_error / count_error, 2);
  return {std::max(std_error, 1e-9), std::hypot(evidence.model_error, excess), n / (1 - explained)};
}

double log_prior(double t) { return -(kFreedom + 1) / 2 * std::log1p(t * t / kFreedom); }

// Nodes b = model_error sinh(u) for u in [low, high], with the logarithms of their posterior weights.
void place(const Evidence& evidence, const Shares& shares, double low, double high, Posterior& result) {
  const double share = static_cast<double>(evidence.kept) / static_cast<double>(evidence.samples);
  for (int i = 0; i < kNodes; ++i) {
    const double u = low + (high - low) * i / (kNodes - 1), t = std::sinh(u);
    const double zeta = result.centre[i] = evidence.z - t * shares.model_error;
    result.weight[i] = log_prior(t) + std::log(std::cosh(u));
    if (share > 0) result.weight[i] += shares.samples * share * normal::log_cdf(zeta);
    if (share < 1) result.weight[i] += shares.samples * (1 - share) * normal::log_complement(zeta);
  }
}

Posterior posterior(const Evidence& evidence) {
  Posterior result;
  const Shares shares = share_out(evidence);
  result.spread = shares.std_error;
  double low = -kReach, high = kReach, best = 0;
  for (int zoom = 0;; ++zoom) {
    place(evidence, shares, low, high, result);
    best = *std::max_element(result.weight.begin(), result.weight.end());
    if (zoom == kZooms) break;
    const auto matters = [&](double weight) { return weight > best - kNegligible; };
    const auto first = std::find_if(result.weight.begin(), result.weight.end(), matters) - result.weight.begin();
    const auto last = std::find_if(result.weight.rbegin(), result.weight.rend(), matters) - result.weight.rbegin();
    const double step = (high - low) / (kNodes - 1);
    high -= static_cast<double>(std::max<std::ptrdiff_t>(0, last - 1)) * step;
    low += static_cast<double>(std::max<std::ptrdiff_t>(0, first - 1)) * step;
  }
  double total = 0;
  for (double& weight : result.weight) total += weight = std::exp(weight - best);
  for (double& weight : result.weight) weight /= total;
  return result;
}

}  // namespace

Reconciled reconcile(const Evidence& evidence) {
  const Posterior of_zeta = posterior(evidence);
  const auto p = [&](double probability) { return normal::cdf(of_zeta.quantile(probability)); };
  return {of_zeta.quantile(0.5), (p(normal::cdf(1)) - p(normal::cdf(-1))) / 2, {p(0.025), p(0.975)}};
}

}  // namespace probust
