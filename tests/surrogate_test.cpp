// SPDX-License-Identifier: MIT
// surrogate:N and mc:N:sobol, for noise with few parameters: against exact probabilities of models whose boundaries are known,
// and against quadrature and counting on networks.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "probust/estimators/estimator.h"
#include "probust/estimators/margin_line.h"
#include "probust/estimators/statistics/margin_process.h"
#include "probust/estimators/statistics/sobol.h"
#include "probust/normal/univariate.h"
#include "probust/ops/build.h"
#include "probust/perturb/noise_text.h"
#include "probust/run/run.h"
#include "support/networks.h"
#include "support/small_images.h"

namespace probust {
namespace {

Noise normal_noise(double sigma) { return {isotropic_gaussian(), sigma}; }

// Noise with a perturbation, bound to the model's points.
Noise perturbation(const std::string& text, const Executor& executor) { return bound(parse_noise(text), executor.point_shape()); }

std::vector<Estimate> ask_all(Executor& executor, const Tensor& x, const Noise& noise, const std::string& estimator,
                              std::uint64_t seed = 0, const Event& event = {}) {
  const Tensor logits = executor.logits(x).value();
  Points points{x, {}, predicted_classes(logits), seed};
  for (std::int64_t i = 0; i < x.shape[0]; ++i) points.index.push_back(i);
  Evaluation evaluation(executor, points, logits, event);
  return estimate(evaluation, noise, parse_estimator(estimator)).value();
}

// The estimate at one point of a linear classifier.
Estimate at_one(const Graph& graph, const std::vector<float>& x, const Noise& noise, const std::string& estimator,
                std::uint64_t seed = 0) {
  const auto executor = make_executor("cpu", graph, {}).value();
  return ask_all(*executor, Tensor({1, std::ssize(x)}, x), noise, estimator, seed)[0];
}

// ---- Sobol points

// Among the first 2^m points, each interval of length 2^-m contains one, for every dimension.
TEST(SobolNormals, AreSpreadEvenlyInEveryDimension) {
  const SobolNormals sobol(SobolNormals::kMostDimensions, 7);
  for (std::int64_t d = 0; d < sobol.dimensions(); ++d) {
    for (const int count : {16, 256, 1024}) {
      std::set<int> cells;
      for (int i = 0; i < count; ++i) cells.insert(static_cast<int>(count * normal::cdf(sobol.normal(i, d))));
      EXPECT_EQ(std::ssize(cells), count) << "dimension " << d;
    }
  }
}

// In the first two dimensions, each of the 2^m boxes of volume 2^-m with sides that are powers of two contains one of 2^m points.
TEST(SobolNormals, FillEveryBoxOfTheFirstTwoDimensions) {
  const SobolNormals sobol(2, 3);
  for (int across = 0; across <= 8; ++across) {
    std::set<std::pair<int, int>> boxes;
    for (int i = 0; i < 256; ++i) {
      boxes.insert({static_cast<int>((1 << across) * normal::cdf(sobol.normal(i, 0))),
                    static_cast<int>((256 >> across) * normal::cdf(sobol.normal(i, 1)))});
    }
    EXPECT_EQ(boxes.size(), 256U) << across;
  }
}

// All pairs of dimensions are uncorrelated, and designs with other seeds are other points of the same distribution.
TEST(SobolNormals, AreStandardAndUncorrelated) {
  constexpr int kCount = 4096;
  const SobolNormals sobol(SobolNormals::kMostDimensions, 11), other(1, 12);
  for (std::int64_t a = 0; a < sobol.dimensions(); ++a) {
    for (std::int64_t b = 0; b <= a; ++b) {
      double sum = 0;
      for (int i = 0; i < kCount; ++i) sum += sobol.normal(i, a) * sobol.normal(i, b);
      EXPECT_NEAR(sum / kCount, a == b ? 1 : 0, 0.02) << a << " " << b;
    }
  }
  int equal = 0;
  for (int i = 0; i < kCount; ++i) equal += sobol.normal(i, 0) == other.normal(i, 0) ? 1 : 0;
  EXPECT_EQ(equal, 0);
}

// The mean over many seeds is that of independent draws.
TEST(SobolNormals, EachPointIsANormalDraw) {
  double sum = 0, squares = 0;
  constexpr int kSeeds = 4000;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const double w = SobolNormals(3, seed).normal(5, 2);
    sum += w;
    squares += w * w;
  }
  EXPECT_NEAR(sum / kSeeds, 0, 4 / std::sqrt(kSeeds));
  EXPECT_NEAR(squares / kSeeds, 1, 4 * std::sqrt(2.0 / kSeeds));
}

// ---- counting

TEST(SobolCounting, HasSmallerErrorsThanIndependentDraws) {
  const Graph graph = test::linear_classifier(Tensor({2, 2}, {1, 2, 0, 0}), Tensor({2}, {0.5F, 0}));
  const double exact = normal::cdf(0.5 / std::sqrt(5.0) / 0.4);
  double independent = 0, spread = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    independent += std::fabs(at_one(graph, {0, 0}, normal_noise(0.4), "mc:64", seed).p - exact);
    const Estimate estimate = at_one(graph, {0, 0}, normal_noise(0.4), "mc:64:sobol", seed);
    spread += std::fabs(estimate.p - exact);
    EXPECT_LE(*estimate.ci_low, exact);
    EXPECT_GE(*estimate.ci_high, exact);
    EXPECT_EQ(estimate.forwards, 64);
  }
  EXPECT_LT(spread, 0.6 * independent);
}

