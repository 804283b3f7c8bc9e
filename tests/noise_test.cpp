// SPDX-License-Identifier: MIT
// Noise is a function of (seed, point, sample, element) only, and it is normal.
#include "probust/noise/noise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "probust/base/error.h"
#include "probust/base/philox.h"
#include "probust/estimators/estimator.h"
#include "probust/perturb/noise_text.h"
#include "support/networks.h"

namespace probust {
namespace {

std::vector<float> draw(std::uint64_t seed, const std::vector<std::uint32_t>& points, const std::vector<std::uint32_t>& samples,
                        std::int64_t elements, float scale = 1) {
  std::vector<float> x(points.size() * elements, 0.0F);
  isotropic_gaussian()->add({seed, points, samples}, elements, scale, x.data());
  return x;
}

// Known answers from the Random123 distribution of the authors (kat_vectors).
TEST(Noise, PhiloxGivesTheKnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Noise, ALaneDoesNotDependOnTheOthers) {
  std::vector<std::uint32_t> points, samples;
  for (std::uint32_t i = 0; i < 200; ++i) {
    points.push_back(i / 50);
    samples.push_back(i % 50);
  }
  const auto all = draw(42, points, samples, 11);
  for (const std::size_t lane : {0UL, 17UL, 63UL, 64UL, 199UL}) {
    const auto alone = draw(42, {points[lane]}, {samples[lane]}, 11);
    for (std::size_t e = 0; e < 11; ++e) EXPECT_EQ(alone[e], all[e * 200 + lane]);
  }
  EXPECT_NE(draw(43, {0}, {0}, 11), draw(42, {0}, {0}, 11));
  EXPECT_NE(draw(42, {1}, {0}, 11), draw(42, {0}, {0}, 11));
  EXPECT_NE(draw(42, {0}, {1}, 11), draw(42, {0}, {0}, 11));
}

// Recorded values, which are the same on every compiler and target.
TEST(Noise, TheBitsAreFixed) {
  const auto x = draw(7, {3}, {5}, 8);
  std::uint64_t hash = 1469598103934665603ULL;
  for (const float value : x) {
    hash ^= __builtin_bit_cast(std::uint32_t, value);
    hash *= 1099511628211ULL;
  }
  EXPECT_EQ(hash, 12552180982160729946ULL) << std::hexfloat << x[0] << " " << x[1];
}

TEST(Noise, MomentsAndDistributionAreNormal) {
  const std::int64_t n = 4000, d = 250;
  std::vector<std::uint32_t> points(n, 0), samples(n);
  for (std::int64_t i = 0; i < n; ++i) samples[i] = static_cast<std::uint32_t>(i);
  std::vector<float> x = draw(1, points, samples, d);
  double mean = 0, variance = 0, skewness = 0, kurtosis = 0, neighbours = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    mean += x[i];
    variance += double{x[i]} * x[i];
    skewness += std::pow(double{x[i]}, 3);
    kurtosis += std::pow(double{x[i]}, 4);
    if (i + n < x.size()) neighbours += double{x[i]} * x[i + n];  // elements e and e + 1 of one sample
  }
  const double count = static_cast<double>(x.size()), tolerance = 4 / std::sqrt(count);
  EXPECT_NEAR(mean / count, 0, tolerance);
  EXPECT_NEAR(variance / count, 1, tolerance * std::sqrt(2.0));
  EXPECT_NEAR(skewness / count, 0, tolerance * std::sqrt(15.0));
  EXPECT_NEAR(kurtosis / count, 3, tolerance * std::sqrt(96.0));
  EXPECT_NEAR(neighbours / count, 0, tolerance);
  // Kolmogorov-Smirnov: the largest distance to the normal CDF is below its 99.9% quantile.
  std::sort(x.begin(), x.end());
  double gap = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double cdf = 0.5 * std::erfc(-double{x[i]} / std::sqrt(2.0));
    gap = std::max({gap, std::fabs(cdf - static_cast<double>(i) / count), std::fabs(cdf - static_cast<double>(i + 1) / count)});
  }
  EXPECT_LT(gap, 1.95 / std::sqrt(count));
}

