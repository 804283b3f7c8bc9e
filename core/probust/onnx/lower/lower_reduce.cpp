// SPDX-License-Identifier: MIT
// Reductions along axes, softmax, and positions of largest elements.
#include <algorithm>
#include <limits>
#include <numeric>

#include "probust/base/error.h"
#include "probust/onnx/lower/lower.h"
#include "probust/ops/build.h"

namespace probust::onnx {
namespace {

using Axes = std::vector<std::int64_t>;

// The axes of a reduction, from the attribute or operand 1. If there are none, all axes are reduced, unless noop_with_empty_axes
// is set.
Axes reduced_axes(Lowering& l) {
  const auto rank = static_cast<std::int64_t>(l.shape(0).size());
  Axes axes = l.attribute_or_input("axes", 1).value_or(Axes{});
  for (std::int64_t& axis : axes) axis = l.axis(axis, rank);
  if (axes.empty() && l.attribute("noop_with_empty_axes", std::int64_t{0}) == 0) {
    axes.resize(static_cast<std::size_t>(rank));
    std::iota(axes.begin(), axes.end(), 0);
  }
  return axes;
}

bool contains(const Axes& axes, std::size_t axis) {
  return std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(axis)) != axes.end();
}

// The shape `from` with extent 1 at the reduced axes.
Shape kept_shape(const Shape& from, const Axes& axes) {
  Shape shape = from;
  for (const std::int64_t axis : axes) shape[axis] = 1;
  return shape;
}

Shape reduced_shape(Lowering& l, const Axes& axes) {
  const Shape from = l.shape(0);
  const bool keep = l.attribute("keepdims", std::int64_t{1}) != 0;
  Shape shape;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (!contains(axes, i)) shape.push_back(from[i]);
    if (contains(axes, i) && keep) shape.push_back(1);
  }
  return shape;
}

// x as [lines, n], with the reduced axes last.
ValueId as_lines(Lowering& l, ValueId x, const Axes& axes) {
  const Shape from = l.graph[x].shape;
  Axes order;
  std::int64_t n = 1;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (!contains(axes, i)) order.push_back(static_cast<std::int64_t>(i));
  }
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (!contains(axes, i)) continue;
    order.push_back(static_cast<std::int64_t>(i));
    n *= from[i];
  }
  return build::reshape(l.graph, build::transpose(l.graph, x, order), {element_count(kept_shape(from, axes)), n});
}

ValueId filled(Lowering& l, const Shape& shape, float value) {
  l.spend(element_count(shape));
  Tensor tensor(shape);
  std::fill(tensor.data.begin(), tensor.data.end(), value);
  return l.tensor(std::move(tensor));
}

ValueId sum_of(Lowering& l, ValueId x, const Axes& axes) { return build::reduce_sum(l.graph, x, axes); }

// Max-pooling with one window per line.
ValueId largest_of(Lowering& l, ValueId x, const Axes& axes) {
  if (axes.empty()) return x;
  const Shape to = kept_shape(l.graph[x].shape, axes);
  const ValueId lines = as_lines(l, x, axes);
  const std::int64_t count = l.graph[lines].shape[0], n = l.graph[lines].shape[1];
  if (n == 0 || count == 0) return filled(l, to, -std::numeric_limits<float>::infinity());
  const ValueId image = build::reshape(l.graph, lines, {1, count, n});
  const ValueId best = l.add_node(Op::max_pool, {image}, Window{{n}, {n}, {1}, {1}, {0}, {0}});
  return build::reshape(l.graph, best, to);
}

ValueId least_of(Lowering& l, ValueId x, const Axes& axes) {
  return l.add_node(Op::negate, {largest_of(l, l.add_node(Op::negate, {x}), axes)});
}

