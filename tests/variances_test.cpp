// SPDX-License-Identifier: MIT
// Variances that estimates rely on, each compared with its closed form or the measured spread. Detects errors of a few percent.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "probust/analysis/geometry/curvature.h"
#include "probust/analysis/scale_process.h"
#include "probust/estimators/estimator.h"
#include "probust/estimators/statistics/pair_statistics.h"
#include "probust/moments/moments.h"
#include "probust/noise/noise.h"
#include "probust/normal/univariate.h"
#include "probust/ops/append.h"
#include "support/known_problems.h"
#include "support/networks.h"

namespace probust {
namespace {

using Floats = std::vector<float>;

std::vector<Tensor> moments_of(const Graph& graph, const Floats& mean, const Floats& variance) {
  const Shape shape{static_cast<std::int64_t>(mean.size())};
  return test::evaluate(propagate_moments(graph).graph, {Tensor(shape, mean), Tensor(shape, variance)});
}

ValueId element(Graph& g, ValueId x, std::int64_t i) { return append(g, Op::slice, {x}, SliceAttributes{{i}, {1}, {1}}); }

// The operator applied to independent x_0 and x_1.
Graph of_two(Op op) {
  Graph g;
  const ValueId x = append_input(g, {2}, Extent::example, "x");
  g.outputs = {append(g, op, {element(g, x, 0), element(g, x, 1)})};
  return g;
}

// Var(x²) = 4 m² v + 2 v².
TEST(Variances, OfASquare) {
  Graph g;
  const ValueId x = append_input(g, {2}, Extent::example, "x");
  g.outputs = {build::multiply(g, x, x)};
  const auto y = moments_of(g, {1.5F, 0}, {0.25F, 2});
  EXPECT_NEAR(y[0].data[0], 1.5 * 1.5 + 0.25, 1e-5);
  EXPECT_NEAR(y[1].data[0], 4 * 2.25 * 0.25 + 2 * 0.0625, 1e-5);
  EXPECT_NEAR(y[0].data[1], 2, 1e-5);
  EXPECT_NEAR(y[1].data[1], 8, 1e-5);
}

// Var(a b) = v_a m_b² + m_a² v_b + v_a v_b.
TEST(Variances, OfAProductOfIndependents) {
  const auto y = moments_of(of_two(Op::multiply), {1.5F, -2}, {0.5F, 0.75F});
  EXPECT_NEAR(y[0].data[0], -3, 1e-5);
  EXPECT_NEAR(y[1].data[0], 0.5 * 4 + 2.25 * 0.75 + 0.5 * 0.75, 1e-5);
}

// 1 / b has the variance v_b / m_b⁴ to first order.
TEST(Variances, OfAQuotientOfIndependents) {
  const auto y = moments_of(of_two(Op::divide), {1.5F, 2}, {0.5F, 0.04F});
  const double inverse = 0.04 / 16;
  EXPECT_NEAR(y[0].data[0], 0.75, 1e-5);
  EXPECT_NEAR(y[1].data[0], 0.5 / 4 + 2.25 * inverse + 0.5 * inverse, 1e-6);
}

TEST(Variances, OfAQuotientWithANoisyDenominatorAgreeWithSampling) {
  const auto y = moments_of(of_two(Op::divide), {3, 2}, {0.01F, 0.01F});
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  double sum = 0, squares = 0;
  constexpr int kSamples = 100000;
  for (int i = 0; i < kSamples; ++i) {
    const double a = 3 + 0.1 * normal(random), ratio = a / (2 + 0.1 * normal(random));
    sum += ratio;
    squares += ratio * ratio;
  }
  const double mean = sum / kSamples;
  EXPECT_NEAR(y[1].data[0] / (squares / kSamples - mean * mean), 1, 0.05);
}

// sum_j (dy_i / dx_j)² v_j, with the derivatives of exp(x_i) / sum exp(x_j) from finite differences.
TEST(Variances, OfSoftmax) {
  const Floats mean{0.5F, -0.25F, 1}, variance{0.3F, 0.2F, 0.1F};
  const auto softmax = [](const std::array<double, 3>& x, std::size_t i) {
    return std::exp(x[i]) / (std::exp(x[0]) + std::exp(x[1]) + std::exp(x[2]));
  };
  for (const Op op : {Op::softmax, Op::log_softmax}) {
    Graph g;
    g.outputs = {append(g, op, {append_input(g, {3}, Extent::example, "x")}, AxisAttribute{0})};
    const auto y = moments_of(g, mean, variance);
    for (std::size_t i = 0; i < 3; ++i) {
      double expected = 0;
      for (std::size_t j = 0; j < 3; ++j) {
        std::array<double, 3> above{mean[0], mean[1], mean[2]}, below = above;
        above[j] += 1e-5;
        below[j] -= 1e-5;
        const double up = softmax(above, i), down = softmax(below, i);
        const double slope = (op == Op::softmax ? up - down : std::log(up) - std::log(down)) / 2e-5;
        expected += slope * slope * variance[j];
      }
      EXPECT_NEAR(y[1].data[i] / expected, 1, 1e-4) << i;
    }
  }
}

// The variance that estimators assume for a noise model must be that of its draws.
TEST(Variances, OfNoiseAreThoseOfItsDraws) {
  constexpr std::int64_t kElements = 16, kLanes = 16384;
  std::vector<std::uint32_t> points(kLanes, 0), samples(kLanes);
  std::iota(samples.begin(), samples.end(), 0);
  struct Case {
    std::shared_ptr<const NoiseShape> shape;
    double variance;
  };
  for (const Case& each : {Case{uniform_noise(), 1 / 3.0}, Case{laplace_noise(), 2}, Case{isotropic_gaussian(), 1}}) {
    Floats x(kElements * kLanes, 0.0F), slope(kElements, 1.0F), variance(kElements, 1.0F);
    each.shape->add({7, points, samples}, kElements, 0.5F, x.data());
    double squares = 0;
    for (const float value : x) squares += double{value} * value;
    EXPECT_NEAR(squares / static_cast<double>(x.size()) / (0.25 * each.variance), 1, 0.02) << each.shape->name();
    const std::array<std::uint32_t, 1> one{0};
    each.shape->variances(one, kElements, variance.data());
    EXPECT_EQ(each.shape->whiten(one, kElements, slope.data()), kElements);
    for (std::size_t e = 0; e < kElements; ++e) {
      EXPECT_NEAR(variance[e], each.variance, 1e-6) << each.shape->name();
      EXPECT_NEAR(slope[e], std::sqrt(each.variance), 1e-6) << each.shape->name();
    }
  }
}

// A curve whose amplitude of variation is unknown is a mixture of the posteriors for 0.1, 0.3, 1 and 3, weighted by their
// likelihoods. Its variance is the mean of their variances plus the variance of their means.
TEST(Variances, OfAMixtureHoldThatBetweenItsParts) {
  const std::array<double, 4> sigmas{0.1, 0.2, 0.4, 0.8};
  Eigen::MatrixXd values(4, 1);
  values << 0.2, 0.1, 0.5, -0.4;
  const Eigen::VectorXd errors = Eigen::VectorXd::Constant(4, 0.05);
  Eigen::VectorXd t(4), mean = Eigen::VectorXd::Zero(4), squares = mean;
  for (Eigen::Index i = 0; i < 4; ++i) t[i] = (static_cast<double>(i) - 1.5) * std::log(2.0);
  double total = 0;
  for (const double wander : {0.1, 0.3, 1.0, 3.0}) {
    Eigen::MatrixXd prior(4, 4);
    for (Eigen::Index i = 0; i < 4; ++i) {
      for (Eigen::Index j = 0; j < 4; ++j)
        prior(i, j) = 4 + 2.25 * t[i] * t[j] + wander * wander * std::exp(-std::pow((t[i] - t[j]) / 0.6, 2) / 2);
    }
    const Eigen::MatrixXd observed = prior + Eigen::MatrixXd(errors.asDiagonal()), gain = prior * observed.inverse();
    const Eigen::VectorXd own = gain * values;
    const double likelihood =
        std::exp(-0.5 * (values.transpose() * observed.inverse() * values)(0, 0)) / std::sqrt(observed.determinant());
    total += likelihood;
    mean += likelihood * own;
    squares += likelihood * Eigen::VectorXd((prior - gain * prior).diagonal() + own.cwiseAbs2());
  }
  mean /= total;
  const ScaleProcess::Posterior posterior = ScaleProcess(sigmas).smooth(values, errors, 1);
  for (Eigen::Index i = 0; i < 4; ++i) {
    EXPECT_NEAR(posterior.mean(i, 0), mean[i], 1e-9) << i;
    EXPECT_NEAR(posterior.variance[i], squares[i] / total - mean[i] * mean[i], 1e-9) << i;
  }
}

// Three pairs of one margin: the even parts 1, 2 and 6, the odd parts 1, 2 and 3.
Pairs three_pairs() {
  Pairs pairs{Eigen::MatrixXd(1, 3), Eigen::MatrixXd(1, 3)};
  pairs.plus << 2, 4, 9;
  pairs.minus << 0, 0, 3;
  return pairs;
}

// The mean of the even parts is estimated, so their variance has h - 1 degrees of freedom. The mean of the odd parts is zero.
TEST(Variances, OfPairsHaveTheirDegreesOfFreedom) {
  const Pairs pairs = three_pairs();
  const PairMoments moments(pairs, 0, 1);
  const MarginMoments normal = moments.moments();
  const double even = (4 + 1 + 9) / 2.0, odd = (1 + 4 + 9) / 3.0;
  EXPECT_NEAR(normal.mean[0], 3, 1e-12);
  EXPECT_NEAR(normal.covariance(0, 0), even + odd, 1e-12);
  EXPECT_NEAR(scores(pairs)[0], 3 / std::sqrt(even + odd), 1e-12);
  EXPECT_NEAR(moments.mean_variance()[0], even / 3, 1e-12);
}

TEST(Variances, OfSomePairsAreThoseOfTheRest) {
  const Pairs pairs = three_pairs();
  const MarginMoments rest = PairMoments(pairs, 0, 1).without(PairMoments(pairs, 1, 3)).moments();
  EXPECT_NEAR(rest.mean[0], 3.5, 1e-12);
  EXPECT_NEAR(rest.covariance(0, 0), 2 * 6.25 + (1 + 9) / 2.0, 1e-12);
}

// Three pairs around a point in a disc: the scatter of the even parts, relative to that of the odd parts, has two degrees of
// freedom.
TEST(Variances, OfCurvatureHaveTheirDegreesOfFreedom) {
  const auto executor = make_executor("cpu", test::ball(2, 1), {}).value();
  const Points points{Tensor({1, 2}, {0.3F, 0.1F}), {0}, {0}, 5};
  const Noise noise{isotropic_gaussian(), 0.5};
  const Pairs pairs = executor->pairs(points, noise, 3).value()[0];
  const Eigen::RowVectorXd even = (pairs.plus.row(0) + pairs.minus.row(0)) / 2,
                           odd = (pairs.plus.row(0) - pairs.minus.row(0)) / 2;
  const double scatter = std::sqrt((even.array() - even.mean()).square().sum() / 2), unit = std::sqrt(odd.squaredNorm() / 3);
  const Curvature bent = curvature(*executor, points, noise, 3).value()[0];
  EXPECT_NEAR(bent.scatter[0], scatter / unit, 1e-6);
  EXPECT_NEAR(bent.shift[0], (even.mean() - (1 - 0.1)) / unit, 1e-5);
}

// f_0 - f_1 = relu(x) - c. Under N(m, s²), the mean of relu(x) is m Phi(m / s) + s phi(m / s), and its gradient is Phi(m / s).
TEST(Variances, AdfTakesTheNoisesOwn) {
  constexpr double m = 0.3, s = 0.8, c = 0.25;
  Graph g;
  const ValueId rectified = append(g, Op::relu, {append_input(g, {1}, Extent::example, "x")});
  g.outputs = {test::two_logits(g, build::subtract(g, rectified, append_constant(g, Tensor({1}, {static_cast<float>(c)}))))};
  const double below = normal::cdf(m / s), mean = m * below + s * normal::pdf(m / s) - c;
  const auto executor = make_executor("cpu", g, {}).value();
  const Points points{Tensor({1, 1}, {static_cast<float>(m)}), {0}, {0}, 0};
  const Tensor logits = executor->logits(points.x).value();
  struct Case {
    std::shared_ptr<const NoiseShape> shape;
    double scale;
  };
  for (const Case& each : {Case{isotropic_gaussian(), s}, Case{uniform_noise(), s * std::sqrt(3.0)}}) {
    Evaluation evaluation(*executor, points, logits);
    const Estimate estimate = probust::estimate(evaluation, {each.shape, each.scale}, parse_estimator("adf")).value()[0];
    EXPECT_NEAR(estimate.p, normal::cdf(mean / (s * below)), 1e-5) << each.shape->name();
  }
}

// The estimates of p_fail by regression:10 over many draws of the noise, for a linear classifier with more rivals than
// gradients.
struct Spread {
  double bias;       // mean of p_fail divided by the truth
  double std_error;  // root mean square of reported errors divided by the actual standard deviation
};

Spread of_regression(std::int64_t classes, std::int64_t draws) {
  constexpr std::int64_t kInputs = 30;
  constexpr double kSigma = 0.7;
  Tensor weights({classes, kInputs}), bias({classes});
  for (std::size_t i = 0; i < weights.data.size(); ++i) {
    const double turn = std::sqrt(2.0) * static_cast<double>(i * i + 1);  // evenly spread over [-1, 1], with any standard library
    weights.data[i] = static_cast<float>(2 * (turn - std::floor(turn)) - 1);
  }
  bias.data[0] = 3.5F;
  const auto executor = make_executor("cpu", test::linear_classifier(weights, bias), {}).value();
  Points points{Tensor({draws, kInputs}), std::vector<std::int64_t>(static_cast<std::size_t>(draws)), {}, 1};
  std::iota(points.index.begin(), points.index.end(), 0);
  points.target.assign(points.index.size(), 0);
  const Tensor logits = executor->logits(points.x).value();
  const Noise noise{isotropic_gaussian(), kSigma};
  Evaluation one_draw(*executor, slice(points, 0, 1), logits), evaluation(*executor, points, logits);
  const double truth = estimate(one_draw, noise, parse_estimator("taylor")).value()[0].p_fail;
  double sum = 0, squares = 0, said = 0;
  for (const Estimate& one : estimate(evaluation, noise, parse_estimator("regression:10")).value()) {
    sum += one.p_fail;
    squares += one.p_fail * one.p_fail;
    said += *one.std_error * *one.std_error;
  }
  const auto n = static_cast<double>(draws);
  const double mean = sum / n;
  return {mean / truth, std::sqrt(said / (squares - n * mean * mean))};
}

// Slopes fitted to three pairs leave residuals that are too small, so their variance is divided by 1 - leverage. The measured
// ratio to the truth is 0.79 (the rest is bias due to few samples); with only the intercept's leverage, it is 0.74, and with
// none, 0.70.
TEST(Variances, OfResidualsAreDividedByOneMinusLeverage) {
  const Spread spread = of_regression(10, 500);
  EXPECT_GT(spread.bias, 0.765);
  EXPECT_LT(spread.bias, 0.85);
}

// The standard error uses leave-one-out residuals: the measured ratio is 1.13, and with plain residuals 0.62.
TEST(Variances, OfLeftOutResidualsAreThoseOfPrediction) {
  const Spread spread = of_regression(6, 200);
  EXPECT_GT(spread.std_error, 0.87);
  EXPECT_LT(spread.std_error, 1.4);
}

}  // namespace
}  // namespace probust