TEST(Noise, ItIsAddedAtItsScale) {
  std::vector<float> x = {10, 20};
  const auto z = draw(3, {0}, {0}, 2);
  isotropic_gaussian()->add({3, std::vector<std::uint32_t>{0}, std::vector<std::uint32_t>{0}}, 2, 0.5F, x.data());
  EXPECT_FLOAT_EQ(x[0], 10 + 0.5F * z[0]);
  EXPECT_FLOAT_EQ(x[1], 20 + 0.5F * z[1]);
}

// Samples of point `point` as rows of elements: noisy samples of x = 0 (or of `start`).
std::vector<std::vector<double>> samples_of(const NoiseShape& shape, std::int64_t elements, std::int64_t count,
                                            std::uint32_t point = 0, double scale = 1, const std::vector<float>& start = {}) {
  std::vector<std::uint32_t> points(static_cast<std::size_t>(count), point), samples(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) samples[i] = static_cast<std::uint32_t>(i);
  std::vector<float> x(static_cast<std::size_t>(count * elements), 0.0F);
  for (std::int64_t e = 0; e < elements && !start.empty(); ++e) std::fill_n(x.begin() + e * count, count, start[e]);
  shape.add({11, points, samples}, elements, static_cast<float>(scale), x.data());
  std::vector<std::vector<double>> rows(static_cast<std::size_t>(elements));
  for (std::int64_t e = 0; e < elements; ++e) rows[e].assign(x.begin() + e * count, x.begin() + (e + 1) * count);
  return rows;
}

double mean_product(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum / static_cast<double>(a.size());
}

// The covariance implied by `whiten`: the Gram matrix of whitened unit gradients.
Eigen::MatrixXd described(const NoiseShape& shape, std::int64_t elements, std::uint32_t point = 0) {
  const std::vector<std::uint32_t> points(static_cast<std::size_t>(elements), point);
  Eigen::Matrix<float, -1, -1, Eigen::RowMajor> u =
      Eigen::Matrix<float, -1, -1, Eigen::RowMajor>::Identity(elements, elements);  // [elements][lanes]
  const std::int64_t rank = shape.whiten(points, elements, u.data());
  EXPECT_TRUE(u.bottomRows(elements - rank).isZero(0));
  return (u.transpose() * u).cast<double>();
}

// Correlated noise of three elements, and two points with their own covariances.
const NoiseArray kCovariance{{3, 3}, {1, 0.5, 0, 0.5, 2, -0.3, 0, -0.3, 0.5}, "C"};
const NoiseArray kFactor{{3, 2}, {1, 0, 0.5, 0.5, -1, 2}, "F"};
const NoiseArray kRecords{{2, 3}, {1, 0.5, -2, -1, -0.5, 2}, "R"};  // fewer records than elements; below, more
const NoiseArray kMoreRecords{{5, 3}, {1, 0, 0, -1, 0, 0, 0, 2, 1, 0, -2, 1, 0, 0, -2}, "R"};
const NoiseArray kRecordsPerPoint{{2, 2, 3}, {1, 0, 1, -1, 0, -1, 0, 3, 0, 0, -3, 0}, "R"};
const NoiseArray kPerPoint{{2, 3, 3}, {1, 0, 0, 0, 1, 0, 0, 0, 1, 4, 2, 0, 2, 1, 0, 0, 0, 0}, "N"};

struct NamedShape {
  std::string name;
  std::shared_ptr<const NoiseShape> shape;
};

