// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "cuda/cuda_executor.h"
#include "probust/exec/lanes.h"

namespace probust::cuda {

/// Lanes on a GPU, with one worker. Points are uploaded once; noise, copies, counts of the largest logits, gradients and their
/// Gram matrices are computed there; counts, logits and matrices come back. Throws Error as make_cuda_executor returns it.
std::unique_ptr<Lanes> make_cuda_lanes(const Graph& classifier, const ExecutorOptions& options, const CudaOptions& cuda);

}  // namespace probust::cuda
