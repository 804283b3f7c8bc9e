// SPDX-License-Identifier: MIT
// Operators that choose by value: select, top_index, take, put_add. The choice is piecewise constant, so the derivative with
// respect to the deciding values is zero. take and put_add are transposes of each other, so all derivatives are operators of
// this family.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "probust/ops/build.h"
#include "probust/ops/families.h"

namespace probust::ops {
namespace {

Shape infer_select(const Attributes&, std::span<const Shape> in) {
  return broadcast_shapes(broadcast_shapes(in[0], in[1], "operator select"), in[2], "operator select");
}

Shape with_extent(Shape shape, std::int64_t axis, std::int64_t extent) {
  shape[axis] = extent;
  return shape;
}

Shape infer_top_index(const Attributes& attributes, std::span<const Shape> in) {
  const auto& [axis, extent] = std::get<AxisExtent>(attributes);
  require_axis("top_index", axis, in[0]);
  if (extent < 0 || extent > in[0][axis])
    misfit("top_index", "needs the " + std::to_string(extent) + " largest of only " + std::to_string(in[0][axis]) + " elements");
  return with_extent(in[0], axis, extent);
}

void require_same_lines(std::string_view op, const Shape& a, const Shape& b, std::int64_t axis) {
  if (a.size() != b.size() || with_extent(a, axis, 1) != with_extent(b, axis, 1))
    misfit(op,
           "has operands " + to_string(a) + " and " + to_string(b) + ", which differ in axes other than " + std::to_string(axis));
}

Shape infer_take(const Attributes& attributes, std::span<const Shape> in) {
  const std::int64_t axis = std::get<AxisAttribute>(attributes).axis;
  require_axis("take", axis, in[0]);
  require_axis("take", axis, in[1]);
  require_same_lines("take", in[0], in[1], axis);
  return in[1];
}

Shape infer_put_add(const Attributes& attributes, std::span<const Shape> in) {
  const auto& [axis, extent] = std::get<AxisExtent>(attributes);
  require_axis("put_add", axis, in[0]);
  if (extent < 0) misfit("put_add", "has a negative extent");
  if (in[0] != in[1])
    misfit("put_add", "needs values and indices of the same shape, not " + to_string(in[0]) + " and " + to_string(in[1]));
  return with_extent(in[0], axis, extent);
}

// A tensor along one axis: `count` lines of `extent` elements each, `stride` apart.
struct Lines {
  std::int64_t extent, stride, count;