std::vector<NamedShape> models_on_three() {
  return {
      {"gaussian", isotropic_gaussian()},
      {"uniform", uniform_noise()},
      {"laplace", laplace_noise()},
      {"std", diagonal_gaussian({{3}, {0.5, 0, 2}, "S"}, "std")},
      {"cov", covariance_gaussian(kCovariance, "cov")},
      {"factor", factor_gaussian(kFactor, "factor")},
      {"per point", covariance_gaussian(kPerPoint, "per")},
      {"columns", on_columns(covariance_gaussian({{2, 2}, {1, 0.9, 0.9, 1}, "C"}, "cov"), {{0, 2}})},
      {"mixture", mixture({{{isotropic_gaussian(), 0.5}, {{1}}}, {{uniform_noise(), 2}, {{1}, true}}})},
      {"two gaussians", mixture({{{isotropic_gaussian(), 1}, {{1}}}, {{isotropic_gaussian(), 1}, {{0}}}})},
      {"student", student_noise(12)},
      {"ball", ball_noise()},
      {"per root", per_root_of_elements(uniform_noise())},
      {"field", field_noise(2)},
      {"field of pairs", mixture({{{field_noise(2), 1}, {{0, 2}}}})->bound({3})},
      {"of the data", data_covariance(false)->with_data(Tensor({4, 3}, {1, 2, 3, 2, 0, 1, 4, 1, 0, 0, 0, 2}))},
  };
}

// Also includes recorded deviations and a sphere in few dimensions, which are far from Gaussian.
std::vector<NamedShape> all_on_three() {
  std::vector<NamedShape> all = models_on_three();
  all.push_back({"records", recorded_noise(kRecords, "records")});
  all.push_back({"sphere", sphere_noise()});
  all.push_back({"more records", recorded_noise(kMoreRecords, "records")});
  all.push_back({"records per point", recorded_noise(kRecordsPerPoint, "records")});
  return all;
}

// Draws, whitening and variances of a model agree on the covariance.
TEST(Noise, DrawsHaveTheCovarianceThatWhiteningDescribes) {
  const std::int64_t n = 40000;
  for (const auto& [name, shape] : all_on_three()) {
    for (const std::uint32_t point : {0U, 1U}) {
      const auto x = samples_of(*shape, 3, n, point);
      const Eigen::MatrixXd expected = described(*shape, 3, point);
      std::vector<float> variance(3, 1.0F);
      shape->variances(std::vector<std::uint32_t>{point}, 3, variance.data());
      for (int i = 0; i < 3; ++i) {
        EXPECT_NEAR(mean_product(x[i], std::vector<double>(x[i].size(), 1)), 0, 0.04) << name;
        EXPECT_NEAR(variance[i], expected(i, i), 1e-5) << name;
        for (int j = 0; j < 3; ++j)
          EXPECT_NEAR(mean_product(x[i], x[j]), expected(i, j), 0.03 * (1 + 2 * std::fabs(expected(i, j)))) << name << i << j;
      }
    }
  }
}

TEST(Noise, WhiteningRestoresTheGivenCovariance) {
  const Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>> c(kCovariance.values.data());
  EXPECT_TRUE(described(*covariance_gaussian(kCovariance, ""), 3).isApprox(c, 1e-6));
  const Eigen::Map<const Eigen::Matrix<double, 3, 2, Eigen::RowMajor>> f(kFactor.values.data());
  EXPECT_TRUE(described(*factor_gaussian(kFactor, ""), 3).isApprox(f * f.transpose(), 1e-6));
  EXPECT_NEAR(described(*covariance_gaussian(kPerPoint, ""), 3, 1)(0, 1), 2, 1e-6);
  EXPECT_NEAR(described(*covariance_gaussian(kPerPoint, ""), 3, 0)(0, 1), 0, 0);
}

TEST(Noise, FourthMomentsTellTheDistributions) {
  const auto fourth = [](const NoiseShape& shape) {
    const auto x = samples_of(shape, 1, 200000)[0];
    double sum = 0;
    for (const double value : x) sum += std::pow(value, 4);
    return sum / static_cast<double>(x.size());
  };
  EXPECT_NEAR(fourth(*uniform_noise()), 0.2, 0.003);
  EXPECT_NEAR(fourth(*laplace_noise()), 24, 1.5);
  EXPECT_NEAR(fourth(*isotropic_gaussian()), 3, 0.1);
  const auto x = samples_of(*uniform_noise(), 1, 200000)[0];
  EXPECT_LE(*std::max_element(x.begin(), x.end()), 1);
  EXPECT_GT(*std::max_element(x.begin(), x.end()), 0.999);
}

