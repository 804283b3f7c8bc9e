// SPDX-License-Identifier: MIT
// Simplification removes work without changing the function, the checker refuses broken graphs, and the printer's output is
// readable.
#include "probust/passes/simplify.h"

#include <gtest/gtest.h>

#include "probust/base/error.h"
#include "probust/ops/build.h"
#include "probust/ops/print.h"
#include "support/evaluate.h"

namespace probust {
namespace {

int count(const Graph& graph, Op op) {
  int found = 0;
  for (const Node& node : graph.nodes) found += node.op == op ? 1 : 0;
  return found;
}

void expect_same_function(const Graph& a, const Graph& b) {
  std::mt19937 random(1);
  std::vector<Tensor> inputs;
  for (const ValueId id : a.inputs()) inputs.push_back(test::random_tensor(a[id].shape, random));
  const auto before = test::evaluate(a, inputs), after = test::evaluate(b, inputs);
  for (std::size_t i = 0; i < before.size(); ++i) {
    ASSERT_EQ(before[i].shape, after[i].shape);
    for (std::size_t e = 0; e < before[i].data.size(); ++e) EXPECT_NEAR(before[i].data[e], after[i].data[e], 1e-5);
  }
}

TEST(Simplify, ScalesAndShiftsFoldIntoADenseLayer) {
  std::mt19937 random(2);
  Graph g;
  const ValueId x = append_input(g, {1, 4}, Extent::example, "x");
  ValueId y = build::matmul(g, x, append_constant(g, test::random_tensor({3, 4}, random)), false, true);
  y = build::add(g, append_constant(g, test::random_tensor({3}, random)), y);
  y = build::multiply(g, append_constant(g, test::random_tensor({1, 3}, random)), y);
  y = build::subtract(g, y, append_constant(g, test::random_tensor({3}, random)));
  y = build::multiply(g, y, build::constant(g, 2));
  g.outputs = {y};
  const Graph simple = simplify(g);
  expect_same_function(g, simple);
  EXPECT_EQ(count(simple, Op::multiply), 0) << to_text(simple);
  EXPECT_EQ(count(simple, Op::add), 1) << to_text(simple);
  EXPECT_EQ(count(simple, Op::matmul), 1);
}

TEST(Simplify, ConstantsFoldAndDeadNodesGo) {
  Graph g;
  const ValueId x = append_input(g, {2}, Extent::example, "x");
  const ValueId three = build::add(g, build::constant(g, 1), build::constant(g, 2));
  build::multiply(g, x, x);  // unused
  g.outputs = {build::multiply(g, build::add(g, x, build::constant(g, 0)), three)};
  const Graph simple = simplify(g);
  expect_same_function(g, simple);
  EXPECT_EQ(simple.nodes.size(), 3U) << to_text(simple);
}

TEST(Simplify, InverseArrangementsCancel) {
  Graph g;
  const ValueId x = append_input(g, {2, 3, 4}, Extent::example, "x");
  ValueId y = build::transpose(g, build::transpose(g, x, {2, 0, 1}), {1, 2, 0});
  y = append(g, Op::reshape, {append(g, Op::reshape, {y}, ShapeAttribute{{24}})}, ShapeAttribute{{2, 3, 4}});
  g.outputs = {append(g, Op::relu, {y})};
  const Graph simple = simplify(g);
  expect_same_function(g, simple);
  EXPECT_EQ(simple.nodes.size(), 2U) << to_text(simple);
}

// A value with two readers must not be scaled for only one of them.
TEST(Simplify, AValueWithTwoReadersIsLeftAlone) {
  std::mt19937 random(3);
  Graph g;
  const ValueId x = append_input(g, {1, 4}, Extent::example, "x");
  const ValueId h = build::matmul(g, x, append_constant(g, test::random_tensor({4, 3}, random)));
  g.outputs = {build::multiply(g, h, build::constant(g, 5)), h};
  expect_same_function(g, simplify(g));
}

TEST(Check, BrokenGraphsAreRefused) {
  Graph g;
  const ValueId x = append_input(g, {2, 3}, Extent::example, "x");
  g.outputs = {append(g, Op::relu, {x})};
  EXPECT_NO_THROW(check(g));
  Graph wrong_shape = g;
  wrong_shape.nodes[1].shape = {3, 2};
  EXPECT_THROW(check(wrong_shape), Error);
  Graph forward_reference = g;
  forward_reference.nodes[1].inputs = {1};
  EXPECT_THROW(check(forward_reference), Error);
  Graph wrong_extent = g;
  wrong_extent.nodes[1].extent = Extent::constant;
  EXPECT_THROW(check(wrong_extent), Error);
  Graph wrong_output = g;
  wrong_output.outputs = {7};
  EXPECT_THROW(check(wrong_output), Error);
}

TEST(Print, OneReadableLinePerNode) {
  Graph g;
  const ValueId x = append_input(g, {1, 2}, Extent::example, "x");
  g.outputs = {build::reduce_sum(g, append(g, Op::relu, {x}, {}, "first"), {1})};
  EXPECT_EQ(to_text(g),
            "%0 = input() : [1, 2] example  # x\n"
            "%1 = relu(%0) : [1, 2] example  # first\n"
            "%2 = reduce_sum(%1) axes=[1] : [1, 1] example\n"
            "outputs %2\n");
}

}  // namespace
}  // namespace probust