// The parameters of a perturbation are spread, and the noise of the pixels is drawn.
TEST(SobolCounting, CombinesPerturbationsWithNoiseOnPixels) {
  const auto executor = make_executor("cpu", test::small_cnn(), {.threads = 2}).value();
  const Tensor x = test::some_images(4);
  for (const char* text :
       {"rotate:20+gaussian:0.1", "gaussian:0.1+rotate:20", "rotate:20+shift:1+zoom:0.1+shear:0.1+gaussian:0.05"}) {
    const Noise noise = perturbation(text, *executor);
    const auto spread = ask_all(*executor, x, noise, "mc:4000:sobol", 1), plain = ask_all(*executor, x, noise, "mc:4000", 2);
    for (std::size_t i = 0; i < spread.size(); ++i)
      EXPECT_NEAR(spread[i].p, plain[i].p, 5 * std::sqrt(0.5 * (0.05 + plain[i].p * plain[i].p_fail) / 4000)) << text;
  }
}

TEST(SobolCounting, SupportsEveryEvent) {
  const auto executor = make_executor("cpu", test::small_cnn(), {.threads = 2}).value();
  const Tensor x = test::some_images(3);
  const Noise noise = perturbation("rotate:30", *executor);
  for (const Event& event : {Event{{}, true, 1}, Event{{}, false, 2}, Event{{0, 0, 1, 1}, false, 1}}) {
    const auto spread = ask_all(*executor, x, noise, "mc:2000:sobol", 1, event),
               plain = ask_all(*executor, x, noise, "mc:2000", 2, event);
    for (std::size_t i = 0; i < spread.size(); ++i) {
      EXPECT_NEAR(spread[i].p, plain[i].p, 0.06);
      ASSERT_EQ(spread[i].classes.size(), plain[i].classes.size());
      for (std::size_t c = 0; c < plain[i].classes.size(); ++c) EXPECT_NEAR(spread[i].classes[c], plain[i].classes[c], 0.06);
    }
  }
}

TEST(SobolCounting, RefusesNoiseThatIsNotAFunctionOfNormals) {
  const auto executor = make_executor("cpu", test::small_cnn(), {}).value();
  const Tensor x = test::some_images(1);
  const Tensor logits = executor->logits(x).value();
  Evaluation evaluation(*executor, Points{x, {0}, {0}, 0}, logits);
  for (const char* estimator : {"mc:20:sobol", "surrogate:20"}) {
    const auto refused = estimate(evaluation, perturbation("shot:50", *executor), parse_estimator(estimator));
    ASSERT_FALSE(static_cast<bool>(refused)) << estimator;
    EXPECT_EQ(refused.error().code, ErrorCode::usage);
    EXPECT_NE(refused.error().message().find("needs noise that is a function of normal variables"), std::string::npos);
  }
}

// ---- one parameter

