// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "probust/noise/noise.h"

namespace probust {

/// The perturbation that an ONNX model with the inputs x and z, in this order, computes. The property `probust.z` of the model
/// is the distribution of z: "normal", which is the default, "uniform(a,b)", or one of these for each value of z, separated by
/// commas. Throws Error with `where` as the name of the model.
OwnPerturbation transform_model(std::span<const std::byte> bytes, const std::string& where);

}  // namespace probust