TEST(Noise, FrozenColumnsStayAndPartsDoNotShareDraws) {
  const auto x = samples_of(*on_columns(isotropic_gaussian(), {{1}}), 3, 10, 0, 1, {7, 8, 9});
  EXPECT_EQ(x[0], std::vector<double>(10, 7));
  EXPECT_EQ(x[2], std::vector<double>(10, 9));
  EXPECT_NE(x[1], std::vector<double>(10, 8));
  const auto both = samples_of(*mixture({{{isotropic_gaussian(), 1}, {{0}}}, {{isotropic_gaussian(), 1}, {{1}}}}), 2, 10);
  EXPECT_NE(both[0], both[1]);
}

TEST(Noise, CategoriesChangeAccordingToTheirMatrix) {
  const auto shape = categorical_noise({{{0, 2, 3}, {0.5, 0.2, 0.3, 0, 1, 0, 0.1, 0.1, 0.8}}}, "J");
  const auto x = samples_of(*shape, 4, 20000, 0, 1, {1, 42, 0, 0});
  const std::vector<double> ones(20000, 1);
  EXPECT_NEAR(mean_product(x[0], ones), 0.5, 0.015);
  EXPECT_NEAR(mean_product(x[2], ones), 0.2, 0.015);
  EXPECT_NEAR(mean_product(x[3], ones), 0.3, 0.015);
  EXPECT_EQ(x[1], std::vector<double>(20000, 42));
  EXPECT_EQ(samples_of(*shape, 4, 100, 0, 1, {0, 42, 1, 0})[2], std::vector<double>(100, 1));  // row (0, 1, 0)
}

