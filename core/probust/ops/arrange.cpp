// SPDX-License-Identifier: MIT
// Operators that move elements without computing: reshape, transpose, slice, pad, concat, gather, scatter_add. All are linear,
// and their derivatives are operators of the same family: slice and pad (with zeros between elements to undo steps) are
// transposes of each other, and so are gather and scatter_add.
#include <algorithm>
#include <functional>

#include "probust/ops/build.h"
#include "probust/ops/families.h"

namespace probust::ops {
namespace {

Shape infer_reshape(const Attributes& attributes, std::span<const Shape> in) {
  const Shape& shape = std::get<ShapeAttribute>(attributes).shape;
  if (element_count(shape) != element_count(in[0])) {
    misfit("reshape", "changes the number of elements from " + to_string(in[0]) + " to " + to_string(shape));
  }
  return shape;
}

Shape infer_transpose(const Attributes& attributes, std::span<const Shape> in) {
  const auto& permutation = std::get<PermutationAttribute>(attributes).permutation;
  Shape shape(permutation.size());
  std::vector<bool> seen(permutation.size());
  for (std::size_t i = 0; i < permutation.size(); ++i) {
    require_axis("transpose", permutation[i], in[0]);
    seen[permutation[i]] = true;
    shape[i] = in[0][permutation[i]];
  }
  if (permutation.size() != in[0].size() || std::find(seen.begin(), seen.end(), false) != seen.end()) {
    misfit("transpose", "has " + to_string(permutation) + ", which is not a permutation of the axes of " + to_string(in[0]));
  }
  return shape;
}

Shape infer_slice(const Attributes& attributes, std::span<const Shape> in) {
  const auto& s = std::get<SliceAttributes>(attributes);
  const std::size_t rank = in[0].size();
  if (s.start.size() != rank || s.size.size() != rank || s.step.size() != rank)
    misfit("slice", "has attributes and an operand of different ranks");
  for (std::size_t i = 0; i < rank; ++i) {
    const bool fits = s.start[i] >= 0 && s.step[i] >= 1 && s.size[i] >= 0 &&
                      (s.size[i] == 0 || s.start[i] + (s.size[i] - 1) * s.step[i] < in[0][i]);
    if (!fits) misfit("slice", "extends beyond axis " + std::to_string(i) + " of " + to_string(in[0]));
  }
  return s.size;
}

Shape infer_pad(const Attributes& attributes, std::span<const Shape> in) {
  const auto& p = std::get<PadAttributes>(attributes);
  Shape shape = in[0];
  if (p.low.size() != shape.size() || p.high.size() != shape.size() || p.interior.size() != shape.size()) {
    misfit("pad", "has attributes and an operand of different ranks");
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (p.low[i] < 0 || p.high[i] < 0 || p.interior[i] < 0) misfit("pad", "has negative padding");
    shape[i] += p.low[i] + p.high[i] + std::max<std::int64_t>(shape[i] - 1, 0) * p.interior[i];
  }
  return shape;
}

Shape infer_concat(const Attributes& attributes, std::span<const Shape> in) {
  const std::int64_t axis = std::get<AxisAttribute>(attributes).axis;
  Shape shape = in[0];
  require_axis("concat", axis, shape);
  for (const Shape& operand : in.subspan(1)) {
    Shape expected = operand;
    if (operand.size() == shape.size()) expected[axis] = shape[axis];
    if (expected != shape) misfit("concat", "cannot join " + to_string(operand) + " to " + to_string(shape));
    shape[axis] += operand[axis];
  }
  return shape;
}

void require_indices(std::string_view op, const GatherAttributes& gather) {
  for (const std::int64_t index : gather.indices) {
    if (index < 0 || index >= gather.extent)
      misfit(op, "has the index " + std::to_string(index) + ", which is outside 0.." + std::to_string(gather.extent - 1));
  }
}

Shape infer_gather(const Attributes& attributes, std::span<const Shape> in) {
  const auto& gather = std::get<GatherAttributes>(attributes);
  require_axis("gather", gather.axis, in[0]);
  if (in[0][gather.axis] != gather.extent)
    misfit("gather",
           "needs an axis of " + std::to_string(gather.extent) + " elements, not " + std::to_string(in[0][gather.axis]));
  require_indices("gather", gather);
  Shape shape = in[0];
  shape[gather.axis] = static_cast<std::int64_t>(gather.indices.size());
  return shape;
}

Shape infer_scatter_add(const Attributes& attributes, std::span<const Shape> in) {
  const auto& gather = std::get<GatherAttributes>(attributes);
  require_axis("scatter_add", gather.axis, in[0]);
  if (in[0][gather.axis] != static_cast<std::int64_t>(gather.indices.size()))
    misfit("scatter_add",
           "has " + std::to_string(gather.indices.size()) + " indices for " + std::to_string(in[0][gather.axis]) + " slices");
  require_indices("scatter_add", gather);
  Shape shape = in[0];
  shape[gather.axis] = gather.extent;
  return shape;
}

// Calls visit(index, offset) for each coordinate of `shape` in row-major order, with offset = `start` + coordinate . `strides`.
void for_each_offset(const Shape& shape, const Shape& strides, std::int64_t start,
                     const std::function<void(std::int64_t, std::int64_t)>& visit) {
  const std::int64_t count_all = element_count(shape);
  for (std::int64_t index = 0; index < count_all; ++index) {
    std::int64_t rest = index, offset = start;
    for (std::size_t i = shape.size(); i-- > 0;) {
      offset += rest % shape[i] * strides[i];
      rest /= shape[i];
    }
    visit(index, offset);
  }
}

void eval_reshape(const Attributes&, std::span<const Tensor* const> in, Tensor& y) { y.data = in[0]->data; }

void eval_transpose(const Attributes& attributes, std::span<const Tensor* const> in, Tensor& y) {
  const auto& permutation = std::get<PermutationAttribute>(attributes).permutation;
  const Shape own = row_major_strides(in[0]->shape);
  Shape strides(permutation.size());
  for (std::size_t i = 0; i < permutation.size(); ++i) strides[i] = own[permutation[i]];
  for_each_offset(y.shape, strides, 0, [&](std::int64_t to, std::int64_t from) { y.data[to] = in[0]->data[from]; });
}

void eval_slice(const Attributes& attributes, std::span<const Tensor* const> in, Tensor& y) {
  const auto& s = std::get<SliceAttributes>(attributes);
  Shape strides = row_major_strides(in[0]->shape);
  std::int64_t start = 0;
  for (std::size_t i = 0; i < strides.size(); ++i) {
    start += s.start[i] * strides[i];
    strides[i] *= s.step[i];
  }
  for_each_offset(y.shape, strides, start, [&](std::int64_t to, std::int64_t from) { y.data[to] = in[0]->data[from]; });
}

void eval_pad(const Attributes& attributes, std::span<const Tensor* const> in, Tensor& y) {
  const auto& p = std::get<PadAttributes>(attributes);
  Shape strides = row_major_strides(y.shape);
  std::int64_t start = 0;
  for (std::size_t i = 0; i < strides.size(); ++i) {
    start += p.low[i] * strides[i];
    strides[i] *= p.interior[i] + 1;
  }
  std::fill(y.data.begin(), y.data.end(), 0.0F);
  for_each_offset(in[0]->shape, strides, start, [&](std::int64_t from, std::int64_t to) { y.data[to] = in[0]->data[from]; });
}

// A tensor as [outer, axis, inner].
struct Split {
  std::int64_t outer = 1, inner = 1;
  Split(const Shape& shape, std::int64_t axis) {
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(shape.size()); ++i) {
      if (i < axis) outer *= shape[i];
      if (i > axis) inner *= shape[i];
    }
  }
};

void eval_concat(const Attributes& attributes, std::span<const Tensor* const> in, Tensor& y) {
  const std::int64_t axis = std::get<AxisAttribute>(attributes).axis;
  const Split split(y.shape, axis);
  std::int64_t before = 0;
  for (const Tensor* operand : in) {
    const std::int64_t block = operand->shape[axis] * split.inner;
    for (std::int64_t outer = 0; outer < split.outer; ++outer) {
      std::copy_n(operand->data.begin() + outer * block, block, y.data.begin() + outer * y.shape[axis] * split.inner + before);
    }
    before += block;
  }
}

void eval_gather(const Attributes& attributes, std::span<const Tensor* const> in, Tensor& y) {
  const auto& gather = std::get<GatherAttributes>(attributes);
  const Split split(y.shape, gather.axis);
  const auto picks = static_cast<std::int64_t>(gather.indices.size());
  for (std::int64_t outer = 0; outer < split.outer; ++outer) {
    for (std::int64_t i = 0; i < picks; ++i) {
      std::copy_n(in[0]->data.begin() + (outer * gather.extent + gather.indices[i]) * split.inner, split.inner,
                  y.data.begin() + (outer * picks + i) * split.inner);
    }
  }
}

void eval_scatter_add(const Attributes& attributes, std::span<const Tensor* const> in, Tensor& y) {
  const auto& gather = std::get<GatherAttributes>(attributes);
  const Split split(y.shape, gather.axis);
  const auto picks = static_cast<std::int64_t>(gather.indices.size());
  std::fill(y.data.begin(), y.data.end(), 0.0F);
  for (std::int64_t outer = 0; outer < split.outer; ++outer) {
    for (std::int64_t i = 0; i < picks; ++i) {
      float* to = y.data.data() + (outer * gather.extent + gather.indices[i]) * split.inner;
      const float* from = in[0]->data.data() + (outer * picks + i) * split.inner;
      for (std::int64_t j = 0; j < split.inner; ++j) to[j] += from[j];
    }
  }
}

ValueId vjp_reshape(Graph& g, ValueId y, std::size_t, ValueId c) {
  const Shape shape = g[g[y].inputs[0]].shape;
  return build::reshape(g, c, shape);
}

ValueId vjp_transpose(Graph& g, ValueId y, std::size_t, ValueId c) {
  const auto permutation = std::get<PermutationAttribute>(g[y].attributes).permutation;
  std::vector<std::int64_t> inverse(permutation.size());
  for (std::size_t i = 0; i < permutation.size(); ++i) inverse[permutation[i]] = static_cast<std::int64_t>(i);
  return build::transpose(g, c, inverse);
}

ValueId vjp_slice(Graph& g, ValueId y, std::size_t, ValueId c) {
  const auto s = std::get<SliceAttributes>(g[y].attributes);
  const Shape from = g[g[y].inputs[0]].shape;
  PadAttributes p{s.start, from, s.step};
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::int64_t reach = s.size[i] == 0 ? 0 : (s.size[i] - 1) * s.step[i] + 1;
    p.high[i] = from[i] - s.start[i] - reach;
    p.interior[i] = s.step[i] - 1;
  }
  return append(g, Op::pad, {c}, p);
}

