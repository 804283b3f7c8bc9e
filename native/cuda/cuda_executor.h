// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cuda/device.h"
#include "probust/exec/executor.h"

namespace probust::cuda {

struct CudaOptions {
  static constexpr int kAll = -1;
  int ordinal = 0;  ///< the number of a device, or kAll for all of them (multi_gpu.h)
  Precision precision = Precision::float32;
  std::function<void(const std::string&)> warn = [](const std::string&) {};  ///< called if something is slower than it could be
  Progress* progress = nullptr;  ///< counts progress and holds stop requests; null: the executor's own
};

/// Compiles a classifier for an NVIDIA GPU. In `options`, memory is the device's, and threads are for the algebra on the host. At
/// most 80% of the memory that is free is used. Error{resources} if there is no such device or a single example does not fit.
Result<std::unique_ptr<Executor>> make_cuda_executor(const Graph& classifier, const ExecutorOptions& options,
                                                     const CudaOptions& cuda);

}  // namespace probust::cuda
