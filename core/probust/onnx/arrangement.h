// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "probust/base/tensor.h"
#include "probust/onnx/layout.h"

namespace probust {

/// How a point of the data becomes the model's input: the point is reshaped to `view`, its axes are permuted to `order`, and the
/// result is reshaped to the input's shape.
struct Arrangement {
  Shape view;                  ///< the point's shape, or the axes of a flat point
  std::vector<int> order;      ///< the view's axes in the order of the input
  bool channels_last = false;  ///< whether the channels are the point's last axis instead of its first
  std::string note;            ///< one sentence if the data's shape alone does not determine the arrangement; otherwise empty

  /// The axes in the order of the input, without axes of extent 1, whose position does not matter.
  std::vector<int> moved_axes() const;
  bool permutes() const;
};

/// One order of a point's axes that an input may expect. axis_orders returns the possible orders, the most likely one first;
/// `channels_first` and `channels_last` are whether a fixed extent of the input allows such an order.
struct AxisOrder {
  std::vector<int> order;
  bool data_channels_last;  ///< whether the channels of the data are last
};
std::vector<AxisOrder> axis_orders(const Shape& point, Layout layout, bool channels_first = true, bool channels_last = true);

/// The extents of a point after reordering.
Shape arranged(const Shape& point, const std::vector<int>& order);

/// Whether a point looks like an image with 1, 3 or 4 channels in its last axis, and more than 4 rows and columns.
bool looks_channels_last(const Shape& point);

/// The arrangement that turns points into inputs of `input_shape` (at batch 1), which must have as many values. Axes are permuted
/// if the extents or `layout` require it. Adjacent axes may be merged or split, so flat points fit inputs with several axes, and
/// the reverse. Throws Error{unreadable} if no axis order gives the input's shape, Error{usage} if `layout` does not suit the
Arrangement arrangement_of(const Shape& point, const Shape& input_shape, Layout layout);

}  // namespace probust
