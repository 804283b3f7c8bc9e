// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "probust/exec/batch_device.h"

namespace probust {

/// The one executor of one device: chunks, pairs, averages, projections, the last layer of many classes, progress and stopping,
/// on the lanes of any device. Chunking never changes a result: lanes do not influence each other (program.h), sums over samples
/// run in the order of the samples, and counts are integers. `progress`, if given, counts its progress and holds its stop
/// requests.
std::unique_ptr<Executor> make_chunked_executor(std::unique_ptr<BatchDevice> device, Progress* progress = nullptr);

}  // namespace probust
