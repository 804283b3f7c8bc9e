// SPDX-License-Identifier: MIT
#pragma once

#include "probust/exec/devices.h"

namespace probust {

/// Adds the kinds of devices that modules provide (probust_cuda.so). Each module is loaded when it is first needed. Further
/// calls do nothing.
void use_device_modules();

/// The version of probust to which this code belongs. A module has its own copy of this function.
const char* module_version();

/// The names of a module's functions. Both take no arguments. The kind of device belongs to the module and exists as long as
/// the module.
using DeviceKindOfModule = const DeviceKind* (*)();
using VersionOfModule = const char* (*)();
inline constexpr const char* kDeviceKindOfModule = "probust_device_kind";
inline constexpr const char* kVersionOfModule = "probust_module_version";

}  // namespace probust
