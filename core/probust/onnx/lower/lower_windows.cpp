// SPDX-License-Identifier: MIT
// Operators that slide a window over an image.
#include <algorithm>
#include <cmath>

#include "probust/base/error.h"
#include "probust/onnx/lower/lower.h"
#include "probust/ops/build.h"
#include "probust/ops/op.h"

namespace probust::onnx {
namespace {

Shape spatial_of(const Shape& shape) { return {shape.begin() + 2, shape.end()}; }

void require_image(Lowering& l) {
  if (l.shape(0).size() < 3) l.malformed("needs an image [N, C, ...], not " + to_string(l.shape(0)));
}

Shape sized(Lowering& l, const std::string& name, Shape value, std::size_t rank) {
  if (value.size() != rank)
    l.malformed("has " + std::to_string(value.size()) + " entries in attribute " + name + ", but " + std::to_string(rank) +
                " axes");
  return value;
}

// auto_pad SAME: ceil(image / stride) windows. The padding is split evenly; if the total is odd, the extra cell is added after
// (UPPER) or before (LOWER) the image.
void pad_same(Window& w, bool upper) {
  for (std::size_t i = 0; i < w.image.size(); ++i) {
    const std::int64_t windows = (w.image[i] + w.stride[i] - 1) / w.stride[i];
    const std::int64_t reach = w.dilation[i] * (w.kernel[i] - 1) + 1;
    const std::int64_t total = std::max<std::int64_t>(0, (windows - 1) * w.stride[i] + reach - w.image[i]);
    const std::int64_t less = total / 2, more = total - less;
    w.pad_low[i] = upper ? less : more;
    w.pad_high[i] = upper ? more : less;
  }
}

// ceil_mode: adds one more window if that starts inside the image or its leading padding.
void pad_for_ceil(Window& w) {
  for (std::size_t i = 0; i < w.image.size(); ++i) {
    const std::int64_t reach = w.dilation[i] * (w.kernel[i] - 1) + 1;
    const std::int64_t room = w.image[i] + w.pad_low[i] + w.pad_high[i] - reach;
    if (room < 0) continue;
    const std::int64_t windows = (room + w.stride[i] - 1) / w.stride[i];
    const std::int64_t missing = windows * w.stride[i] - room;
    const bool starts_inside = windows * w.stride[i] < w.image[i] + w.pad_low[i];
    if (missing > 0 && starts_inside) w.pad_high[i] += missing;
  }
}

Window window_of(Lowering& l, const Shape& image, const Shape& kernel) {
  const std::size_t rank = image.size();
  Window w;
  w.image = image;
  w.kernel = sized(l, "kernel_shape", kernel, rank);
  w.stride = sized(l, "strides", l.attribute("strides", Shape(rank, 1)), rank);
  w.dilation = sized(l, "dilations", l.attribute("dilations", Shape(rank, 1)), rank);
  const Shape pads = sized(l, "pads", l.attribute("pads", Shape(2 * rank, 0)), 2 * rank);
  w.pad_low.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(rank));
  w.pad_high.assign(pads.begin() + static_cast<std::ptrdiff_t>(rank), pads.end());
  for (std::size_t i = 0; i < rank; ++i) {
    const auto sane = [](std::int64_t value, std::int64_t least) { return value >= least && value < (std::int64_t{1} << 28); };
    if (!sane(w.kernel[i], 1) || !sane(w.stride[i], 1) || !sane(w.dilation[i], 1) || !sane(w.pad_low[i], 0) ||
        !sane(w.pad_high[i], 0)) {
      l.malformed("has a kernel, strides, dilations or pads out of range");
    }
  }
  const std::string automatic = l.attribute("auto_pad", std::string("NOTSET"));
  if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") pad_same(w, automatic == "SAME_UPPER");
  if (automatic == "VALID") w.pad_low = w.pad_high = Shape(rank, 0);
  return w;
}

ValueId add_channel_bias(Lowering& l, ValueId y, std::size_t operand) {
  if (!l.has(operand)) return y;
  Shape shape(l.graph[y].shape.size(), 1);
  shape[1] = element_count(l.shape(operand));
  return l.add_node(Op::add, {y, build::reshape(l.graph, l.in(operand), shape)});
}

void conv(Lowering& l) {
  require_image(l);
  const Shape filter = l.shape(1);
  if (filter.size() != l.shape(0).size())
    l.malformed("has an image " + to_string(l.shape(0)) + " and a filter " + to_string(filter) + " of different ranks");
  if (l.has_attribute("kernel_shape") && l.attribute("kernel_shape", Shape{}) != spatial_of(filter))
    l.malformed("has a kernel_shape that differs from its filter's " + to_string(spatial_of(filter)));
  Window w = window_of(l, spatial_of(l.shape(0)), spatial_of(filter));
  w.groups = l.attribute("group", std::int64_t{1});
  l.set(add_channel_bias(l, l.add_node(Op::conv, {l.in(0), l.in(1)}, w), 2));
}

// Sets the padding with which a transposed convolution, with `extra` cells after its image, has the wanted output shape. If the
// total padding along an axis is odd, the larger part is after the image if `upper`, otherwise before it.
void pad_for_output(Window& w, const Shape& in, const Shape& extra, const Shape& wanted, bool upper) {
  for (std::size_t i = 0; i < in.size(); ++i) {
    const std::int64_t reach = w.dilation[i] * (w.kernel[i] - 1) + 1;
    const std::int64_t total = std::max<std::int64_t>(0, (in[i] - 1) * w.stride[i] + reach + extra[i] - wanted[i]);
    w.pad_low[i] = upper ? total / 2 : total - total / 2;
    w.pad_high[i] = total - w.pad_low[i];
  }
  w.image = wanted;
}

// If at least a whole stride of cells remains after the last window, another window would fit. Removes these cells from the
// padding first, and the rest, which no tap reaches, from the image. Returns the number of cells removed from the image along
// each axis.
Shape split_unreached(Window& w, const Shape& in) {
  Shape unreached(in.size(), 0);
  for (std::size_t i = 0; i < in.size(); ++i) {
    const std::int64_t reach = w.dilation[i] * (w.kernel[i] - 1) + 1;
    const std::int64_t behind = w.image[i] + w.pad_low[i] + w.pad_high[i] - reach - (in[i] - 1) * w.stride[i];
    if (behind < w.stride[i]) continue;
    const std::int64_t cropped = std::min(behind, w.pad_high[i]);
    w.pad_high[i] -= cropped;
    unreached[i] = behind - cropped;
    w.image[i] -= unreached[i];
  }
  return unreached;
}

ValueId pad_behind(Lowering& l, ValueId y, const Shape& cells) {
  if (std::all_of(cells.begin(), cells.end(), [](std::int64_t count) { return count == 0; })) return y;
  const Shape zeros(cells.size() + 2, 0);
  Shape high{0, 0};
  high.insert(high.end(), cells.begin(), cells.end());
  return l.add_node(Op::pad, {y}, PadAttributes{zeros, high, zeros});
}

// The output extent of a transposed convolution along an axis is (in - 1) stride + reach - pads + output_padding, unless the
// output shape is given or auto_pad sets it to in * stride.
void conv_transpose(Lowering& l) {
  require_image(l);
  const Shape in = spatial_of(l.shape(0)), filter = l.shape(1);
  if (filter.size() != l.shape(0).size())
    l.malformed("has an image " + to_string(l.shape(0)) + " and a filter " + to_string(filter) + " of different ranks");
  Window w = window_of(l, in, spatial_of(filter));
  const std::string automatic = l.attribute("auto_pad", std::string("NOTSET"));
  const bool same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  const Shape extra = sized(l, "output_padding", l.attribute("output_padding", Shape(in.size(), 0)), in.size());
  Shape wanted = l.attribute("output_shape", Shape{});
  if (wanted.size() == in.size() + 2) wanted = spatial_of(wanted);
  for (std::size_t i = 0; i < in.size(); ++i) {
    const std::int64_t reach = w.dilation[i] * (w.kernel[i] - 1) + 1;
    const std::int64_t beyond = std::max(w.stride[i], w.dilation[i]);
    if (extra[i] < 0 || extra[i] >= beyond)
      l.malformed("has an output_padding of " + std::to_string(extra[i]) + ", which is outside 0.." + std::to_string(beyond - 1));
    w.image[i] = (in[i] - 1) * w.stride[i] + reach - w.pad_low[i] - w.pad_high[i] + extra[i];
    if (same && !l.has_attribute("output_shape")) wanted.push_back(in[i] * w.stride[i]);
  }
  if (!wanted.empty()) pad_for_output(w, in, extra, sized(l, "output_shape", wanted, in.size()), automatic == "SAME_UPPER");
  for (const std::int64_t extent : w.image) {
    if (extent < 1 || extent > kMaxElements)
      l.malformed("has an output of extent " + std::to_string(extent) + ", which is outside 1.." + std::to_string(kMaxElements));
  }
  w.groups = l.attribute("group", std::int64_t{1});
  const Shape unreached = split_unreached(w, in);
  const ValueId reached = l.add_node(Op::conv_transpose, {l.in(0), l.in(1)}, w);
  l.set(add_channel_bias(l, pad_behind(l, reached, unreached), 2));
}

Window pool_window(Lowering& l) {
  require_image(l);
  Window w = window_of(l, spatial_of(l.shape(0)), l.attribute("kernel_shape", Shape{}));
  if (l.attribute("ceil_mode", std::int64_t{0}) != 0) pad_for_ceil(w);
  return w;
}

// The number of each cell in the whole tensor [N, C, image]; with storage_order the first spatial axis varies fastest.
Tensor cell_numbers(Lowering& l, const Shape& shape) {
  const std::int64_t cells = element_count(spatial_of(shape)), count = element_count(shape);
  const bool column_major = l.attribute("storage_order", std::int64_t{0}) != 0;
  l.spend(count);
  Tensor numbers(shape);
  for (std::int64_t e = 0; e < count; ++e) {
    std::int64_t rest = e % cells, number = 0;
    for (std::size_t i = shape.size(); i-- > 2;) {
      std::int64_t stride = 1;
      for (std::size_t j = column_major ? 2 : i + 1; j < (column_major ? i : shape.size()); ++j) stride *= shape[j];
      number += rest % shape[i] * stride;
      rest /= shape[i];
    }
    numbers.data[e] = static_cast<float>(e - e % cells + number);
  }
  return numbers;
}

void max_pool(Lowering& l) {
  const Window window = pool_window(l);
  l.set(0, l.add_node(Op::max_pool, {l.in(0)}, window), l.integer(0));
  if (l.node.outputs.size() < 2) return;
  const ValueId numbers = l.tensor(cell_numbers(l, l.shape(0)));
  l.set(1, l.add_node(Op::max_gather, {l.in(0), numbers}, window), true);
}

// For each window along one axis, the number of taps on the cells low <= cell < high.
std::vector<std::int64_t> taps_on(const Window& w, std::size_t axis, std::int64_t low, std::int64_t high) {
  const std::int64_t step = w.dilation[axis], last = (w.kernel[axis] - 1) * step;
  std::vector<std::int64_t> counts;
  for (std::int64_t start = -w.pad_low[axis], q = 0; q < w.output()[axis]; ++q, start += w.stride[axis]) {
    const std::int64_t first = start >= low ? 0 : (low - start + step - 1) / step * step;
    const std::int64_t end = std::min(start + last + 1, high);
    counts.push_back(std::max<std::int64_t>(0, (end - (start + first) + step - 1) / step));
  }
  return counts;
}

// The number of cells that each window averages over, [1, 1, output]: those of the image, and the declared padding if
// count_include_pad is set. Padding added only by ceil_mode never counts. The count is a product over axes.
Tensor window_counts(Lowering& l, const Window& w) {
  const Window declared = window_of(l, w.image, w.kernel);
  const bool with_padding = l.attribute("count_include_pad", std::int64_t{0}) != 0;
  Shape shape{1, 1};
  const Shape output = w.output();
  shape.insert(shape.end(), output.begin(), output.end());
  l.spend(element_count(shape));
  Tensor result(shape);
  std::fill(result.data.begin(), result.data.end(), 1.0F);
  std::int64_t inner = element_count(output);
  for (std::size_t axis = 0; axis < output.size(); ++axis) {
    const auto counts = taps_on(w, axis, with_padding ? -declared.pad_low[axis] : 0,
                                w.image[axis] + (with_padding ? declared.pad_high[axis] : 0));
    inner /= output[axis];
    for (std::int64_t i = 0; i < result.size(); ++i) result.data[i] *= static_cast<float>(counts[i / inner % output[axis]]);
  }
  return result;
}

void average_pool(Lowering& l) {
  const Window w = pool_window(l);
  Tensor shares = window_counts(l, w);
  for (float& share : shares.data) share = share == 0 ? 0.0F : 1.0F / share;  // 0: entirely in the padding
  if (std::all_of(shares.data.begin(), shares.data.end(), [&](float share) { return share == shares.data[0]; }))
    shares = Tensor::scalar(shares.data[0]);
  l.set(l.add_node(Op::multiply, {l.add_node(Op::sum_pool, {l.in(0)}, w), l.tensor(std::move(shares))}));
}

// (sum |x|^p)^(1/p) over a window.
ValueId lp_pool_by(Lowering& l, const Window& w) {
  const std::int64_t p = l.attribute("p", std::int64_t{2});
  if (p < 1) l.malformed("has p " + std::to_string(p) + ", which must be at least 1");
  ValueId term = l.add_node(Op::absolute, {l.in(0)});
  if (p == 2) term = l.add_node(Op::multiply, {l.in(0), l.in(0)});
  if (p > 2) term = l.add_node(Op::power, {term, l.scalar(static_cast<float>(p))});
  return norm_root(l, l.add_node(Op::sum_pool, {term}, w), p);
}

// One window over the whole image.
Window global_window(Lowering& l) {
  require_image(l);
  const Shape image = spatial_of(l.shape(0)), ones(image.size(), 1), zeros(image.size(), 0);
  return {image, image, ones, ones, zeros, zeros};
}

void lp_pool(Lowering& l) { l.set(lp_pool_by(l, pool_window(l))); }

void global_lp_pool(Lowering& l) { l.set(lp_pool_by(l, global_window(l))); }

void global_average_pool(Lowering& l) {
  require_image(l);
  std::vector<std::int64_t> axes;
  for (std::size_t i = 2; i < l.shape(0).size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  const float share = 1.0F / static_cast<float>(element_count(spatial_of(l.shape(0))));
  l.set(l.add_node(Op::multiply, {build::reduce_sum(l.graph, l.in(0), axes), l.scalar(share)}));
}

void global_max_pool(Lowering& l) { l.set(l.add_node(Op::max_pool, {l.in(0)}, global_window(l))); }

constexpr OnnxOperator kWindowOperators[] = {
    {"AveragePool", average_pool, true},
    {"Conv", conv, true},
    {"ConvTranspose", conv_transpose, true},
    {"GlobalAveragePool", global_average_pool, true},
    {"GlobalLpPool", global_lp_pool, true},
    {"GlobalMaxPool", global_max_pool, true},
    {"LpPool", lp_pool, true},
    {"MaxPool", max_pool, true},
};

}  // namespace

std::span<const OnnxOperator> window_operators() { return kWindowOperators; }

}  // namespace probust::onnx
