// SPDX-License-Identifier: MIT
// What a model gives for known inputs, where the graph alone does not show it.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "probust/base/tensor.h"
#include "probust/onnx/wire.h"

namespace probust::onnx {

/// A tensor of a model, which holds one number or more.
struct Trial {
  const ModelProto& proto;
  const std::string& input;
  const Shape& input_shape;
  const std::string& output;
  std::size_t file_bytes;  ///< see Budget
};

/// Its first number for inputs of several sizes, the same in every run, as long as all are `expected`; empty if one is not, or if
/// the model cannot be tried.
std::vector<float> trial_values(const Trial& trial, const std::function<bool(float)>& expected);

}  // namespace probust::onnx
