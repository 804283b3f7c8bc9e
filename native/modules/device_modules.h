// SPDX-License-Identifier: MIT
#pragma once

#include "probust/exec/devices.h"

namespace probust {

/// Registers the kinds of devices that modules such as probust_cuda.so provide. Each module is loaded when it is first needed.
/// Further calls do nothing.
void use_device_modules();

/// The version of probust that this code is part of. Each module has its own copy of this function.
const char* module_version();

/// The types and names of the two functions that a module exports. The module owns the DeviceKind that its function returns.
using DeviceKindOfModule = const DeviceKind* (*)();
using VersionOfModule = const char* (*)();
inline constexpr const char* kDeviceKindOfModule = "probust_device_kind";
inline constexpr const char* kVersionOfModule = "probust_module_version";

}  // namespace probust
