// SPDX-License-Identifier: MIT
#include "cuda/cuda_executor.h"

#include "cuda/batch_device.h"
#include "cuda/multi_gpu.h"
#include "probust/exec/plan/chunked_executor.h"

namespace probust::cuda {

Result<std::unique_ptr<Executor>> make_cuda_executor(const Graph& classifier, const ExecutorOptions& options,
                                                     const CudaOptions& cuda) {
  return guarded("the model", [&]() -> std::unique_ptr<Executor> {
    if (cuda.ordinal == CudaOptions::kAll) return make_multi_gpu_executor(classifier, options, cuda);
    return make_chunked_executor(make_cuda_batch_device(classifier, options, cuda), cuda.progress);
  });
}

}  // namespace probust::cuda