std::string refusal(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

TEST(Noise, RecordedDeviationsAreDrawnUniformlyAndWhole) {
  const auto x = samples_of(*recorded_noise({{3, 2}, {1, 10, 2, 20, 4, 40}, "R"}, "records"), 2, 9000, 0, 0.5);
  for (const double value : {0.5, 1.0, 2.0})
    EXPECT_NEAR(static_cast<double>(std::count(x[0].begin(), x[0].end(), value)), 3000, 200) << value;
  for (std::size_t i = 0; i < x[0].size(); ++i) EXPECT_EQ(x[1][i], 10 * x[0][i]);
  const auto second = samples_of(*recorded_noise(kRecordsPerPoint, "records"), 3, 10, 1);
  EXPECT_EQ(second[0], std::vector<double>(10, 0));
  EXPECT_EQ(std::fabs(second[1][4]), 3);
  // The opposite sign selects other records, but does not change the deviations.
  EXPECT_EQ(samples_of(*recorded_noise({{1, 1}, {7}, "R"}, "records"), 1, 5, 0, -2)[0], std::vector<double>(5, 14));
}

TEST(Noise, RecordsThatDoNotFitAreRefused) {
  const auto refused = [](Shape shape, std::vector<double> values) {
    return refusal([&] { recorded_noise({shape, values, "bad.npy"}, "records"); });
  };
  EXPECT_EQ(refused({2}, {1, 2}), "bad.npy has shape [2]; give deviations [M, d], or [N, M, d] with a set for each point");
  EXPECT_NE(refused({0, 2}, {}), "");
  EXPECT_NE(refused({2, 0}, {}), "");
  EXPECT_NE(refused({1, 1}, {NAN}).find("non-finite"), std::string::npos);
  EXPECT_NE(refused({1, 1}, {1e300}).find("non-finite"), std::string::npos);
  EXPECT_NE(refusal([] { recorded_noise(kRecords, "records")->fit(4, 1); }), "");
  EXPECT_NE(refusal([] { recorded_noise(kRecordsPerPoint, "records")->fit(3, 3); }), "");
}

TEST(Noise, ClippedAndRoundedSamplesAreInRangeAndOnTheGrid) {
  const auto x = samples_of(*clipped(isotropic_gaussian(), {0, 1, 256}), 2, 2000, 0, 0.5, {0.5F, 0});
  for (const auto& row : x) {
    for (const double value : row) {
      EXPECT_GE(value, 0);
      EXPECT_LE(value, 1);
      EXPECT_NEAR(value * 255, std::round(value * 255), 1e-4);
    }
  }
  const auto mirrored = samples_of(*clipped(uniform_noise(), {-1, 1}), 1, 10, 0, -0.5),
             plain = samples_of(*uniform_noise(), 1, 10, 0, 0.5);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(mirrored[0][i], -plain[0][i]);
}

TEST(Noise, ACustomSamplerIsKeyedLikeTheOthers) {
  const auto shape = custom_noise("shift", [](NoiseStream& random, double scale, std::span<float> x) {
    const auto shift = static_cast<float>(scale * random.normal());
    for (float& value : x) value += shift;
  });
  const auto x = samples_of(*shape, 2, 20000, 0, 2);
  EXPECT_EQ(x[0], x[1]);
  EXPECT_NEAR(mean_product(x[0], x[0]), 4, 0.2);
  const std::vector<std::uint32_t> point{0}, sample{17};
  std::vector<float> alone(2, 0.0F);
  shape->add({11, point, sample}, 2, 2, alone.data());
  EXPECT_EQ(alone[0], x[0][17]);
}

// The bits of a lane do not depend on the chunk that contains it.
TEST(Noise, EveryModelDrawsLaneByLane) {
  auto models = all_on_three();
  models.push_back({"categorical", categorical_noise({{{0, 1}, {0.5, 0.5, 0.5, 0.5}}}, "J")});
  models.push_back({"clipped", clipped(laplace_noise(), {-1, 1, 256})});
  models.push_back({"speckle", speckle_noise()});
  models.push_back({"lognormal", lognormal_noise()});
  models.push_back({"gain", gain_noise()});
  models.push_back({"missing", missing_noise(0.5, 7)});
  models.push_back({"resample", resampled_noise(0.5)->with_data(Tensor({2, 3}, {1, 2, 3, 4, 5, 6}))});
  models.push_back({"gaps", gap_noise(0.4, {})});
  models.push_back({"heavy tails", student_noise(1)});
  const std::vector<std::uint32_t> points{0, 0, 1, 1, 0}, samples{0, 5, 5, 6, 9};
  for (const auto& [name, shape] : models) {
    std::vector<float> all(15, 0.25F);
    shape->add({3, points, samples}, 3, 0.7F, all.data());
    for (std::size_t lane = 0; lane < 5; ++lane) {
      std::vector<float> one(3, 0.25F);
      shape->add({3, std::span(points).subspan(lane, 1), std::span(samples).subspan(lane, 1)}, 3, 0.7F, one.data());
      for (std::size_t e = 0; e < 3; ++e) EXPECT_EQ(one[e], all[e * 5 + lane]) << name << " lane " << lane;
    }
  }
}

TEST(Noise, BadCovariancesAreRejectedWithTheReason) {
  const auto refused = [](Shape shape, std::vector<double> values) {
    return refusal([&] { covariance_gaussian({shape, values, "bad.npy"}, "cov"); });
  };
  const auto expect = [&](const std::string& message, const std::string& part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
    EXPECT_EQ(message.rfind("bad.npy", 0), 0U) << message;
  };
  expect(refused({2, 2}, {1, 0.5, 0.4, 1}), "differ");
  expect(refused({2, 2}, {1, 2, 2, 1}), "negative eigenvalue");
  expect(refused({2, 2}, {0, 1, 1, 1}), "negative eigenvalue");
  expect(refused({2, 2}, {-1, 0, 0, 1}), "negative");
  expect(refused({2, 2}, {1, NAN, NAN, 1}), "non-finite");
  expect(refused({2, 3}, {1, 0, 0, 0, 1, 0}), "shape [2, 3]");
  expect(refused({4}, {1, 0, 0, 1}), "shape [4]");
  expect(refused({2, 2, 2}, {1, 0, 0, 1, 1, 2, 2, 1}), "[1] is not a covariance");
  expect(refusal([&] { diagonal_gaussian({{2}, {1, -1}, "bad.npy"}, "std"); }), "negative");
  expect(refusal([&] { covariance_gaussian({{2, 2}, {1, 0, 0, 1}, "bad.npy"}, "cov")->fit(3, 1); }), "2 elements");
  expect(refusal([&] { covariance_gaussian({{2, 1, 1}, {1, 1}, "bad.npy"}, "cov")->fit(1, 3); }), "2 points");
  expect(refusal([&] { categorical_noise({{{0, 1}, {0.5, 0.6, 0, 1}}}, "bad.npy"); }), "not a distribution");
  expect(refusal([&] { categorical_noise({{{0, 0}, {1, 0, 0, 1}}}, "bad.npy"); }), "listed twice");
  EXPECT_NE(refusal([] { mixture({{{isotropic_gaussian(), 1}, {{0}}}, {{uniform_noise(), 1}, {{0}}}})->fit(2, 1); }), "");
  EXPECT_EQ(refused({2, 2}, {1, 1, 1, 1}), "");  // singular matrices are valid
  EXPECT_EQ(refused({2, 2}, {1e-12, 0.5e-6, 0.5e-6, 1}), "");
}

// On a linear classifier, `taylor` is exact for every Gaussian noise model; sampling is the reference.
TEST(Noise, TaylorAndSamplingAgreeOnALinearModel) {
  const Tensor weights({3, 3}, {1, 0, 1, -1, 1, 0.5F, 0, -2, 0.25F}), bias({3}, {0.2F, 0, -0.1F});
  const auto executor = make_executor("cpu", test::linear_classifier(weights, bias), {}).value();
  const Points points{Tensor({2, 3}, {0.4F, 0.1F, 0, 0.4F, 0.1F, 0.1F}), {0, 1}, {0, 0}, 0};
  for (const auto& [name, shape] : models_on_three()) {
    Evaluation evaluation(*executor, points, executor->logits(points.x).value());
    const Noise noise{shape, 0.6};
    const auto exact = estimate(evaluation, noise, parse_estimator("taylor")).value();
    const auto sampled = estimate(evaluation, noise, parse_estimator("mc:100000")).value();
    const bool gaussian = shape->gaussian().kind == GaussianView::Kind::exact;
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_GT(sampled[i].p, 0.05) << name;
      EXPECT_NEAR(exact[i].p, sampled[i].p, gaussian ? 4 * *sampled[i].std_error + 1e-6 : 0.06) << name << " point " << i;
      EXPECT_EQ(exact[i].status, gaussian ? Status::ok : Status::approximate) << name;
    }
  }
}

