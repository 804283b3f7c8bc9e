// SPDX-License-Identifier: MIT
#include "probust/train/layers.h"

#include <cmath>
#include <numbers>

#include "probust/base/error.h"
#include "probust/ops/build.h"

namespace probust {
namespace {

[[noreturn]] void misfit(const std::string& layer, const Shape& in, const std::string& hint) {
  throw Error{ErrorCode::usage, "model", "has a " + layer + " layer that does not accept points of shape " + to_string(in), hint};
}

// x Phi(x) = x (1 + erf(x / sqrt 2)) / 2.
ValueId gelu(Graph& g, ValueId x) {
  const ValueId scaled = build::multiply(g, x, build::constant(g, static_cast<float>(1 / std::numbers::sqrt2)));
  const ValueId both = build::add(g, append(g, Op::erf, {scaled}), build::constant(g, 1));
  return build::multiply(g, build::multiply(g, x, build::constant(g, 0.5F)), both);
}

class Flatten final : public NetworkLayer {
 public:
  Shape declare(const Shape& in, Declaration&) const override { return {element_count(in)}; }
  ValueId append(LayerGraph& g, ValueId x) const override {
    const Shape& shape = g.graph[x].shape;
    return build::reshape(g.graph, x, {shape[0], element_count(shape) / shape[0]});
  }
};

class Dense final : public NetworkLayer {
 public:
  Dense(std::int64_t width, double gain) : width_(width), gain_(gain) {}

  Shape declare(const Shape& in, Declaration& parameters) const override {
    if (in.empty() || in.size() > 2) misfit("dense", in, "flatten them first");
    if (width_ < 1) throw Error{ErrorCode::usage, "hidden", "has a layer of width " + std::to_string(width_), "give 1 or more"};
    parameters.begin_layer("dense");
    parameters.add_normal("weight", {in.back(), width_}, std::sqrt(gain_ / static_cast<double>(in.back())));
    parameters.add_constant("bias", {width_}, 0);
    Shape out = in;
    out.back() = width_;
    return out;
  }

  // The tokens of all points become rows of one matrix product, which is faster than one product per point.
  ValueId append(LayerGraph& g, ValueId x) const override {
    const ValueId weight = g.next_weight(), bias = g.next_weight();
    Shape shape = g.graph[x].shape;
    if (shape[0] == 1) return build::add(g.graph, build::matmul(g.graph, x, weight), bias);
    const ValueId rows = build::reshape(g.graph, x, {element_count(shape) / shape.back(), shape.back()});
    shape.back() = width_;
    return build::reshape(g.graph, build::add(g.graph, build::matmul(g.graph, rows, weight), bias), shape);
  }

 private:
  std::int64_t width_;
  double gain_;
};

class Conv final : public NetworkLayer {
 public:
  Conv(std::int64_t channels, const layer::ConvOptions& options) : channels_(channels), options_(options) {}

  Shape declare(const Shape& in, Declaration& parameters) const override {
    if (in.size() != 3 || in[1] + 2 * options_.pad < options_.kernel || in[2] + 2 * options_.pad < options_.kernel)
      misfit("convolutional", in, "give images [C, H, W] that are at least as large as its filters");
    const std::int64_t inputs = in[0] * options_.kernel * options_.kernel;
    parameters.begin_layer("conv");
    parameters.add_normal("filter", {channels_, in[0], options_.kernel, options_.kernel},
                          std::sqrt(options_.gain / static_cast<double>(inputs)));
    if (options_.bias) parameters.add_constant("bias", {1, channels_, 1, 1}, 0);
    const Shape out = window(in[1], in[2]).output();
    return {channels_, out[0], out[1]};
  }

  ValueId append(LayerGraph& g, ValueId x) const override {
    const Shape shape = g.graph[x].shape;
    const ValueId filter = g.next_weight();
    const ValueId y = probust::append(g.graph, Op::conv, {x, filter}, window(shape[2], shape[3]));
    return options_.bias ? build::add(g.graph, y, g.next_weight()) : y;
  }

 private:
  Window window(std::int64_t height, std::int64_t width) const {
    const auto both = [](std::int64_t value) { return Shape{value, value}; };
    return {{height, width}, both(options_.kernel), both(options_.stride), {1, 1}, both(options_.pad), both(options_.pad)};
  }

  std::int64_t channels_;
  layer::ConvOptions options_;
};

class MaxPool final : public NetworkLayer {
 public:
  explicit MaxPool(std::int64_t size) : size_(size) {}

  Shape declare(const Shape& in, Declaration&) const override {
    if (in.size() != 3 || in[1] < size_ || in[2] < size_)
      misfit("pooling", in, "give images [C, H, W] that are at least as large as the pooling window");
    return {in[0], in[1] / size_, in[2] / size_};
  }

  ValueId append(LayerGraph& g, ValueId x) const override {
    const Shape shape = g.graph[x].shape;
    return probust::append(g.graph, Op::max_pool, {x},
                           Window{{shape[2], shape[3]}, {size_, size_}, {size_, size_}, {1, 1}, {0, 0}, {0, 0}});
  }

 private:
  std::int64_t size_;
};

class Activate final : public NetworkLayer {
 public:
  explicit Activate(Activation activation) : activation_(activation) {}
  Shape declare(const Shape& in, Declaration&) const override { return in; }
  ValueId append(LayerGraph& g, ValueId x) const override { return append_activation(g.graph, x, activation_); }

 private:
  Activation activation_;
};

}  // namespace

Activation parse_activation(const std::string& text) {
  if (text == "relu") return Activation::relu;
  if (text == "tanh") return Activation::tanh;
  if (text == "gelu") return Activation::gelu;
  if (text == "silu") return Activation::silu;
  throw Error{ErrorCode::usage, "activation", "cannot be '" + text + "'", "use relu, tanh, gelu or silu"};
}

ValueId append_activation(Graph& graph, ValueId x, Activation activation) {
  switch (activation) {
    case Activation::relu:
      return append(graph, Op::relu, {x});
    case Activation::tanh:
      return append(graph, Op::tanh, {x});
    case Activation::gelu:
      return gelu(graph, x);
    case Activation::silu:
      return build::multiply(graph, x, append(graph, Op::sigmoid, {x}));
  }
  return x;
}

double initial_gain(Activation activation) { return activation == Activation::tanh ? 1 : 2; }

namespace layer {

Pointer flatten() { return std::make_shared<Flatten>(); }
Pointer dense(std::int64_t width, double gain) { return std::make_shared<Dense>(width, gain); }
Pointer conv(std::int64_t channels, const ConvOptions& options) { return std::make_shared<Conv>(channels, options); }
Pointer max_pool(std::int64_t size) { return std::make_shared<MaxPool>(size); }
Pointer activate(Activation activation) { return std::make_shared<Activate>(activation); }

}  // namespace layer
}  // namespace probust
