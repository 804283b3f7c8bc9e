// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "cuda/cuda_executor.h"
#include "probust/exec/batch_device.h"

namespace probust::cuda {

/// A GPU as the device of an executor, with one worker. Points are uploaded once. Noisy samples, counts of the largest logits,
/// gradients and their Gram matrices are computed on the GPU; only counts, logits and matrices are downloaded. Throws the
/// errors that make_cuda_executor returns.
std::unique_ptr<BatchDevice> make_cuda_batch_device(const Graph& classifier, const ExecutorOptions& options,
                                                    const CudaOptions& cuda);

}  // namespace probust::cuda
