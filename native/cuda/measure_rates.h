// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "cuda/device.h"
#include "probust/exec/devices.h"

namespace probust::cuda {

/// Measures the highest rates of a device, with products of n x n matrices and with copies of `bytes` bytes. Throws
/// Error{resources} if there is no such device or too little memory.
DeviceRates measure_rates(int ordinal, Precision precision, std::int64_t n = 8192, std::int64_t bytes = std::int64_t{1} << 30);

}  // namespace probust::cuda
