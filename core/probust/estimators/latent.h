// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>

#include "probust/exec/executor.h"

namespace probust {

/// A problem with noise that is a map x' = T(x, z) (NoiseShape::map), restated for its latents z: the classifier f(T(x, z)) at
/// the points [x, 0] under noise on z. It is exact, and estimators need not know about maps.
struct LatentProblem {
  Executor& executor;  ///< the result of Executor::after
  Points points;
  Tensor logits;  ///< [N, C] at z = 0
  Noise noise;
  std::string flat;  ///< NoiseMap::flat
};

/// Empty if the noise is not a map, or if the executor cannot run it before the classifier. The noise can then only be
/// sampled.
std::optional<LatentProblem> latent_problem(Executor& executor, const Points& points, const Noise& noise);

}  // namespace probust
