// SPDX-License-Identifier: MIT
#pragma once

#include "probust/exec/devices.h"

namespace probust {

/// Adds the kinds of devices that modules bring (probust_cuda.so), each loaded when it is first needed. Once; later calls do
/// nothing.
void use_device_modules();

/// The version of probust that this code belongs to; a module has a copy of its own.
const char* module_version();

/// What a module is looked up by. Both are functions without arguments; the kind of device is the module's own and lives as long.
using DeviceKindOfModule = const DeviceKind* (*)();
using VersionOfModule = const char* (*)();
inline constexpr const char* kDeviceKindOfModule = "probust_device_kind";
inline constexpr const char* kVersionOfModule = "probust_module_version";

}  // namespace probust
