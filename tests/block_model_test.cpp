// SPDX-License-Identifier: MIT
// Learning across points: weights of similarities, smoothing, shared draws, and the estimators built on them.
#include "probust/estimators/block_model.h"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <cmath>
#include <map>
#include <numeric>
#include <random>

#include "probust/analysis/groups.h"
#include "probust/analysis/statistics.h"
#include "support/evaluate.h"
#include "support/networks.h"
#include "support/normals.h"

namespace probust {
namespace {

using test::normals;

// exp(-(i - k)² / 2 width²) for n points on a line.
Eigen::MatrixXd neighbours(Eigen::Index n, double width) {
  Eigen::MatrixXd alike(n, n);
  for (Eigen::Index i = 0; i < n; ++i) {
    for (Eigen::Index k = 0; k < n; ++k) alike(i, k) = std::exp(-std::pow(static_cast<double>(i - k) / width, 2) / 2);
  }
  return alike;
}

Eigen::MatrixXd root_of(Eigen::MatrixXd covariance) {
  covariance.diagonal().array() += 1e-9;
  return covariance.llt().matrixL();
}

TEST(VarianceComponents, RecoversTheWeights) {
  std::mt19937 random(1);
  const Eigen::Index n = 80;
  const Similarities alike{Eigen::MatrixXd::Ones(n, n), neighbours(n, 3), neighbours(n, 20)};
  const Eigen::MatrixXd truth = 0.5 * alike[0] + 2 * alike[1];
  const Eigen::MatrixXd values = root_of(truth) * normals(n, 4000, random) + normals(n, 4000, random);  // noise of variance 1
  const Eigen::VectorXd weights = component_weights(alike, values * values.transpose() / 4000, Eigen::MatrixXd::Ones(n, n));
  EXPECT_NEAR(weights[0], 0.5, 0.1);
  EXPECT_NEAR(weights[1], 2, 0.1);
  EXPECT_NEAR(weights[2], 0, 0.1);
}

TEST(VarianceComponents, AreNeverNegativeAndTheLeastSquares) {
  std::mt19937 random(2);
  const Eigen::Index n = 30;
  const Similarities alike{Eigen::MatrixXd::Ones(n, n), neighbours(n, 2), neighbours(n, 6), neighbours(n, 12)};
  for (int trial = 0; trial < 20; ++trial) {
    Eigen::MatrixXd products = normals(n, n, random);
    products = (products + products.transpose()).eval();
    Eigen::MatrixXd counts = normals(n, n, random).cwiseAbs();
    counts = (counts + counts.transpose()).eval();
    const Eigen::VectorXd best = component_weights(alike, products, counts);
    EXPECT_GE(best.minCoeff(), 0);
    const auto loss = [&](const Eigen::VectorXd& weights) {
      const Eigen::MatrixXd rest = products.cwiseQuotient(counts) - weighted_sum(alike, weights);
      return counts.cwiseProduct(rest.cwiseAbs2()).triangularView<Eigen::StrictlyUpper>().toDenseMatrix().sum();
    };
    for (int step = 0; step < 50; ++step) {
      const Eigen::VectorXd other = (best + 0.1 * normals(4, 1, random)).cwiseMax(0);
      EXPECT_GE(loss(other), loss(best) - 1e-9);
    }
  }
}

// The error of smoothed values agrees with the posterior, and is smaller than that of the observations.
TEST(VarianceComponents, SmoothsAndEstimatesItsError) {
  std::mt19937 random(3);
  const Eigen::Index n = 100, d = 200;
  const Similarities alike{Eigen::MatrixXd::Ones(n, n), neighbours(n, 4)};
  const Eigen::MatrixXd truth = root_of(alike[1]) * normals(n, d, random) + 0.5 * normals(n, d, random);
  const Eigen::MatrixXd observed = truth + 0.8 * normals(n, d, random);
  const Smoothed smoothed = smooth(alike, observed, 0.64);
  const double error = (smoothed.values - truth).cwiseAbs2().mean();
  EXPECT_LT(error, 0.45 * 0.64);
  EXPECT_NEAR(error, smoothed.variances.mean(), 0.1 * error);
}

TEST(VarianceComponents, WithoutSamplingErrorOrVarianceNothingChanges) {
  std::mt19937 random(4);
  const Similarities alike{Eigen::MatrixXd::Ones(10, 10), neighbours(10, 2)};
  const Eigen::MatrixXd observed = normals(10, 3, random);
  EXPECT_LT((smooth(alike, observed, 0).values - observed).norm(), 1e-9);
  const Eigen::MatrixXd equal = Eigen::MatrixXd::Constant(10, 3, 2);
  EXPECT_LT((smooth(alike, equal, 0).values - equal).norm(), 1e-12);
  EXPECT_LT((smooth(alike, equal, 0.5).values - equal).norm(), 1e-12);
}

TEST(SharedNoise, IsBalancedAndDependsOnlyOnItsKey) {
  const SharedNoise noise = share_noise(100, 12, 7, 256);
  EXPECT_EQ(noise.draws, 7);
  ASSERT_EQ(noise.draw.size(), 12U);
  for (const auto& stratum : noise.draw) {
    std::map<std::int64_t, int> served;
    for (const std::int64_t draw : stratum) ++served[draw];
    EXPECT_EQ(served.size(), 7U);
    for (const auto& [draw, points] : served) EXPECT_TRUE(points == 14 || points == 15) << draw;
  }
  EXPECT_NE(noise.draw[0], noise.draw[1]);
  EXPECT_EQ(share_noise(100, 12, 7, 256).draw, noise.draw);
  EXPECT_NE(share_noise(100, 12, 8, 256).draw, noise.draw);
  EXPECT_NE(share_noise(100, 12, 7, 0).draw, noise.draw);
  EXPECT_EQ(noise.of({3, 50}).draw[4], (std::vector<std::int64_t>{noise.draw[4][3], noise.draw[4][50]}));
}

// A draw moves all points alike; each point also has its own mean and noise. The errors of the means are only those of each
// point's own noise, and their covariance is as reported.
TEST(SharedNoise, RemovesTheCommonErrorsOfDraws) {
  std::mt19937 random(5);
  const Eigen::Index n = 64, h = 8, r = 2;
  const double own = 0.3;
  const Similarities alike{Eigen::MatrixXd::Ones(n, n), neighbours(n, 3)};
  double plain = 0, corrected = 0, stated = 0;
  for (std::uint64_t trial = 0; trial < 20; ++trial) {
    const SharedNoise noise = share_noise(n, h, trial, 0);
    std::vector<Eigen::MatrixXd> even(static_cast<std::size_t>(n), Eigen::MatrixXd(r, h));
    for (Eigen::Index k = 0; k < h; ++k) {
      const Eigen::MatrixXd common = normals(r, noise.draws, random);
      for (Eigen::Index i = 0; i < n; ++i) even[i].col(k) = common.col(noise.draw[k][i]) + own * normals(r, 1, random);
    }
    std::vector<Eigen::MatrixXd> centred = even;
    for (Eigen::MatrixXd& point : centred) point.colwise() -= point.rowwise().mean().eval();
    const CommonErrors errors = common_errors(alike, centred, Eigen::VectorXd::Constant(n, 1 + own * own), noise);
    for (Eigen::Index i = 0; i < n; ++i) {
      const Eigen::VectorXd mean = even[i].rowwise().mean();  // its expectation is zero
      plain += mean.squaredNorm();
      corrected += (mean + errors.correction.row(i).transpose()).squaredNorm();
      stated += static_cast<double>(r) * errors.covariance(i, i);
    }
  }
  EXPECT_LT(corrected, 0.45 * plain);
  EXPECT_NEAR(stated, corrected, 0.25 * corrected);
}

TEST(SharedNoise, WithoutSharingOrVarianceNothingIsCorrected) {
  std::mt19937 random(6);
  const Similarities alike{Eigen::MatrixXd::Ones(4, 4)};
  const std::vector<Eigen::MatrixXd> even(4, Eigen::MatrixXd::Zero(2, 8));
  const auto expect_none = [&](const Eigen::VectorXd& variance, const SharedNoise& noise) {
    const CommonErrors errors = common_errors(alike, even, variance, noise);
    EXPECT_EQ(errors.correction.norm(), 0);
    EXPECT_LT((errors.covariance.diagonal() - variance / 8).norm(), 1e-15);
  };
  expect_none(Eigen::VectorXd::Ones(4), {});
  expect_none(Eigen::VectorXd::Zero(4), share_noise(4, 8, 1, 0));
}

// Points of a small network, with their references and estimates.
class Learners {
 public:
  explicit Learners(Graph graph, Tensor x, std::uint64_t seed = 1, ExecutorOptions options = {})
      : executor_(make_executor("cpu", graph, options).value()), logits_(executor_->logits(x).value()) {
    points_ = {std::move(x), std::vector<std::int64_t>(static_cast<std::size_t>(logits_.shape[0])), {}, seed};
    std::iota(points_.index.begin(), points_.index.end(), 0);
    for (std::int64_t i = 0; i < points_.size(); ++i) points_.target.push_back(std::max<std::int64_t>(0, argmax(logits_.row(i))));
  }

