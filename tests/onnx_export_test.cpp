// SPDX-License-Identifier: MIT
// Graphs as ONNX files: reading a file returns the graph that was written.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "probust/exec/executor.h"
#include "probust/onnx/export.h"
#include "probust/onnx/import.h"
#include "probust/ops/build.h"
#include "probust/ops/op.h"
#include "probust/train/models.h"
#include "support/networks.h"
#include "support/op_cases.h"

namespace probust {
namespace {

Model read_back(const Graph& graph) {
  const std::string bytes = export_onnx(graph, "mlp").value();
  return import_onnx(std::as_bytes(std::span(bytes)), {}).value();
}

void expect_same_logits(const Graph& expected, const Graph& actual, const Tensor& x) {
  const Tensor a = make_executor("cpu", expected, {}).value()->logits(x).value();
  const Tensor b = make_executor("cpu", actual, {}).value()->logits(Tensor({x.shape[0], x.size() / x.shape[0]}, x.data)).value();
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.data.size(); ++i) EXPECT_NEAR(a.data[i], b.data[i], 1e-6 * (1 + std::fabs(a.data[i])));
}

TEST(OnnxExport, NetworksComeBackAsTheyWere) {
  std::mt19937 random(3);
  for (const Activation activation : {Activation::relu, Activation::tanh, Activation::gelu}) {
    for (const std::vector<std::int64_t>& hidden : {std::vector<std::int64_t>{}, {7}, {5, 6, 7}}) {
      Network network = mlp({4}, hidden, 3, activation);
      for (Parameter& weight : network.weights) weight.value = test::random_tensor(weight.value.shape, random);
      const Graph graph = classifier_of(network);
      const Model model = read_back(graph);
      EXPECT_EQ(model.classes, 3);
      EXPECT_EQ(model.input_shape, Shape({1, 4}));
      EXPECT_EQ(model.summary.producer, "probust");
      EXPECT_EQ(model.summary.inputs[0].name, "x");
      EXPECT_EQ(model.summary.inputs[0].shape, Shape({-1, 4}));  // the batch is dynamic
      EXPECT_EQ(model.summary.outputs[0].name, "logits");
      EXPECT_EQ(model.summary.outputs[0].shape, Shape({-1, 3}));
      expect_same_logits(graph, model.graph, test::random_tensor({9, 4}, random));
    }
  }
}

TEST(OnnxExport, ImagesKeepTheirShape) {
  std::mt19937 random(4);
  const Graph graph = classifier_of(mlp({1, 3, 3}, {6}, 4));
  const Model model = read_back(graph);
  EXPECT_EQ(model.input_shape, Shape({1, 1, 3, 3}));
  const Tensor x = test::random_tensor({5, 1, 3, 3}, random);
  const Tensor a = make_executor("cpu", graph, {}).value()->logits(x).value();
  const auto executor = make_executor("cpu", model.graph, {}).value();
  EXPECT_EQ(executor->logits(Tensor({5, 1, 1, 3, 3}, x.data)).value().data, a.data);
}

TEST(OnnxExport, ConvolutionsKeepTheirBias) {
  std::mt19937 random(6);
  const Graph graph = test::small_cnn();
  const std::string bytes = export_onnx(graph, "cnn").value();
  EXPECT_EQ(bytes.find("/Add"), std::string::npos);
  const Model model = read_back(graph);
  const Tensor x = test::random_tensor({5, 1, 8, 8}, random);
  const Tensor a = make_executor("cpu", graph, {}).value()->logits(x).value();
  const Tensor b = make_executor("cpu", model.graph, {}).value()->logits(Tensor({5, 1, 1, 8, 8}, x.data)).value();
  for (std::size_t i = 0; i < a.data.size(); ++i) EXPECT_NEAR(a.data[i], b.data[i], 1e-5);
}

// x -> f(x) W, or f(x, c) W.
Graph with_function(const test::OpCase& row, std::mt19937& random) {
  Graph g;
  std::vector<ValueId> operands{build::reshape(g, append_input(g, {6}, Extent::example, "x"), {1, 6})};
  if (row.operands.size() == 2) operands.push_back(append_constant(g, test::random_tensor({1, 6}, random, row.low, row.high)));
  const ValueId y = append(g, row.op, operands, row.attributes);
  g.outputs = {build::reshape(g, build::matmul(g, y, append_constant(g, test::random_tensor({6, 3}, random))), {3})};
  return g;
}

TEST(OnnxExport, ElementwiseOperatorsComeBackAsTheyWere) {
  std::mt19937 random(6);
  std::set<Op> refused;
  for (const test::OpCase& row : test::op_cases()) {
    const Traits& traits = definition(row.op).traits;
    if (traits.unary == nullptr && traits.binary == nullptr) continue;
    const Graph graph = with_function(row, random);
    if (!export_onnx(graph, "function")) {
      refused.insert(row.op);
      continue;
    }
    SCOPED_TRACE(definition(row.op).name);
    expect_same_logits(graph, read_back(graph).graph, test::random_tensor({5, 6}, random, row.low, row.high));
  }
  EXPECT_EQ(refused, (std::set<Op>{Op::step, Op::greater_equal, Op::less}));  // ONNX's comparisons return booleans
}

TEST(OnnxExport, AClassifierThatIsItsInput) {
  Graph graph;
  graph.outputs = {append_input(graph, {3}, Extent::example, "x")};
  std::mt19937 random(5);
  expect_same_logits(graph, read_back(graph).graph, test::random_tensor({2, 3}, random));
}

TEST(OnnxExport, RejectsUnsupportedOperators) {
  Graph scaled = test::linear_classifier(Tensor({2, 2}, {1, 2, 3, 4}), Tensor({2}));  // its weights are transposed
  Graph summed;                                                                       // a sum over windows
  const ValueId image = build::reshape(summed, append_input(summed, {1, 4, 4}, Extent::example, "x"), {1, 1, 4, 4});
  const ValueId sums = append(summed, Op::sum_pool, {image}, Window{{4, 4}, {2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}});
  summed.outputs = {build::reshape(summed, sums, {4})};
  Graph across;  // a sum over the axis that becomes the batch
  const ValueId row = build::reshape(across, append_input(across, {3}, Extent::example, "x"), {1, 3});
  across.outputs = {build::reshape(across, build::reduce_sum(across, row, {0}), {3})};
  for (const Graph& graph : {summed, across, scaled, Graph{}}) {
    const Result<std::string> bytes = export_onnx(graph, "network");
    ASSERT_FALSE(bytes);
    EXPECT_EQ(bytes.error().code, ErrorCode::unsupported);
  }
}

}  // namespace
}  // namespace probust
