// SPDX-License-Identifier: MIT
// Gather, scatter, and operators built from positions. If indices are constant, as usual, each operator is one gather of
// numbered elements, and the derivative is its transpose. Indices that depend on the input are supported along one axis.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "probust/base/error.h"
#include "probust/onnx/lower/lower.h"
#include "probust/ops/build.h"

namespace probust::onnx {

// Compares positions 0, 1, ... along `axis` with the index: 1 where they are equal.
ValueId one_hot(Lowering& l, ValueId index, std::int64_t axis, std::int64_t extent) {
  Shape shape(l.graph[index].shape.size(), 1);
  shape[axis] = extent;
  l.spend(extent);
  Tensor counted(shape);
  std::iota(counted.data.begin(), counted.data.end(), 0.0F);
  const ValueId count = l.tensor(std::move(counted));
  const ValueId below = l.add_node(Op::greater_equal, {index, count}), above = l.add_node(Op::greater_equal, {count, index});
  return l.add_node(Op::multiply, {below, above});
}

namespace {

using Integers = std::vector<std::int64_t>;

std::int64_t rank_of_operand(Lowering& l, std::size_t i = 0) { return static_cast<std::int64_t>(l.shape(i).size()); }

std::int64_t within(Lowering& l, std::int64_t index, std::int64_t extent) {
  if (index < -extent || index >= extent)
    l.malformed("has the index " + std::to_string(index) + ", which is outside an axis of length " + std::to_string(extent));
  return index < 0 ? index + extent : index;
}

// The elements of x with the given numbers, as a tensor of `shape`.
ValueId pick(Lowering& l, ValueId x, Integers numbers, const Shape& shape) {
  const std::int64_t count = element_count(l.graph[x].shape);
  const ValueId flat = build::reshape(l.graph, x, {count});
  return build::reshape(l.graph, l.add_node(Op::gather, {flat}, GatherAttributes{0, std::move(numbers), count}), shape);
}

// Converts negative indices, which count from the end.
ValueId from_start(Lowering& l, ValueId index, std::int64_t extent) {
  const ValueId later = l.add_node(Op::add, {index, l.scalar(static_cast<float>(extent))});
  return l.add_node(Op::select, {l.add_node(Op::less, {index, l.scalar(0)}), later, index});
}

// Gathers slices of x, viewed as [outer, extent, inner], at indices [count].
ValueId take_slices(Lowering& l, ValueId x, std::int64_t axis, ValueId index) {
  const Shape shape = l.graph[x].shape;
  const std::int64_t outer = element_count({shape.begin(), shape.begin() + axis});
  const std::int64_t inner = element_count({shape.begin() + axis + 1, shape.end()}), count = element_count(l.graph[index].shape);
  const ValueId parts = build::reshape(l.graph, x, {outer, shape[axis], inner});
  const ValueId column = build::reshape(l.graph, from_start(l, index, shape[axis]), {1, count, 1});
  const ValueId spread = build::broadcast(l.graph, column, {outer, count, inner});
  return l.add_node(Op::take, {parts, spread}, AxisAttribute{1});
}

void gather(Lowering& l) {
  const std::int64_t axis = l.axis(l.attribute("axis", std::int64_t{0}), rank_of_operand(l)), extent = l.shape(0)[axis];
  Shape to = l.shape(0);  // the axis is replaced by the indices' shape
  const Shape indices = l.shape(1);
  to.erase(to.begin() + axis);
  to.insert(to.begin() + axis, indices.begin(), indices.end());
  ValueId picked = kNoValue;
  if (l.is_constant(1)) {
    GatherAttributes g{axis, l.integers(1), extent};
    for (std::int64_t& index : g.indices) index = within(l, index, extent);
    picked = l.add_node(Op::gather, {l.in(0)}, g);
  } else {
    picked = take_slices(l, l.in(0), axis, l.in(1));
  }
  l.set(0, build::reshape(l.graph, picked, to), l.integer(0));
}

// The element numbers, in a tensor of shape `data`, that `indices` of this shape select along `axis`.
Integers numbers_along(Lowering& l, const Shape& data, const Shape& shape, std::int64_t axis, const Integers& indices) {
  if (shape.size() != data.size())
    l.malformed("has data of shape " + to_string(data) + " and indices of shape " + to_string(shape) + ", which differ in rank");
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (static_cast<std::int64_t>(i) != axis && shape[i] > data[i])
      l.malformed("has indices of shape " + to_string(shape) + ", which is larger than the data's shape " + to_string(data));
  }
  const Shape strides = row_major_strides(data);
  l.spend(static_cast<std::int64_t>(indices.size()));
  Integers numbers(indices.size());
  for (std::size_t e = 0; e < numbers.size(); ++e) {
    auto rest = static_cast<std::int64_t>(e);
    for (std::size_t i = shape.size(); i-- > 0;) {
      const bool along = static_cast<std::int64_t>(i) == axis;
      numbers[e] += (along ? within(l, indices[e], data[i]) : rest % shape[i]) * strides[i];
      rest /= shape[i];
    }
  }
  return numbers;
}

void gather_elements(Lowering& l) {
  const std::int64_t axis = l.axis(l.attribute("axis", std::int64_t{0}), rank_of_operand(l));
  const Shape data = l.shape(0), shape = l.shape(1);
  if (l.is_constant(1))
    return l.set(0, pick(l, l.in(0), numbers_along(l, data, shape, axis, l.integers(1)), shape), l.integer(0));
  if (shape.size() != data.size())
    l.malformed("has data of shape " + to_string(data) + " and indices of shape " + to_string(shape) + ", which differ in rank");
  SliceAttributes part{Shape(shape.size(), 0), shape, Shape(shape.size(), 1)};
  part.size[axis] = data[axis];
  const ValueId lines = part.size == data ? l.in(0) : l.add_node(Op::slice, {l.in(0)}, part);
  l.set(0, l.add_node(Op::take, {lines, from_start(l, l.in(1), data[axis])}, AxisAttribute{axis}), l.integer(0));
}

// The numbers of all elements of the slices that rows of indices [..., k] select in `data`, after its first `batch` axes.
Integers numbers_of_slices(Lowering& l, const Shape& data, const Shape& shape, const Integers& indices, std::int64_t batch) {
  const std::int64_t k = shape.empty() ? 0 : shape.back(), rank = static_cast<std::int64_t>(data.size());
  if (shape.empty() || k < 0 || batch < 0 || batch >= static_cast<std::int64_t>(shape.size()) || batch + k > rank ||
      !std::equal(data.begin(), data.begin() + batch, shape.begin()))
    l.malformed("has indices of shape " + to_string(shape) + ", which cannot select slices of data of shape " + to_string(data));
  const Shape strides = row_major_strides(data);
  const std::int64_t slice = element_count({data.begin() + batch + k, data.end()}),
                     rows = element_count({shape.begin(), shape.end() - 1});
  const std::int64_t batches = element_count({data.begin(), data.begin() + batch});
  const std::int64_t batch_size = element_count({data.begin() + batch, data.end()}),
                     rows_per_batch = rows / std::max<std::int64_t>(1, batches);
  l.spend(element_count({rows, slice}));
  Integers numbers;
  for (std::int64_t row = 0; row < rows; ++row) {
    std::int64_t start = batch == 0 ? 0 : row / rows_per_batch * batch_size;
    for (std::int64_t i = 0; i < k; ++i) start += within(l, indices[row * k + i], data[batch + i]) * strides[batch + i];
    for (std::int64_t i = 0; i < slice; ++i) numbers.push_back(start + i);
  }
  return numbers;
}

void gather_nd(Lowering& l) {
  const Shape data = l.shape(0), shape = l.shape(1);
  const std::int64_t batch = l.attribute("batch_dims", std::int64_t{0});
  Integers numbers = numbers_of_slices(l, data, shape, l.integers(1), batch);
  Shape to(shape.begin(), shape.end() - 1);
  to.insert(to.end(), data.begin() + batch + shape.back(), data.end());
  l.set(0, pick(l, l.in(0), std::move(numbers), to), l.integer(0));
}

// Replaces element numbers[i] of the flat x by updates[i]. The numbers must be distinct.
ValueId replace(Lowering& l, ValueId x, const Integers& numbers, ValueId updates) {
  const std::int64_t count = l.graph[x].shape[0];
  l.spend(count);
  Tensor mask({count});
  for (const std::int64_t number : numbers) mask.data[number] = 1;
  const ValueId put = l.add_node(Op::scatter_add, {updates}, GatherAttributes{0, numbers, count});
  return l.add_node(Op::select, {l.tensor(std::move(mask)), put, x});
}

ValueId reduced(Lowering& l, const std::string& reduction, ValueId old, ValueId update) {
  if (reduction == "none") return update;
  if (reduction == "add") return l.add_node(Op::add, {old, update});
  if (reduction == "mul") return l.add_node(Op::multiply, {old, update});
  if (reduction == "max") return l.add_node(Op::maximum, {old, update});
  if (reduction == "min") return l.add_node(Op::minimum, {old, update});
  l.malformed("has an unknown reduction '" + reduction + "'");
}

// Splits updates into rounds in which no target occurs twice.
std::vector<Integers> rounds_of(const Integers& numbers) {
  std::vector<Integers> rounds;
  std::map<std::int64_t, std::size_t> seen;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::size_t round = seen[numbers[i]]++;
    if (round == rounds.size()) rounds.emplace_back();
    rounds[round].push_back(static_cast<std::int64_t>(i));
  }
  return rounds;
}

