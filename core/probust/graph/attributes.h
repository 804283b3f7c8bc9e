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

/// The largest of no cells: of a window that lies on the padding alone. As ONNX Runtime has it.
inline constexpr float kLargestOfNone = std::numeric_limits<float>::lowest();

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

/// One axis and an extent along it: how many largest elements `top_index` finds, how long the result of `put_add` is.
struct AxisExtent {
  std::int64_t axis = 0;
  std::int64_t extent = 0;
  bool operator==(const AxisExtent&) const = default;
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

/// One node of a decision tree: a question about a feature, or a leaf.
struct TreeNode {
  enum class Mode : std::uint8_t { leaf, less_equal, less, greater_equal, greater, equal, not_equal, member };
  Mode mode = Mode::leaf;
  bool missing_is_yes = false;        ///< whether a NaN is answered with yes
  std::int32_t feature = 0;           ///< of which the question is
  float threshold = 0;                ///< that it is compared with
  std::int32_t yes = 0, no = 0;       ///< the nodes that follow; both behind this one
  std::int32_t first = 0, count = 0;  ///< of a leaf, its part of `weights`; of a membership question, its part of `members`
};

/// What a leaf gives to a target.
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
  Aggregate aggregate = Aggregate::sum;  ///< how the trees' weights for a target become one number
};

/// The trees of a `tree_ensemble`; shared, like constants.
struct TreesAttribute {
  std::shared_ptr<const Trees> trees;
};

/// What an operator needs besides its operands. Each family of operators uses one alternative.
using Attributes =
    std::variant<std::monostate, ConstantData, MatmulAttributes, Window, AxesAttributes, AxisAttribute, ShapeAttribute,
                 PermutationAttribute, SliceAttributes, PadAttributes, GatherAttributes, AxisExtent, TreesAttribute>;

}  // namespace probust