  std::vector<Estimate> operator()(const std::string& text, const Noise& noise = {isotropic_gaussian(), 0.4}) {
    Evaluation evaluation(*executor_, points_, logits_);
    return estimate(evaluation, noise, parse_estimator(text)).value();
  }

  Points& points() { return points_; }
  const Tensor& logits() const { return logits_; }

 private:
  std::unique_ptr<Executor> executor_;
  Tensor logits_;
  Points points_;
};

double mean_error(const std::vector<Estimate>& a, const std::vector<Estimate>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::fabs(a[i].p - b[i].p) / static_cast<double>(a.size());
  return sum;
}

const char* const kLearned[] = {"probit:24:learned", "probit:24:shared", "regression:24:learned", "regression:110:learned"};

TEST(Learning, AFewPointsAreSpreadOut) {
  EXPECT_TRUE(spread_out(0).empty());
  EXPECT_EQ(spread_out(3), (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(spread_out(64).back(), 63);
  EXPECT_EQ(spread_out(65).size(), 33U);
  EXPECT_EQ(spread_out(256).size(), 64U);
}

// With 100 samples and p = 1/2, differences of one standard deviation (0.05) are the largest that count as chance.
TEST(Learning, ExcessScatterIsInStandardErrors) {
  Estimate half, lost;
  half.p = 0.5;
  lost.p = std::nan("");
  EXPECT_EQ(excess_scatter({lost}, {0}, 100), 0);
  EXPECT_NEAR(excess_scatter({half, half}, {55, 45}, 100), 0, 1e-12);
  EXPECT_NEAR(excess_scatter({half, half, lost}, {50, 50, 0}, 100), -1, 1e-12);
  EXPECT_NEAR(excess_scatter({half, half}, {60, 60}, 100), 3, 1e-12);
}

TEST(Learning, BalancedNormalsRepresentLinearFunctions) {
  NoiseStream random(1, 2, 3, 4);
  for (const auto& [d, count] : std::vector<std::pair<std::int64_t, std::int64_t>>{{3, 9}, {8, 9}, {40, 9}, {1, 2}}) {
    const Eigen::MatrixXd normals = balanced_normals(random, d, count);
    ASSERT_EQ(normals.cols(), count);
    EXPECT_LT(normals.rowwise().mean().norm(), 1e-12);
    const Eigen::VectorXd variances =
        Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(normals * normals.transpose()).eigenvalues() /
        static_cast<double>(count - 1);
    EXPECT_NEAR(variances.sum(), static_cast<double>(d), 1e-9);
    const std::int64_t rank = std::min(d, count - 1);
    EXPECT_NEAR(variances.maxCoeff(), static_cast<double>(d) / static_cast<double>(rank), 1e-9);
    EXPECT_NEAR(variances.tail(rank).minCoeff(), variances.maxCoeff(), 1e-9);
  }
  EXPECT_NE(balanced_normals(random, 5, 9), balanced_normals(random, 5, 9));
}

TEST(Learning, HasSmallerErrorsAndHonestIntervals) {
  std::mt19937 random(11);
  const Tensor x = test::random_tensor({150, 1, 8, 8}, random);
  const std::vector<Estimate> truth = Learners(test::small_cnn(), x, 99)("mc:20000");
  std::map<std::string, double> errors;
  std::map<std::string, int> covered;
  constexpr int kSeeds = 4;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Learners block(test::small_cnn(), x, seed);
    for (const char* text : {"probit:24", "probit:24:learned", "probit:24:shared", "regression:24", "regression:24:learned",
                             "regression:110", "regression:110:learned"}) {
      const std::vector<Estimate> estimates = block(text);
      errors[text] += mean_error(estimates, truth) / kSeeds;
      for (std::size_t i = 0; i < truth.size(); ++i)
        covered[text] += *estimates[i].ci_low <= truth[i].p && truth[i].p <= *estimates[i].ci_high ? 1 : 0;
    }
  }
  EXPECT_LT(errors["probit:24:learned"], 0.92 * errors["probit:24"]);
  EXPECT_LT(errors["probit:24:shared"], 0.86 * errors["probit:24"]);
  EXPECT_LT(errors["regression:24:learned"], 0.92 * errors["regression:24"]);
  EXPECT_LT(errors["regression:110:learned"], 0.92 * errors["regression:110"]);
  for (const char* text : kLearned) EXPECT_GT(covered[text], 0.95 * 150 * kSeeds) << text;
}

// Margins of a linear model have no even part, and one covariance for all points.
TEST(Learning, OfALinearModelIsNearlyExact) {
  std::mt19937 random(12);
  const Graph graph = test::linear_classifier(test::random_tensor({4, 20}, random), test::random_tensor({4}, random));
  Learners block(graph, test::random_tensor({200, 20}, random));
  const std::vector<Estimate> truth = block("taylor");
  for (const char* text : kLearned)
    EXPECT_LT(mean_error(block(text), truth), 0.25 * mean_error(block("probit:24"), truth)) << text;
  EXPECT_LT(mean_error(block("regression:110:learned"), truth), 1e-5);  // three gradients explain the margins of all three rivals
}

// The margins have rare large values, so the block model is wrong in the same way at every point.
TEST(Learning, FallsBackIfCountsContradictNormalMargins) {
  std::mt19937 random(13);
  Graph g;
  const ValueId x = append_input(g, {8}, Extent::example, "x");
  const ValueId linear = build::matmul(g, build::reshape(g, x, {1, 8}), append_constant(g, test::random_tensor({8, 3}, random)));
  const ValueId cubed =
      build::multiply(g, linear, build::multiply(g, linear, build::multiply(g, linear, build::multiply(g, linear, linear))));
  g.outputs = {build::reshape(g, cubed, {3})};
  Learners block(g, test::random_tensor({200, 8}, random));
  const std::vector<Estimate> pooled = block("probit:52:pooled"), learned = block("probit:54:learned");
  for (std::size_t i = 0; i < pooled.size(); ++i) {
    EXPECT_EQ(learned[i].p, pooled[i].p) << i;
    EXPECT_EQ(learned[i].forwards, 52) << i;
  }
  const NoiseArray deviations{{200, 8}, std::vector<double>(200 * 8, 0.4), "deviations"};
  const Noise own{diagonal_gaussian(deviations, "own"), 1};  // a separate deviation per point, so draws are not shared
  const std::vector<Estimate> alone = block("probit:54:pooled", own), residuals = block("regression:54:learned", own);
  for (std::size_t i = 0; i < alone.size(); ++i) {
    EXPECT_EQ(residuals[i].p, alone[i].p) << i;
    EXPECT_EQ(residuals[i].forwards, 54) << i;
    EXPECT_EQ(residuals[i].backwards, 0) << i;
  }
}

// Under strong noise, a ReLU network is nonlinear within the noise, and gradients explain little of its margins.
TEST(Learning, UsesNoGradientsIfMarginsAreCurved) {
  std::mt19937 random(15);
  const Tensor x = test::random_tensor({130, 1, 8, 8}, random);
  const Noise narrow{isotropic_gaussian(), 0.1}, wide{isotropic_gaussian(), 4};
  Learners block(test::small_cnn(), x), few(test::small_cnn(), test::random_tensor({120, 1, 8, 8}, random));
  for (const std::vector<Estimate>& estimates : {block("regression:110:learned", narrow), few("regression:110:learned", wide)}) {
    for (const Estimate& estimate : estimates) {
      EXPECT_GT(estimate.backwards, 0);
      EXPECT_FALSE(estimate.method);
    }
  }
  const std::vector<Estimate> actual = block("regression:110:learned", wide), expected = block("probit:110:shared", wide),
                              chosen = block("auto:110", wide);
  for (std::size_t i = 0; i < actual.size(); ++i) {
    EXPECT_EQ(actual[i].p, expected[i].p) << i;
    EXPECT_EQ(actual[i].forwards, 110) << i;
    EXPECT_EQ(actual[i].backwards, 0) << i;
    ASSERT_TRUE(actual[i].method && chosen[i].method) << i;
    EXPECT_EQ(actual[i].method->text(), "probit:110:shared") << i;
    EXPECT_EQ(chosen[i].method->text(), "probit:110:shared") << i;
  }
}

// Three gradients explain up to 12 margins well enough, but not more.
TEST(Learning, UsesNoGradientsOfManyMargins) {
  std::mt19937 random(18);
  const Tensor x = test::random_tensor({20, 1, 8, 8}, random);
  const Noise noise{isotropic_gaussian(), 0.1};
  EXPECT_GT(Learners(test::small_cnn(13), x)("regression:110:learned", noise)[0].backwards, 0);
  Learners many(test::small_cnn(14), x);
  const std::vector<Estimate> actual = many("regression:110:learned", noise), expected = many("probit:110:shared", noise);
  for (std::size_t i = 0; i < actual.size(); ++i) {
    EXPECT_EQ(actual[i].p, expected[i].p) << i;
    EXPECT_EQ(actual[i].backwards, 0) << i;
    ASSERT_TRUE(actual[i].method) << i;
    EXPECT_EQ(actual[i].method->text(), "probit:110:shared") << i;
  }
}

TEST(Learning, DoesNotDependOnThreadsMemoryOrBatch) {
  std::mt19937 random(14);
  const Tensor x = test::random_tensor({70, 1, 8, 8}, random);
  for (const char* text : kLearned) {
    const std::vector<Estimate> expected = Learners(test::small_cnn(), x)(text);
    for (const ExecutorOptions& options :
         {ExecutorOptions{.threads = 3}, ExecutorOptions{.memory = 16 << 20}, ExecutorOptions{.threads = 2, .batch = 5}}) {
      const std::vector<Estimate> actual = Learners(test::small_cnn(), x, 1, options)(text);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(actual[i].p, expected[i].p) << text << i;
        EXPECT_EQ(actual[i].ci_low, expected[i].ci_low) << text << i;
      }
    }
  }
}

bool is_probability(const Estimate& estimate) {
  return estimate.p >= 0 && estimate.p <= 1 && *estimate.ci_low <= *estimate.ci_high;
}

TEST(Learning, OfOddBlocks) {
  std::mt19937 random(15);
  const Tensor x = test::random_tensor({40, 1, 8, 8}, random);
  Tensor copies = x, broken = x, outlier = x;
  for (std::int64_t i = 1; i < 40; ++i) std::copy(x.row(0).begin(), x.row(0).end(), copies.row(i).begin());
  broken.row(3)[5] = NAN;
  broken.row(4)[0] = INFINITY;
  for (float& value : outlier.row(7)) value *= 1000;  // far from every boundary
  const Graph constant = test::linear_classifier(Tensor({3, 64}), Tensor({3}, {3, 1, 2}));
  for (const char* text : kLearned) {
    const std::vector<Estimate> of_copies = Learners(test::small_cnn(), copies)(text),
                                truth = Learners(test::small_cnn(), copies)("mc:4000");
    for (std::size_t i = 0; i < of_copies.size(); ++i) EXPECT_NEAR(of_copies[i].p, truth[i].p, 0.15) << text << i;
    const std::vector<Estimate> of_broken = Learners(test::small_cnn(), broken)(text);
    for (std::size_t i = 0; i < of_broken.size(); ++i) {
      if (i == 3 || i == 4) {
        EXPECT_EQ(of_broken[i].status, Status::nonfinite) << text;
      } else {
        EXPECT_TRUE(is_probability(of_broken[i])) << text << i;
      }
    }
    for (const Estimate& estimate : Learners(test::small_cnn(), outlier)(text)) EXPECT_TRUE(is_probability(estimate)) << text;
    for (const Estimate& estimate : Learners(test::small_cnn(2), x)(text)) EXPECT_TRUE(is_probability(estimate)) << text;
    Tensor rows({40, 64}, x.data);
    for (const Estimate& estimate : Learners(constant, rows)(text)) EXPECT_EQ(estimate.p, 1) << text;
    Tensor one({1, 1, 8, 8});
    std::copy(x.row(0).begin(), x.row(0).end(), one.data.begin());
    EXPECT_TRUE(is_probability(Learners(test::small_cnn(), one)(text)[0])) << text;
    const std::string name(text, std::string(text).find(':'));
    EXPECT_THROW((void)parse_estimator(name + ":6:learned"), Error);
  }
  Tensor one({1, 1, 8, 8});
  std::copy(x.row(0).begin(), x.row(0).end(), one.data.begin());
  EXPECT_EQ(Learners(test::small_cnn(), one)("probit:24:shared")[0].p, Learners(test::small_cnn(), one)("probit:24")[0].p);
}

// The mean of p over all points, followed by the means over each of four classes.
std::vector<MeanInterval> means_of(const std::vector<Estimate>& estimates, const std::vector<std::int64_t>& classes,
                                   const std::string& estimator) {
  std::vector<Row> rows(estimates.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].estimator = estimator;
    rows[i].estimate = estimates[i];
  }
  const RowGroup group = grouped(rows)[0];
  const ClassBias bias = class_bias(group.p(), classes, 4, 0.95, group.common_variance());
  std::vector<MeanInterval> means{bias.all};
  means.insert(means.end(), bias.classes.begin(), bias.classes.end());
  return means;
}

// Intervals of means over random points contain the mean over all points, although errors are not independent.
TEST(Learning, IntervalsOfMeansCover) {
  std::mt19937 random(17);
  const auto points = [&](std::int64_t n) { return test::random_tensor({n, 1, 8, 8}, random); };
  Learners many(test::small_cnn(), points(20000));
  const std::vector<MeanInterval> truth = means_of(many("mc:60"), many.points().target, "mc:60");
  constexpr int kSeeds = 100;
  for (const char* text : {"probit:12:shared", "regression:24:learned"}) {
    int of_all = 0, of_classes = 0, classes = 0;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      Learners some(test::small_cnn(), points(80), seed);
      const std::vector<MeanInterval> means = means_of(some(text), some.points().target, text);
      for (std::size_t k = 0; k < means.size(); ++k) {
        if (means[k].count < 2) continue;
        const int covered = means[k].low <= truth[k].mean && truth[k].mean <= means[k].high ? 1 : 0;
        (k == 0 ? of_all : of_classes) += covered;
        classes += k == 0 ? 0 : 1;
      }
    }
    EXPECT_GE(of_all, 90) << text;                 // 95 are expected, with a standard deviation of 2.2
    EXPECT_GE(of_classes, 0.9 * classes) << text;  // 0.95 is expected, with a standard deviation of 0.013
  }
}

// Points with noise of their own cannot share draws.
TEST(Learning, NoiseThatDiffersIsNotShared) {
  std::mt19937 random(16);
  const Tensor x = test::random_tensor({20, 1, 8, 8}, random);
  NoiseArray deviations{{20, 64}, std::vector<double>(20 * 64, 0.4), "deviations"};
  const Noise own{diagonal_gaussian(deviations, "own"), 1};
  EXPECT_TRUE(own.shape->differs());
  EXPECT_FALSE(isotropic_gaussian()->differs());
  EXPECT_TRUE(clipped(own.shape, Quantization{})->differs());
  EXPECT_TRUE(on_columns(own.shape, {})->differs());
  Learners block(test::small_cnn(), x);
  const std::vector<Estimate> shared = block("probit:24:shared", own), learned = block("probit:24:learned", own);
  for (std::size_t i = 0; i < shared.size(); ++i) EXPECT_EQ(shared[i].p, learned[i].p) << i;
}

}  // namespace
}  // namespace probust
