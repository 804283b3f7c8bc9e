// SPDX-License-Identifier: MIT
// The backend is a separate module, so that the program starts without CUDA's libraries and runs on machines without them.
#include "cuda/loader.h"

#include <dlfcn.h>

#include "cuda/module.h"
#include "modules/find_module.h"

namespace probust::cuda {
namespace {

// Stays loaded until the program ends.
struct Module {
  void* handle = dlopen(find_module(kModule).c_str(), RTLD_NOW | RTLD_LOCAL);
  std::string reason = handle == nullptr ? last_problem() : "";  // dlerror() gives it only once

  static std::string last_problem() {
    const char* const text = dlerror();
    return text == nullptr ? "the loader gives no reason" : text;
  }
};

const Module& module() {
  static const Module loaded;
  return loaded;
}

// A function of the module. Throws Error{resources} if there is none.
template <class Function>
Function function_of_module(const char* name) {
  if (!module_exists()) {
    throw Error{ErrorCode::resources, option("device"), "this build has no CUDA",
                "use " + option("device") + " cpu, or build where nvcc, cuBLAS and cuDNN are"};
  }
  void* const found = module().handle == nullptr ? nullptr : dlsym(module().handle, name);
  if (found == nullptr) {
    const std::string reason = module().handle == nullptr ? module().reason : Module::last_problem();
    throw Error{ErrorCode::resources, option("device"), "CUDA cannot be loaded: " + reason, "use " + option("device") + " cpu"};
  }
  return reinterpret_cast<Function>(found);
}

}  // namespace

bool module_exists() { return !find_module(kModule).empty(); }

DeviceCount find_devices() {
  DeviceCount found;
  try {
    function_of_module<FindDevices>(kFindDevices)(found);
  } catch (const Error& error) {
    found.reason = error.problem;
  }
  return found;
}

Result<Rates> load_rates(int ordinal, Precision precision) {
  return guarded("device", [&] {
    Result<Rates> measured{Rates()};
    function_of_module<MeasureRates>(kMeasureRates)(ordinal, precision, measured);
    return std::move(measured).value();
  });
}

Result<std::unique_ptr<Executor>> load_cuda_executor(const Graph& classifier, const ExecutorOptions& options,
                                                     const CudaOptions& cuda) {
  return guarded("device", [&] {
    Result<std::unique_ptr<Executor>> made(nullptr);
    function_of_module<MakeExecutor>(kMakeExecutor)(classifier, options, cuda, made);
    return std::move(made).value();
  });
}

}  // namespace probust::cuda
