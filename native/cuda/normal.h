// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cuda/device.h"
#include "probust/normal/batch.h"

namespace probust::cuda {

/// Smaller problems are solved on the host, in less time than copying them takes.
inline constexpr std::int64_t kLeastVariables = 24;

/// Phi_R(z) of many problems. Those with kLeastVariables or more, which separation of variables solves to the requested accuracy
/// within its limit of points, are solved on the device in `bytes` of its memory. The others (singular matrices, rare failures,
/// bad input) are solved as by mvn_cdf, on the host's threads.
std::vector<normal::Probability> normal_probabilities(Device& device, std::span<const normal::Problem> problems, int threads,
                                                      std::int64_t bytes, const normal::Options& options = {});

}  // namespace probust::cuda