MarginLine line_of(const std::function<std::vector<float>(double)>& margins, int nodes) {
  MarginLine line;
  for (const double t : {0.0, -0.8, 0.8, -1.7, 1.7, -3.0, 3.0}) line.add(t, margins(t));
  while (line.nodes() < nodes) {
    const double t = line.next_node().t;
    line.add(t, margins(t));
  }
  return line;
}

TEST(MarginLine, FindsTheBoundariesOfKnownRegions) {
  struct Case {
    std::function<std::vector<float>(double)> margins;
    double p;
  };
  const std::vector<Case> cases = {
      {[](double t) { return std::vector<float>{static_cast<float>(1.3 - t)}; }, normal::cdf(1.3)},
      {[](double t) { return std::vector<float>{static_cast<float>(1 - t * t)}; }, normal::interval(-1, 1)},
      {[](double t) {
         return std::vector<float>{static_cast<float>(1 - t), static_cast<float>(2 + t)};
       },
       normal::interval(-2, 1)},
      {[](double t) { return std::vector<float>{static_cast<float>(std::exp(t) - 0.5)}; }, normal::complement(std::log(0.5))},
      {[](double t) { return std::vector<float>{static_cast<float>(std::cos(3 * t) + 0.2)}; }, NAN},
  };
  for (const Case& each : cases) {
    double exact = each.p;
    if (std::isnan(exact)) {
      exact = 0;
      for (int k = -80000; k < 80000; ++k) {
        if (each.margins((k + 0.5) * 1e-4)[0] > 0) exact += normal::interval(k * 1e-4, (k + 1) * 1e-4);
      }
    }
    const Estimate few = line_of(each.margins, 20).estimate(), many = line_of(each.margins, 60).estimate();
    EXPECT_NEAR(few.p, exact, 0.01);
    EXPECT_NEAR(many.p, exact, 1e-3);
    EXPECT_NEAR(many.p + many.p_fail, 1, 1e-12);
    EXPECT_LE(*few.ci_low, exact + 1e-9);
    EXPECT_GE(*few.ci_high, exact - 1e-9);
    EXPECT_LT(*many.ci_high - *many.ci_low, 0.3 * (*few.ci_high - *few.ci_low));
  }
}

TEST(MarginLine, FindsRareFailuresBeyondTheFirstNodes) {
  for (const double boundary : {2.5, 3.5, 4.5, 5.5}) {
    const auto margins = [&](double t) { return std::vector<float>{static_cast<float>(boundary - t + 0.1 * std::sin(t))}; };
    double root = boundary;
    for (int k = 0; k < 50; ++k) root = boundary + 0.1 * std::sin(root);
    const double exact = normal::complement(root), found = line_of(margins, 50).estimate().p_fail;
    EXPECT_NEAR(std::log10(found / exact), 0, 0.02) << boundary;
  }
}

TEST(Surrogate, IsAccurateForOneParameter) {
  const auto executor = make_executor("cpu", test::small_cnn(), {.threads = 2}).value();
  const Tensor x = test::smooth_images(8, 3);
  for (const char* text : {"rotate:20", "brightness:0.3", "rotate:uniform(-40,40)", "zoom:0.2"}) {
    const Noise noise = perturbation(text, *executor);
    const auto exact = ask_all(*executor, x, noise, "quadrature:1000"), found = ask_all(*executor, x, noise, "surrogate:60");
    for (std::size_t i = 0; i < exact.size(); ++i) {
      EXPECT_NEAR(found[i].p, exact[i].p, 3e-3) << text << " " << i;
      EXPECT_EQ(found[i].forwards, 60);
    }
  }
}

// ---- two to six parameters

TEST(MarginProcess, InterpolatesAndIsCertainAtItsNodes) {
  const SobolNormals sobol(2, 1);
  Eigen::MatrixXd nodes(20, 2);
  for (int i = 0; i < 20; ++i) nodes.row(i) << sobol.normal(i, 0), sobol.normal(i, 1);
  Eigen::MatrixXd values(20, 2);
  values.col(0) = (2 * nodes.col(0) - nodes.col(1)).array() + 1;
  values.col(1) = nodes.col(0).array().sin() * nodes.col(1).array();
  const Curves curves{nodes, values};
  const ProcessScales scales = fit_scales({&curves, 1}, 1, nullptr);
  ProcessPosterior posterior(scales, nodes);
  for (int i = 0; i < 20; ++i) posterior.add(nodes.row(i));
  const auto coefficients = posterior.coefficients(values);
  std::vector<float> means(40);
  posterior.means(coefficients, 20, means.data());
  const std::vector<float> variances = posterior.variances();
  for (int i = 0; i < 20; ++i) {
    EXPECT_NEAR(means[i], values(i, 0), 0.03);
    EXPECT_NEAR(means[20 + i], values(i, 1), 0.03);
    EXPECT_LT(variances[i], 1e-3);
  }
}

