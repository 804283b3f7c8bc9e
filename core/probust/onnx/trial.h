// SPDX-License-Identifier: MIT
// Runs a model on known inputs to find out what its graph alone does not show.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "probust/base/tensor.h"
#include "probust/onnx/wire.h"

namespace probust::onnx {

/// A tensor of a model, with at least one number.
struct Trial {
  const ModelProto& proto;
  const std::string& input;
  const Shape& input_shape;
  const std::string& output;
  std::size_t file_bytes;  ///< see Budget
};

/// The tensor's first number for inputs of several sizes, which are the same in every run. Empty if one of the numbers is not
/// `expected`, or if the model cannot be run.
std::vector<float> trial_values(const Trial& trial, const std::function<bool(float)>& expected);

}  // namespace probust::onnx
