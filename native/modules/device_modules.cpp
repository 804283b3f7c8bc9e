// SPDX-License-Identifier: MIT
// Device support is in separate modules, so that programs start without the devices' libraries and run on machines without
// them.
#include "modules/device_modules.h"

#include <dlfcn.h>

#include <mutex>
#include <string>

#include "modules/find_module.h"

namespace probust {
namespace {

struct Named {
  std::string name, file;
  std::string get;  ///< how to install the module
};

// A kind of device whose module is loaded on first use and stays loaded until the program ends.
class ModuleDevices final : public DeviceKind {
 public:
  explicit ModuleDevices(Named module) : module_(std::move(module)) {}

  std::string_view name() const override { return module_.name; }

  DevicesFound find() const override {
    const DeviceKind* kind = loaded();
    return kind != nullptr ? kind->find() : DevicesFound{0, problem_, installed_};
  }

  Result<std::unique_ptr<Executor>> make(int ordinal, const Graph& classifier, const ExecutorOptions& options) const override {
    return guarded("the device", [&] {
      const DeviceKind& kind = required();
      ExecutorOptions told = options;
      if (options.warn) {
        told.warn = [warn = options.warn, about = option("device") + " " + module_.name + ": "](const std::string& text) {
          warn(about + text);
        };
      }
      return kind.make(ordinal, classifier, told).value();
    });
  }

  Result<DeviceRates> rates(int ordinal, Precision precision) const override {
    return guarded("the device", [&] { return required().rates(ordinal, precision).value(); });
  }

 private:
  const DeviceKind* loaded() const {
    std::call_once(once_, [this] { load(); });
    return kind_;
  }

  const DeviceKind& required() const {
    if (const DeviceKind* kind = loaded()) return *kind;
    throw Error{ErrorCode::resources, option("device"), "cannot be " + module_.name + ": " + problem_,
                "use " + option("device") + " cpu" + (installed_ ? "" : ", or " + module_.get)};
  }

  void load() const {
    const std::string path = find_module(module_.file);
    installed_ = !path.empty();
    if (!installed_) {
      problem_ = module_.file + " is not installed";
      return;
    }
    void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      const char* const text = dlerror();
      problem_ = module_.file + " cannot be loaded: " + (text == nullptr ? "the loader gives no reason" : text);
      return;
    }
    const auto version = reinterpret_cast<VersionOfModule>(dlsym(handle, kVersionOfModule));
    const auto kind = reinterpret_cast<DeviceKindOfModule>(dlsym(handle, kDeviceKindOfModule));
    if (version == nullptr || kind == nullptr || std::string(version()) != module_version()) {
      problem_ = path + " belongs to a different version of probust";
      return;
    }
    kind_ = kind();
  }

  Named module_;
  mutable std::once_flag once_;
  mutable const DeviceKind* kind_ = nullptr;
  mutable std::string problem_;
  mutable bool installed_ = false;
};

}  // namespace

const char* module_version() { return PROBUST_VERSION; }

void use_device_modules() {
  static std::once_flag once;
  std::call_once(once, [] {
    add_device_kind(std::make_unique<ModuleDevices>(
        Named{"cuda", "probust_cuda.so", "build with nvcc, cuBLAS and cuDNN installed, or install probust-cuda"}));
  });
}

}  // namespace probust