TEST(Noise, NonGaussianNoiseNeedsSampling) {
  const auto executor = make_executor("cpu", test::linear_classifier(Tensor({2, 2}, {1, 0, 0, 1}), Tensor({2})), {}).value();
  const Points points{Tensor({1, 2}, {1, 0}), {0}, {0}, 0};
  Evaluation evaluation(*executor, points, executor->logits(points.x).value());
  const Noise noise{categorical_noise({{{0, 1}, {0.7, 0.3, 0, 1}}}, "J"), 1};
  const Estimate none = estimate(evaluation, noise, parse_estimator("taylor")).value()[0];
  EXPECT_TRUE(std::isnan(none.p));
  EXPECT_EQ(none.status, Status::undefined);
  EXPECT_TRUE(none.note.starts_with("categorical")) << none.note;
  EXPECT_NEAR(estimate(evaluation, noise, parse_estimator("mc:20000")).value()[0].p, 0.7, 0.015);
}

TEST(Noise, SampledNoiseHasNoCovariance) {
  const std::vector<std::pair<std::shared_ptr<const NoiseShape>, std::string>> models{
      {categorical_noise({{{0, 1}, {0.7, 0.3, 0, 1}}}, "J"), "categorical noise can only be sampled; use mc:N"},
      {custom_noise("own", [](NoiseStream&, double, std::span<float>) {}), "custom noise can only be sampled; use mc:N"}};
  const std::vector<std::uint32_t> points{0, 1};
  for (const auto& [shape, reason] : models) {
    std::vector<float> gradients(4, 1.0F), variance(4, 1.0F);
    EXPECT_EQ(shape->whiten(points, 2, gradients.data()), 0);
    shape->variances(points, 2, variance.data());
    EXPECT_EQ(gradients, std::vector<float>(4, 0.0F));
    EXPECT_EQ(variance, std::vector<float>(4, 0.0F));
    EXPECT_EQ(shape->gaussian().kind, GaussianView::Kind::absent);
    EXPECT_EQ(shape->gaussian().reason, reason);
  }
}

