// SPDX-License-Identifier: MIT
// Reported errors of normal probabilities: bounds hold, errors are neither too small nor much too large, and p + q = 1.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

#include "probust/estimators/statistics/binomial.h"
#include "probust/normal/bivariate.h"
#include "probust/normal/directions.h"
#include "probust/normal/lattice.h"
#include "probust/normal/multivariate.h"
#include "probust/normal/one_factor.h"
#include "probust/normal/rare.h"
#include "probust/normal/separation.h"
#include "probust/normal/univariate.h"
#include "support/correlations.h"

namespace probust::normal {
namespace {

// The standard error of a mean of eight: the square root of the sum of squares over 8 * 7.
TEST(NormalBounds, StandardErrorsOverShiftsHaveSevenDegreesOfFreedom) {
  static_assert(kShifts == 8);
  std::array<double, kShifts> p{}, q{};
  for (std::size_t i = 0; i < p.size(); ++i) {
    p[i] = 16 * (0.2 + 0.01 * static_cast<double>(i));
    q[i] = 16 - p[i];
  }
  LatticeMean mean(16);
  mean.add(p, q);
  EXPECT_NEAR(mean.p(), 0.235, 1e-14);
  EXPECT_NEAR(mean.q(), 0.765, 1e-14);
  EXPECT_NEAR(mean.standard_error(), 0.01 * std::sqrt(42.0 / 56.0), 1e-14);  // 42: the sum of squared deviations of 0 to 7
}

// If the integrand is zero at all n points, the error allows for 3 / n of the largest possible value; less for smoother
// integrands.
TEST(NormalBounds, UnseenMassIsInTheError) {
  std::array<double, kShifts> nothing{}, all;
  all.fill(16);
  LatticeMean missed(16);
  missed.add(nothing, all);
  EXPECT_NEAR(unseen_mass(missed, 0.5, 10), 3 * 0.5 / 128, 1e-14);
  LatticeMean met(16);
  met.add(all, nothing);
  EXPECT_NEAR(unseen_mass(met, 0.5, 10), 3 * 0.5 / 128 * 0.04, 1e-14);
  EXPECT_NEAR(unseen_mass(met, 0.5, 1000), 3 * 0.5 / 128, 1e-14);
}

// 160 almost independent variables whose correlations are all wrong by the same amount: every pair contributes to the error.
TEST(NormalBounds, MisfitOfOneFactorCountsEveryPair) {
  constexpr std::size_t kVariables = 160;
  const std::vector<double> z(kVariables, 2.5), fitted(kVariables, 0.01), actual(kVariables, std::sqrt(2e-4));
  Arena arena;
  const double change = one_factor(z, actual, arena).p - one_factor(z, fitted, arena).p;
  const double bias = one_factor_bias(z, {fitted, 1e-4});
  EXPECT_GT(change, 0);
  EXPECT_GT(bias, change);
  EXPECT_LT(bias, 200 * change);
}

// One variable with one factor is univariate normal, however rare its failure is.
TEST(NormalBounds, IntegralsReachAsFarAsFailureIsRare) {
  Arena arena;
  for (const double loading : {0.3, 0.9, 0.999, -0.95}) {
    for (const double limit : {2.0, 6.4, 9.0}) {
      const std::vector<double> z{limit}, loadings{loading};
      EXPECT_NEAR(one_factor(z, loadings, arena).q / complement(limit), 1, 1e-13) << loading << ", " << limit;
    }
  }
}

// With n directions and their opposites, faces that none of them hit may hide 3 / 2n of p.
TEST(NormalBounds, UnseenFacesAreInTheError) {
  constexpr Eigen::Index kFaces = 400;
  const Eigen::MatrixXd U = test::random_factor(kFaces, 2, 7, 0.0);
  const std::vector<double> z(kFaces, 2.0);
  Arena arena;
  const auto integral = directions(z, U, {1e-12, 1e-12, 1, 100000}, arena);
  ASSERT_TRUE(integral);
  EXPECT_GT(integral->error_p, 1.5 * integral->p / static_cast<double>(integral->points));
}

// Two nearly identical variables are merged; the error includes the change.
TEST(NormalBounds, MergedVariablesCountInTheError) {
  const double rho = 1 - 2e-15, truth = bivariate(0.5, 0.5, rho).p;
  const Probability merged = mvn_cdf(std::vector<double>{0.5, 0.5}, (Eigen::Matrix2d() << 1, rho, rho, 1).finished());
  EXPECT_GT(merged.p - truth, 1e-9);
  EXPECT_LE(merged.p - truth, merged.error);
  EXPECT_LT(merged.error, 1e-6);
}

// Eight directions around the circle: the last variables are bounded from both sides.
TEST(NormalBounds, SeparationBoundsTheMissedMass) {
  constexpr Eigen::Index kSides = 8;
  Eigen::MatrixXd U(kSides, 2);
  for (Eigen::Index i = 0; i < kSides; ++i) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(i) / kSides;
    U.row(i) << std::cos(angle), std::sin(angle);
  }
  const Eigen::MatrixXd R = test::gram(U);
  const std::vector<double> limits = test::spread(kSides, 0.5, 1.5);
  Arena arena;
  Separation separation({kSides, limits.data(), R.data(), kSides}, 1, 16, arena);
  separation.refine();
  EXPECT_NEAR(separation.p() + separation.q(), 1, 1e-12);
  EXPECT_LT(separation.p(), 0.9);
}

// Errors of the terms add up like independent errors: five reported standard errors match the spread over seeds.
TEST(NormalBounds, ErrorsOfRareFailureFitTheirSpread) {
  constexpr int kSeeds = 60;
  const Eigen::MatrixXd R = test::gram(test::random_factor(20, 30, 3, 0.7));
  const std::vector<double> limits = test::spread(20, 2.0, 2.6);
  double sum = 0, squares = 0, reported = 0;
  for (int seed = 0; seed < kSeeds; ++seed) {
    Arena arena;
    const RareFailure rare =
        telescope({20, limits.data(), R.data(), 20}, {1e-12, 1e-12, static_cast<std::uint64_t>(seed), 20000}, arena);
    sum += rare.q;
    squares += rare.q * rare.q;
    reported += rare.error * rare.error;
  }
  const double mean = sum / kSeeds, spread = std::sqrt((squares - kSeeds * mean * mean) / (kSeeds - 1));
  const double ratio = std::sqrt(reported / kSeeds) / (kErrorFactor * spread);
  EXPECT_GT(ratio, 0.75);
  EXPECT_LT(ratio, 1.5);
}

// I_x(n, 1) = x^n, so the lower end for n of n is the n-th root of the tail probability; the median of a symmetric beta is 1/2.
TEST(NormalBounds, ClopperPearsonIsExact) {
  for (const std::int64_t n : {1, 5, 10, 11, 100}) {
    EXPECT_NEAR(clopper_pearson(n, n).low, std::pow(0.025, 1 / static_cast<double>(n)), 1e-14) << n;
    EXPECT_NEAR(clopper_pearson(0, n).high, -std::expm1(std::log(0.025) / static_cast<double>(n)), 1e-14) << n;
    EXPECT_NEAR(log_beta(static_cast<double>(n), 1), -std::log(static_cast<double>(n)), 1e-11) << n;
    EXPECT_NEAR(incomplete_beta(static_cast<double>(n), static_cast<double>(n), 0.5), 0.5, 1e-12) << n;
  }
  EXPECT_NEAR(log_beta(10, 10), std::log(1 / 923780.0), 1e-13);
}

}  // namespace
}  // namespace probust::normal
