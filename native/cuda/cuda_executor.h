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
  std::function<void(const std::string&)> warn = [](const std::string&) {};  ///< called if something is slower than necessary
  Progress* progress = nullptr;  ///< counts progress and receives stop requests; if null, the executor has its own
};

/// Compiles a classifier for an NVIDIA GPU. In `options`, `memory` limits the memory of the device (at most 80% of its free
/// memory is used in any case), and `threads` is the number of threads for the algebra on the host. Returns Error{resources} if
/// there is no such device or a single example does not fit.
Result<std::unique_ptr<Executor>> make_cuda_executor(const Graph& classifier, const ExecutorOptions& options,
                                                     const CudaOptions& cuda);

}  // namespace probust::cuda