TEST(Noise, TextsAreReadAndWritten) {
  NoiseSource source;
  source.array = [](const std::string&) { return kCovariance; };
  source.categories = [](const std::string&) { return std::vector<Category>{{{0, 1}, {1, 0, 0, 1}}}; };
  for (const char* text : {"gaussian:0.1",
                           "uniform:0.25",
                           "laplace:2",
                           "gaussian:cov=a:b/c.npy",
                           "gaussian:cov=c.npy:0.5",
                           "categorical:g.json",
                           "samples:r.npy",
                           "samples:r.npy:0.5",
                           "samples:r.npy@0,2",
                           "gaussian:0.1@0..3,7",
                           "gaussian:0.1@!4",
                           "gaussian:0.1@0..3+uniform:0.2@4,6+categorical:g.json",
                           "student:0.1:df=3",
                           "ball:0.5",
                           "sphere:2",
                           "gaussian:0.3/sqrt(d)",
                           "gaussian:0.3/sqrt(d)@1",
                           "student:0.1:df=3/sqrt(d)",
                           "data-covariance:0.1",
                           "data-covariance:0.1:unit-trace",
                           "field:0.1:length=3",
                           "speckle:0.1",
                           "lognormal:0.1",
                           "gain:0.1",
                           "drift:c.npy",
                           "drift:c.npy:0.5",
                           "missing:0.1=mean",
                           "missing:0.1=-2",
                           "resample:0.1",
                           "gaps:0.1",
                           "gaps:0.1=0",
                           "time-shift:2",
                           "speckle:0.1@1+gaussian:0.1",
                           "drift:c.npy+gain:0.1+gaps:0.1=0+time-shift:0.5"}) {
    EXPECT_EQ(parse_noise(text, source).text(), text);
  }
  EXPECT_EQ(parse_noise("gaussian:2.5e-1").text(), "gaussian:0.25");
  EXPECT_EQ(parse_noise("gaussian:1e+0").text(), "gaussian:1");
  EXPECT_EQ(parse_noise("student:df=3:0.1").text(), "student:0.1:df=3");
  EXPECT_EQ(parse_noise("uniform:0.5@1").sigma(), 0.5);
  EXPECT_FALSE(parse_noise("gaussian:cov=c.npy", source).sigma());
  EXPECT_EQ(clipped(uniform_noise(), {0, 1, 256})->text(0.5), "uniform:0.5|clip:0,1|levels:256");
  for (const char* wrong : {"gaussian", "gaussian:", "gaussian:0", "gaussian:-1", "gaussian:nan", "gaussian:inf", "gaussian:1x",
                            "cauchy:1", "", "gaussian:1@", "gaussian:1@3..1", "gaussian:1@x", "uniform:0", "categorical:",
                            "samples", "samples:", "samples:r.npy:0", "gaussian:cov=c.npy:0", "gaussian:1+cauchy:1"}) {
    EXPECT_THROW(parse_noise(wrong, source), Error) << wrong;
  }
}

}  // namespace
}  // namespace probust
