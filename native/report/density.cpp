// SPDX-License-Identifier: MIT
#include "report/density.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "probust/analysis/summary.h"

namespace probust::report {
namespace {

double bandwidth(const std::vector<double>& values, double range) {
  const double n = static_cast<double>(values.size()), mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const double deviation = std::sqrt(squares / n), quartiles = (quantile_of(values, 0.75) - quantile_of(values, 0.25)) / 1.34;
  return std::max(0.9 * std::min(deviation, quartiles) * std::pow(n, -0.2), 0.01 * range);
}

}  // namespace

Density density(std::vector<double> values, double range, int heights) {
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  if (values.empty()) return {};
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const double width = bandwidth(values, range);
  Density density;
  for (int h = 0; h < heights; ++h) {
    density.heights.push_back(std::lerp(*low, *high, h / (heights - 1.0)));
    double sum = 0;
    for (const double value : values) sum += std::exp(-0.5 * std::pow((value - density.heights.back()) / width, 2));
    density.shares.push_back(sum);
  }
  const double most = *std::max_element(density.shares.begin(), density.shares.end());
  for (double& share : density.shares) share /= most;
  return density;
}

}  // namespace probust::report
