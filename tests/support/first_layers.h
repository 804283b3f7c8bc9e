// SPDX-License-Identifier: MIT
#pragma once

#include <random>
#include <vector>

#include "probust/ops/append.h"
#include "support/evaluate.h"

// Small classifiers with random weights and different kinds of first layers.
namespace probust::test {

inline constexpr std::int64_t kInputs = 40, kClasses = 5;

inline ValueId random_constant(Graph& g, const Shape& shape, std::mt19937& random) {
  Tensor tensor = random_tensor(shape, random);
  for (float& value : tensor.data) value *= 0.3F;
  return append_constant(g, std::move(tensor));
}

inline ValueId dense(Graph& g, ValueId x, std::int64_t outputs, std::mt19937& random) {
  const ValueId product =
      append(g, Op::matmul, {x, random_constant(g, {g[x].shape.back(), outputs}, random)}, MatmulAttributes{});
  return append(g, Op::add, {product, random_constant(g, {outputs}, random)});
}

// Layers with these widths and `between` after each, followed by the logits.
inline Graph perceptron(const std::vector<std::int64_t>& widths, Op between = Op::tanh) {
  std::mt19937 random(3);
  Graph g;
  ValueId x = append(g, Op::reshape, {append_input(g, {1, kInputs, 1}, Extent::example, "x")}, ShapeAttribute{{1, kInputs}});
  for (const std::int64_t width : widths) x = append(g, between, {dense(g, x, width, random)});
  g.outputs = {append(g, Op::reshape, {dense(g, x, kClasses, random)}, ShapeAttribute{{kClasses}})};
  return g;
}

// A convolution with stride 2 of an image of 5 x 8, then dense layers.
inline Graph strided(std::int64_t filters) {
  std::mt19937 random(4);
  const Window window{{5, 8}, {3, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}};
  Graph g;
  const ValueId x = append_input(g, {1, 1, 5, 8}, Extent::example, "x");
  const ValueId image = append(g, Op::conv, {x, random_constant(g, {filters, 1, 3, 2}, random)}, window);
  const ValueId features = append(g, Op::reshape, {append(g, Op::relu, {image})}, ShapeAttribute{{1, filters * 8}});
  g.outputs = {append(g, Op::reshape, {dense(g, features, kClasses, random)}, ShapeAttribute{{kClasses}})};
  return g;
}

// A network in which two operators read the input.
inline Graph forked() {
  std::mt19937 random(5);
  Graph g;
  const ValueId x = append_input(g, {1, kInputs}, Extent::example, "x");
  const ValueId sum = append(g, Op::add, {dense(g, x, kClasses, random), dense(g, x, kClasses, random)});
  g.outputs = {append(g, Op::reshape, {sum}, ShapeAttribute{{kClasses}})};
  return g;
}

}  // namespace probust::test
