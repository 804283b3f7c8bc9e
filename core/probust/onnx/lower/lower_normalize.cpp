// SPDX-License-Identifier: MIT
// Normalization with statistics from training, with statistics of the example, or by a norm.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "probust/base/error.h"
#include "probust/onnx/lower/lower.h"
#include "probust/ops/build.h"

namespace probust::onnx {

ValueId norm_root(Lowering& l, ValueId sum, std::int64_t p) {
  if (p == 1) return sum;
  const ValueId zero = l.scalar(0), blank = l.add_node(Op::greater_equal, {zero, sum});  // false for NaN, which propagates
  const ValueId positive = l.add_node(Op::select, {blank, l.scalar(1), sum});
  const ValueId root =
      p == 2 ? l.add_node(Op::sqrt, {positive}) : l.add_node(Op::power, {positive, l.scalar(1 / static_cast<float>(p))});
  return l.add_node(Op::select, {blank, zero, root});
}

namespace {

using Axes = std::vector<std::int64_t>;

Axes axes_from(std::int64_t first, std::size_t rank) {
  Axes axes(rank - static_cast<std::size_t>(first));
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

// The mean over `axes`, which keep extent 1.
ValueId mean_over(Lowering& l, ValueId x, const Axes& axes) {
  const ValueId sum = build::reduce_sum(l.graph, x, axes);
  const double share =
      static_cast<double>(element_count(l.graph[sum].shape)) / static_cast<double>(element_count(l.graph[x].shape));
  return l.add_node(Op::multiply, {sum, l.scalar(static_cast<float>(share))});
}

// 1 / sqrt(mean of x² + epsilon)
ValueId inverse_root_mean_square(Lowering& l, ValueId x, const Axes& axes, float epsilon) {
  const ValueId square = mean_over(l, l.add_node(Op::multiply, {x, x}), axes);
  return l.add_node(Op::reciprocal, {l.add_node(Op::sqrt, {l.add_node(Op::add, {square, l.scalar(epsilon)})})});
}

struct Normalized {
  ValueId value, mean, inverse_deviation;
};

// (x - mean) / sqrt(variance + epsilon)
Normalized normalize(Lowering& l, ValueId x, const Axes& axes, float epsilon) {
  const ValueId mean = mean_over(l, x, axes), centred = l.add_node(Op::subtract, {x, mean});
  const ValueId inverse = inverse_root_mean_square(l, centred, axes, epsilon);
  return {l.add_node(Op::multiply, {centred, inverse}), mean, inverse};
}

// Operand i, which has one number per channel, as [1, C, 1, ...].
ValueId per_channel(Lowering& l, std::size_t i, std::size_t rank) {
  Shape shape(rank, 1);
  shape[1] = element_count(l.shape(i));
  return build::reshape(l.graph, l.in(i), shape);
}

void require_channels(Lowering& l) {
  if (l.shape(0).size() < 2) l.malformed("needs [N, C, ...], not " + to_string(l.shape(0)));
}

// For constant statistics: one factor and one shift per channel, computed in double precision.
ValueId batch_normalize_constant(Lowering& l, double epsilon) {
  const Tensor &scale = l.constant(1), &bias = l.constant(2), &mean = l.constant(3), &variance = l.constant(4);
  const std::int64_t channels = l.shape(0)[1];
  Shape shape(l.shape(0).size(), 1);
  shape[1] = channels;
  Tensor factor(shape), shift(shape);
  for (std::int64_t c = 0; c < channels; ++c) {
    const double f = scale.data[c] / std::sqrt(variance.data[c] + epsilon);
    factor.data[c] = static_cast<float>(f);
    shift.data[c] = static_cast<float>(bias.data[c] - mean.data[c] * f);
  }
  const ValueId scaled = l.add_node(Op::multiply, {l.in(0), l.tensor(std::move(factor))});
  return l.add_node(Op::add, {scaled, l.tensor(std::move(shift))});
}

// (x - mean) scale / sqrt(variance + epsilon) + bias
ValueId batch_normalize(Lowering& l, float epsilon) {
  const std::size_t rank = l.shape(0).size();
  const ValueId deviation = l.add_node(Op::sqrt, {l.add_node(Op::add, {per_channel(l, 4, rank), l.scalar(epsilon)})});
  const ValueId factor = l.add_node(Op::divide, {per_channel(l, 1, rank), deviation});
  const ValueId scaled = l.add_node(Op::multiply, {l.add_node(Op::subtract, {l.in(0), per_channel(l, 3, rank)}), factor});
  return l.add_node(Op::add, {scaled, per_channel(l, 2, rank)});
}

void batch_normalization(Lowering& l) {
  if (l.attribute("training_mode", std::int64_t{0}) != 0) l.unsupported("is in training mode", "export the model for inference");
  if (l.attribute("spatial", std::int64_t{1}) != 1)
    l.unsupported("has statistics per cell (spatial = 0)", "export it with opset 9 or later");
  require_channels(l);
  bool constant = true;
  for (const std::size_t i : {1, 2, 3, 4}) {
    const std::int64_t size = element_count(l.shape(i)), channels = l.shape(0)[1];
    if (size != channels)
      l.malformed("has statistics for " + std::to_string(size) + " channels instead of " + std::to_string(channels));
    constant = constant && l.is_constant(i);
  }
  const float epsilon = l.attribute("epsilon", 1e-5F);
  l.set(constant ? batch_normalize_constant(l, epsilon) : batch_normalize(l, epsilon));
}

ValueId scaled_and_shifted(Lowering& l, ValueId x) {
  const ValueId scaled = l.add_node(Op::multiply, {x, l.in(1)});
  return l.has(2) ? l.add_node(Op::add, {scaled, l.in(2)}) : scaled;
}

std::int64_t first_axis(Lowering& l) {
  return l.axis(l.attribute("axis", std::int64_t{-1}), static_cast<std::int64_t>(l.shape(0).size()));
}

void layer_normalization(Lowering& l) {
  const Axes axes = axes_from(first_axis(l), l.shape(0).size());
  const Normalized n = normalize(l, l.in(0), axes, l.attribute("epsilon", 1e-5F));
  l.set(0, scaled_and_shifted(l, n.value));
  l.set(1, n.mean);
  l.set(2, n.inverse_deviation);
}

void rms_normalization(Lowering& l) {
  const Axes axes = axes_from(first_axis(l), l.shape(0).size());
  const ValueId inverse = inverse_root_mean_square(l, l.in(0), axes, l.attribute("epsilon", 1e-5F));
  l.set(l.add_node(Op::multiply, {l.add_node(Op::multiply, {l.in(0), inverse}), l.in(1)}));
}

void instance_normalization(Lowering& l) {
  require_channels(l);
  const std::size_t rank = l.shape(0).size();
  const ValueId x = normalize(l, l.in(0), axes_from(2, rank), l.attribute("epsilon", 1e-5F)).value;
  const ValueId scaled = l.add_node(Op::multiply, {x, per_channel(l, 1, rank)});
  l.set(l.add_node(Op::add, {scaled, per_channel(l, 2, rank)}));
}

// Scale and bias are per group before opset 21, and per channel since.
void group_normalization(Lowering& l) {
  require_channels(l);
  const Shape shape = l.shape(0);
  const std::int64_t groups = l.attribute("num_groups", std::int64_t{0});
  if (groups < 1 || shape[1] % groups != 0)
    l.malformed("has num_groups " + std::to_string(groups) + ", which does not divide the " + std::to_string(shape[1]) +
                " channels");
  const Shape grouped{shape[0], groups, element_count(shape) / std::max<std::int64_t>(1, shape[0] * groups)};
  ValueId x = normalize(l, build::reshape(l.graph, l.in(0), grouped), {2}, l.attribute("epsilon", 1e-5F)).value;
  const bool per_group = l.opset < 21;
  if (!per_group) x = build::reshape(l.graph, x, shape);
  const std::size_t rank = per_group ? 3 : shape.size();
  x = l.add_node(Op::add, {l.add_node(Op::multiply, {x, per_channel(l, 1, rank)}), per_channel(l, 2, rank)});
  l.set(build::reshape(l.graph, x, shape));
}

// x / |x|_p along an axis; x is unchanged if its norm is zero.
void lp_normalization(Lowering& l) {
  const std::int64_t axis = first_axis(l), p = l.attribute("p", std::int64_t{2});
  if (p != 1 && p != 2) l.malformed("has p = " + std::to_string(p) + ", but p must be 1 or 2");
  const ValueId x = l.in(0), parts = p == 1 ? l.add_node(Op::absolute, {x}) : l.add_node(Op::multiply, {x, x});
  const ValueId sum = build::reduce_sum(l.graph, parts, {axis});
  const ValueId norm = norm_root(l, sum, p);
  l.set(l.add_node(Op::divide, {x, l.add_node(Op::select, {norm, norm, l.scalar(1)})}));
}

// x / (bias + (alpha / size) sum of x² over neighbouring channels)^beta
void local_response_normalization(Lowering& l) {
  require_channels(l);
  const Shape shape = l.shape(0);
  const std::int64_t size = l.attribute("size", std::int64_t{0}), cells = element_count({shape.begin() + 2, shape.end()});
  if (size < 1 || size > (std::int64_t{1} << 20))
    l.malformed("has size " + std::to_string(size) + ", which is outside 1..1048576");
  const Shape image{shape[0], 1, shape[1], cells};
  const Window window{{shape[1], cells}, {size, 1}, {1, 1}, {1, 1}, {(size - 1) / 2, 0}, {size / 2, 0}};
  const ValueId squares = build::reshape(l.graph, l.add_node(Op::multiply, {l.in(0), l.in(0)}), image);
  const ValueId sum = build::reshape(l.graph, l.add_node(Op::sum_pool, {squares}, window), shape);
  const float share = l.attribute("alpha", 1e-4F) / static_cast<float>(size);
  const ValueId base =
      l.add_node(Op::add, {l.add_node(Op::multiply, {sum, l.scalar(share)}), l.scalar(l.attribute("bias", 1.0F))});
  l.set(l.add_node(Op::divide, {l.in(0), l.add_node(Op::power, {base, l.scalar(l.attribute("beta", 0.75F))})}));
}

// (x - mean) / (standard deviation + 1e-9)
void mean_variance_normalization(Lowering& l) {
  Axes axes = l.attribute("axes", Axes{0, 2, 3});
  for (std::int64_t& axis : axes) axis = l.axis(axis, static_cast<std::int64_t>(l.shape(0).size()));
  const ValueId centred = l.add_node(Op::subtract, {l.in(0), mean_over(l, l.in(0), axes)});
  const ValueId deviation = norm_root(l, mean_over(l, l.add_node(Op::multiply, {centred, centred}), axes));
  l.set(l.add_node(Op::divide, {centred, l.add_node(Op::add, {deviation, l.scalar(1e-9F)})}));
}

constexpr OnnxOperator kNormalizeOperators[] = {
    {"BatchNormalization", batch_normalization, true},
    {"GroupNormalization", group_normalization, true, 18},
    {"InstanceNormalization", instance_normalization, true},
    {"LRN", local_response_normalization, true},
    {"LayerNormalization", layer_normalization, true, 17},
    {"LpNormalization", lp_normalization, true},
    {"MeanVarianceNormalization", mean_variance_normalization, true, 9},
    {"RMSNormalization", rms_normalization, true, 23},
};

}  // namespace

std::span<const OnnxOperator> normalize_operators() { return kNormalizeOperators; }

}  // namespace probust::onnx
