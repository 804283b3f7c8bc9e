// SPDX-License-Identifier: MIT
// The backend is a module of its own, so that the program starts without CUDA's libraries and runs where they are not.
#include "cuda/loader.h"

#include <dlfcn.h>

#include <filesystem>

#include "cuda/module.h"

namespace probust::cuda {
namespace {

std::filesystem::path module_path() {
  std::error_code problem;
  return std::filesystem::read_symlink("/proc/self/exe", problem).parent_path() / kModule;
}

// Stays loaded until the program ends.
void* module() {
  static void* const handle = dlopen(module_path().c_str(), RTLD_NOW | RTLD_LOCAL);
  return handle;
}

}  // namespace

bool module_exists() { return std::filesystem::exists(module_path()); }

int count_devices() {
  if (!module_exists() || module() == nullptr) return 0;
  const auto count = reinterpret_cast<CountDevices>(dlsym(module(), kCountDevices));
  return count == nullptr ? 0 : count();
}

Result<std::unique_ptr<Executor>> load_cuda_executor(const Graph& classifier, const ExecutorOptions& options,
                                                     const CudaOptions& cuda) {
  if (!module_exists()) {
    return Error{ErrorCode::resources, "--device", "this build has no CUDA",
                 "use --device cpu, or build where nvcc, cuBLAS and cuDNN are"};
  }
  void* const make = module() == nullptr ? nullptr : dlsym(module(), kMakeExecutor);
  if (make == nullptr) {
    const char* reason = dlerror();
    return Error{ErrorCode::resources, "--device", "CUDA cannot be loaded: " + std::string(reason == nullptr ? "?" : reason),
                 "use --device cpu"};
  }
  Result<std::unique_ptr<Executor>> made(nullptr);
  reinterpret_cast<MakeExecutor>(make)(classifier, options, cuda, made);
  return made;
}

}  // namespace probust::cuda
