// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cuda/device.h"
#include "probust/normal/batch.h"

namespace probust::cuda {

/// Problems with fewer variables are solved on the host, because that takes less time than copying them to the device.
inline constexpr std::int64_t kLeastVariables = 24;

/// The probabilities Phi_R(z) of many problems. Problems with at least kLeastVariables variables are solved on the device, with
/// `bytes` of its memory, if separation of variables reaches the requested accuracy within the limit of points. The others
/// (small problems, singular matrices, rare failures, bad input) are solved on the host by mvn_cdf, with `threads` threads.
std::vector<normal::Probability> normal_probabilities(Device& device, std::span<const normal::Problem> problems, int threads,
                                                      std::int64_t bytes, const normal::Options& options = {});

}  // namespace probust::cuda
