// SPDX-License-Identifier: MIT
#include "probust/estimators/reconcile.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "probust/normal/univariate.h"
#include "probust/normal/vector_math.h"

namespace probust {
namespace {

constexpr int kNodes = 5 * normal::kLanes;
constexpr double kGridEnd = 6;    // the grid covers |b| up to sinh(6) = 200 prior scales
constexpr double kFreedom = 1;    // degrees of freedom of the prior, Student's t: most models are good, some are far off
constexpr double kFarBelow = 25;  // nodes whose log weight is further below the largest are dropped
constexpr int kZooms = 3;
constexpr double kLastStep = 1e-6;  // a Newton step below this share of the spread is the last one

// A mixture of normal distributions with a common standard deviation.
struct Posterior {
  std::array<double, kNodes> centre, weight;
  double spread;

  struct Value {
    double cdf, density;
  };

  Value at(double zeta) const {
    Value sum{0, 0};
    normal::Lanes x, density, below;
    for (int start = 0; start < kNodes; start += normal::kLanes) {
      for (int i = 0; i < normal::kLanes; ++i) x[i] = (zeta - centre[start + i]) / spread;
      normal::density_lanes(x, density, below);
      for (int i = 0; i < normal::kLanes; ++i) {
        sum.cdf += weight[start + i] * below[i];
        sum.density += weight[start + i] * density[i] / spread;
      }
    }
    return sum;
  }

  // Newton steps while they stay within the bracket, otherwise bisection. Near the solution, each Newton step squares the error.
  double quantile(double probability, double guess) const {
    double low = centre.back() - 10 * spread, high = centre.front() + 10 * spread, zeta = std::clamp(guess, low, high);
    for (int i = 0; i < 100 && high - low > 1e-13 * (1 + std::fabs(zeta)); ++i) {
      const Value value = at(zeta);
      (value.cdf < probability ? low : high) = zeta;
      const double next = zeta - (value.cdf - probability) / value.density;
      if (std::fabs(next - zeta) < kLastStep * spread) return next;
      zeta = next > low && next < high ? next : (low + high) / 2;
    }
    return zeta;
  }

  // The quantile at Phi(z) of a normal distribution with the mean and variance of the mixture.
  double about(double z) const {
    double mean = 0, squares = 0;
    for (int i = 0; i < kNodes; ++i) mean += weight[i] * centre[i];
    for (int i = 0; i < kNodes; ++i) squares += weight[i] * (centre[i] - mean) * (centre[i] - mean);
    return mean + z * std::sqrt(squares + spread * spread);
  }

  // The quantile of p at Phi(z).
  double quantile_of_p(double z) const { return normal::cdf(quantile(normal::cdf(z), about(z))); }
};

// The variance of the count in two parts: the part that the model explains, as a standard error of zeta, and the remainder, as
// an equivalent number of samples. If the variance of z exceeds the share `efficiency` of the count's variance, the model is
// less efficient than assumed, and the excess is treated as model error.
struct Shares {
  double std_error, model_error, samples;
};

Shares share_out(const Evidence& evidence) {
  const auto n = static_cast<double>(evidence.samples), k = static_cast<double>(evidence.survivors);
  const double counted = normal::quantile((k + 1) / (n + 2));
  const double z = std::fabs(counted) < std::fabs(evidence.z) ? counted : evidence.z;
  const double count_error = std::sqrt(normal::cdf(z) * normal::complement(z) / n) / normal::pdf(z);
  const double std_error = std::min(evidence.std_error, std::sqrt(evidence.efficiency) * count_error);
  const double excess = std::sqrt(evidence.std_error * evidence.std_error - std_error * std_error);
  const double explained = std::pow(std_error / count_error, 2);
  return {std::max(std_error, 1e-9), std::hypot(evidence.model_error, excess), n / (1 - explained)};
}

double log_prior(double t) { return -(kFreedom + 1) / 2 * normal::rational::log(1 + t * t / kFreedom); }

// Sets the nodes b = model_error sinh(u) for u in [low, high] and the logarithms of their posterior weights.
void place(const Evidence& evidence, const Shares& shares, double low, double high, Posterior& result) {
  const double share = static_cast<double>(evidence.survivors) / static_cast<double>(evidence.samples);
  const double survivors = shares.samples * share, lost = shares.samples * (1 - share);
  normal::Lanes zeta, below, above;
  for (int start = 0; start < kNodes; start += normal::kLanes) {
    for (int i = 0; i < normal::kLanes; ++i) {
      const double u = low + (high - low) * (start + i) / (kNodes - 1), growth = normal::rational::exp(u);
      const double t = (growth - 1 / growth) / 2, slope = (growth + 1 / growth) / 2;
      zeta[i] = result.centre[start + i] = evidence.z - t * shares.model_error;
      result.weight[start + i] = log_prior(t) + normal::rational::log(slope);
    }
    normal::cdf_lanes(zeta, below, above);
    for (int i = 0; i < normal::kLanes; ++i) {
      if (share > 0) result.weight[start + i] += survivors * normal::rational::log(below[i]);
      if (share < 1) result.weight[start + i] += lost * normal::rational::log(above[i]);
    }
  }
}

Posterior posterior(const Evidence& evidence) {
  Posterior result;
  const Shares shares = share_out(evidence);
  result.spread = shares.std_error;
  double low = -kGridEnd, high = kGridEnd, best = 0;
  for (int zoom = 0;; ++zoom) {
    place(evidence, shares, low, high, result);
    best = *std::max_element(result.weight.begin(), result.weight.end());
    if (zoom == kZooms) break;
    const auto matters = [&](double weight) { return weight > best - kFarBelow; };
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
  return {of_zeta.quantile(0.5, of_zeta.about(0)), (of_zeta.quantile_of_p(1) - of_zeta.quantile_of_p(-1)) / 2};
}

Interval reconciled_p95(const Evidence& evidence) {
  const Posterior of_zeta = posterior(evidence);
  constexpr double kTwoSided = 1.959963984540054;
  return {of_zeta.quantile_of_p(-kTwoSided), of_zeta.quantile_of_p(kTwoSided)};
}

}  // namespace probust
