// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "support/onnx_builder.h"

namespace probust::test {

/// A value of a network under construction: its name in the file, its shape with a batch of 1, and its approximate mean square.
/// Layers that read it scale their weights by it, so that signals neither grow nor vanish with depth.
struct Feature {
  std::string name;
  Shape shape;
  double power = 1;
};

/// Kernel, stride, groups and padding of a convolution.
struct Step {
  std::int64_t kernel = 1, stride = 1;
  std::int64_t groups = 1;
  std::int64_t pad = -1;  ///< on each side; -1: (kernel - 1) / 2
};

/// Writes a network layer by layer as an ONNX model with random weights, in the way that PyTorch exports it.
class Network {
 public:
  explicit Network(unsigned seed) : random_(seed) {}

  Feature input(const Shape& shape) {
    onnx_.input("x", shape);
    return {"x", shape};
  }

  std::string finish(const Feature& logits) {
    onnx_.node("Identity", {logits.name}, {"logits"});
    onnx_.output("logits", logits.shape);
    return onnx_.bytes();
  }

  // ---- layers of images [1, channels, height, width]

  Feature conv(const Feature& x, std::int64_t filters, const Step& step, bool bias = false) {
    const std::int64_t channels = x.shape[1] / step.groups, pad = step.pad < 0 ? (step.kernel - 1) / 2 : step.pad;
    std::vector<std::string> in{x.name, weights({filters, channels, step.kernel, step.kernel},
                                                static_cast<double>(channels * step.kernel * step.kernel) * x.power)};
    if (bias) in.push_back(uniform({filters}, -0.1, 0.1));
    const auto extent = [&](std::int64_t n) { return (n + 2 * pad - step.kernel) / step.stride + 1; };
    return add_node("Conv", in, {1, filters, extent(x.shape[2]), extent(x.shape[3])},
                    {OnnxAttribute::ints("kernel_shape", {step.kernel, step.kernel}),
                     OnnxAttribute::ints("strides", {step.stride, step.stride}),
                     OnnxAttribute::ints("pads", {pad, pad, pad, pad}), OnnxAttribute::integer("group", step.groups)});
  }

  /// `scale` is the approximate standard deviation of the output.
  Feature batch_norm(const Feature& x, double scale = 1) {
    const std::int64_t channels = x.shape[1];
    return add_node("BatchNormalization",
                    {x.name, uniform({channels}, 0.7 * scale, 1.3 * scale), uniform({channels}, -0.2, 0.2),
                     uniform({channels}, -0.1, 0.1), uniform({channels}, 0.8, 1.4)},
                    x.shape, {OnnxAttribute::number("epsilon", 1e-5F)}, scale * scale);
  }

  Feature max_pool(const Feature& x, const Step& step) {
    const std::int64_t pad = step.pad < 0 ? (step.kernel - 1) / 2 : step.pad;
    return pool("MaxPool", x, step, pad, 2 * x.power);
  }

  Feature average_pool(const Feature& x, const Step& step) { return pool("AveragePool", x, step, 0, 0.7 * x.power); }

  /// x [1, channels, height, width] to [1, channels, 1, 1].
  Feature global_average(const Feature& x) {
    return add_node("GlobalAveragePool", {x.name}, {1, x.shape[1], 1, 1}, {}, 0.4 * x.power);
  }

  // ---- layers of vectors, and of sequences [1, tokens, width]

  Feature flatten(const Feature& x) {
    return add_node("Flatten", {x.name}, {1, element_count(x.shape)}, {OnnxAttribute::integer("axis", 1)}, x.power);
  }

  /// As for a last layer: x [1, n] to [1, outputs].
  Feature gemm(const Feature& x, std::int64_t outputs) {
    const std::int64_t inputs = x.shape[1];
    return add_node("Gemm",
                    {x.name, weights({outputs, inputs}, static_cast<double>(inputs) * x.power), uniform({outputs}, -0.1, 0.1)},
                    {1, outputs}, {OnnxAttribute::integer("transB", 1)});
  }

  /// Along the last axis: [..., n] to [..., outputs].
  Feature linear(const Feature& x, std::int64_t outputs) {
    const std::int64_t inputs = x.shape.back();
    Shape shape = x.shape;
    shape.back() = outputs;
    const Feature product =
        add_node("MatMul", {x.name, weights({inputs, outputs}, static_cast<double>(inputs) * x.power)}, shape);
    return add_node("Add", {uniform({outputs}, -0.1, 0.1), product.name}, shape);
  }

  /// Over the last axis.
  Feature layer_norm(const Feature& x, float epsilon = 1e-6F) {
    const std::int64_t width = x.shape.back();
    return add_node("LayerNormalization", {x.name, uniform({width}, 0.7, 1.3), uniform({width}, -0.2, 0.2)}, x.shape,
                    {OnnxAttribute::integer("axis", -1), OnnxAttribute::number("epsilon", epsilon)});
  }

  Feature softmax(const Feature& x) { return add_node("Softmax", {x.name}, x.shape, {OnnxAttribute::integer("axis", -1)}); }

  Feature matmul(const Feature& a, const Feature& b) {
    Shape shape = a.shape;
    shape.back() = b.shape.back();
    return add_node("MatMul", {a.name, b.name}, shape, {}, a.power * b.power * static_cast<double>(a.shape.back()));
  }

