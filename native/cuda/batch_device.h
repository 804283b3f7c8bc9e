// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "cuda/cuda_executor.h"
#include "probust/exec/batch_device.h"

namespace probust::cuda {

/// A GPU as a device of an executor, with one worker. Points are uploaded once; noise, copies, counts of the largest logits,
/// gradients and their Gram matrices are computed there; counts, logits and matrices come back. Throws Error as
/// make_cuda_executor returns it.
std::unique_ptr<BatchDevice> make_cuda_batch_device(const Graph& classifier, const ExecutorOptions& options,
                                                    const CudaOptions& cuda);

}  // namespace probust::cuda