  Lines(const Shape& shape, std::int64_t axis) : extent(shape[axis]), stride(row_major_strides(shape)[axis]), count(0) {
    if (extent > 0) count = element_count(shape) / extent;
  }
  std::int64_t start(std::int64_t line) const { return line / stride * stride * extent + line % stride; }
};

// The position that an index refers to, or -1 if it is out of range.
std::int64_t position(float index, std::int64_t extent) {
  return index >= 0 && index < static_cast<float>(extent) ? static_cast<std::int64_t>(index) : -1;
}

Tensor spread(const Tensor& operand, const Shape& shape) {
  Tensor result(shape);
  const Tensor* from = &operand;
  definition(Op::broadcast).eval(ShapeAttribute{shape}, std::span(&from, 1), result);
  return result;
}

void eval_select(const Attributes&, std::span<const Tensor* const> in, Tensor& y) {
  const Tensor a = spread(*in[0], y.shape), b = spread(*in[1], y.shape), c = spread(*in[2], y.shape);
  for (std::size_t i = 0; i < y.data.size(); ++i) y.data[i] = a.data[i] > 0 ? b.data[i] : c.data[i];
}

// Largest first; equal elements in order of position. NaN counts as largest.
void eval_top_index(const Attributes& attributes, std::span<const Tensor* const> in, Tensor& y) {
  const auto& [axis, extent] = std::get<AxisExtent>(attributes);
  const Lines from(in[0]->shape, axis), to(y.shape, axis);
  std::vector<std::int64_t> order(static_cast<std::size_t>(from.extent));
  for (std::int64_t line = 0; line < to.count; ++line) {
    const float* a = in[0]->data.data() + from.start(line);
    std::iota(order.begin(), order.end(), 0);
    std::partial_sort(order.begin(), order.begin() + extent, order.end(), [&](std::int64_t i, std::int64_t j) {
      const float x = a[i * from.stride], z = a[j * from.stride];
      if (std::isnan(x) != std::isnan(z)) return std::isnan(x);
      return x > z || (!(z > x) && i < j);
    });
    for (std::int64_t i = 0; i < extent; ++i) y.data[to.start(line) + i * to.stride] = static_cast<float>(order[i]);
  }
}

void eval_take(const Attributes& attributes, std::span<const Tensor* const> in, Tensor& y) {
  const std::int64_t axis = std::get<AxisAttribute>(attributes).axis;
  const Lines from(in[0]->shape, axis), to(y.shape, axis);
  for (std::int64_t line = 0; line < to.count; ++line) {
    for (std::int64_t i = 0; i < to.extent; ++i) {
      const std::int64_t at = to.start(line) + i * to.stride, source = position(in[1]->data[at], from.extent);
      y.data[at] = source < 0 ? std::numeric_limits<float>::quiet_NaN() : in[0]->data[from.start(line) + source * from.stride];
    }
  }
}

void eval_put_add(const Attributes& attributes, std::span<const Tensor* const> in, Tensor& y) {
  const std::int64_t axis = std::get<AxisExtent>(attributes).axis;
  const Lines from(in[0]->shape, axis), to(y.shape, axis);
  std::fill(y.data.begin(), y.data.end(), 0.0F);
  for (std::int64_t line = 0; line < from.count; ++line) {
    for (std::int64_t i = 0; i < from.extent; ++i) {
      const std::int64_t at = from.start(line) + i * from.stride, target = position(in[1]->data[at], to.extent);
      if (target >= 0) y.data[to.start(line) + target * to.stride] += in[0]->data[at];
    }
  }
}

ValueId vjp_select(Graph& g, ValueId y, std::size_t operand, ValueId c) {
  if (operand == 0) return kNoValue;
  const ValueId condition = g[y].inputs[0], zero = build::constant(g, 0);
  const Shape shape = g[g[y].inputs[operand]].shape;
  const ValueId kept = operand == 1 ? append(g, Op::select, {condition, c, zero}) : append(g, Op::select, {condition, zero, c});
  return build::sum_to(g, kept, shape);
}

ValueId vjp_take(Graph& g, ValueId y, std::size_t operand, ValueId c) {
  if (operand == 1) return kNoValue;
  const std::int64_t axis = std::get<AxisAttribute>(g[y].attributes).axis, extent = g[g[y].inputs[0]].shape[axis];
  return append(g, Op::put_add, {c, g[y].inputs[1]}, AxisExtent{axis, extent});
}

ValueId vjp_put_add(Graph& g, ValueId y, std::size_t operand, ValueId c) {
  if (operand == 1) return kNoValue;
  return append(g, Op::take, {c, g[y].inputs[1]}, AxisAttribute{std::get<AxisExtent>(g[y].attributes).axis});
}

double flops_sort(const Attributes&, std::span<const Shape> in, const Shape&) { return 8 * count(in[0]); }

constexpr OpDefinition kChoiceFamily[] = {
    {Op::select, "select", "y = b where a > 0, else c", 3, 3, infer_select, eval_select, vjp_select, flops_elementwise,
     affine(0b110)},
    {Op::top_index, "top_index", "y = indices of a's largest elements along an axis, largest first", 1, 1, infer_top_index,
     eval_top_index, vjp_zero, flops_sort},
    {Op::take, "take", "y[i] = a[b[i]] along an axis, NaN where there is none", 2, 2, infer_take, eval_take, vjp_take, flops_none,
     affine(0b1)},
    {Op::put_add, "put_add", "y[b[i]] += a[i] along an axis", 2, 2, infer_put_add, eval_put_add, vjp_put_add, flops_elementwise,
     affine(0b1)},
};

}  // namespace

std::span<const OpDefinition> choice_family() { return kChoiceFamily; }

}  // namespace probust::ops
