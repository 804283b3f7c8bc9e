// SPDX-License-Identifier: MIT
// Convolutions: by the library, on channels-last images, if the filter is constant and there are one or two spatial axes;
// otherwise by kernels of our own. Padding that differs between the sides becomes part of the image.
#include <algorithm>

#include "cuda/lowering.h"
#include "probust/base/error.h"
#include "probust/exec/gather_offsets.h"

namespace probust::cuda {
namespace {

// Turns one spatial axis into two, the first with one cell.
Window with_two_axes(Window window) {
  if (window.image.size() != 1) return window;
  for (Shape* extents : {&window.image, &window.kernel, &window.stride, &window.dilation}) extents->insert(extents->begin(), 1);
  for (Shape* extents : {&window.pad_low, &window.pad_high}) extents->insert(extents->begin(), 0);
  return window;
}

// A filter [O, C / groups, taps], stored channels-last.
std::vector<float> channels_last(const Tensor& filter) {
  std::vector<float> result(filter.data.size());
  const auto at = positions(filter.shape, Order::channels_last);
  for (std::size_t e = 0; e < result.size(); ++e) result[at[e]] = filter.data[e];
  return result;
}

// The images of a convolution as passed to the library: padded explicitly if the sides differ.
struct Padded {
  Window window;
  PadAttributes pad;
  Shape shape;  ///< [N, C, ...]
  bool changed = false;
};

Padded padded(const Window& window, const Shape& image) {
  Padded result{
      window, {Shape(image.size(), 0), Shape(image.size(), 0), Shape(image.size(), 0)}, image, window.pad_low != window.pad_high};
  if (!result.changed) return result;
  for (std::size_t i = 0; i < window.image.size(); ++i) {
    result.pad.low[i + 2] = window.pad_low[i];
    result.pad.high[i + 2] = window.pad_high[i];
    result.window.image[i] += window.pad_low[i] + window.pad_high[i];
    result.shape[i + 2] = result.window.image[i];
    result.window.pad_low[i] = result.window.pad_high[i] = 0;
  }
  return result;
}

void lower_by_library(DeviceLowering& l, ValueId id, const Padded& image, const Convolution& convolution) {
  const Node& node = l.node(id);
  const Shape& unpadded = convolution.transposed ? node.shape : l.node(node.inputs[0]).shape;
  int from = l.in_order(node.inputs[0], Order::channels_last);
  const Extent extent = node.extent;
  const auto move_by = [&](const std::vector<std::int64_t>& sources) {
    const std::int32_t* where = l.table(sources);
    const auto count = static_cast<std::int64_t>(sources.size());
    return [=](const Call& call) { move(call.device, call.in(0), where, nullptr, count, call.out()); };
  };
  if (image.changed && !convolution.transposed) {
    const auto sources = gather_offsets(Op::pad, image.pad, unpadded, image.shape);
    from = l.emit_extra(
        l.node(node.inputs[0]).extent, element_count(image.shape), {from},
        move_by(DeviceLowering::offsets(sources, unpadded, Order::channels_last, image.shape, Order::channels_last)));
  }
  const std::int64_t images = node.shape[0];
  l.note_convolution({convolution, images, extent});
  const auto run = [=](const Call& call) {
    const Output out = call.out();
    call.device.convolve(convolution, images * out.lanes, call.in(0).data, out.data);
  };
  if (!image.changed || !convolution.transposed) return l.emit(id, Order::channels_last, {from}, run);
  const int whole = l.emit_extra(extent, element_count(image.shape), {from}, run);
  const SliceAttributes inner{image.pad.low, unpadded, Shape(unpadded.size(), 1)};
  const auto sources = gather_offsets(Op::slice, inner, image.shape, unpadded);
  l.emit(id, Order::channels_last, {whole},
         move_by(DeviceLowering::offsets(sources, image.shape, Order::channels_last, unpadded, Order::channels_last)));
}

DirectWindow direct(const Window& window, std::int64_t images, std::int64_t in_channels, std::int64_t out_channels) {
  DirectWindow w{};
  const std::size_t missing = DirectWindow::kAxes - window.image.size();
  const Shape output = window.output();
  for (std::size_t i = 0; i < DirectWindow::kAxes; ++i) {
    const auto value = [&](const Shape& extents, std::int64_t otherwise) {
      return i < missing ? otherwise : extents[i - missing];
    };
    w.image[i] = value(window.image, 1);
    w.kernel[i] = value(window.kernel, 1);
    w.output[i] = value(output, 1);
    w.stride[i] = value(window.stride, 1);
    w.dilation[i] = value(window.dilation, 1);
    w.pad[i] = value(window.pad_low, 0);
  }
  w.images = images;
  w.in_channels = in_channels;
  w.out_channels = out_channels;
  w.groups = window.groups;
  return w;
}

void lower_directly(DeviceLowering& l, ValueId id, std::int64_t in_channels, std::int64_t out_channels) {
  const Node& node = l.node(id);
  const auto& window = std::get<Window>(node.attributes);
  if (window.image.size() > DirectWindow::kAxes) return lower_on_the_host(l, id);
  const DirectWindow w = direct(window, l.node(node.inputs[0]).shape[0], in_channels, out_channels);
  l.emit(id, Order::plain, {l.plain(node.inputs[0]), l.plain(node.inputs[1])}, [w, op = node.op](const Call& call) {
    const auto run = op == Op::conv             ? convolve_directly
                     : op == Op::conv_transpose ? convolve_transposed_directly
                                                : filter_gradient;
    run(call.device, w, call.in(0), call.in(1), call.out());
  });
}

// Why the library has no call for a convolution, whatever the device; empty if it has.
std::string misfit(const DeviceLowering& l, const Node& node) {
  const std::size_t axes = std::get<Window>(node.attributes).image.size();
  if (node.op == Op::conv_filter_grad || l.node(node.inputs[1]).op != Op::constant) return "the filter is not a constant";
  if (axes == 0 || axes > 2) return "images have " + std::to_string(axes) + " axes";
  if (l.node(node.inputs[0]).extent != node.extent) return "the image is the same for all lanes";
  return {};
}

}  // namespace

void lower_conv(DeviceLowering& l, ValueId id) {
  const Node& node = l.node(id);
  const auto& window = std::get<Window>(node.attributes);
  const Shape &first = l.node(node.inputs[0]).shape, &second = l.node(node.inputs[1]).shape;
  const bool transposed = node.op == Op::conv_transpose;
  const std::int64_t in_channels = transposed ? node.shape[1] : first[1];
  const std::int64_t out_channels = node.op == Op::conv ? node.shape[1] : transposed ? first[1] : second[1];
  if (element_count(node.shape) == 0 || element_count(first) == 0) return lower_directly(l, id, in_channels, out_channels);
  const auto run_directly = [&](const std::string& reason) {
    l.note_slow(id, reason);
    lower_directly(l, id, in_channels, out_channels);
  };
  if (const std::string reason = misfit(l, node); !reason.empty()) return run_directly(reason);
  const Padded image = padded(window, transposed ? node.shape : first);
  Convolution convolution{with_two_axes(image.window), in_channels, out_channels, transposed, nullptr};
  if (const std::string reason = l.device.refusal(convolution); !reason.empty()) return run_directly(reason);
  convolution.filter = l.constant(channels_last(constant_value(l.graph, node.inputs[1])));
  lower_by_library(l, id, image, convolution);
}

}  // namespace probust::cuda
