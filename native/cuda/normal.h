// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cuda/device.h"
#include "probust/normal/batch.h"

namespace probust::cuda {

/// Problems with fewer variables are solved on the host, in less time than copying them takes.
inline constexpr std::int64_t kLeastVariables = 24;

/// Phi_R(z) of many problems. Problems with kLeastVariables or more are solved on the device, in `bytes` of its memory, if
/// separation of variables reaches the requested accuracy within its limit of points. The others (singular matrices, rare
/// failures, bad input) are solved by mvn_cdf on the host's threads.
std::vector<normal::Probability> normal_probabilities(Device& device, std::span<const normal::Problem> problems, int threads,
                                                      std::int64_t bytes, const normal::Options& options = {});

}  // namespace probust::cuda
