// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "probust/noise/noise.h"

namespace probust {

/// The perturbation of an ONNX model of x and z, in this order or with these names. Its property `probust.z` has the distribution
/// of z: "normal", which is the default, "uniform(a,b)", or one of these for each value of z, separated by commas. Throws Error
/// about the model `where`.
OwnPerturbation transform_model(std::span<const std::byte> bytes, const std::string& where);

}  // namespace probust
