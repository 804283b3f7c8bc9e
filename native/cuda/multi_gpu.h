// SPDX-License-Identifier: MIT
#pragma once

#include "cuda/cuda_executor.h"

namespace probust::cuda {

/// One executor on all devices of the machine: each takes chunks of a call's points until none is left (chunks.h), or of the
/// samples if there are few points. The results equal those of one device. A device that runs out of memory is named to
/// `cuda.warn` once, and the others do its part of the call. Throws Error as make_cuda_executor returns it.
std::unique_ptr<Executor> make_multi_gpu_executor(const Graph& classifier, const ExecutorOptions& options,
                                                  const CudaOptions& cuda);

}  // namespace probust::cuda
