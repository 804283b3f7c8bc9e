// SPDX-License-Identifier: MIT
#include "cli/hints.h"

#include <algorithm>
#include <cmath>

#include "cli/messages.h"
#include "probust/base/text.h"
#include "probust/estimators/pooling.h"

namespace probust::cli {

void report_accuracy(const std::string& of, std::int64_t correct, std::int64_t labelled) {
  if (labelled == 0) return;
  say("{}clean accuracy {:.2f}% ({} of {})\n", of, 100.0 * static_cast<double>(correct) / static_cast<double>(labelled), correct,
      labelled);
}

void AccuracyHint::show(const Problem& problem, std::int64_t correct, std::int64_t labelled) {
  constexpr std::int64_t kEnough = 20;
  if (shown_ || labelled == 0 || problem.arguments.quiet) return;
  const std::int64_t classes = problem.executor->classes();
  const auto [low, high] = problem.data->label_range().value_or(std::pair<std::int64_t, std::int64_t>(0, 0));
  const double chance = static_cast<double>(labelled) / static_cast<double>(classes);
  if (low < 0 || high >= classes) {
    say("probust: labels run from {} to {}, but the model has classes 0 to {}; give the right ones with --labels\n", low, high,
        classes - 1);
    shown_ = true;
  } else if (labelled >= kEnough) {
    if (static_cast<double>(correct) < 1.5 * chance)
      say("probust: {} of the first {} answers are right, close to chance; check --scale, --mean, --std, --layout and the "
          "labels\n",
          correct, labelled);
    shown_ = true;
  }
}

void report_large_noise(Problem& problem, const std::vector<Noise>& noises) {
  if (problem.arguments.quiet || problem.arguments.tolerance) return;
  const PointBlock some = read_points(problem, first_position(problem), std::min(kBlock, point_count(problem)));
  float low = INFINITY, high = -INFINITY;
  for (const float value : some.x.data) {
    if (!std::isfinite(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  double largest = 0;
  for (const Noise& noise : noises) largest = std::max(largest, noise.sigma().value_or(0));
  if (!(low < high) || largest <= static_cast<double>(high) - static_cast<double>(low)) return;
  say("probust: noise of {} is larger than the range of the data, {:.4g} to {:.4g}; sigma is in the data's units after --scale\n",
      shortest_text(largest), low, high);
}

}  // namespace probust::cli
