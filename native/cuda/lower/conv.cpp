// SPDX-License-Identifier: MIT
// Lowers convolutions. The library computes them on channels-last images if the filter is constant and there are one or two
// spatial axes; otherwise kernels of our own compute them. If the padding differs between the two sides, the image is padded
// explicitly.
#include <algorithm>

#include "cuda/lowering.h"
#include "probust/base/error.h"
#include "probust/exec/programs/gather_offsets.h"
#include "probust/ops/op.h"

namespace probust::cuda {
namespace {

// If there is only one spatial axis, inserts another one of extent 1 before it.
Window with_two_axes(Window window) {
  if (window.image.size() != 1) return window;
  for (Shape* extents : {&window.image, &window.kernel, &window.stride, &window.dilation}) extents->insert(extents->begin(), 1);
  for (Shape* extents : {&window.pad_low, &window.pad_high}) extents->insert(extents->begin(), 0);
  return window;
}

// The elements of a filter [O, C / groups, taps] in channels-last order.
std::vector<float> channels_last(const Tensor& filter) {
  std::vector<float> result(filter.data.size());
  const auto at = positions(filter.shape, Order::channels_last);
  for (std::size_t e = 0; e < result.size(); ++e) result[at[e]] = filter.data[e];
  return result;
}

// The images of a convolution in the form that the library accepts: they are padded explicitly if the padding differs between
// the two sides (`changed`).
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

// The numbers of channels of a convolution's image and of its result. `node` is the convolution or one of its derivatives.
struct Channels {
  std::int64_t in, out;
};

Channels channels_of(const Graph& graph, const Node& node) {
  const Shape &first = graph[node.inputs[0]].shape, &second = graph[node.inputs[1]].shape;
  if (node.op == Op::conv) return {first[1], node.shape[1]};
  if (node.op == Op::conv_transpose) return {node.shape[1], first[1]};
  return {first[1], second[1]};
}

bool is_empty(const Graph& graph, const Node& node) {
  return element_count(node.shape) == 0 || element_count(graph[node.inputs[0]].shape) == 0;
}

Padded image_of(const Graph& graph, const Node& node) {
  return padded(std::get<Window>(node.attributes), node.op == Op::conv_transpose ? node.shape : graph[node.inputs[0]].shape);
}

// The description of a convolution for the library, without addresses and epilogue.
Convolution convolution_of(const Device& device, const Graph& graph, const Node& node) {
  Convolution convolution;
  convolution.window = with_two_axes(image_of(graph, node).window);
  convolution.in_channels = channels_of(graph, node).in;
  convolution.out_channels = channels_of(graph, node).out;
  convolution.transposed = node.op == Op::conv_transpose;
  convolution.type = image_type(device.precision());
  return convolution;
}

void add_epilogue(DeviceLowering& l, const Epilogue& epilogue, Convolution& convolution) {
  if (!epilogue.bias.empty()) convolution.bias = l.constant(epilogue.bias);
  convolution.has_residual = epilogue.residual != kNoValue;
  convolution.activation = epilogue.activation;
}

std::string name_of(const Convolution& convolution) {
  std::string name = convolution.transposed ? "transposed convolution" : "convolution";
  if (convolution.bias != nullptr) name += ", bias";
  if (convolution.has_residual) name += ", residual";
  if (convolution.activation == Activation::relu) name += ", relu";
  return name;
}

void lower_by_library(DeviceLowering& l, ValueId id) {
  const Node& node = l.node(id);
  const Padded image = image_of(l.graph, node);
  Convolution convolution = convolution_of(l.device, l.graph, node);
  convolution.filter = l.constant(channels_last(constant_value(l.graph, node.inputs[1])), convolution.type);
  const Shape& unpadded = convolution.transposed ? node.shape : l.node(node.inputs[0]).shape;
  const Form form = l.image_form();
  std::vector<int> reads{l.in_form(node.inputs[0], form)};
  if (const auto found = l.epilogues.find(id); found != l.epilogues.end()) {
    add_epilogue(l, found->second, convolution);
    if (convolution.has_residual) reads.push_back(l.in_form(found->second.residual, form));
    const std::string reason = l.device.refusal_to_finish(convolution);
    if (!reason.empty()) l.note_unfused(id, reason);
  }
  const Extent extent = node.extent;
  const auto move_by = [&](const std::vector<std::int64_t>& sources) {
    const std::int32_t* where = l.table(sources);
    const auto count = static_cast<std::int64_t>(sources.size());
    return [=](const Call& call) { move(call.device, call.in(0), where, nullptr, count, call.out()); };
  };
  if (image.changed && !convolution.transposed) {
    const auto sources = gather_offsets(Op::pad, image.pad, unpadded, image.shape);
    reads[0] = l.emit_extra(
        l.node(node.inputs[0]).extent, element_count(image.shape), form.type, {reads[0]},
        move_by(DeviceLowering::offsets(sources, unpadded, Order::channels_last, image.shape, Order::channels_last)), {"pad"});
  }
  const std::int64_t images = node.shape[0];
  const auto run = [=](const Call& call) {
    const Output out = call.out();
    const void* const residual = convolution.has_residual ? call.in(1).data : nullptr;
    call.device.convolve(convolution, images * out.lanes, call.in(0).data, residual, out.data);
  };
  StepKind kind{
      name_of(convolution), StepKind::By::library,
      definition(node.op).flops(node.attributes, {{l.node(node.inputs[0]).shape, l.node(node.inputs[1]).shape}}, node.shape),
      convolution.elements_of_filter() * bytes_of(form.type)};
  if (!image.changed || !convolution.transposed) return l.emit(id, form, std::move(reads), run, std::move(kind));
  const int whole = l.emit_extra(extent, element_count(image.shape), form.type, std::move(reads), run, std::move(kind));
  const SliceAttributes inner{image.pad.low, unpadded, Shape(unpadded.size(), 1)};
  const auto sources = gather_offsets(Op::slice, inner, image.shape, unpadded);
  l.emit(id, form, {whole},
         move_by(DeviceLowering::offsets(sources, image.shape, Order::channels_last, unpadded, Order::channels_last)), {"slice"});
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

void lower_directly(DeviceLowering& l, ValueId id) {
  const Node& node = l.node(id);
  const auto& window = std::get<Window>(node.attributes);
  if (window.image.size() > DirectWindow::kAxes) return lower_on_the_host(l, id);
  const Channels channels = channels_of(l.graph, node);
  const DirectWindow w = direct(window, l.node(node.inputs[0]).shape[0], channels.in, channels.out);
  l.emit(id, {}, {l.plain(node.inputs[0]), l.plain(node.inputs[1])}, [w, op = node.op](const Call& call) {
    const auto run = op == Op::conv             ? convolve_directly
                     : op == Op::conv_transpose ? convolve_transposed_directly
                                                : filter_gradient;
    run(call.device, w, call.in(0), call.in(1), call.out());
  });
}

// The reason why the library cannot compute a convolution on any device; empty if there is none.
std::string misfit(const Graph& graph, const Node& node) {
  const std::size_t axes = std::get<Window>(node.attributes).image.size();
  if (node.op == Op::conv_filter_grad || graph[node.inputs[1]].op != Op::constant) return "the filter is not a constant";
  if (axes == 0 || axes > 2) return "images have " + std::to_string(axes) + " axes";
  if (graph[node.inputs[0]].extent != node.extent) return "the image is the same for all lanes";
  return {};
}

}  // namespace

std::map<ValueId, std::string> refused_convolutions(const Device& device, const Graph& graph) {
  std::map<ValueId, std::string> refused;
  for (ValueId id = 0; id < static_cast<ValueId>(graph.nodes.size()); ++id) {
    const Node& node = graph[id];
    if (lower_function(node.op) != lower_conv) continue;
    std::string reason = misfit(graph, node);
    const bool empty = is_empty(graph, node);
    if (reason.empty() && !empty) reason = device.refusal(convolution_of(device, graph, node));
    if (empty || !reason.empty()) refused[id] = empty ? "" : std::move(reason);
  }
  return refused;
}

void lower_conv(DeviceLowering& l, ValueId id) {
  const auto refused = l.refused.find(id);
  if (refused == l.refused.end()) return lower_by_library(l, id);
  if (!refused->second.empty()) l.note_slow(id, refused->second);
  lower_directly(l, id);
}

}  // namespace probust::cuda
