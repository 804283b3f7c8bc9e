// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "probust/exec/lanes.h"

namespace probust {

/// The one implementation of an executor's coarse calls: chunks, pairs, averages, projections, the last layer of many classes,
/// progress and stopping, on the lanes of any device. Chunking never changes a result: lanes do not influence each other
/// (program.h), sums over samples run in the order of the samples, and counts are integers.
/// `progress`, if given, counts its progress and holds its stop requests.
std::unique_ptr<Executor> make_coarse_executor(std::unique_ptr<Lanes> lanes, Progress* progress = nullptr);

}  // namespace probust
