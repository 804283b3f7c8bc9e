// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "probust/estimators/common.h"
#include "probust/estimators/statistics/pair_statistics.h"

namespace probust {

/// With more parameters, a surrogate gains nothing over counting.
inline constexpr std::int64_t kMostParameters = 6;

/// With more parameters, surrogate:N does not search for rare failures.
inline constexpr std::int64_t kMostParametersOfRare = 3;

/// Whether surrogate:N applies to a noise.
struct SurrogateUse {
  std::int64_t normals = 0;  ///< number of normals of the noise; 0 if it is not a function of normals
  bool applies = false;      ///< whether there are few normals, and no noise on single elements besides a perturbation
};
SurrogateUse surrogate_use(const NoiseShape& noise, std::int64_t elements);

/// The estimates of surrogate:N for noise of 2 to kMostParameters normals.
std::vector<Estimate> estimates_by_process(Evaluation& evaluation, const Noise& noise, std::int64_t parameters,
                                           std::int64_t count);

}  // namespace probust
