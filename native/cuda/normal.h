// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cuda/device.h"
#include "probust/normal/batch.h"

namespace probust::cuda {

/// Where the device takes over: smaller problems are done on the host before they have been copied.
inline constexpr std::int64_t kLeastVariables = 24;

/// Phi_R(z) of many problems. Those of kLeastVariables and more that separation of variables solves to the asked accuracy within
/// its points are solved on the device, in `bytes` of its memory; the others (singular matrices, rare failures, bad input) as
/// mvn_cdf does, on the host's threads.
std::vector<normal::Probability> normal_probabilities(Device& device, std::span<const normal::Problem> problems, int threads,
                                                      std::int64_t bytes, const normal::Options& options = {});

}  // namespace probust::cuda
