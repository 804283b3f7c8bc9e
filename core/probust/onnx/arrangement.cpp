// SPDX-License-Identifier: MIT
#include "probust/onnx/arrangement.h"

#include <algorithm>
#include <numeric>

#include "probust/base/error.h"

namespace probust {
namespace {

std::vector<int> as_stored(std::size_t rank) {
  std::vector<int> order(rank);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

std::vector<int> first_to_last(std::size_t rank) {
  std::vector<int> order = as_stored(rank);
  std::rotate(order.begin(), order.begin() + 1, order.end());
  return order;
}

std::vector<int> last_to_first(std::size_t rank) {
  std::vector<int> order = as_stored(rank);
  std::rotate(order.begin(), order.end() - 1, order.end());
  return order;
}

Shape without_ones(Shape shape) {
  std::erase(shape, 1);
  return shape;
}

// The input's axes after the batch, or all axes if it has no batch.
Shape example_axes(const Shape& point, const Shape& input) {
  const bool whole = input.size() == point.size() && input == point;
  return input.size() > 1 && input[0] == 1 && !whole ? Shape(input.begin() + 1, input.end()) : input;
}

// Whether one shape turns into the other by merging and splitting adjacent axes, without moving an axis: [3, 32, 32] and [3,
// 1024], or [784] and [28, 28]. A block of several axes on both sides, as in [48, 64] and [64, 48], may be a transposition.
bool merges_axes(const Shape& a, const Shape& b) {
  const Shape from = without_ones(a), to = without_ones(b);
  std::size_t i = 0, j = 0;
  while (i < from.size() && j < to.size()) {
    const std::size_t begin_i = i, begin_j = j;
    std::int64_t left = from[i++], right = to[j++];
    while (left != right) {
      if (left < right && i < from.size()) {
        left *= from[i++];
      } else if (right < left && j < to.size()) {
        right *= to[j++];
      } else {
        return false;
      }
    }
    if (i - begin_i > 1 && j - begin_j > 1) return false;
  }
  return i == from.size() && j == to.size();
}

bool is_flat(const Shape& shape) { return without_ones(shape).size() <= 1; }

std::string layout_name(Layout layout) {
  return layout == Layout::nchw ? "nchw" : layout == Layout::nhwc ? "nhwc" : layout == Layout::whcn ? "whcn" : "auto";
}

// The shape [C, H, W] of the image in a flat point, for an input whose three axes have the extents `axes` and this layout.
Shape view_of_flat(const Shape& axes, Layout layout) {
  if (layout == Layout::nhwc) return {axes[2], axes[0], axes[1]};
  return layout == Layout::whcn ? Shape{axes[0], axes[2], axes[1]} : axes;
}

[[noreturn]] void refuse_order(const Shape& point, const Shape& input, Layout layout) {
  std::string problem = "has points of shape " + to_string(point);
  if (layout != Layout::automatic)
    problem += ", which the layout " + layout_name(layout) + " does not convert to the input's shape ";
  else
    problem += ", so the order of their axes is ambiguous for the input's shape ";
  throw Error{ErrorCode::unreadable, "the data set", problem + to_string(input),
              layout != Layout::automatic ? "use another " + option("layout") + ", or leave it out"
                                          : "transpose the data, or specify the input's order of axes with " + option("layout") +
                                                " (whcn: width before height)"};
}

}  // namespace

std::vector<int> Arrangement::moved_axes() const {
  std::vector<int> axes = order;
  std::erase_if(axes, [&](int axis) { return view[axis] == 1; });
  return axes;
}

bool Arrangement::permutes() const {
  const std::vector<int> axes = moved_axes();
  return !std::is_sorted(axes.begin(), axes.end());
}

Shape arranged(const Shape& point, const std::vector<int>& order) {
  Shape result;
  result.reserve(order.size());
  for (const int axis : order) result.push_back(point[axis]);
  return result;
}

bool looks_channels_last(const Shape& point) {
  const auto few = [](std::int64_t extent) { return extent == 1 || extent == 3 || extent == 4; };
  return point.size() == 3 && few(point[2]) && point[0] > 4 && point[1] > 4;
}

std::vector<AxisOrder> axis_orders(const Shape& point, Layout layout, bool channels_first, bool channels_last) {
  const std::size_t rank = point.size();
  const AxisOrder stored{as_stored(rank), false};
  if (rank < 2) return {stored};
  std::vector<AxisOrder> orders;
  if (layout == Layout::automatic) {
    orders = {stored};
    if (channels_last) orders.push_back({first_to_last(rank), rank == 2});  // a series [L, C] for an input [C, L]
    if (channels_first) orders.push_back({last_to_first(rank), true});
    return orders;
  }
  if (layout == Layout::nchw) orders = {stored, {last_to_first(rank), true}};
  if (layout == Layout::nhwc) orders = {{first_to_last(rank), false}, {as_stored(rank), true}};
  if (layout == Layout::whcn) {
    if (rank == 2) return {{{1, 0}, false}};
    // Column-major over (H, W, C) means that H varies fastest, then W, then C, which is row-major over (C, W, H).
    orders = rank == 3 ? std::vector<AxisOrder>{{{0, 2, 1}, false}, {{2, 1, 0}, true}} : std::vector<AxisOrder>{};
  }
  if (looks_channels_last(point)) std::reverse(orders.begin(), orders.end());
  return orders;
}

// Not inlined, so that browsers download it only if points need rearranging.
[[gnu::noinline]] static Arrangement rearranged(const Shape& point, const Shape& axes, Layout layout) {
  if (layout != Layout::automatic && (point.size() > 3 || (point.size() == 1 && axes.size() != 3)))
    throw Error{ErrorCode::usage, option("layout"), "needs images [C, H, W], not points of shape " + to_string(point),
                "leave it out"};
  if (point.size() == 1 && axes.size() == 3 && layout != Layout::automatic) {
    const auto few = [](std::int64_t extent) { return extent <= 4; };
    if (layout == Layout::nhwc ? few(axes[0]) && !few(axes[2]) : few(axes[2]) && !few(axes[0]))
      refuse_order(point, axes, layout);  // the channels are on another axis
    const Shape view = view_of_flat(axes, layout);
    return {view, axis_orders({2, 2, 2}, layout)[0].order, false, ""};
  }
  const auto arrangement = [&](const AxisOrder& order) { return Arrangement{point, order.order, order.data_channels_last, ""}; };
  const std::vector<AxisOrder> orders = axis_orders(point, layout);
  for (const AxisOrder& order : orders) {
    if (arranged(point, order.order) != axes) continue;
    Arrangement result = arrangement(order);
    if (result.permutes() && layout == Layout::automatic)
      result.note = "points of shape " + to_string(point) + " are transposed to the input's shape " + to_string(axes);
    return result;
  }
  // Extents of 1 are ignored. Two axes of an image may be height and width in either order, so only a series is transposed.
  const bool series = point.size() == 2 && axes.size() > 1 && axes[0] != 1;
  for (const AxisOrder& order : orders) {
    Arrangement result = arrangement(order);
    if (result.permutes() && layout == Layout::automatic && !series) continue;
    if (without_ones(arranged(point, order.order)) == without_ones(axes)) return result;
  }
  if (layout != Layout::automatic && is_flat(axes) && !orders.empty()) return arrangement(orders.front());
  if (layout == Layout::automatic && merges_axes(point, axes)) {
    Arrangement result = arrangement(orders.front());
    result.channels_last = looks_channels_last(point);
    if (is_flat(axes) && result.channels_last && point[2] > 1)
      result.note = "the model's input is flat: it gets the values of points of shape " + to_string(point) +
                    " in stored order, channels last";
    return result;
  }
  refuse_order(point, axes, layout);
}

Arrangement arrangement_of(const Shape& point, const Shape& input_shape, Layout layout) {
  const Shape axes = example_axes(point, input_shape);
  if (layout == Layout::automatic && point == axes) return {point, as_stored(point.size()), false, ""};
  return rearranged(point, axes, layout);
}

}  // namespace probust
