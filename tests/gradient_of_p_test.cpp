// SPDX-License-Identifier: MIT
// Gradients of p, compared with differences of the same estimator's p: on smooth and on piecewise linear networks, for several
// noise models, and what is refused.
#include "probust/estimators/gradient/gradient_of_p.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>

#include "probust/estimators/estimator.h"
#include "probust/exec/executor.h"
#include "probust/perturb/noise_text.h"
#include "probust/train/models.h"
#include "support/known_problems.h"
#include "support/networks.h"

namespace probust {
namespace {

constexpr std::uint64_t kSeed = 7;

// A network around a point whose coordinates are multiples of 1/64, so that steps of 1/64 are exact.
struct Case {
  std::unique_ptr<Executor> executor;
  Points points;
};

Case case_of(const Graph& graph, const Shape& shape, std::int64_t target, unsigned random_seed,
             const ExecutorOptions& options = {}) {
  Case made{make_executor("cpu", graph, options).value(), {}};
  std::mt19937 random(random_seed);
  made.points.x = test::random_tensor(shape, random, -0.5F, 0.5F);
  for (float& value : made.points.x.data) value = std::round(value * 64) / 64;
  for (std::int64_t i = 0; i < shape[0]; ++i) {
    made.points.index.push_back(i);
    made.points.target.push_back(target);
  }
  made.points.seed = kSeed;
  return made;
}

std::vector<double> p_of(Case& at, const Tensor& x, const Noise& noise, const std::string& estimator) {
  Points points = at.points;
  points.x = x;
  Evaluation evaluation(*at.executor, points, at.executor->logits(x).value());
  std::vector<double> p;
  for (const Estimate& each : estimate(evaluation, noise, parse_estimator(estimator)).value()) p.push_back(each.p);
  return p;
}

// Central differences of fourth order, of every element of every point.
Tensor differences(Case& at, const Noise& noise, const std::string& estimator, float step) {
  Tensor result(at.points.x.shape);
  const std::int64_t n = at.points.size(), d = result.size() / n;
  for (std::int64_t e = 0; e < d; ++e) {
    const auto moved = [&](float by) {
      Tensor x = at.points.x;
      for (std::int64_t i = 0; i < n; ++i) x.row(i)[e] += by;
      return p_of(at, x, noise, estimator);
    };
    const std::vector<double> near_up = moved(step), near_down = moved(-step), far_up = moved(2 * step),
                              far_down = moved(-2 * step);
    for (std::int64_t i = 0; i < n; ++i)
      result.row(i)[e] = static_cast<float>((8 * (near_up[i] - near_down[i]) - (far_up[i] - far_down[i])) / (12 * step));
  }
  return result;
}

double norm(std::span<const float> values) {
  double sum = 0;
  for (const float value : values) sum += double{value} * double{value};
  return std::sqrt(sum);
}

GradientOfP gradient(Case& at, const Noise& noise, const std::string& estimator) {
  return gradient_of_p(*at.executor, at.points, noise, parse_estimator(estimator)).value();
}

// The largest error of the gradient of a point, by its norm.
void expect_own_derivative(Case& at, const Noise& noise, const std::string& estimator, float step = 1.0F / 64) {
  constexpr double kTolerance = 1e-4;
  const GradientOfP found = gradient(at, noise, estimator);
  const Tensor expected = differences(at, noise, estimator, step);
  const std::vector<double> p = p_of(at, at.points.x, noise, estimator);
  for (std::int64_t i = 0; i < at.points.size(); ++i) {
    std::vector<float> difference;
    for (std::size_t e = 0; e < found.gradient.row(i).size(); ++e)
      difference.push_back(found.gradient.row(i)[e] - expected.row(i)[e]);
    EXPECT_LT(norm(difference), kTolerance) << estimator << " " << noise.text() << " point " << i;
    EXPECT_GT(norm(expected.row(i)), 100 * kTolerance) << estimator << " " << noise.text() << " point " << i;
    EXPECT_NEAR(found.p[i], p[i], 1e-5);
  }
}

const std::vector<std::string> kLinearized = {"taylor",     "taylor_mvs",      "adf",       "mmse:3",
                                              "mmse_mvs:3", "mmse:3:centered", "mmse:3:loo"};

class SmoothGradientOfP : public testing::TestWithParam<Activation> {};

TEST_P(SmoothGradientOfP, IsTheDerivativeOfItsOwnP) {
  Case at = case_of(classifier_of(mlp({5}, {7, 6}, 3, GetParam(), {3})), {3, 5}, 1, 2);
  for (const std::string& estimator : kLinearized) expect_own_derivative(at, parse_noise("gaussian:0.4"), estimator);
}

INSTANTIATE_TEST_SUITE_P(Activations, SmoothGradientOfP, testing::Values(Activation::tanh, Activation::gelu, Activation::silu));

TEST(GradientOfPTest, CoversOtherSmoothOperators) {
  Case at = case_of(test::small_smooth_network(3), {2, 6}, 0, 5);
  for (const std::string estimator : {"taylor", "taylor_mvs", "mmse:4", "mmse:4:loo"})
    expect_own_derivative(at, parse_noise("gaussian:0.8"), estimator);
}

// Dense layers with an activation that is given as an operator.
Graph dense_network(const std::function<ValueId(Graph&, ValueId)>& activation, std::int64_t classes) {
  std::mt19937 random(11);
  Graph g;
  const ValueId x = append_input(g, {4}, Extent::example, "x");
  ValueId h = build::matmul(g, build::reshape(g, x, {1, 4}), append_constant(g, test::random_tensor({4, 8}, random, -2, 2)));
  h = build::matmul(g, activation(g, h), append_constant(g, test::random_tensor({8, classes}, random, -2, 2)));
  g.outputs = {build::reshape(g, h, {classes})};
  return g;
}

ValueId softplus(Graph& g, ValueId x) {
  return append(g, Op::log, {build::add(g, build::constant(g, 1), append(g, Op::exp, {x}))});
}

TEST(GradientOfPTest, OfSoftplusWithTwoAndFourClasses) {
  for (const std::int64_t classes : {2, 4}) {
    Case at = case_of(dense_network(softplus, classes), {2, 4}, 1, 4);
    for (const std::string estimator : {"taylor", "mmse:3", "mmse:3:centered"})
      expect_own_derivative(at, parse_noise("gaussian:0.5"), estimator);
  }
}

// Second derivatives are zero, except for means under the noise (adf). Steps are small, so that they cross no kink.
TEST(GradientOfPTest, OfPiecewiseLinearNetworks) {
  Case at = case_of(classifier_of(mlp({5}, {8}, 3, Activation::relu, {3})), {2, 5}, 1, 4);
  for (const std::string& estimator : kLinearized)
    expect_own_derivative(at, parse_noise("gaussian:0.4"), estimator, estimator == "adf" ? 1.0F / 64 : 1.0F / 256);
}

Noise correlated(std::int64_t d) {
  std::vector<double> factors(static_cast<std::size_t>(2 * d));
  for (std::size_t i = 0; i < factors.size(); ++i) factors[i] = 0.3 + 0.5 * std::sin(static_cast<double>(3 * i));
  return {factor_gaussian({{d, 2}, factors, "factors"}, "gaussian:factor=F"), 0.6};
}

Noise clipped_gaussian(double sigma) { return {clipped(isotropic_gaussian(), {-1, 1}), sigma}; }

TEST(GradientOfPTest, OfOtherNoise) {
  Case at = case_of(classifier_of(mlp({4}, {6}, 3, Activation::tanh, {3})), {2, 4}, 1, 6);
  const Noise per_point{diagonal_gaussian({{2, 4}, {0.5, 0, 1, 0.7, 1, 0.2, 0, 0.6}, "deviations"}, "gaussian:std=D"), 0.7};
  for (const Noise& noise : {per_point, correlated(4), parse_noise("uniform:0.5"), parse_noise("gaussian:0.9@0,2")}) {
    for (const std::string estimator : {"taylor", "mmse:3:loo"}) expect_own_derivative(at, noise, estimator);
  }
  expect_own_derivative(at, clipped_gaussian(0.5), "taylor");
  EXPECT_EQ(gradient(at, parse_noise("uniform:0.5"), "taylor").warnings,
            std::vector<std::string>{"uniform noise approximated as Gaussian (central limit theorem)"});
}

TEST(GradientOfPTest, DoesNotDependOnThreadsMemoryOrOtherPoints) {
  const Graph graph = classifier_of(mlp({5}, {7}, 4, Activation::tanh, {3}));
  Case all = case_of(graph, {9, 5}, 2, 2), other = case_of(graph, {9, 5}, 2, 2, {.threads = 3, .memory = 1 << 17, .batch = 2});
  for (const std::string estimator : {"taylor", "adf", "mmse:5", "mmse:5:loo", "mc:200"}) {
    const Noise noise = parse_noise("gaussian:0.4");
    const GradientOfP together = gradient(all, noise, estimator), chunked = gradient(other, noise, estimator);
    EXPECT_EQ(together.gradient.data, chunked.gradient.data) << estimator;
    EXPECT_EQ(together.std_error.data, chunked.std_error.data) << estimator;
    EXPECT_EQ(together.p, chunked.p) << estimator;
    Case one{make_executor("cpu", graph, {}).value(), slice(all.points, 4, 1)};
    const GradientOfP alone = gradient(one, noise, estimator);
    EXPECT_TRUE(std::equal(alone.gradient.data.begin(), alone.gradient.data.end(), together.gradient.row(4).begin()))
        << estimator;
  }
}

// Differences of shares of a million common samples.
TEST(GradientOfPTest, OfMonteCarloIsUnbiased) {
  Case at = case_of(dense_network(softplus, 2), {1, 4}, 1, 4);
  const Noise noise = parse_noise("gaussian:0.5");
  const GradientOfP found = gradient(at, noise, "mc:1000000");
  const Tensor expected = differences(at, noise, "mc:1000000", 1.0F / 8);
  std::vector<float> difference;
  for (std::size_t e = 0; e < 4; ++e) {
    difference.push_back(found.gradient.data[e] - expected.data[e]);
    EXPECT_GT(found.std_error.data[e], 0);
    EXPECT_LT(found.std_error.data[e], 0.02 * norm(expected.data));
  }
  EXPECT_LT(norm(difference), 0.03 * norm(expected.data));
  EXPECT_NEAR(found.p[0], p_of(at, at.points.x, noise, "mc:1000000")[0], 0.003);
}

// Standard errors equal the spread over seeds, and the mean is the derivative for a linear model.
TEST(GradientOfPTest, StandardErrorsOfMonteCarloAreItsSpread) {
  Case at = case_of(test::linear_classifier(Tensor({2, 2}, {1, 2, 0, 0}), Tensor({2}, {0.5F, 0})), {1, 2}, 0, 2);
  const Noise noise = parse_noise("gaussian:0.4");
  const GradientOfP exact = gradient(at, noise, "taylor");
  constexpr int kRuns = 400;
  for (std::size_t e = 0; e < 2; ++e) {
    double sum = 0, squares = 0, claimed = 0;
    for (int run = 0; run < kRuns; ++run) {
      at.points.seed = static_cast<std::uint64_t>(run);
      const GradientOfP found = gradient(at, noise, "mc:100");
      const double error = double{found.gradient.data[e]} - double{exact.gradient.data[e]};
      sum += error / kRuns;
      squares += error * error / kRuns;
      claimed += double{found.std_error.data[e]} * double{found.std_error.data[e]} / kRuns;
    }
    EXPECT_LT(std::abs(sum), 4 * std::sqrt(squares / kRuns));
    EXPECT_NEAR(claimed / squares, 1, 0.25);
  }
}

TEST(GradientOfPTest, IsZeroIfTheNoiseCannotChangeThePrediction) {
  Case at = case_of(test::linear_classifier(Tensor({2, 2}, {1, 0, 0, 0}), Tensor({2}, {5, 0})), {1, 2}, 0, 2);
  const Noise elsewhere = parse_noise("gaussian:0.5@1");
  const GradientOfP found = gradient(at, elsewhere, "taylor");
  EXPECT_EQ(found.p[0], 1);
  EXPECT_EQ(found.gradient.data, (std::vector<float>{0, 0}));
}

Error refused(Case& at, const Noise& noise, const std::string& estimator) {
  const auto result = gradient_of_p(*at.executor, at.points, noise, parse_estimator(estimator));
  if (result) throw std::logic_error("not refused: " + noise.text() + " " + estimator);
  return result.error();
}

TEST(GradientOfPTest, RefusesWhatHasNoGradient) {
  Case at = case_of(classifier_of(mlp({4}, {6}, 3, Activation::tanh, {3})), {1, 4}, 1, 2);
  EXPECT_EQ(refused(at, parse_noise("gaussian:0.1"), "probit:24").message(),
            "estimator probit:24 has no gradient of p; use one of mc:N, taylor, taylor_mvs, mmse:N, "
            "mmse:N:centered, mmse:N:loo, mmse_mvs:N, adf");
  EXPECT_EQ(refused(at, parse_noise("gaussian:0.1"), "mc:3").code, ErrorCode::usage);
  EXPECT_EQ(refused(at, parse_noise("uniform:0.1"), "mc:100").message(),
            "the gradient of mc needs independent Gaussian noise that is not clipped, not uniform:0.1; use taylor, or try "
            "gaussian:0.1");
  EXPECT_EQ(refused(at, parse_noise("gaussian:0.1@0"), "mc:100").code, ErrorCode::unsupported);
  EXPECT_EQ(refused(at, clipped_gaussian(0.1), "mmse:4").message(),
            "the gradient of mmse needs noise that is symmetric and not clipped, not gaussian:0.1|clip:-1,1; use taylor");
  at.points.x.data[2] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(refused(at, parse_noise("gaussian:0.1"), "taylor").message(), "point 0 contains NaN or infinity; leave it out");
  Graph signs;
  const ValueId x = append_input(signs, {4}, Extent::example, "x");
  signs.outputs = {append(signs, Op::sign, {x})};
  Case flat = case_of(signs, {1, 4}, 1, 2);
  EXPECT_EQ(refused(flat, parse_noise("gaussian:0.1"), "taylor").message(),
            "estimator taylor has no useful gradient, because the classifier is piecewise constant; use mc:N");
  EXPECT_GT(norm(gradient(flat, parse_noise("gaussian:0.4"), "mc:1000").gradient.data), 0);
}

TEST(GradientOfPTest, RefusesNoiseThatIsNotAdditive) {
  Case at = case_of(test::small_cnn(3), {1, 1, 8, 8}, 1, 2);
  EXPECT_EQ(refused(at, parse_noise("brightness:0.1"), "taylor").code, ErrorCode::unsupported);
}

}  // namespace
}  // namespace probust
