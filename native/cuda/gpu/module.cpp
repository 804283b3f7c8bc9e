// SPDX-License-Identifier: MIT
#include "cuda/module.h"

extern "C" {

// Called only from C++ of the same build.
void probust_make_cuda_executor(const probust::Graph& classifier, const probust::ExecutorOptions& options,
                                const probust::cuda::CudaOptions& cuda,
                                probust::Result<std::unique_ptr<probust::Executor>>& made) {
  made = probust::cuda::make_cuda_executor(classifier, options, cuda);
}

void probust_measure_cuda_rates(int ordinal, probust::cuda::Precision precision,
                                probust::Result<probust::cuda::Rates>& measured) {
  measured = probust::guarded("device", [&] { return probust::cuda::measure_rates(ordinal, precision); });
}

void probust_find_cuda_devices(probust::cuda::DeviceCount& found) { found = probust::cuda::count_devices(); }

}  // extern "C"
