// SPDX-License-Identifier: MIT
//
// Small multilayer perceptrons, trained by the library's own derivatives: what demos and tests classify with.
#pragma once

#include <cstdint>
#include <vector>

#include "probust/graph/graph.h"

namespace probust {

struct MlpOptions {
  std::vector<std::int64_t> hidden = {32};  ///< widths of the hidden layers, ReLU between them
  std::int64_t epochs = 50, batch = 32;
  double rate = 1e-3;  ///< Adam's
  double decay = 0;    ///< of weights, decoupled (Loshchilov and Hutter 2019)
  double noise = 0;    ///< standard deviation of Gaussian noise that is added to every input afresh
  std::uint64_t seed = 0;
};

struct TrainedMlp {
  Graph classifier;          ///< x [d] -> logits [classes]
  std::vector<double> loss;  ///< the mean cross-entropy of each epoch
};

/// Minimises the cross-entropy over x [N, d] with labels 0 .. classes - 1, by Adam (Kingma and Ba, ICLR 2015) from He's initial
/// weights. Points left over after the last whole batch of an epoch wait for the next one's order. Deterministic. Throws
/// Error{usage} where sizes, labels or options do not fit.
TrainedMlp train_mlp(const Tensor& x, const std::vector<std::int64_t>& labels, std::int64_t classes, const MlpOptions& options);

}  // namespace probust
