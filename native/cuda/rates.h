// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "cuda/device.h"

namespace probust::cuda {

/// A device's best rates, for comparison with everything else that runs on it.
struct Rates {
  std::string device;
  double product = 0;  ///< floating-point operations per second in the library's product of large matrices
  double copy = 0;     ///< bytes per second, read and written, in a copy of its memory
};

/// Measures them with n x n matrices and a copy of `bytes`. Throws Error{resources} if there is no device or memory.
Rates measure_rates(int ordinal, Precision precision, std::int64_t n = 8192, std::int64_t bytes = std::int64_t{1} << 30);

}  // namespace probust::cuda
