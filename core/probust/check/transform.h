// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "probust/base/tensor.h"
#include "probust/onnx/arrangement.h"

namespace probust {

/// Red, green and blue along one axis of a point, `stride` elements apart.
struct Colours {
  std::int64_t stride = 0;  ///< 0 if a point has no colours

  /// The element that replaces `element` if the order of colours is reversed (RGB to BGR, or back).
  std::int64_t reversed(std::int64_t element) const {
    return stride == 0 ? element : element + 2 * stride * (1 - element / stride % 3);
  }
};

/// Converts stored values to model input: reverses the colours, maps v to (v * scale - mean) / std with the mean and std of its
/// channel, and rearranges the elements.
struct Transform {
  double scale = 1;
  std::vector<double> mean = {}, std = {};  ///< empty, one value, or one per channel
  int channel_axis = 0;                     ///< the channel axis of a point
  Arrangement arrangement = {};
  Colours reverse = {};  ///< the colours to reverse, if any
};

/// The value for a channel: `otherwise` if `values` is empty, the only value if there is one.
double value_of_channel(const std::vector<double>& values, std::int64_t channel, double otherwise);

/// The model inputs [n, ...input_shape] of stored points [n, ...].
Tensor transformed(const Tensor& stored, const Transform& transform, const Shape& input_shape);

/// The stored points [n, ...point_shape] of model inputs [n, ...].
Tensor transformed_back(const Tensor& inputs, const Transform& transform, const Shape& point_shape);

}  // namespace probust