// The gradient of the likelihood leads to a maximum: scales of smooth curves are longer than those of rough ones.
TEST(MarginProcess, FitsLongerLengthsToSmootherCurves) {
  const SobolNormals sobol(2, 5);
  Eigen::MatrixXd nodes(50, 2);
  for (int i = 0; i < 50; ++i) nodes.row(i) << sobol.normal(i, 0), sobol.normal(i, 1);
  Eigen::MatrixXd values(50, 3);
  for (int c = 0; c < 3; ++c) values.col(c) = (5 * nodes.col(0).array() + c).sin() + (0.5 * nodes.col(1).array() + c).sin();
  const Curves curves{nodes, values};
  const ProcessScales scales = fit_scales({&curves, 1}, 2, nullptr);
  EXPECT_LT(scales.lengths[0], 1);
  EXPECT_GT(scales.lengths[1], 2 * scales.lengths[0]);
}

// Linear margins, whose p is a normal orthant probability.
TEST(Surrogate, IsAccurateOnLinearModels) {
  for (const std::int64_t k : {2, 3, 4, 6}) {
    Tensor W({4, k}), b({4}, {1.5F, 0, 0.2F, 0.4F});
    for (std::size_t j = 0; j < W.data.size(); ++j) W.data[j] = std::sin(1.7F * static_cast<float>(j) + 0.3F);
    const Graph graph = test::linear_classifier(W, b);
    const std::vector<float> x(static_cast<std::size_t>(k), 0.1F);
    const Estimate exact = at_one(graph, x, normal_noise(0.7), "taylor");
    for (const int count : {25, 60}) {
      double error = 0;
      int covered = 0;
      for (std::uint64_t seed = 0; seed < 8; ++seed) {
        const Estimate found = at_one(graph, x, normal_noise(0.7), "surrogate:" + std::to_string(count), seed);
        error += std::fabs(found.p - exact.p) / 8;
        covered += *found.ci_low <= exact.p && exact.p <= *found.ci_high ? 1 : 0;
      }
      EXPECT_GE(covered, 6) << k << " parameters, " << count;
      EXPECT_LT(error, 0.012) << k << " parameters, " << count;
    }
  }
}

TEST(Surrogate, FindsRareFailuresOfTwoParameters) {
  const Graph graph = test::linear_classifier(Tensor({2, 2}, {1, 2, 0, 0}), Tensor({2}));
  for (const double z : {2.5, 3.5, 4.5}) {
    const auto x = static_cast<float>(z * std::sqrt(5.0));
    const Estimate found = at_one(graph, {x, 0}, normal_noise(1), "surrogate:50");
    EXPECT_NEAR(std::log10(found.p_fail / normal::complement(z)), 0, 0.1) << z;
    EXPECT_LE(1 - *found.ci_high, 1.05 * normal::complement(z));
    EXPECT_GE(1 - *found.ci_low, 0.8 * normal::complement(z));
  }
}

TEST(Surrogate, IntervalsCoverOnANetwork) {
  const auto executor = make_executor("cpu", test::small_cnn(), {.threads = 2}).value();
  const Tensor x = test::smooth_images(20, 4);
  for (const char* text : {"rotate:20+zoom:0.1", "rotate:15+shift:1", "rotate:15+shift:1+brightness:0.1"}) {
    const Noise noise = perturbation(text, *executor);
    const auto exact = ask_all(*executor, x, noise, "mc:20000:sobol");
    for (const int count : {16, 50}) {
      int covered = 0;
      double error = 0, binomial = 0;
      for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        const auto found = ask_all(*executor, x, noise, "surrogate:" + std::to_string(count), seed);
        for (std::size_t i = 0; i < exact.size(); ++i) {
          covered += *found[i].ci_low <= exact[i].p + 2e-3 && exact[i].p <= *found[i].ci_high + 2e-3 ? 1 : 0;
          error += std::fabs(found[i].p - exact[i].p);
          binomial += 0.8 * std::sqrt(exact[i].p * exact[i].p_fail / count);
        }
      }
      EXPECT_GE(covered, 56) << text << ", " << count;
      EXPECT_LT(error, 0.75 * binomial) << text << ", " << count;
    }
  }
}

