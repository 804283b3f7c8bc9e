// SPDX-License-Identifier: MIT
// Poisson draws: inversion by a search from zero for small means, else the transformed rejection method PTRS of Hörmann, "The
// transformed rejection method for generating Poisson random variables", Insurance: Mathematics and Economics 12 (1993) 39-45.
#include "probust/perturb/poisson.h"

#include <array>
#include <cmath>

namespace probust {
namespace {

constexpr double kSmallMean = 10;  // PTRS is valid from here on

double searched(double mean, NoiseStream& random) {
  double count = 0, probability = std::exp(-mean), left = random.uniform();
  while (left > probability) {
    left -= probability;
    count += 1;
    probability *= mean / count;
  }
  return count;
}

// log k!; Stirling's series is exact to 1e-12 for k >= 10. std::lgamma writes a global variable, so threads cannot share it.
double log_factorial(double k) {
  static constexpr std::array<double, 10> kFactorials = {1, 1, 2, 6, 24, 120, 720, 5040, 40320, 362880};
  if (k < 10) return std::log(kFactorials[static_cast<std::size_t>(k)]);
  const double r = 1 / k, r2 = r * r;
  const double series = r * (1.0 / 12 - r2 * (1.0 / 360 - r2 * (1.0 / 1260 - r2 / 1680)));
  return (k + 0.5) * std::log(k) - k + 0.91893853320467274 + series;
}

double transformed(double mean, NoiseStream& random) {
  const double b = 0.931 + 2.53 * std::sqrt(mean), a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), quick = 0.9277 - 3.6224 / (b - 2);
  const double log_mean = std::log(mean);
  while (true) {
    const double u = random.uniform() - 0.5, v = random.uniform(), us = 0.5 - std::fabs(u);
    const double k = std::floor((2 * a / us + b) * u + mean + 0.43);
    if (us >= 0.07 && v <= quick) return k;
    if (k < 0 || (us < 0.013 && v > us)) continue;
    if (std::log(v * inverse_alpha / (a / (us * us) + b)) <= k * log_mean - mean - log_factorial(k)) return k;
  }
}

}  // namespace

double poisson(double mean, NoiseStream& random) {
  if (!(mean > 0)) return 0;
  if (!std::isfinite(mean)) return mean;
  return mean < kSmallMean ? searched(mean, random) : transformed(mean, random);
}

}  // namespace probust
