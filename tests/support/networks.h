// SPDX-License-Identifier: MIT
#pragma once

#include <random>

#include "probust/ops/build.h"
#include "support/evaluate.h"

// Small classifiers with random weights, as graphs.
namespace probust::test {

/// f(x) = W x + b for x [d]: W [C, d], b [C].
inline Graph linear_classifier(const Tensor& weights, const Tensor& bias) {
  Graph g;
  const std::int64_t d = weights.shape[1], classes = weights.shape[0];
  const ValueId x = append_input(g, {d}, Extent::example, "x");
  const ValueId product = build::matmul(g, build::reshape(g, x, {1, d}), append_constant(g, weights), false, true);
  g.outputs = {build::add(g, build::reshape(g, product, {classes}), append_constant(g, bias))};
  return g;
}

/// A convolutional network on [1, 8, 8] images: conv, relu, max-pool, strided conv, tanh, dense; `classes` logits.
inline Graph small_cnn(std::int64_t classes = 4, unsigned seed = 1) {
  std::mt19937 random(seed);
  Graph g;
  const ValueId x = append_input(g, {1, 8, 8}, Extent::example, "x");
  ValueId y = build::reshape(g, x, {1, 1, 8, 8});
  y = append(g, Op::conv, {y, append_constant(g, random_tensor({4, 1, 3, 3}, random))},
             Window{{8, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}});
  y = append(g, Op::relu, {build::add(g, y, append_constant(g, random_tensor({4, 1, 1}, random)))});
  y = append(g, Op::max_pool, {y}, Window{{8, 8}, {2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}});
  y = append(g, Op::conv, {y, append_constant(g, random_tensor({6, 4, 3, 3}, random, -0.5F, 0.5F))},
             Window{{4, 4}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}});
  y = build::reshape(g, append(g, Op::tanh, {y}), {1, 24});
  y = build::matmul(g, y, append_constant(g, random_tensor({24, classes}, random)));
  g.outputs = {build::reshape(g, y, {classes})};
  return g;
}

/// Dense layers with sigmoid, softmax-weighted features and a division: smooth everywhere.
inline Graph small_smooth_network(std::int64_t classes = 3) {
  std::mt19937 random(4);
  Graph g;
  const ValueId x = append_input(g, {6}, Extent::example, "x");
  const ValueId row = build::reshape(g, x, {1, 6});
  const ValueId h = append(g, Op::sigmoid, {build::matmul(g, row, append_constant(g, random_tensor({6, 8}, random, -2, 2)))});
  const ValueId gate =
      append(g, Op::softmax, {build::matmul(g, row, append_constant(g, random_tensor({6, 8}, random)))}, AxisAttribute{1});
  const ValueId norm =
      append(g, Op::sqrt, {build::add(g, build::reduce_sum(g, build::multiply(g, h, h), {1}), build::constant(g, 1))});
  const ValueId mixed = build::divide(g, build::multiply(g, h, gate), norm);
  g.outputs = {
      build::reshape(g, build::matmul(g, mixed, append_constant(g, random_tensor({8, classes}, random, -5, 5))), {classes})};
  return g;
}

}  // namespace probust::test