void scatter_to(Lowering& l, const Integers& numbers) {
  const Shape data = l.shape(0);
  const std::string reduction = l.attribute("reduction", std::string("none"));
  const auto count = static_cast<std::int64_t>(numbers.size());
  if (element_count(l.shape(2)) != count)
    l.malformed("has " + std::to_string(element_count(l.shape(2))) + " updates for " + std::to_string(count) + " indices");
  ValueId x = build::reshape(l.graph, l.in(0), {element_count(data)});
  for (const Integers& round : rounds_of(numbers)) {
    Integers targets;
    for (const std::int64_t i : round) targets.push_back(numbers[i]);
    const Shape shape{static_cast<std::int64_t>(round.size())};
    x = replace(l, x, targets, reduced(l, reduction, pick(l, x, targets, shape), pick(l, l.in(2), round, shape)));
  }
  l.set(0, build::reshape(l.graph, x, data), l.integer(0));
}

void scatter_elements(Lowering& l) {
  const std::int64_t axis = l.axis(l.attribute("axis", std::int64_t{0}), rank_of_operand(l));
  scatter_to(l, numbers_along(l, l.shape(0), l.shape(1), axis, l.integers(1)));
}

void scatter_nd(Lowering& l) { scatter_to(l, numbers_of_slices(l, l.shape(0), l.shape(1), l.integers(1), 0)); }

