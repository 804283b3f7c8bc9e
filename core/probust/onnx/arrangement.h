// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "probust/base/tensor.h"
#include "probust/onnx/layout.h"

namespace probust {

/// How a point of the data becomes the model's input: it is viewed with the shape `view`, its axes are permuted to `order`, and
/// the values are then viewed with the input's shape.
struct Arrangement {
  Shape view;                  ///< the point's shape, or the axes of a flat point
  std::vector<int> order;      ///< the view's axes in the order of the input
  bool channels_last = false;  ///< whether the channels of a point are its last axis; otherwise they are the first
  std::string note;            ///< one sentence if the data's shape alone does not determine this; otherwise empty

  /// The axes in the order of the input, without those of extent 1, whose position does not matter.
  std::vector<int> moved_axes() const;
  bool permutes() const;
};

/// The orders in which an input may expect the axes of points of rank `rank`, the most likely one first. `channels_first`,
/// `channels_last`: whether a fixed extent of the input allows this order.
struct AxisOrder {
  std::vector<int> order;
  bool data_channels_last;  ///< whether the channels of the data are last
};
std::vector<AxisOrder> axis_orders(const Shape& point, Layout layout, bool channels_first = true, bool channels_last = true);

/// The extents of a point after reordering.
Shape arranged(const Shape& point, const std::vector<int>& order);

/// Whether a point looks like an image with 1, 3 or 4 channels in its last axis, and more than 4 rows and columns.
bool looks_channels_last(const Shape& point);

/// The arrangement of points for an input shape at batch 1 with the same number of values. Axes are permuted if the extents or
/// `layout` require it. Adjacent axes may be merged or split, so flat points fit other inputs, and other points fit flat
/// inputs. Throws Error{unreadable} if no axis order gives the input's shape, Error{usage} if `layout` does not suit the
/// points.
Arrangement arrangement_of(const Shape& point, const Shape& input_shape, Layout layout);

}  // namespace probust