ValueId vjp_pad(Graph& g, ValueId y, std::size_t, ValueId c) {
  const auto p = std::get<PadAttributes>(g[y].attributes);
  SliceAttributes s{p.low, g[g[y].inputs[0]].shape, p.interior};
  for (std::int64_t& step : s.step) ++step;
  return append(g, Op::slice, {c}, s);
}

ValueId vjp_concat(Graph& g, ValueId y, std::size_t operand, ValueId c) {
  const Node node = g[y];
  const std::int64_t axis = std::get<AxisAttribute>(node.attributes).axis;
  SliceAttributes s{Shape(node.shape.size(), 0), g[node.inputs[operand]].shape, Shape(node.shape.size(), 1)};
  for (std::size_t i = 0; i < operand; ++i) s.start[axis] += g[node.inputs[i]].shape[axis];
  return append(g, Op::slice, {c}, s);
}

ValueId vjp_gather(Graph& g, ValueId y, std::size_t, ValueId c) {
  return append(g, Op::scatter_add, {c}, Attributes(g[y].attributes));
}

ValueId vjp_scatter_add(Graph& g, ValueId y, std::size_t, ValueId c) {
  return append(g, Op::gather, {c}, Attributes(g[y].attributes));
}

constexpr int kAny = 1 << 20;