// ---- what it must not depend on, and corners

TEST(Surrogate, IsTheSameForAnyThreadsMemoryAndSteps) {
  const Tensor x = test::some_images(20);
  const auto one = make_executor("cpu", test::small_cnn(), {.threads = 1}).value();
  const auto three = make_executor("cpu", test::small_cnn(), {.threads = 3, .memory = 48 << 20, .batch = 5}).value();
  for (const char* text : {"rotate:20", "rotate:20+zoom:0.1"}) {
    for (const char* estimator : {"surrogate:12", "surrogate:50", "mc:30:sobol"}) {
      const Noise noise = perturbation(text, *one);
      const auto expected = ask_all(*one, x, noise, estimator), again = ask_all(*three, x, noise, estimator);
      EstimateRequest request;
      request.x = x;
      request.noises = {noise};
      request.estimators = {parse_estimator(estimator)};
      EstimateRun run(*one, std::move(request));
      while (!run.step(0)) {
      }
      for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(again[i].p, expected[i].p) << text << " " << estimator;
        EXPECT_EQ(again[i].ci_low, expected[i].ci_low) << text << " " << estimator;
        EXPECT_EQ(run.rows()[i].estimate.p, expected[i].p) << text << " " << estimator;
      }
    }
  }
}

TEST(Surrogate, GivesTheProbabilityOfTheLabelFromTheSamePasses) {
  const auto executor = make_executor("cpu", test::small_cnn(), {.threads = 2}).value();
  const Tensor x = test::smooth_images(6, 3);
  const Tensor logits = executor->logits(x).value();
  for (const char* text : {"rotate:40", "rotate:40+zoom:0.2"}) {
    Points points{x, {0, 1, 2, 3, 4, 5}, predicted_classes(logits), 0};
    for (const std::int64_t target : points.target) points.label.push_back((target + 1) % 4);
    const Noise noise = perturbation(text, *executor);
    Evaluation evaluation(*executor, points, logits);
    const auto found = estimate(evaluation, noise, parse_estimator("surrogate:40")).value(),
               counted = estimate(evaluation, noise, parse_estimator("mc:4000:sobol")).value();
    for (std::size_t i = 0; i < found.size(); ++i) {
      ASSERT_TRUE(found[i].p_label);
      EXPECT_NEAR(*found[i].p_label, *counted[i].p_label, 0.05) << text;
    }
  }
}

// Logits that are infinite or NaN at some nodes: no margins to interpolate, so samples are counted.
TEST(Surrogate, CountsIfMarginsAreNotFinite) {
  Graph g;
  const ValueId x = append_input(g, {2}, Extent::example, "x");
  // sqrt of a sum that is negative for some samples: NaN, so that the target does not survive.
  const ValueId sum = build::reduce_sum(g, x, {0});
  const ValueId root = append(g, Op::sqrt, {sum});
  g.outputs = {append(g, Op::concat, {root, append_constant(g, Tensor({1}, {0}))}, AxisAttribute{0})};
  check(g);
  const double exact = normal::cdf(1 / (0.7 * std::sqrt(2.0)));
  for (const char* estimator : {"surrogate:40", "surrogate:60"}) {
    const Estimate found = at_one(g, {0.5F, 0.5F}, normal_noise(0.7), estimator);
    EXPECT_NEAR(found.p, exact, 0.15) << estimator;
    EXPECT_LE(*found.ci_low, exact);
    EXPECT_GE(*found.ci_high, exact);
  }
}

TEST(Surrogate, ConstantMarginsAreCertain) {
  const Graph graph = test::linear_classifier(Tensor({3, 2}), Tensor({3}, {1, 0, 0}));
  for (const char* estimator : {"surrogate:10", "surrogate:60"}) {
    const Estimate found = at_one(graph, {0, 0}, normal_noise(1), estimator);
    EXPECT_EQ(found.p, 1) << estimator;
    EXPECT_TRUE(std::isfinite(*found.ci_low));
  }
}

