// SPDX-License-Identifier: MIT
#include "probust/train/deep_layers.h"

#include <algorithm>
#include <cmath>

#include "probust/base/error.h"
#include "probust/ops/build.h"

namespace probust {
namespace {

constexpr float kVarianceFloor = 1e-5F;  // the usual constant added to variances

[[noreturn]] void refuse_shape(const std::string& layer, const Shape& in, const std::string& hint) {
  throw Error{ErrorCode::usage, "model", "has a " + layer + " layer that does not accept points of shape " + to_string(in), hint};
}

// The mean of x over `axes`, which keep extent 1.
ValueId mean_over(Graph& g, ValueId x, const std::vector<std::int64_t>& axes) {
  double count = 1;
  for (const std::int64_t axis : axes) count *= static_cast<double>(g[x].shape[axis]);
  return build::multiply(g, build::reduce_sum(g, x, axes), build::constant(g, static_cast<float>(1 / count)));
}

// scale / sqrt(variance + floor).
ValueId normalizer(Graph& g, ValueId variance, ValueId scale) {
  const ValueId positive = build::add(g, variance, build::constant(g, kVarianceFloor));
  return build::multiply(g, append(g, Op::reciprocal, {append(g, Op::sqrt, {positive})}), scale);
}

class BatchNorm final : public NetworkLayer {
 public:
  Shape declare(const Shape& in, Declaration& parameters) const override {
    const Shape channels = of_channels(in);
    parameters.begin_layer("batch_norm");
    parameters.add_constant("scale", channels, 1);
    parameters.add_constant("shift", channels, 0);
    parameters.add_statistic("mean", channels, 0);
    parameters.add_statistic("variance", channels, 1);
    return in;
  }

  ValueId append(LayerGraph& layers, ValueId x) const override {
    Graph& g = layers.graph;
    const ValueId scale = layers.next_weight(), shift = layers.next_weight();
    if (!layers.training) {
      const ValueId mean = layers.next_statistic(), variance = layers.next_statistic();
      return build::add(g, build::multiply(g, build::subtract(g, x, mean), normalizer(g, variance, scale)), shift);
    }
    std::vector<std::int64_t> axes = {0};
    for (std::size_t axis = 2; axis < g[x].shape.size(); ++axis) axes.push_back(static_cast<std::int64_t>(axis));
    const ValueId mean = mean_over(g, x, axes), centred = build::subtract(g, x, mean);
    const ValueId variance = mean_over(g, build::multiply(g, centred, centred), axes);
    const double count = static_cast<double>(element_count(g[x].shape)) / static_cast<double>(g[x].shape[1]);
    const auto unbiased = static_cast<float>(count / std::max(1.0, count - 1));
    layers.observed.insert(layers.observed.end(), {mean, build::multiply(g, variance, build::constant(g, unbiased))});
    return build::add(g, build::multiply(g, centred, normalizer(g, variance, scale)), shift);
  }

 private:
  static Shape of_channels(const Shape& in) {
    Shape shape(in.size() + 1, 1);
    shape[1] = in.at(0);
    return shape;
  }
};

class Residual final : public NetworkLayer {
 public:
  Residual(Layers branch, Layers shortcut) : branch_(std::move(branch)), shortcut_(std::move(shortcut)) {}

  Shape declare(const Shape& in, Declaration& parameters) const override {
    Shape out = declare_all(branch_, in, parameters);
    const Shape short_path = declare_all(shortcut_, in, parameters);
    if (out != short_path)
      refuse_shape("residuals", in,
                   "its branch has shape " + to_string(out) + ", but its shortcut has shape " + to_string(short_path));
    return out;
  }

  ValueId append(LayerGraph& g, ValueId x) const override {
    const ValueId branch = append_all(branch_, g, x);
    return build::add(g.graph, branch, append_all(shortcut_, g, x));
  }

 private:
  Layers branch_, shortcut_;
};

// The mean over all axes of a point except one.
class Average final : public NetworkLayer {
 public:
  Average(std::size_t axes, std::size_t kept, std::string hint) : axes_(axes), kept_(kept), hint_(std::move(hint)) {}

