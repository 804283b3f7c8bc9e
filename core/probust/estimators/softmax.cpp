// SPDX-License-Identifier: MIT
// softmax:T, the softmax probability of the target at temperature T (Han et al., section 3.2.3): the mv-sigmoid of the margins
// divided by T. It ignores the noise; it is provided for comparison, because it is often used as a measure of robustness.
#include "probust/estimators/common.h"
#include "probust/normal/mv_sigmoid.h"

namespace probust {
namespace {

Estimate softmax_of(std::span<const float> logits, std::int64_t target, double temperature) {
  std::vector<double> margins;
  for (std::int64_t c = 0; c < static_cast<std::int64_t>(logits.size()); ++c) {
    if (c != target) margins.push_back((double{logits[target]} - double{logits[c]}) / temperature);
  }
  Estimate estimate;
  const normal::MvSigmoid probability = normal::mv_sigmoid(margins);
  estimate.p = probability.p;
  estimate.p_fail = probability.p_fail;
  estimate.forwards = 1;
  return estimate;
}

}  // namespace

std::vector<Estimate> estimate_softmax(Evaluation& evaluation, const Noise&, const EstimatorSpec& asked) {
  std::vector<Estimate> estimates;
  for (std::int64_t i = 0; i < evaluation.points().size(); ++i) {
    const auto row = evaluation.logits().row(i);
    estimates.push_back(softmax_of(row, evaluation.points().target[i], asked.value));
    const std::int64_t label = other_label(evaluation.points(), i);
    if (label >= 0) estimates.back().set_label(softmax_of(row, label, asked.value));
  }
  return estimates;
}

}  // namespace probust