// All 299 rivals are equally close, in different directions, so those that are not modelled one by one matter as well.
TEST(Surrogate, IncludesAllOfManyClasses) {
  constexpr std::int64_t kClasses = 300, kParameters = 6;
  std::mt19937 random(1);
  Tensor W = test::random_tensor({kClasses, kParameters}, random), b({kClasses});
  std::fill_n(W.data.begin(), kParameters, 0.0F);
  b.data[0] = 2;
  const Graph graph = test::linear_classifier(W, b);
  const std::vector<float> x(kParameters, 0.0F);
  const Estimate exact = at_one(graph, x, normal_noise(0.6), "mc:20000:sobol");
  EXPECT_NEAR(at_one(graph, x, normal_noise(0.6), "surrogate:100").p, exact.p, 0.06);
}

TEST(Surrogate, RefusesTooManyNormalsAndNodes) {
  const auto executor = make_executor("cpu", test::small_cnn(), {}).value();
  const Tensor x = test::some_images(1);
  const Tensor logits = executor->logits(x).value();
  Evaluation evaluation(*executor, Points{x, {0}, {0}, 0}, logits);
  const auto many = estimate(evaluation, normal_noise(0.1), parse_estimator("surrogate:20"));
  ASSERT_FALSE(static_cast<bool>(many));
  EXPECT_NE(many.error().message().find("at most 6 normal variables, not"), std::string::npos);
  const auto nodes = estimate(evaluation, perturbation("rotate:5", *executor), parse_estimator("surrogate:501"));
  ASSERT_FALSE(static_cast<bool>(nodes));
  EXPECT_NE(nodes.error().message().find("give at most 500"), std::string::npos);
}

// ---- auto

TEST(AutoForPerturbations, TakesASurrogateForFewParametersAndCountsOtherwise) {
  const auto executor = make_executor("cpu", test::small_cnn(), {.threads = 2}).value();
  const Tensor x = test::some_images(2);
  const auto method = [&](const std::string& noise, const std::string& estimator, const Event& event = {}) {
    return ask_all(*executor, x, perturbation(noise, *executor), estimator, 0, event)[0].method->text();
  };
  EXPECT_EQ(method("rotate:10", "auto:40"), "surrogate:40");
  EXPECT_EQ(method("rotate:10", "auto:5000"), "surrogate:100");
  EXPECT_EQ(method("rotate:10+shift:1", "auto:100"), "surrogate:100");
  EXPECT_EQ(method("rotate:10+shift:1+zoom:0.1+shear:0.1+brightness:0.1", "auto:30"), "surrogate:30");
  EXPECT_EQ(method("rotate:10+shift:1+zoom:0.1+shear:0.1+brightness:0.1", "auto:2000"), "mc:2000:sobol");
  EXPECT_EQ(method("rotate:10+shift:1+zoom:0.1+shear:0.1+brightness:0.1+contrast:0.1", "auto:30"), "mc:30:sobol");
  EXPECT_EQ(method("rotate:10+gaussian:0.1", "auto:30"), "mc:30:sobol");
  EXPECT_EQ(method("jpeg:uniform(20,80)", "auto:30"), "mc:30:sobol");
  EXPECT_EQ(method("rotate:10", "auto:30", {{}, false, 2}), "mc:30:sobol");
  EXPECT_EQ(method("rotate:10+shift:1", "auto:30:independent"), "mc:30:sobol");
  EXPECT_EQ(method("rotate:10", "auto:30:independent"), "surrogate:30");
  EXPECT_EQ(method("gaussian:0.1", "auto:30").substr(0, 6), "probit");
}

// The option `share` is for other estimators, but intervals of means must treat designs like shared draws.
TEST(Surrogate, SharesDesignsWhateverTheOptionShareSays) {
  EXPECT_TRUE(shares_noise("surrogate:20"));
  for (const auto share : {EstimatorDefinition::Share::none, EstimatorDefinition::Share::draws})
    EXPECT_FALSE(with_share(parse_estimator("surrogate:20"), share)) << static_cast<int>(share);
}

}  // namespace
}  // namespace probust
