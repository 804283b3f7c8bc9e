// SPDX-License-Identifier: MIT
// Gaussian moments through a network: exact if possible, otherwise close to sampling; and differentiable like any other graph.
#include "probust/moments/moments.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "probust/autodiff/vjp.h"
#include "probust/base/error.h"
#include "probust/estimators/estimator.h"
#include "probust/ops/append.h"
#include "support/networks.h"
#include "support/op_cases.h"

namespace probust {
namespace {

struct Sampled {
  std::vector<double> mean, variance;
};

// Means and variances of a graph's output for normal inputs, by sampling.
Sampled sampled(const Graph& graph, const Tensor& mean, const Tensor& variance, int samples) {
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  const auto program = compile_cpu(graph);
  Sampled result;
  for (int n = 0; n < samples; ++n) {
    Tensor x = mean;
    for (std::size_t i = 0; i < x.data.size(); ++i) x.data[i] += static_cast<float>(std::sqrt(variance.data[i]) * normal(random));
    const Tensor y = test::run_one(*program, graph, {x})[0];
    result.mean.resize(y.data.size());
    result.variance.resize(y.data.size());
    for (std::size_t i = 0; i < y.data.size(); ++i) {
      result.mean[i] += double{y.data[i]} / samples;
      result.variance[i] += double{y.data[i]} * y.data[i] / samples;
    }
  }
  for (std::size_t i = 0; i < result.mean.size(); ++i) result.variance[i] -= result.mean[i] * result.mean[i];
  return result;
}

void expect_moments(const Graph& graph, const Tensor& mean, const Tensor& variance, double tolerance, const std::string& name,
                    double variance_tolerance) {
  const MomentGraph moments = propagate_moments(graph);
  const std::vector<Tensor> y = test::evaluate(moments.graph, {mean, variance});
  const Sampled expected = sampled(graph, mean, variance, 40000);
  for (std::size_t i = 0; i < expected.mean.size(); ++i) {
    EXPECT_NEAR(y[0].data[i], expected.mean[i], tolerance * (1 + std::sqrt(expected.variance[i]))) << name << " element " << i;
    EXPECT_NEAR(y[1].data[i], expected.variance[i], variance_tolerance * (0.05 + expected.variance[i]))
        << name << " element " << i;
  }
}

// One operator on an input of 12 elements; other operands are constant.
Graph one_operator(Op op, const Shape& shape, const Attributes& attributes = {}, const std::vector<Tensor>& others = {}) {
  Graph g;
  std::vector<ValueId> operands{append_input(g, shape, Extent::example, "x")};
  for (const Tensor& other : others) operands.push_back(append_constant(g, other));
  g.outputs = {append(g, op, operands, attributes)};
  return g;
}

TEST(Moments, OfOneOperatorAreThoseOfSampling) {
  std::mt19937 random(3);
  const Window window{{5, 5}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}}, pair{{2, 4}, {1, 2}, {1, 2}, {1, 1}, {0, 0}, {0, 0}};
  const Window same{{5, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
  const Window corners{{3, 2}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
  struct Row {
    std::string name;
    Graph graph;
    double spread = 0.02;  // tolerance of the variance
  };
  const std::vector<Row> rows = {
      {"relu", one_operator(Op::relu, {12})},
      {"absolute", one_operator(Op::absolute, {12})},
      {"step", one_operator(Op::step, {12})},
      {"sign", one_operator(Op::sign, {12})},
      {"tanh", one_operator(Op::tanh, {12})},
      {"sigmoid", one_operator(Op::sigmoid, {12})},
      {"erf", one_operator(Op::erf, {12}), 0.06},
      {"softplus", one_operator(Op::softplus, {12})},
      {"sine", one_operator(Op::sine, {12}), 0.06},
      {"conv", one_operator(Op::conv, {1, 2, 5, 5}, same, {test::random_tensor({3, 2, 3, 3}, random)})},
      {"matmul", one_operator(Op::matmul, {2, 6}, MatmulAttributes{}, {test::random_tensor({6, 4}, random)})},
      {"pool of pairs", one_operator(Op::max_pool, {1, 1, 2, 4}, pair)},
      {"overlapping pool", one_operator(Op::max_pool, {1, 1, 5, 5}, window), 0.25},
      {"pool whose taps all miss some window", one_operator(Op::max_pool, {1, 2, 3, 2}, corners), 0.25},
      {"sums", one_operator(Op::reduce_sum, {3, 4}, AxesAttributes{{1}})},
      {"maximum", one_operator(Op::maximum, {12}, {}, {Tensor({1}, {0.2F})})},
      {"minimum", one_operator(Op::minimum, {12}, {}, {Tensor({1}, {0.2F})})},
      {"divide", one_operator(Op::divide, {12}, {}, {Tensor({1}, {0.4F})})},
  };
  for (const Row& row : rows) {
    const Shape shape = row.graph[0].shape;
    const Tensor mean = test::random_tensor(shape, random), variance = test::random_tensor(shape, random, 0.05F, 0.6F);
    expect_moments(row.graph, mean, variance, row.spread > 0.2 ? 0.05 : 0.02, row.name, row.spread + 0.03);
  }
}

// x, and then the maxima of windows. Most of these are entirely in the padding: their mean is the lowest float, and their
// variance is zero.
TEST(Moments, TheMaximumOfAWindowOnThePaddingIsAConstant) {
  const Graph pool =
      one_operator(Op::max_pool, {1, 1, 2}, Window{{2}, {2}, {1}, {3}, {2}, {3}});  // (-2, 1), (-1, 2), (0, 3), (1, 4)
  const MomentGraph moments = propagate_moments(pool);
  const std::vector<Tensor> y = test::evaluate(moments.graph, {Tensor({1, 1, 2}, {0.5F, -2}), Tensor({1, 1, 2}, {0.25F, 4})});
  EXPECT_EQ(y[0].data, (std::vector<float>{-2, kLargestOfNone, 0.5F, -2}));
  EXPECT_EQ(y[1].data, (std::vector<float>{4, 0, 0.25F, 4}));
  // A rectifier turns this into the constant 0, so moments and the gradient of the mean are finite.
  Graph graph = pool;
  graph.outputs = {append(graph, Op::relu, {pool.outputs[0]})};
  MomentGraph rectified = propagate_moments(graph);
  rectified.graph.outputs = {rectified.output.mean};
  const Vjp sweep = vjp(rectified.graph, rectified.graph.outputs, std::array{rectified.input.mean});
  const std::vector<Tensor> inputs{Tensor({1, 1, 2}, {0.5F, -2}), Tensor({1, 1, 2}, {0.25F, 4}), Tensor({1, 1, 4}, {1, 1, 1, 1})};
  for (const std::vector<Tensor>& found :
       {test::evaluate(sweep.graph, inputs), test::run_one(*compile_cpu(sweep.graph), sweep.graph, inputs)}) {
    EXPECT_EQ(found[0].data[1], 0);
    EXPECT_NEAR(found[1].data[0], 0.841345, 1e-6);      // P(x_0 > 0)
    EXPECT_NEAR(found[1].data[1], 2 * 0.158655, 1e-6);  // 2 P(x_1 > 0)
  }
}

TEST(Moments, WithoutVarianceANetworkIsItself) {
  std::mt19937 random(8);
  for (const Graph& graph : {test::small_cnn(), test::small_smooth_network()}) {
    const Shape shape = graph[graph.inputs()[0]].shape;
    const Tensor x = test::random_tensor(shape, random);
    const Tensor expected = test::evaluate(graph, {x})[0],
                 y = test::evaluate(propagate_moments(graph).graph, {x, Tensor(shape)})[0];
    for (std::size_t i = 0; i < y.data.size(); ++i) EXPECT_NEAR(y.data[i], expected.data[i], 1e-5);
  }
}

TEST(Moments, OfANetworkAreNearSampling) {
  std::mt19937 random(9);
  const Graph graph = test::small_cnn();
  const Shape shape = graph[graph.inputs()[0]].shape;
  const Tensor x = test::random_tensor(shape, random);
  Tensor variance(shape);
  std::fill(variance.data.begin(), variance.data.end(), 0.16F);
  const std::vector<Tensor> y = test::evaluate(propagate_moments(graph).graph, {x, variance});
  const Tensor at_x = test::evaluate(graph, {x})[0];
  const Sampled expected = sampled(graph, x, variance, 20000);
  double error = 0, shift = 0;
  for (std::size_t i = 0; i < expected.mean.size(); ++i) {
    error += std::fabs(y[0].data[i] - expected.mean[i]);
    shift += std::fabs(at_x.data[i] - expected.mean[i]);
  }
  EXPECT_LT(error, 0.35 * shift) << error << " of " << shift;
}

// Compares the mean's gradient of each kernel with finite differences of the propagated mean.
TEST(Moments, GradientsOfTheMeanAgreeWithFiniteDifferences) {
  std::mt19937 random(10);
  MomentGraph moments = propagate_moments(test::small_cnn(2));
  moments.graph.outputs = {moments.output.mean};
  const Vjp sweep = vjp(moments.graph, moments.graph.outputs, std::array{moments.input.mean});
  Tensor x = test::random_tensor({1, 8, 8}, random), variance({1, 8, 8});
  std::fill(variance.data.begin(), variance.data.end(), 0.1F);
  const Tensor seed({2}, {1, -1});
  const Tensor gradient = test::run_one(*compile_cpu(sweep.graph), sweep.graph, {x, variance, seed})[1];
  const auto margin = [&] {
    const Tensor y = test::evaluate(moments.graph, {x, variance})[0];
    return double{y.data[0]} - double{y.data[1]};
  };
  for (const std::size_t i : {0UL, 9UL, 27UL, 44UL, 63UL}) {
    const float kept = x.data[i];
    x.data[i] = kept + 0.01F;
    const double up = margin();
    x.data[i] = kept - 0.01F;
    const double down = margin();
    x.data[i] = kept;
    EXPECT_NEAR(gradient.data[i], (up - down) / 0.02, 2e-3 * (1 + std::fabs(gradient.data[i])));
  }
}

TEST(Moments, EveryOperatorHasARuleOrIsRefusedByName) {
  for (const test::OpCase& row : test::op_cases()) {
    if (row.operands.size() > 2) continue;
    Graph g;
    std::vector<ValueId> operands{append_input(g, row.operands[0], Extent::example, "x")};
    std::mt19937 random(1);
    for (std::size_t i = 1; i < row.operands.size(); ++i)
      operands.push_back(append_constant(g, test::random_tensor(row.operands[i], random, row.low, row.high)));
    g.outputs = {append(g, row.op, operands, row.attributes)};
    try {
      EXPECT_EQ(propagate_moments(g).graph.outputs.size(), 2U) << definition(row.op).name;
    } catch (const Error& error) {
      EXPECT_EQ(error.code, ErrorCode::unsupported) << definition(row.op).name;
      EXPECT_NE(error.message().find(definition(row.op).name), std::string::npos) << error.message();
    }
  }
}

TEST(Moments, AdfIsTaylorOnALinearModel) {
  const Tensor weights({3, 3}, {1, 0, 1, -1, 1, 0.5F, 0, -2, 0.25F}), bias({3}, {0.2F, 0, -0.1F});
  const auto executor = make_executor("cpu", test::linear_classifier(weights, bias), {}).value();
  const Points points{Tensor({1, 3}, {0.4F, 0.1F, 0}), {0}, {0}, 0};
  Evaluation evaluation(*executor, points, executor->logits(points.x).value());
  const NoiseArray covariance{{3, 3}, {1, 0.5, 0, 0.5, 2, -0.3, 0, -0.3, 0.5}, "C"};
  for (const double scale : {0.1, 0.5, 2.0}) {
    for (const auto& shape : {isotropic_gaussian(), covariance_gaussian(covariance, "cov"), laplace_noise()}) {
      const Estimate adf = estimate(evaluation, {shape, scale}, parse_estimator("adf")).value()[0];
      const Estimate taylor = estimate(evaluation, {shape, scale}, parse_estimator("taylor")).value()[0];
      EXPECT_NEAR(adf.p, taylor.p, 1e-6);
      EXPECT_NEAR(adf.p_fail / taylor.p_fail, 1, 1e-4);
      EXPECT_EQ(adf.status, taylor.status);
    }
  }
}

// The result depends on the next operator: the lowest float becomes the constant 0, or overflows float32.
TEST(Moments, AdfSupportsWindowsOnThePadding) {
  const auto status = [](bool rectified) {
    Graph graph = one_operator(Op::max_pool, {1, 1, 2}, Window{{2}, {2}, {1}, {3}, {2}, {3}});
    if (rectified) graph.outputs = {append(graph, Op::relu, {graph.outputs[0]})};
    const ValueId flat = append(graph, Op::reshape, {graph.outputs[0]}, ShapeAttribute{{1, 4}});
    const ValueId weights = append_constant(graph, Tensor({4, 2}, {1, 0, 2, -2, 0, 1, 1, 0}));
    graph.outputs = {
        append(graph, Op::reshape, {append(graph, Op::matmul, {flat, weights}, MatmulAttributes{})}, ShapeAttribute{{2}})};
    const auto executor = make_executor("cpu", graph, {}).value();
    const Points points{Tensor({1, 1, 1, 2}, {0.4F, 0.1F}), {0}, {0}, 0};
    Evaluation evaluation(*executor, points, executor->logits(points.x).value());
    return estimate(evaluation, {isotropic_gaussian(), 0.5}, parse_estimator("adf")).value()[0].status;
  };
  EXPECT_EQ(status(true), Status::ok);
  EXPECT_EQ(status(false), Status::nonfinite);
}

TEST(Moments, AdfDoesNotDependOnThreadsOrBatch) {
  std::mt19937 random(12);
  Points points{test::random_tensor({9, 1, 8, 8}, random), {}, {}, 0};
  for (std::int64_t i = 0; i < 9; ++i) points.index.push_back(i), points.target.push_back(i % 4);
  std::vector<double> first;
  for (const ExecutorOptions& options : {ExecutorOptions{1, 1 << 28, 0}, ExecutorOptions{3, 1 << 28, 2}}) {
    const auto executor = make_executor("cpu", test::small_cnn(), options).value();
    Evaluation evaluation(*executor, points, executor->logits(points.x).value());
    std::vector<double> p;
    const auto estimates = estimate(evaluation, {isotropic_gaussian(), 0.3}, parse_estimator("adf")).value();
    for (const Estimate& e : estimates) p.push_back(e.p);
    if (first.empty()) first = p;
    EXPECT_EQ(p, first);
  }
}

}  // namespace
}  // namespace probust
