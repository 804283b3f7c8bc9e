// SPDX-License-Identifier: MIT
#pragma once

#include "cuda/cuda_executor.h"

namespace probust::cuda {

/// An executor that uses all devices of the machine: each device takes chunks of a call's points, or of their samples if there
/// are few points, until none is left (chunks.h). The results are the same as with a single device. If a device runs out of
/// memory, `cuda.warn` is called once with its name, and the other devices take over its part of the call. Throws the errors
/// that make_cuda_executor returns.
std::unique_ptr<Executor> make_multi_gpu_executor(const Graph& classifier, const ExecutorOptions& options,
                                                  const CudaOptions& cuda);

}  // namespace probust::cuda