// Multiplies the two halves of each line until one element is left.
ValueId product_of(Lowering& l, ValueId x, const Axes& axes) {
  const Shape to = kept_shape(l.graph[x].shape, axes);
  ValueId lines = as_lines(l, x, axes);
  const std::int64_t count = l.graph[lines].shape[0];
  if (l.graph[lines].shape[1] == 0) return filled(l, to, 1);
  const auto part = [&](std::int64_t start, std::int64_t size) {
    return l.add_node(Op::slice, {lines}, SliceAttributes{{0, start}, {count, size}, {1, 1}});
  };
  for (std::int64_t n = l.graph[lines].shape[1]; n > 1; n = (n + 1) / 2) {
    const std::int64_t half = n / 2;
    const ValueId product = l.add_node(Op::multiply, {part(0, half), part(half, half)});
    lines = n % 2 == 0 ? product : l.add_node(Op::concat, {product, part(2 * half, 1)}, AxisAttribute{1});
  }
  return build::reshape(l.graph, lines, to);
}

using Reduction = ValueId (*)(Lowering&, ValueId, const Axes&);

void reduce_by(Lowering& l, Reduction reduction, ValueId x) {
  const Axes axes = reduced_axes(l);
  l.set(0, build::reshape(l.graph, reduction(l, x, axes), reduced_shape(l, axes)), l.integer(0));
}

template <Reduction reduction>
void reduce(Lowering& l) {
  reduce_by(l, reduction, l.in(0));
}

void reduce_mean(Lowering& l) {
  reduce_by(
      l,
      [](Lowering& inner, ValueId x, const Axes& axes) {
        const double n = static_cast<double>(element_count(inner.graph[x].shape)),
                     sums = static_cast<double>(element_count(kept_shape(inner.graph[x].shape, axes)));
        return inner.add_node(Op::multiply, {sum_of(inner, x, axes), inner.scalar(static_cast<float>(sums / n))});
      },
      l.in(0));
}

void reduce_sum_square(Lowering& l) { reduce_by(l, sum_of, l.add_node(Op::multiply, {l.in(0), l.in(0)})); }

void reduce_l1(Lowering& l) { reduce_by(l, sum_of, l.add_node(Op::absolute, {l.in(0)})); }

void reduce_l2(Lowering& l) {
  reduce_by(
      l, [](Lowering& inner, ValueId x, const Axes& axes) { return norm_root(inner, sum_of(inner, x, axes)); },
      l.add_node(Op::multiply, {l.in(0), l.in(0)}));
}

ValueId log_sum_of(Lowering& l, ValueId x, const Axes& axes) { return l.add_node(Op::log, {sum_of(l, x, axes)}); }

// The largest element is subtracted so that nothing overflows; if it is infinite, the largest finite float is subtracted
// instead.
ValueId log_sum_exp_of(Lowering& l, ValueId x, const Axes& axes) {
  constexpr float kMost = std::numeric_limits<float>::max();
  const ValueId above = l.add_node(Op::maximum, {largest_of(l, x, axes), l.scalar(-kMost)});
  const ValueId largest = l.add_node(Op::minimum, {above, l.scalar(kMost)});
  const ValueId rest = l.add_node(Op::exp, {l.add_node(Op::subtract, {x, largest})});
  return l.add_node(Op::add, {log_sum_of(l, rest, axes), largest});
}

// Before opset 13, softmax flattens all axes from `axis` on; since opset 13, it applies to `axis` only.
void along_axis(Lowering& l, ValueId (*function)(Lowering&, ValueId, std::int64_t axis)) {
  const Shape shape = l.shape(0);
  const auto rank = static_cast<std::int64_t>(shape.size());
  const std::int64_t axis = l.axis(l.attribute("axis", std::int64_t{l.opset < 13 ? 1 : -1}), std::max<std::int64_t>(rank, 1));
  if (l.opset >= 13) return l.set(function(l, l.in(0), axis));
  const Shape flat{element_count({shape.begin(), shape.begin() + axis}), element_count({shape.begin() + axis, shape.end()})};
  l.set(build::reshape(l.graph, function(l, build::reshape(l.graph, l.in(0), flat), 1), shape));
}

