// SPDX-License-Identifier: MIT
#pragma once

#include "cuda/cuda_executor.h"

namespace probust::cuda {

/// One executor on all devices of the machine: each takes its share of a call's points, or of the samples if there are fewer
/// points than devices. The results equal those of one device. Throws Error as make_cuda_executor returns it.
std::unique_ptr<Executor> make_multi_gpu_executor(const Graph& classifier, const ExecutorOptions& options,
                                                  const CudaOptions& cuda);

}  // namespace probust::cuda