  /// The mean over axis 1 of [1, tokens, width].
  Feature mean_token(const Feature& x) {
    return add_node("ReduceMean", {x.name}, {1, x.shape[2]},
                    {OnnxAttribute::ints("axes", {1}), OnnxAttribute::integer("keepdims", 0)}, 0.4 * x.power);
  }

  /// One token of [1, tokens, width].
  Feature token(const Feature& x, std::int64_t index) {
    const std::string at = name();
    onnx_.integers(at, {index}, {1});
    const Feature row = add_node("Gather", {x.name, at}, {1, 1, x.shape[2]}, {OnnxAttribute::integer("axis", 1)}, x.power);
    return reshape(row, {1, x.shape[2]});
  }

  // ---- any shape

  // The factors below are mean squares of functions of a standard normal variable.
  Feature relu(const Feature& x) { return add_node("Relu", {x.name}, x.shape, {}, 0.5 * x.power); }
  Feature sigmoid(const Feature& x) { return add_node("Sigmoid", {x.name}, x.shape, {}, 0.29); }
  Feature relu6(const Feature& x) { return add_node("Clip", {x.name, constant(0), constant(6)}, x.shape, {}, 0.5 * x.power); }
  Feature silu(const Feature& x) { return of_power(multiply(x, sigmoid(x)), 0.36 * x.power); }

  /// x Phi(x), in the form in which PyTorch exports it: 0.5 x (1 + erf(x / sqrt 2)).
  Feature gelu(const Feature& x) {
    const Feature scaled = add_node("Div", {x.name, constant(std::sqrt(2.0F))}, x.shape);
    const Feature erf = add_node("Erf", {scaled.name}, x.shape);
    const Feature raised = add_node("Add", {erf.name, constant(1)}, x.shape);
    return add_node("Mul", {multiply(x, raised).name, constant(0.5F)}, x.shape, {}, 0.43 * x.power);
  }

  /// a and b have the same shape, or b is broadcast along axes.
  Feature add(const Feature& a, const Feature& b) { return add_node("Add", {a.name, b.name}, a.shape, {}, a.power + b.power); }
  Feature multiply(const Feature& a, const Feature& b) {
    return add_node("Mul", {a.name, b.name}, a.shape, {}, a.power * b.power);
  }
  Feature scaled(const Feature& x, float factor) {
    return add_node("Mul", {x.name, constant(factor)}, x.shape, {}, factor * factor * x.power);
  }

  /// A trained tensor of the given shape.
  Feature parameter(const Shape& shape, double low, double high) {
    return {uniform(shape, low, high), shape, (low * low + low * high + high * high) / 3};
  }

  Feature concat(const std::vector<Feature>& parts, std::int64_t axis) {
    Shape shape = parts[0].shape;
    std::vector<std::string> names;
    double power = 0;
    shape[axis] = 0;
    for (const Feature& part : parts) {
      names.push_back(part.name);
      shape[axis] += part.shape[axis];
      power += part.power * static_cast<double>(part.shape[axis]);
    }
    return add_node("Concat", names, shape, {OnnxAttribute::integer("axis", axis)}, power / static_cast<double>(shape[axis]));
  }

  Feature reshape(const Feature& x, const Shape& shape) {
    const std::string target = name();
    onnx_.integers(target, shape);
    return add_node("Reshape", {x.name, target}, shape, {}, x.power);
  }

  Feature transpose(const Feature& x, const std::vector<std::int64_t>& order) {
    Shape shape;
    for (const std::int64_t axis : order) shape.push_back(x.shape[axis]);
    return add_node("Transpose", {x.name}, shape, {OnnxAttribute::ints("perm", order)}, x.power);
  }

 private:
  std::string name() { return "v" + std::to_string(count_++); }

  Feature add_node(const std::string& op, const std::vector<std::string>& in, const Shape& shape,
                   const std::vector<OnnxAttribute>& attributes = {}, double power = 1) {
    Feature result{name(), shape, power};
    onnx_.node(op, in, {result.name}, attributes);
    return result;
  }

  Feature pool(const std::string& op, const Feature& x, const Step& step, std::int64_t pad, double power) {
    const auto extent = [&](std::int64_t n) { return (n + 2 * pad - step.kernel) / step.stride + 1; };
    return add_node(
        op, {x.name}, {1, x.shape[1], extent(x.shape[2]), extent(x.shape[3])},
        {OnnxAttribute::ints("kernel_shape", {step.kernel, step.kernel}),
         OnnxAttribute::ints("strides", {step.stride, step.stride}), OnnxAttribute::ints("pads", {pad, pad, pad, pad})},
        power);
  }

  static Feature of_power(Feature x, double power) {
    x.power = power;
    return x;
  }

  std::string uniform(const Shape& shape, double low, double high) {
    Tensor tensor(shape);
    const float from = static_cast<float>(low), width = static_cast<float>((high - low) / 4294967296.0);
    for (float& value : tensor.data) value = from + width * static_cast<float>(random_());
    std::string weight = name();
    onnx_.weight(weight, tensor);
    return weight;
  }

  // Uniform, scaled so that sums of products with inputs whose squares add up to `total` have variance 1.
  std::string weights(const Shape& shape, double total) {
    const double bound = std::sqrt(3 / total);
    return uniform(shape, -bound, bound);
  }

  std::string constant(float value) {
    std::string weight = name();
    Tensor scalar((Shape()));
    scalar.data.assign(1, value);
    onnx_.weight(weight, scalar);
    return weight;
  }

  OnnxBuilder onnx_;
  std::mt19937 random_;
  int count_ = 0;
};

}  // namespace probust::test