// One-hot encoding with the values [off, on], on a new axis of extent `depth`.
void one_hot_encode(Lowering& l) {
  const Integers depth = l.integers(1);
  if (depth.size() != 1 || depth[0] < 1 || depth[0] > kMaxElements) l.malformed("has a depth that is not a positive number");
  Shape column = l.shape(0);
  const std::int64_t axis = l.axis(l.attribute("axis", std::int64_t{-1}), rank_of_operand(l) + 1);
  column.insert(column.begin() + axis, 1);
  const ValueId index = from_start(l, build::reshape(l.graph, l.in(0), column), depth[0]);
  const ValueId off = pick(l, l.in(2), {0}, {}), on = pick(l, l.in(2), {1}, {});
  l.set(0, l.add_node(Op::select, {one_hot(l, index, axis, depth[0]), on, off}), l.integer(2));
}

// The positions of the nonzero elements of a constant, one column each.
void non_zero(Lowering& l) {
  const Tensor& x = l.constant(0);
  const Shape strides = row_major_strides(x.shape);
  Integers found;
  for (std::int64_t i = 0; i < x.size(); ++i) {
    if (x.data[i] != 0) found.push_back(i);
  }
  const auto rank = static_cast<std::int64_t>(x.shape.size()), count = static_cast<std::int64_t>(found.size());
  l.spend(rank * count);
  Tensor positions({rank, count});
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    for (std::int64_t i = 0; i < count; ++i)
      positions.data[axis * count + i] = static_cast<float>(found[i] / strides[axis] % x.shape[axis]);
  }
  l.set(0, l.tensor(std::move(positions)), true);
}

