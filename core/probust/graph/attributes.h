// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "probust/base/tensor.h"

namespace probust {

/// The values of a `constant`; shared, because graphs are copied freely and weights are large.
struct ConstantData {
  std::shared_ptr<const Tensor> tensor;
};

/// Which operands of a `matmul` are transposed in their last two axes.
struct MatmulAttributes {
  bool transpose_a = false;
  bool transpose_b = false;
  bool operator==(const MatmulAttributes&) const = default;
};

/// How a kernel slides over an image: shared by convolutions and pooling, and by their transposes, which need the sizes of
/// both sides. All vectors have one entry per spatial axis.
struct Window {
  Shape image;     ///< spatial extents of the large side
  Shape kernel;    ///< spatial extents of the kernel
  Shape stride;    ///< step between neighbouring windows
  Shape dilation;  ///< step between neighbouring taps of one window
  Shape pad_low;   ///< cells added before the image (zeros; for maxima, cells that never win)
  Shape pad_high;  ///< cells added behind it
  std::int64_t groups = 1;
  bool operator==(const Window&) const = default;

  /// Spatial extents of the small side: floor((image + pads - dilation (kernel - 1) - 1) / stride) + 1.
  Shape output() const;
};

/// Axes that are summed over (and kept with extent 1).
struct AxesAttributes {
  std::vector<std::int64_t> axes;
  bool operator==(const AxesAttributes&) const = default;
};

/// One axis: of a concatenation or a softmax.
struct AxisAttribute {
  std::int64_t axis = 0;
  bool operator==(const AxisAttribute&) const = default;
};

/// The shape that a `reshape` or `broadcast` gives.
struct ShapeAttribute {
  Shape shape;
  bool operator==(const ShapeAttribute&) const = default;
};

/// Output axis i of a `transpose` is input axis permutation[i].
struct PermutationAttribute {
  std::vector<std::int64_t> permutation;
  bool operator==(const PermutationAttribute&) const = default;
};

/// Output element i along an axis is input element start + i step, for i < size; step >= 1.
struct SliceAttributes {
  Shape start, size, step;
  bool operator==(const SliceAttributes&) const = default;
};

/// Zeros put before (low), behind (high) and between (interior) the elements along each axis; all >= 0.
struct PadAttributes {
  Shape low, high, interior;
  bool operator==(const PadAttributes&) const = default;
};

/// Output element i along `axis` is input element indices[i]; `extent` is the input's extent there.
struct GatherAttributes {
  std::int64_t axis = 0;
  std::vector<std::int64_t> indices;
  std::int64_t extent = 0;
  bool operator==(const GatherAttributes&) const = default;
};

/// What an operator needs besides its operands. Each family of operators uses one alternative.
using Attributes = std::variant<std::monostate, ConstantData, MatmulAttributes, Window, AxesAttributes, AxisAttribute,
                                ShapeAttribute, PermutationAttribute, SliceAttributes, PadAttributes, GatherAttributes>;

}  // namespace probust
