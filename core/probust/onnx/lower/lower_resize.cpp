// SPDX-License-Identifier: MIT
// Resize and its predecessor Upsample. Interpolation is done one axis at a time, and along one axis it is linear: a gather for
// nearest neighbours, a product with a constant matrix [in, out] for all other modes.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "probust/base/error.h"
#include "probust/onnx/lower/lower.h"
#include "probust/ops/build.h"

namespace probust::onnx {
namespace {

// Resizing along one axis.
struct AxisPlan {
  std::int64_t axis = 0, in = 0, out = 0;
  double scale = 1;
  double start = 0, end = 1;  // the part of the image that tf_crop_and_resize uses
};

struct Method {
  std::string coordinates, mode, nearest;
  double cubic_a = -0.75;
  bool antialias = false, exclude_outside = false;
};

// The input coordinate of the centre of output cell x. Nearest neighbours are sensitive to ties, and a float32 scale such as
// 0.6 is inexact. So quotients are rounded to float, as in other runtimes: 3 / 0.6 is 5.
double source_of(Lowering& l, const Method& m, const AxisPlan& p, std::int64_t x) {
  const auto rounded = [&](double value) { return m.mode == "nearest" ? double{static_cast<float>(value)} : value; };
  const double in = static_cast<double>(p.in), out = static_cast<double>(p.out), at = static_cast<double>(x);
  const double length = p.scale * in, half = rounded((at + 0.5) / p.scale);
  if (m.coordinates == "half_pixel") return rounded(half - 0.5);
  if (m.coordinates == "half_pixel_symmetric") return rounded(in / 2 * (1 - out / length) + half - 0.5);
  if (m.coordinates == "pytorch_half_pixel") return length == 1 ? -0.5 : rounded(half - 0.5);
  if (m.coordinates == "tf_half_pixel_for_nn") return half;
  if (m.coordinates == "align_corners") return p.out == 1 ? 0 : rounded(at * (in - 1) / (out - 1));
  if (m.coordinates == "asymmetric") return rounded(at / p.scale);
  if (m.coordinates == "tf_crop_and_resize") {
    const double reach = (p.end - p.start) * (in - 1);
    return rounded(p.start * (in - 1) + (p.out == 1 ? reach / 2 : at * reach / (out - 1)));
  }
  l.unsupported("has an unknown coordinate_transformation_mode '" + m.coordinates + "'");
}

double round_by(Lowering& l, const std::string& mode, double x) {
  if (mode == "round_prefer_floor") return std::ceil(x - 0.5);
  if (mode == "round_prefer_ceil") return std::floor(x + 0.5);
  if (mode == "floor") return std::floor(x);
  if (mode == "ceil") return std::ceil(x);
  l.unsupported("has an unknown nearest_mode '" + mode + "'");
}

double triangle(double x) { return std::max(0.0, 1 - std::fabs(x)); }

// Keys' cubic convolution kernel (1981), as used in image processing.
double cubic(double x, double a) {
  x = std::fabs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

// The weights of the input cells for position `x`. The weight of a cell outside the image goes to the nearest cell, or is
// removed, with the other weights rescaled.
std::vector<double> weights_at(const Method& m, const AxisPlan& p, double x) {
  const bool linear = m.mode == "linear";
  const double shrink = m.antialias ? std::min(p.scale, 1.0) : 1, base = std::ceil(x) - 1, radius = linear ? 1 : 2;
  const auto first = static_cast<std::int64_t>(std::floor(-radius / shrink)) + 1;
  std::vector<double> weights(static_cast<std::size_t>(p.in), 0);
  double sum = 0;
  for (std::int64_t tap = first; tap < 2 - first; ++tap) {
    const double cell = base + static_cast<double>(tap), distance = (cell - x) * shrink;
    const double weight = linear ? triangle(distance) : cubic(distance, m.cubic_a);
    const bool outside = cell < 0 || cell > static_cast<double>(p.in - 1);
    if (outside && m.exclude_outside) continue;
    weights[static_cast<std::size_t>(std::clamp(cell, 0.0, static_cast<double>(p.in - 1)))] += weight;
    sum += weight;
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

ValueId resize_nearest(Lowering& l, const Method& m, const AxisPlan& p, ValueId x) {
  GatherAttributes g{p.axis, {}, p.in};
  for (std::int64_t i = 0; i < p.out; ++i) {
    const double cell = round_by(l, m.nearest, source_of(l, m, p, i));
    g.indices.push_back(static_cast<std::int64_t>(std::clamp(cell, 0.0, static_cast<double>(p.in - 1))));
  }
  return l.add_node(Op::gather, {x}, g);
}

ValueId resize_smooth(Lowering& l, const Method& m, const AxisPlan& p, ValueId x) {
  l.spend(element_count({p.in, p.out}));
  Tensor weights({p.in, p.out});
  for (std::int64_t i = 0; i < p.out; ++i) {
    const std::vector<double> column = weights_at(m, p, source_of(l, m, p, i));
    for (std::int64_t j = 0; j < p.in; ++j) weights.data[j * p.out + i] = static_cast<float>(column[j]);
  }
  std::vector<std::int64_t> order(l.graph[x].shape.size());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[p.axis], order.back());
  const ValueId last = build::transpose(l.graph, x, order);
  Shape shape = l.graph[last].shape;
  const ValueId lines = build::reshape(l.graph, last, {element_count(shape) / p.in, p.in});
  const ValueId product = l.add_node(Op::matmul, {lines, l.tensor(std::move(weights))}, MatmulAttributes{});
  shape.back() = p.out;
  return build::transpose(l.graph, build::reshape(l.graph, product, shape), order);
}

// With tf_crop_and_resize, cells outside the image have a fixed value.
ValueId fill_outside(Lowering& l, const Method& m, const AxisPlan& p, ValueId x) {
  Shape shape(l.graph[x].shape.size(), 1);
  shape[p.axis] = p.out;
  Tensor inside(shape);
  for (std::int64_t i = 0; i < p.out; ++i) {
    const double at = source_of(l, m, p, i);
    inside.data[i] = at >= 0 && at <= static_cast<double>(p.in - 1) ? 1 : 0;
  }
  if (std::find(inside.data.begin(), inside.data.end(), 0.0F) == inside.data.end()) return x;
  const ValueId value = l.scalar(l.attribute("extrapolation_value", 0.0F));
  return l.add_node(Op::select, {l.tensor(std::move(inside)), x, value});
}

void resize_axes(Lowering& l, const Method& m, const std::vector<AxisPlan>& plans) {
  if (m.mode != "nearest" && m.mode != "linear" && m.mode != "cubic") l.unsupported("has an unknown mode '" + m.mode + "'");
  ValueId x = l.in(0);
  for (const AxisPlan& p : plans) {
    const bool cropped = m.coordinates == "tf_crop_and_resize";
    if (p.in == p.out && p.scale == 1 && !cropped) continue;
    if (p.in < 1 || p.out < 0 || p.out > kMaxElements || !(p.scale > 0))
      l.malformed("cannot resize an axis of " + std::to_string(p.in) + " elements to " + std::to_string(p.out) +
                  " with the scale " + std::to_string(p.scale));
    l.spend(p.out);
    x = m.mode == "nearest" ? resize_nearest(l, m, p, x) : resize_smooth(l, m, p, x);
    if (cropped) x = fill_outside(l, m, p, x);
  }
  l.set(0, x, l.integer(0));
}

std::vector<AxisPlan> plan_axes(Lowering& l) {
  std::vector<std::int64_t> axes(l.shape(0).size());
  std::iota(axes.begin(), axes.end(), 0);
  axes = l.attribute("axes", axes);
  std::vector<AxisPlan> plans;
  for (const std::int64_t given : axes) {
    const std::int64_t axis = l.axis(given, static_cast<std::int64_t>(l.shape(0).size()));
    plans.push_back({axis, l.shape(0)[axis]});
  }
  return plans;
}

void set_scales(Lowering& l, std::vector<AxisPlan>& plans, const std::vector<float>& scales) {
  if (scales.size() != plans.size())
    l.malformed("has " + std::to_string(scales.size()) + " scales for " + std::to_string(plans.size()) + " axes");
  for (std::size_t i = 0; i < plans.size(); ++i) {
    plans[i].scale = scales[i];
    const double out = std::floor(static_cast<double>(plans[i].in) * scales[i]);
    plans[i].out = out >= 0 && out < 1e9 ? static_cast<std::int64_t>(out) : -1;
  }
}

void set_sizes(Lowering& l, std::vector<AxisPlan>& plans, const std::vector<std::int64_t>& sizes) {
  if (sizes.size() != plans.size())
    l.malformed("has " + std::to_string(sizes.size()) + " sizes for " + std::to_string(plans.size()) + " axes");
  const std::string policy = l.attribute("keep_aspect_ratio_policy", std::string("stretch"));
  std::optional<double> common;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    plans[i].out = sizes[i];
    plans[i].scale = static_cast<double>(sizes[i]) / static_cast<double>(plans[i].in);
    const bool better = !common || (policy == "not_larger" ? plans[i].scale < *common : plans[i].scale > *common);
    if (better) common = plans[i].scale;
  }
  if (policy == "stretch" || !common) return;
  for (AxisPlan& p : plans) {
    p.scale = *common;
    p.out = static_cast<std::int64_t>(std::floor(static_cast<double>(p.in) * *common + 0.5));
  }
}

std::vector<float> numbers(Lowering& l, std::size_t i) { return l.has(i) ? l.constant(i).data : std::vector<float>{}; }

Method method_of(Lowering& l) {
  return {l.attribute("coordinate_transformation_mode", std::string("half_pixel")),
          l.attribute("mode", std::string("nearest")),
          l.attribute("nearest_mode", std::string("round_prefer_floor")),
          l.attribute("cubic_coeff_a", -0.75F),
          l.attribute("antialias", std::int64_t{0}) != 0,
          l.attribute("exclude_outside", std::int64_t{0}) != 0};
}

// Resize since opset 11: the operands are x, the region (roi), scales and sizes, of which one of the last two is omitted or
// empty.
void resize_since_11(Lowering& l) {
  std::vector<AxisPlan> plans = plan_axes(l);
  const Method method = method_of(l);
  const std::vector<float> region = numbers(l, 1), scales = numbers(l, 2);
  if (method.coordinates == "tf_crop_and_resize") {
    if (region.size() != 2 * plans.size())
      l.malformed("has a roi of " + std::to_string(region.size()) + " numbers instead of a start and an end for each of " +
                  std::to_string(plans.size()) + " axes");
    for (std::size_t i = 0; i < plans.size(); ++i) {
      plans[i].start = region[i];
      plans[i].end = region[plans.size() + i];
    }
  }
  if (!scales.empty()) {
    set_scales(l, plans, scales);
  } else {
    set_sizes(l, plans, l.integers(3));
  }
  resize_axes(l, method, plans);
}

// Upsample, and Resize of opset 10: scales only, asymmetric coordinates.
void upsample(Lowering& l) {
  std::vector<AxisPlan> plans = plan_axes(l);
  set_scales(l, plans, l.has(1) ? numbers(l, 1) : l.attribute("scales", std::vector<float>{}));
  const std::string mode = l.attribute("mode", std::string("nearest"));
  resize_axes(l, {"asymmetric", mode == "bilinear" ? "linear" : mode, "floor"}, plans);
}

void resize(Lowering& l) { l.opset < 11 ? upsample(l) : resize_since_11(l); }

constexpr OnnxOperator kResizeOperators[] = {
    {"Resize", resize, true, 10},
    {"Upsample", upsample, true},
};

}  // namespace

std::span<const OnnxOperator> resize_operators() { return kResizeOperators; }

}  // namespace probust::onnx
