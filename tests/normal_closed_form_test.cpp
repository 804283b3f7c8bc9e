// SPDX-License-Identifier: MIT
//
// The one-factor expansion of the multivariate normal probability: where it is exact, and when it is trusted.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <random>
#include <vector>

#include "probust/normal/bivariate.h"
#include "probust/normal/closed_form.h"
#include "probust/normal/limits.h"
#include "probust/normal/univariate.h"
#include "support/correlations.h"

namespace {

using namespace probust::test;    // NOLINT(google-build-using-namespace): the helpers of the tests
using namespace probust::normal;  // NOLINT(google-build-using-namespace): the code under test
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

MatrixXd one_factor_matrix(const VectorXd& a) {
  MatrixXd R = a * a.transpose();
  R.diagonal().setOnes();
  return R;
}

VectorXd mixed_loadings(Index m, double least, double most) {
  VectorXd a(m);
  for (Index i = 0; i < m; ++i) {
    const double share = m == 1 ? 0.0 : static_cast<double>(i) / static_cast<double>(m - 1);
    a[i] = (i % 3 == 1 ? -1 : 1) * (least + (most - least) * share);
  }
  return a;
}

/// Correlations like those of a classifier: margins are differences of one random vector and m others, in a given number of
/// dimensions.
MatrixXd margin_correlations(Index m, Index dimension, unsigned seed) {
  std::mt19937 bits(seed);
  std::normal_distribution<double> normal;
  MatrixXd W(m + 1, dimension);
  for (Index j = 0; j < dimension; ++j) {
    for (Index i = 0; i <= m; ++i) W(i, j) = normal(bits);
  }
  MatrixXd U(m, dimension);
  for (Index i = 0; i < m; ++i) U.row(i) = (W.row(m) - W.row(i)).normalized();
  return gram(U);
}

TEST(NormalClosedForm, InfiniteLimitsAndNan) {
  const MatrixXd R = one_factor_matrix(mixed_loadings(2, 0.3, 0.5));
  const auto of = [&](const std::vector<double>& z) { return second_order(z, R); };
  EXPECT_TRUE(of({kInfinity, kInfinity}).p == 1.0 && of({kInfinity, kInfinity}).p_fail == 0.0);
  EXPECT_TRUE(of({-kInfinity, kInfinity}).p == 0.0 && of({-kInfinity, kInfinity}).p_fail == 1.0);
  EXPECT_NEAR(of({kInfinity, 0.7}).p, cdf(0.7), 1e-14);
  EXPECT_TRUE(std::isnan(of({0.3, kNan}).p) && std::isnan(of({0.3, kNan}).p_fail));
  EXPECT_EQ(of({0.3, kNan}).status, Status::nonfinite);
  EXPECT_EQ(second_order({}, MatrixXd()).p, 1.0);
}

TEST(NormalClosedForm, OneFactorIsExactAndNeedsNoCorrection) {
  for (const Index m : {1, 2, 9, 99}) {
    const MatrixXd R = one_factor_matrix(mixed_loadings(m, 0.5, 0.97));
    for (const double level : {-2.0, 0.5, 2.5, 6.0, 12.0}) {
      const auto z = spread(m, level, level + 1);
      const SecondOrder form = second_order(z, R);
      const Probability truth = mvn_cdf(z, R);
      EXPECT_NEAR(form.p, truth.p, 1e-10) << m << ' ' << level;
      EXPECT_NEAR(form.p_fail, truth.p_fail, 1e-7 * truth.p_fail + truth.error_fail) << m << ' ' << level;
      EXPECT_LE(std::abs(form.first) + std::abs(form.second) + form.error, 3e-7) << m << ' ' << level;
    }
    const MatrixXd half = one_factor_matrix(VectorXd::Constant(m, std::sqrt(0.5)));
    EXPECT_NEAR(second_order(std::vector<double>(m, 0.0), half).p, 1.0 / static_cast<double>(m + 1), 1e-11);
  }
}

TEST(NormalClosedForm, CorrectionsAreTheDerivativesOfThreeVariables) {
  const VectorXd a{{0.5, -0.3, 0.7}};
  const MatrixXd E{{0, 0.1, 0.05}, {0.1, 0, -0.2}, {0.05, -0.2, 0}};
  const auto along = [&](double step) { return MatrixXd(one_factor_matrix(a) + step * E); };
  for (const std::vector<double>& z : {std::vector<double>{0.3, 1.0, -0.4}, {2.0, 1.5, 2.2}, {-1.0, -2.0, 0.5}}) {
    const auto p = [&](double step) { return mvn_cdf(z, along(step)).p; };
    const double h = 0.02, middle = p(0);
    const auto first = [&](double g) { return (p(g) - p(-g)) / (2 * g); };
    const auto second = [&](double g) { return (p(g) - 2 * middle + p(-g)) / (g * g); };
    const SecondOrder form = second_order(z, along(1), a);
    EXPECT_NEAR(form.first, (4 * first(h / 2) - first(h)) / 3, 1e-9);
    EXPECT_NEAR(form.second, 0.5 * (4 * second(h / 2) - second(h)) / 3, 1e-8);
    EXPECT_NEAR(form.p + form.p_fail, 1.0, 1e-14);
  }
}

TEST(NormalClosedForm, CorrectionsMultiplyOverIndependentPairs) {
  // Two nearly independent pairs: the second order includes the product of the two first orders.
  MatrixXd R = MatrixXd::Identity(4, 4);
  R(0, 1) = R(1, 0) = 0.02;
  R(2, 3) = R(3, 2) = -0.03;
  const std::vector<double> z = {0.4, 1.0, -0.2, 0.7};
  const SecondOrder form = second_order(z, R, VectorXd::Zero(4));
  const double exact = bivariate(z[0], z[1], 0.02).p * bivariate(z[2], z[3], -0.03).p;
  EXPECT_NEAR(form.p, exact, 1e-6);
  const auto density = [&](Index i, Index j) { return pdf(z[i]) * pdf(z[j]); };
  const double both = density(0, 1) * density(2, 3) * 0.02 * -0.03;
  const double one = 0.5 * z[0] * z[1] * density(0, 1) * 4e-4 * cdf(z[2]) * cdf(z[3]);
  const double two = 0.5 * z[2] * z[3] * density(2, 3) * 9e-4 * cdf(z[0]) * cdf(z[1]);
  EXPECT_NEAR(form.second, both + one + two, 1e-15);
}

TEST(NormalClosedForm, InfiniteLimitsAreMarginalsAndOrderDoesNotMatter) {
  const MatrixXd R = margin_correlations(5, 20, 6);
  const SecondOrder four = second_order(spread(4, 0.3, 1.2), R.topLeftCorner(4, 4));
  auto z = spread(4, 0.3, 1.2);
  z.push_back(kInfinity);
  const SecondOrder five = second_order(z, R);
  EXPECT_EQ(four.p_fail, five.p_fail);
  EXPECT_EQ(four.error, five.error);
  const std::vector<double> reversed = {1.2, 0.9, 0.6, 0.3};
  const SecondOrder back = second_order(reversed, R.topLeftCorner(4, 4).reverse());
  EXPECT_NEAR(four.p_fail, back.p_fail, 1e-10);
}

struct Problem {
  std::vector<double> z;
  MatrixXd R;
};

/// Random dimensions, structures (margins of networks, chains, few factors with noise) and limits.
Problem random_problem(unsigned seed) {
  std::mt19937 bits(seed);
  std::uniform_real_distribution<double> uniform;
  std::normal_distribution<double> normal;
  const Index m = 3 + static_cast<Index>(18 * uniform(bits) * uniform(bits));
  Problem problem{std::vector<double>(static_cast<std::size_t>(m)), MatrixXd(m, m)};
  if (seed % 3 == 0) {
    problem.R = margin_correlations(m, 4 + static_cast<Index>(40 * uniform(bits)), seed);
  } else if (seed % 3 == 1) {
    const double rho = 0.1 + 0.7 * uniform(bits);
    for (Index j = 0; j < m; ++j) {
      for (Index i = 0; i < m; ++i) problem.R(i, j) = std::pow(rho, std::abs(static_cast<double>(i - j)));
    }
  } else {
    const double noise = 0.2 + 0.5 * uniform(bits);
    problem.R = (1 - noise) * margin_correlations(m, 3, seed);
    problem.R.diagonal().setOnes();
  }
  const double level = -0.5 + 4.5 * uniform(bits), width = uniform(bits);
  for (double& limit : problem.z) limit = level + width * normal(bits);
  return problem;
}

TEST(NormalClosedForm, ErrorsAreCoveredAndTrustedResultsAreAccurate) {
  int covered = 0, trusted = 0;
  constexpr unsigned kSeeds = 300;
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    const Problem problem = random_problem(seed);
    const SecondOrder form = second_order(problem.z, problem.R);
    const Probability truth = mvn_cdf(problem.z, problem.R, {.abs = 2e-5, .rel_q = 1e-3});
    ASSERT_TRUE(form.status == Status::ok && truth.valid());
    ASSERT_TRUE(form.p >= 0 && form.p <= 1 && form.p_fail >= 0 && form.p_fail <= 1);
    const double miss = std::max(0.0, std::abs(form.p_fail - truth.p_fail) - truth.error_fail);
    covered += static_cast<int>(miss <= form.error);
    EXPECT_LE(miss, 3 * form.error) << seed;
    if (!form.trusted) continue;
    ++trusted;
    EXPECT_LE(miss, 1e-3) << seed;
    EXPECT_LE(miss, 0.05 * truth.p_fail) << seed;
  }
  EXPECT_GE(covered, 0.99 * kSeeds);
  EXPECT_GE(trusted, 0.4 * kSeeds);
  EXPECT_LE(trusted, 0.9 * kSeeds);
}