  Shape declare(const Shape& in, Declaration&) const override {
    if (in.size() != axes_) refuse_shape("averages", in, hint_);
    return {in[kept_]};
  }
  ValueId append(LayerGraph& g, ValueId x) const override {
    const Shape shape = g.graph[x].shape;
    std::vector<std::int64_t> averaged;
    for (std::size_t axis = 0; axis < axes_; ++axis) {
      if (axis != kept_) averaged.push_back(static_cast<std::int64_t>(axis) + 1);  // axis 0 is the batch
    }
    return build::reshape(g.graph, mean_over(g.graph, x, averaged), {shape[0], shape[kept_ + 1]});
  }

 private:
  std::size_t axes_, kept_;
  std::string hint_;
};

class Tokens final : public NetworkLayer {
 public:
  Shape declare(const Shape& in, Declaration& parameters) const override {
    if (in.size() != 3) refuse_shape("tokens", in, "give images [C, H, W]");
    parameters.begin_layer("tokens");
    parameters.add_normal("positions", {1, in[1] * in[2], in[0]}, 0.02);
    return {in[1] * in[2], in[0]};
  }
  ValueId append(LayerGraph& g, ValueId x) const override {
    const Shape shape = g.graph[x].shape;
    const ValueId pixels = build::reshape(g.graph, x, {shape[0], shape[1], shape[2] * shape[3]});
    return build::add(g.graph, build::transpose(g.graph, pixels, {0, 2, 1}), g.next_weight());
  }
};

class LayerNorm final : public NetworkLayer {
 public:
  Shape declare(const Shape& in, Declaration& parameters) const override {
    if (in.size() != 2) refuse_shape("normalization", in, "give tokens [n, d]");
    parameters.begin_layer("layer_norm");
    parameters.add_constant("scale", {1, 1, in[1]}, 1);
    parameters.add_constant("shift", {1, 1, in[1]}, 0);
    return in;
  }
  ValueId append(LayerGraph& layers, ValueId x) const override {
    Graph& g = layers.graph;
    const ValueId scale = layers.next_weight(), shift = layers.next_weight();
    const ValueId centred = build::subtract(g, x, mean_over(g, x, {2}));
    const ValueId variance = mean_over(g, build::multiply(g, centred, centred), {2});
    return build::add(g, build::multiply(g, centred, normalizer(g, variance, scale)), shift);
  }
};

class Attention final : public NetworkLayer {
 public:
  explicit Attention(std::int64_t heads) : heads_(heads) {}

  Shape declare(const Shape& in, Declaration& parameters) const override {
    if (in.size() != 2 || in[1] % heads_ != 0) refuse_shape("attention", in, "give tokens [n, d] with d divisible by the heads");
    for (int each = 0; each < 4; ++each) layer::dense(in[1], 1)->declare(in, parameters);  // query, key, value, result
    return in;
  }

  ValueId append(LayerGraph& layers, ValueId x) const override {
    Graph& g = layers.graph;
    const Shape shape = g[x].shape;
    const std::int64_t part = shape[2] / heads_;
    const auto dense = layer::dense(shape[2], 1);
    const auto in_heads = [&] {
      const ValueId all = build::reshape(g, dense->append(layers, x), {shape[0], shape[1], heads_, part});
      return build::transpose(g, all, {0, 2, 1, 3});
    };
    const ValueId query = in_heads(), key = in_heads(), value = in_heads();
    const ValueId scale = build::constant(g, static_cast<float>(1 / std::sqrt(static_cast<double>(part))));
    const ValueId scores = build::multiply(g, build::matmul(g, query, key, false, true), scale);
    const ValueId mixed = build::matmul(g, probust::append(g, Op::softmax, {scores}, AxisAttribute{3}), value);
    return dense->append(layers, build::reshape(g, build::transpose(g, mixed, {0, 2, 1, 3}), shape));
  }

 private:
  std::int64_t heads_;
};

}  // namespace

namespace layer {

Pointer batch_norm() { return std::make_shared<BatchNorm>(); }
Pointer residual(Layers branch, Layers shortcut) { return std::make_shared<Residual>(std::move(branch), std::move(shortcut)); }
Pointer average_pixels() { return std::make_shared<Average>(3, 0, "give images [C, H, W]"); }
Pointer tokens() { return std::make_shared<Tokens>(); }
Pointer average_tokens() { return std::make_shared<Average>(2, 1, "give tokens [n, d]"); }
Pointer layer_norm() { return std::make_shared<LayerNorm>(); }
Pointer attention(std::int64_t heads) { return std::make_shared<Attention>(heads); }

}  // namespace layer
}  // namespace probust
