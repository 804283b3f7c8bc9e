// SPDX-License-Identifier: MIT
// The backend as a module (modules/device_modules.h). The module contains a copy of the core, so that programs, the C library
// and the Python package can all load the same file.
#include "cuda/cuda_executor.h"
#include "cuda/measure_rates.h"
#include "modules/device_modules.h"

namespace probust::cuda {
namespace {

class CudaDevices final : public DeviceKind {
 public:
  std::string_view name() const override { return "cuda"; }

  DevicesFound find() const override {
    const DeviceCount found = count_devices();
    return {found.count, found.reason};
  }

  Result<std::unique_ptr<Executor>> make(int ordinal, const Graph& classifier, const ExecutorOptions& options) const override {
    static_assert(kAll == CudaOptions::kAll);
    CudaOptions cuda;
    cuda.ordinal = ordinal;
    cuda.precision = options.precision;
    cuda.progress = options.progress;
    if (options.warn) cuda.warn = options.warn;
    return make_cuda_executor(classifier, options, cuda);
  }

  Result<DeviceRates> rates(int ordinal, Precision precision) const override {
    return guarded("the device", [&] { return measure_rates(ordinal, precision); });
  }
};

}  // namespace
}  // namespace probust::cuda

extern "C" {

__attribute__((visibility("default"))) const probust::DeviceKind* probust_device_kind() {
  static const probust::cuda::CudaDevices devices;
  return &devices;
}

__attribute__((visibility("default"))) const char* probust_module_version() { return probust::module_version(); }

}  // extern "C"