template <Op op>
void softmax(Lowering& l) {
  along_axis(l, [](Lowering& inner, ValueId x, std::int64_t axis) { return inner.add_node(op, {x}, AxisAttribute{axis}); });
}

// 1 at the first largest element along the axis, 0 elsewhere.
void hardmax(Lowering& l) {
  along_axis(l, [](Lowering& inner, ValueId x, std::int64_t axis) {
    const ValueId best = inner.add_node(Op::top_index, {x}, AxisExtent{axis, 1});
    return one_hot(inner, best, axis, inner.graph[x].shape[axis]);
  });
}

// The elements along an axis in reverse order.
ValueId reversed(Lowering& l, ValueId x, std::int64_t axis) {
  GatherAttributes g{axis, {}, l.graph[x].shape[axis]};
  l.spend(g.extent);
  for (std::int64_t i = g.extent; i-- > 0;) g.indices.push_back(i);
  return l.add_node(Op::gather, {x}, g);
}

template <bool least>
void arg_extreme(Lowering& l) {
  const std::int64_t axis = l.axis(l.attribute("axis", std::int64_t{0}), static_cast<std::int64_t>(l.shape(0).size()));
  const std::int64_t extent = l.shape(0)[axis];
  if (extent == 0) l.malformed("reduces axis " + std::to_string(axis) + ", which has no elements");
  const bool last = l.attribute("select_last_index", std::int64_t{0}) != 0;
  ValueId x = least ? l.add_node(Op::negate, {l.in(0)}) : l.in(0);
  if (last) x = reversed(l, x, axis);
  ValueId best = l.add_node(Op::top_index, {x}, AxisExtent{axis, 1});
  if (last) best = l.add_node(Op::subtract, {l.scalar(static_cast<float>(extent - 1)), best});
  l.set(0, build::reshape(l.graph, best, reduced_shape(l, {axis})), true);
}

void top_k(Lowering& l) {
  const std::int64_t axis = l.axis(l.attribute("axis", std::int64_t{-1}), static_cast<std::int64_t>(l.shape(0).size()));
  const std::vector<std::int64_t> k = l.has(1) ? l.integers(1) : std::vector<std::int64_t>{l.attribute("k", std::int64_t{-1})};
  if (k.size() != 1 || k[0] < 0 || k[0] > l.shape(0)[axis])
    l.malformed("has a k that is not one number from 0 to " + std::to_string(l.shape(0)[axis]) + ", the length of its axis");
  const bool largest = l.attribute("largest", std::int64_t{1}) != 0;
  const ValueId x = largest ? l.in(0) : l.add_node(Op::negate, {l.in(0)});
  const ValueId order = l.add_node(Op::top_index, {x}, AxisExtent{axis, k[0]});
  l.set(0, l.add_node(Op::take, {l.in(0), order}, AxisAttribute{axis}), l.integer(0));
  l.set(1, order, true);
}

constexpr OnnxOperator kReduceOperators[] = {
    {"ArgMax", arg_extreme<false>, false},
    {"ArgMin", arg_extreme<true>, false},
    {"Hardmax", hardmax, false},
    {"LogSoftmax", softmax<Op::log_softmax>, true},
    {"ReduceL1", reduce_l1, true},
    {"ReduceL2", reduce_l2, true},
    {"ReduceLogSum", reduce<log_sum_of>, true},
    {"ReduceLogSumExp", reduce<log_sum_exp_of>, true},
    {"ReduceMax", reduce<largest_of>, true},
    {"ReduceMean", reduce_mean, true},
    {"ReduceMin", reduce<least_of>, true},
    {"ReduceProd", reduce<product_of>, true},
    {"ReduceSum", reduce<sum_of>, true},
    {"ReduceSumSquare", reduce_sum_square, true},
    {"Softmax", softmax<Op::softmax>, true},
    {"TopK", top_k, true},
};

}  // namespace

std::span<const OnnxOperator> reduce_operators() { return kReduceOperators; }

}  // namespace probust::onnx
