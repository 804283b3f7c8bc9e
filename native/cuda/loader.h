// SPDX-License-Identifier: MIT
#pragma once

#include "cuda/cuda_executor.h"
#include "cuda/rates.h"

namespace probust::cuda {

/// Whether the module that holds the backend stands beside the program.
bool module_exists();

/// How many devices there are; 0 where there is no module or no driver.
int count_devices();

/// measure_rates of the module.
Result<Rates> load_rates(int ordinal, Precision precision);

/// make_cuda_executor of the module. Error{resources} where there is none.
Result<std::unique_ptr<Executor>> load_cuda_executor(const Graph& classifier, const ExecutorOptions& options,
                                                     const CudaOptions& cuda);

}  // namespace probust::cuda