TEST(NormalClosedForm, ErrorGoesWithTheCubeOfTheResidual) {
  const VectorXd a = VectorXd::Constant(2, std::sqrt(0.5));
  const auto error = [&](double step) {
    const MatrixXd R{{1, 0.5 + step}, {0.5 + step, 1}};
    return second_order(std::vector<double>{0, 0}, R, a).error;
  };
  EXPECT_NEAR(error(0.04) / error(0.02), 8.0, 1.0);
  EXPECT_NEAR(error(-0.04) / error(-0.02), 8.0, 1.0);
}

TEST(NormalClosedForm, IsBetterThanItsOneFactorFit) {
  double plain = 0, corrected = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    const MatrixXd R = margin_correlations(9, 60, 100 + seed);
    const auto z = spread(9, 0.5, 2.0);
    const double truth = mvn_cdf(z, R, {.abs = 2e-5}).p;
    const SecondOrder form = second_order(z, R);
    plain += std::abs(form.p - form.first - form.second - truth);
    corrected += std::abs(form.p - truth);
  }
  EXPECT_LE(corrected, 0.1 * plain);
}

TEST(NormalClosedForm, HugeLimitsAreSupported) {
  const MatrixXd R = margin_correlations(5, 9, 7);
  for (const double size : {30.0, 39.0, 1e3, 1e150, 1.7e308}) {
    for (const std::vector<double>& z : {std::vector<double>(5, size), std::vector<double>(5, -size),
                                         std::vector<double>{size, -size, 0, 1, -1}, std::vector<double>{size, 2, 0, 1, 1}}) {
      const SecondOrder form = second_order(z, R);
      EXPECT_EQ(form.status, Status::ok);
      EXPECT_TRUE(form.p >= 0 && form.p <= 1 && form.p_fail >= 0 && form.p_fail <= 1 && std::isfinite(form.error));
      EXPECT_NEAR(form.p + form.p_fail, 1.0, 1e-12);
    }
  }
  const double far = second_order(std::vector<double>{1.7e308, 2, 0, 1, 1}, R).error;
  EXPECT_EQ(far, second_order(std::vector<double>{50, 2, 0, 1, 1}, R).error);
  EXPECT_NEAR(second_order(std::vector<double>(5, 30.0), R).p_fail / complement(30.0), 5.0, 1e-3);
}