constexpr OpDefinition kArrangeFamily[] = {
    {Op::reshape, "reshape", "y = a's elements in a different shape", 1, 1, infer_reshape, eval_reshape, vjp_reshape, flops_none,
     kMoves},
    {Op::transpose, "transpose", "y's axis i is a's axis permutation[i]", 1, 1, infer_transpose, eval_transpose, vjp_transpose,
     flops_none, kMoves},
    {Op::slice, "slice", "y[i] = a[start + i step]", 1, 1, infer_slice, eval_slice, vjp_slice, flops_none, kMoves},
    {Op::pad, "pad", "y[low + i (interior + 1)] = a[i], zero elsewhere", 1, 1, infer_pad, eval_pad, vjp_pad, flops_none, kMoves},
    {Op::concat, "concat", "y = a, b, ... joined along an axis", 1, kAny, infer_concat, eval_concat, vjp_concat, flops_none,
     affine(~0U)},
    {Op::gather, "gather", "y[i] = a[indices[i]] along an axis", 1, 1, infer_gather, eval_gather, vjp_gather, flops_none, kMoves},
    {Op::scatter_add, "scatter_add", "y[indices[i]] += a[i] along an axis", 1, 1, infer_scatter_add, eval_scatter_add,
     vjp_scatter_add, flops_elementwise, kSums},
};

}  // namespace

std::span<const OpDefinition> arrange_family() { return kArrangeFamily; }

}  // namespace probust::ops