// The upper or lower triangle of the last two axes, zeros elsewhere.
void triangle(Lowering& l) {
  const Shape shape = l.shape(0);
  if (shape.size() < 2) l.malformed("needs matrices, not " + to_string(shape));
  const bool upper = l.attribute("upper", std::int64_t{1}) != 0;
  const std::int64_t rows = shape[shape.size() - 2], columns = shape.back(), k = l.has(1) ? l.integers(1).at(0) : 0;
  l.spend(element_count({rows, columns}));
  Tensor keep({rows, columns});
  for (std::int64_t i = 0; i < keep.size(); ++i) {
    const std::int64_t above = i % columns - i / columns;
    keep.data[i] = (upper ? above >= k : above <= k) ? 1 : 0;
  }
  l.set(0, l.add_node(Op::select, {l.tensor(std::move(keep)), l.in(0), l.scalar(0)}), l.integer(0));
}

// Cumulative sums along an axis: a product with a triangle of ones.
void cumulative_sum(Lowering& l) {
  const std::int64_t rank = rank_of_operand(l), axis = l.axis(l.integers(1).at(0), rank), n = l.shape(0)[axis];
  const bool before = l.attribute("exclusive", std::int64_t{0}) != 0, backward = l.attribute("reverse", std::int64_t{0}) != 0;
  l.spend(element_count({n, n}));
  Tensor ones({n, n});
  for (std::int64_t from = 0; from < n; ++from) {
    for (std::int64_t to = 0; to < n; ++to)
      ones.data[from * n + to] = (backward ? from > to : from < to) || (!before && from == to) ? 1 : 0;
  }
  Integers order(static_cast<std::size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[axis], order[rank - 1]);
  const ValueId last = build::transpose(l.graph, l.in(0), order);
  const Shape moved = l.graph[last].shape;
  const ValueId lines = build::reshape(l.graph, last, {element_count(moved) / std::max<std::int64_t>(n, 1), n});
  const ValueId sums = l.add_node(Op::matmul, {lines, l.tensor(std::move(ones))}, MatmulAttributes{});
  l.set(0, build::transpose(l.graph, build::reshape(l.graph, sums, moved), order), l.integer(0));
}

constexpr OnnxOperator kIndexOperators[] = {
    {"CumSum", cumulative_sum, true, 11},
    {"Gather", gather, true},
    {"GatherElements", gather_elements, true, 11},
    {"GatherND", gather_nd, true, 11},
    {"NonZero", non_zero, false, 9},
    {"OneHot", one_hot_encode, false, 9},
    {"Scatter", scatter_elements, true, 9},
    {"ScatterElements", scatter_elements, true, 11},
    {"ScatterND", scatter_nd, true, 11},
    {"Trilu", triangle, true, 14},
};

}  // namespace

std::span<const OnnxOperator> index_operators() { return kIndexOperators; }

}  // namespace probust::onnx
