// SPDX-License-Identifier: MIT
#pragma once

#include "cuda/cuda_executor.h"
#include "cuda/rates.h"

namespace probust::cuda {

/// Whether this program has the backend's module.
bool module_exists();

/// count_devices of the module. Without a module, the reason is why there is none.
DeviceCount find_devices();

/// measure_rates of the module.
Result<Rates> load_rates(int ordinal, Precision precision);

/// make_cuda_executor of the module. Error{resources} if there is no module.
Result<std::unique_ptr<Executor>> load_cuda_executor(const Graph& classifier, const ExecutorOptions& options,
                                                     const CudaOptions& cuda);

}  // namespace probust::cuda
