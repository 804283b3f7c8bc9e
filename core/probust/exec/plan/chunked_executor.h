// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "probust/exec/batch_device.h"

namespace probust {

/// The executor of any single device. It handles chunks, pairs, averages, projections, progress, stop requests and, if there are
/// many classes, the last layer. Chunking never changes a result: lanes do not influence each other (program.h), sums over
/// samples run in the order of the samples, and counts are integers. `progress`, if given, counts passes and carries stop
/// requests.
std::unique_ptr<Executor> make_chunked_executor(std::unique_ptr<BatchDevice> device, Progress* progress = nullptr);

}  // namespace probust
