// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <variant>
#include <vector>

#include "probust/base/tensor.h"

namespace probust {

/// The values of a `constant`; shared, because graphs are copied freely and weights are large.
struct ConstantData {
  std::shared_ptr<const Tensor> tensor;
};

/// Which operands of a `matmul` have their last two axes transposed.
struct MatmulAttributes {
  bool transpose_a = false;
  bool transpose_b = false;
  bool operator==(const MatmulAttributes&) const = default;
};

/// How a kernel slides over an image. Shared by convolutions, pooling and their transposes, which need the sizes of both sides.
/// All vectors have one entry per spatial axis.
struct Window {
  Shape image;     ///< spatial extents of the larger side
  Shape kernel;    ///< spatial extents of the kernel
  Shape stride;    ///< step between neighbouring windows
  Shape dilation;  ///< step between neighbouring taps of one window
  Shape pad_low;   ///< cells added before the image (zeros; in max pooling, cells that are never chosen)
  Shape pad_high;  ///< cells added after it
  std::int64_t groups = 1;
  bool operator==(const Window&) const = default;

  /// The spatial extents of the output: floor((image + pads - dilation (kernel - 1) - 1) / stride) + 1.
  Shape output() const;
};

/// How `grid_sample` interpolates an image between its pixels.
struct GridAttributes {
  enum class Interpolation : std::uint8_t { nearest, linear, cubic };
  /// The image beyond its border: zeros; its nearest pixel; or its reflection, about the outer edges of its outermost pixels (one
  /// pixel occurs twice) or about their centres.
  enum class Padding : std::uint8_t { zeros, border, reflect_edges, reflect_centres };
  std::int64_t rows = 0, columns = 0;  ///< size of the image
  Interpolation interpolation = Interpolation::linear;
  Padding padding = Padding::zeros;
  float cubic = -0.5F;  ///< Keys' parameter a; -0.5 is Catmull-Rom's spline
  /// How often the interpolating function is differentiated with respect to the row and the column.
  std::int32_t row_derivative = 0, column_derivative = 0;
  bool operator==(const GridAttributes&) const = default;
};

/// The maximum over no cells, for a window that lies entirely in the padding, as in ONNX Runtime.
inline constexpr float kLargestOfNone = std::numeric_limits<float>::lowest();

/// Axes to sum over; they are kept with extent 1.
struct AxesAttributes {
  std::vector<std::int64_t> axes;
  bool operator==(const AxesAttributes&) const = default;
};

/// The axis of a concatenation or a softmax.
struct AxisAttribute {
  std::int64_t axis = 0;
  bool operator==(const AxisAttribute&) const = default;
};

/// One axis and an extent along it: the number of largest elements that `top_index` finds, or the length of the result of
/// `put_add`.
struct AxisExtent {
  std::int64_t axis = 0;
  std::int64_t extent = 0;
  bool operator==(const AxisExtent&) const = default;
};

/// The output shape of a `reshape` or `broadcast`.
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

/// The number of zeros before (low), after (high) and between (interior) the elements along each axis; all >= 0.
struct PadAttributes {
  Shape low, high, interior;
  bool operator==(const PadAttributes&) const = default;
};

/// Output element i along `axis` is input element indices[i]; `extent` is the input's extent along that axis.
struct GatherAttributes {
  std::int64_t axis = 0;
  std::vector<std::int64_t> indices;
  std::int64_t extent = 0;
  bool operator==(const GatherAttributes&) const = default;
};

/// One node of a decision tree: a comparison of a feature, or a leaf.
struct TreeNode {
  enum class Mode : std::uint8_t { leaf, less_equal, less, greater_equal, greater, equal, not_equal, member };
  Mode mode = Mode::leaf;
  bool missing_is_yes = false;        ///< whether a NaN goes to `yes`
  std::int32_t feature = 0;           ///< index of the feature that is compared
  float threshold = 0;                ///< the threshold
  std::int32_t yes = 0, no = 0;       ///< the next nodes; both come after this one
  std::int32_t first = 0, count = 0;  ///< a leaf's range of `weights`, or a membership test's range of `members`
};

/// The weight that a leaf adds to a target.
struct TreeWeight {
  std::int32_t target;
  float weight;
};

/// An ensemble of decision trees.
struct Trees {
  enum class Aggregate : std::uint8_t { sum, least, largest };
  std::vector<TreeNode> nodes;
  std::vector<std::int32_t> roots;  ///< one per tree
  std::vector<TreeWeight> weights;
  std::vector<float> members;
  std::int64_t targets = 1;
  Aggregate aggregate = Aggregate::sum;  ///< how the trees' weights for a target are combined
};

/// The trees of a `tree_ensemble`; shared, like constants.
struct TreesAttribute {
  std::shared_ptr<const Trees> trees;
};

/// The parameter of an element-wise operator, such as a slope.
struct ParameterAttribute {
  float value = 0;
  bool operator==(const ParameterAttribute&) const = default;
};

/// The parameters of an operator besides its operands. Each family of operators uses one alternative.
using Attributes = std::variant<std::monostate, ConstantData, MatmulAttributes, Window, AxesAttributes, AxisAttribute,
                                ShapeAttribute, PermutationAttribute, SliceAttributes, PadAttributes, GatherAttributes,
                                AxisExtent, TreesAttribute, ParameterAttribute, GridAttributes>;

/// The parameter of an element-wise operator; 0 if it has none.
inline float parameter_of(const Attributes& attributes) {
  const auto* parameter = std::get_if<ParameterAttribute>(&attributes);
  return parameter == nullptr ? 0 : parameter->value;
}

}  // namespace probust
