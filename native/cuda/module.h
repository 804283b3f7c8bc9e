// SPDX-License-Identifier: MIT
#pragma once

#include "cuda/cuda_executor.h"
#include "cuda/rates.h"

// The interface of the module that holds the CUDA backend: its functions are looked up by these names.
namespace probust::cuda {

using MakeExecutor = void (*)(const Graph&, const ExecutorOptions&, const CudaOptions&, Result<std::unique_ptr<Executor>>& made);
using FindDevices = void (*)(DeviceCount& found);
using MeasureRates = void (*)(int ordinal, Precision precision, Result<Rates>& measured);
inline constexpr const char* kModule = "probust_cuda.so";  ///< found by find_module
inline constexpr const char* kMakeExecutor = "probust_make_cuda_executor";
inline constexpr const char* kMeasureRates = "probust_measure_cuda_rates";
inline constexpr const char* kFindDevices = "probust_find_cuda_devices";

}  // namespace probust::cuda