TEST(NormalClosedForm, EachBadInputHasItsStatus) {
  const MatrixXd I = MatrixXd::Identity(3, 3);
  const std::vector<double> z = {1, 2, 3};
  const auto expect = [](const std::vector<double>& limits, const MatrixXd& R, Status status) {
    const SecondOrder form = second_order(limits, R);
    EXPECT_EQ(form.status, status) << describe(form.status);
    EXPECT_FALSE(form.trusted);
    for (const double value : {form.p, form.p_fail, form.first, form.second, form.error}) EXPECT_TRUE(std::isnan(value));
  };
  expect(z, MatrixXd::Identity(2, 2), Status::size_mismatch);
  expect(z, MatrixXd::Identity(3, 4), Status::size_mismatch);
  expect({}, I, Status::size_mismatch);
  expect({1, kNan, 3}, I, Status::nonfinite);
  MatrixXd infinite = I, diagonal = I, asymmetric = I;
  infinite(0, 1) = infinite(1, 0) = kInfinity;
  diagonal(1, 1) = 1.1;
  asymmetric(0, 2) = 0.1;
  const MatrixXd indefinite{{1, 0.9, -0.9}, {0.9, 1, 0.9}, {-0.9, 0.9, 1}};
  const std::vector<std::pair<MatrixXd, Status>> bad = {{infinite, Status::nonfinite},
                                                        {diagonal, Status::bad_diagonal},
                                                        {asymmetric, Status::asymmetric},
                                                        {indefinite, Status::indefinite}};
  for (const auto& [R, status] : bad) {
    expect(z, R, status);
    expect({1, kInfinity, -kInfinity}, R, status);
  }
  EXPECT_EQ(second_order(z, I, VectorXd::Zero(2)).status, Status::size_mismatch);
  EXPECT_EQ(second_order(z, I, VectorXd::Constant(3, kNan)).status, Status::nonfinite);
}

}  // namespace
