// SPDX-License-Identifier: MIT
// softmax:T, the softmax probability of the target at temperature T (Han et al., section 3.2.3): the mv-sigmoid of the margins
// over T. It ignores the noise, and is here because people use it instead.
#include "probust/estimators/common.h"
#include "probust/normal/mv_sigmoid.h"

namespace probust {

std::vector<Estimate> estimate_softmax(Evaluation& evaluation, const Noise&, const EstimatorSpec& asked) {
  std::vector<Estimate> estimates;
  for (std::int64_t i = 0; i < evaluation.points().size(); ++i) {
    const std::int64_t target = evaluation.points().target[i];
    const auto row = evaluation.logits().row(i);
    std::vector<double> margins;
    for (std::int64_t c = 0; c < evaluation.executor().classes(); ++c) {
      if (c != target) margins.push_back((double{row[target]} - double{row[c]}) / asked.value);
    }
    Estimate estimate;
    const normal::MvSigmoid probability = normal::mv_sigmoid(margins);
    estimate.p = probability.p;
    estimate.p_fail = probability.p_fail;
    estimate.forwards = 1;
    estimates.push_back(estimate);
  }
  return estimates;
}

}  // namespace probust
