// SPDX-License-Identifier: MIT
//
// The normal distribution of one, two and many variables: closed forms, identities, and bad input.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "probust/normal/bivariate.h"
#include "probust/normal/controlled.h"
#include "probust/normal/directions.h"
#include "probust/normal/factor.h"
#include "probust/normal/limits.h"
#include "probust/normal/multivariate.h"
#include "probust/normal/mv_sigmoid.h"
#include "probust/normal/neighbour.h"
#include "probust/normal/one_factor.h"
#include "probust/normal/polygon.h"
#include "probust/normal/rare.h"
#include "probust/normal/separation.h"
#include "probust/normal/trivariate.h"
#include "probust/normal/univariate.h"
#include "support/correlations.h"

namespace {

using namespace probust::test;    // NOLINT(google-build-using-namespace): the helpers of the tests
using namespace probust::normal;  // NOLINT(google-build-using-namespace): the code under test
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kPi = std::numbers::pi;

void expect_relative(double actual, double expected, double tolerance) {
  EXPECT_NEAR(actual, expected, tolerance * std::abs(expected));
}

MatrixXd equicorrelated(Index m, double rho) {
  MatrixXd R = MatrixXd::Constant(m, m, rho);
  R.diagonal().setOnes();
  return R;
}

/// Two results for the same problem may differ by at most their errors.
void expect_same(const Probability& one, const Probability& two) {
  ASSERT_TRUE(one.valid() && two.valid());
  EXPECT_LE(std::abs(one.p - two.p), one.error + two.error) << one.method << ' ' << two.method;
  EXPECT_LE(std::abs(one.p_fail - two.p_fail), one.error_fail + two.error_fail) << one.method << ' ' << two.method;
}

// ---- one variable

TEST(NormalUnivariate, KnownValues) {
  // Reference: 40-digit arithmetic.
  expect_relative(cdf(0.0), 0.5, 0);
  expect_relative(cdf(1.0), 0.84134474606854294859, 2e-16);
  expect_relative(complement(1.0), 0.15865525393145705141, 1e-15);
  expect_relative(complement(5.0), 2.8665157187919391167e-7, 1e-15);
  expect_relative(complement(8.0), 6.2209605742717841235e-16, 1e-15);
  expect_relative(complement(20.0), 2.7536241186062336951e-89, 1e-15);
  expect_relative(complement(37.0), 5.7255712225245768227e-300, 1e-15);
  expect_relative(cdf(-20.0), complement(20.0), 0);
  expect_relative(pdf(0.0), 1.0 / std::sqrt(2 * kPi), 2e-16);
  expect_relative(log_complement(20.0), -203.91715537109726394, 1e-15);
  expect_relative(log_complement(40.0), -804.60844201375378817, 1e-15);
  expect_relative(log_complement(1e10), -5e19, 1e-15);
  expect_relative(log_cdf(9.0), -complement(9.0), 1e-14);
}

TEST(NormalUnivariate, EndsAndNan) {
  EXPECT_EQ(cdf(kInfinity), 1.0);
  EXPECT_EQ(cdf(-kInfinity), 0.0);
  EXPECT_EQ(complement(kInfinity), 0.0);
  EXPECT_EQ(pdf(kInfinity), 0.0);
  EXPECT_EQ(log_cdf(-kInfinity), -kInfinity);
  EXPECT_EQ(quantile(0.0), -kInfinity);
  EXPECT_EQ(quantile(1.0), kInfinity);
  for (const double bad : {-0.1, 1.1, kNan}) EXPECT_TRUE(std::isnan(quantile(bad)));
  for (const double value : {cdf(kNan), complement(kNan), pdf(kNan), interval(kNan, 1), log_cdf(kNan)})
    EXPECT_TRUE(std::isnan(value));
  EXPECT_EQ(interval(2.0, 1.0), 0.0);
}

TEST(NormalUnivariate, QuantileInvertsBothTails) {
  for (double x = -37.0; x <= 37.0; x += 0.37) {
    const double back = x < 0 ? quantile(cdf(x)) : quantile_complement(complement(x));
    EXPECT_NEAR(back, x, 1e-14 * std::max(1.0, std::abs(x))) << x;
  }
  expect_relative(quantile(0.975), 1.9599639845400542355, 4e-16);
  expect_relative(quantile(1e-300), -37.047096299361199237, 1e-15);
}

TEST(NormalUnivariate, LogsAgreeWithTheirArguments) {
  for (double x = -8.0; x <= 36.0; x += 0.25) expect_relative(std::exp(log_complement(x)), complement(x), 1e-15 * (1 + x * x));
  for (double x = 25.0; x < 37.0; x += 0.5) expect_relative(log_complement(x), std::log(complement(x)), 1e-14);
}

TEST(NormalUnivariate, IntervalKeepsItsAccuracyInTheTail) {
  expect_relative(interval(9.0, kInfinity), complement(9.0), 0);
  expect_relative(interval(-kInfinity, -9.0), complement(9.0), 0);
  expect_relative(interval(30.0, 30.1), complement(30.0) - complement(30.1), 1e-14);
  EXPECT_NEAR(interval(-1.0, 1.0), 0.68268949213708589717, 1e-15);
}

// ---- two variables

TEST(NormalBivariate, OrthantIsSheppards) {
  for (double rho = -1.0; rho <= 1.0; rho += 0.01) {
    const double expected = 0.25 + std::asin(std::clamp(rho, -1.0, 1.0)) / (2 * kPi);
    EXPECT_NEAR(bivariate(0, 0, rho).p, expected, 1e-15) << rho;
    EXPECT_NEAR(bivariate(0, 0, rho).q, 1 - expected, 1e-15) << rho;
  }
}

TEST(NormalBivariate, IndependenceAndTheTwoEnds) {
  for (const double a : {-2.0, 0.3, 7.0}) {
    for (const double b : {-1.0, 0.4, 7.5}) {
      EXPECT_NEAR(bivariate(a, b, 0).p, cdf(a) * cdf(b), 1e-16);
      expect_relative(bivariate(a, b, 0).q, complement(a) + cdf(a) * complement(b), 1e-15);
      expect_relative(bivariate(a, b, 1).p, cdf(std::min(a, b)), 1e-15);
      expect_relative(bivariate(a, b, 1).q, complement(std::min(a, b)), 1e-15);
      EXPECT_NEAR(bivariate(a, b, -1).p, interval(-b, a), 1e-16);
      expect_relative(bivariate(a, b, -1).q, std::min(1.0, complement(a) + complement(b)), 1e-15);
    }
  }
}

TEST(NormalBivariate, InfiniteLimits) {
  EXPECT_EQ(bivariate(kInfinity, kInfinity, 0.4).p, 1.0);
  EXPECT_EQ(bivariate(kInfinity, kInfinity, 0.4).q, 0.0);
  EXPECT_EQ(bivariate(kInfinity, 1.0, 0.4).q, complement(1.0));
  EXPECT_EQ(bivariate(1.0, kInfinity, -1.0).p, cdf(1.0));
  EXPECT_EQ(bivariate(-kInfinity, kInfinity, 0.4).p, 0.0);
  EXPECT_EQ(bivariate(2.0, -kInfinity, 0.4).q, 1.0);
  EXPECT_TRUE(std::isnan(bivariate(kNan, 0, 0).p) && std::isnan(bivariate(0, 0, kNan).q));
}

TEST(NormalBivariate, RelationsHoldEverywhere) {
  std::mt19937 bits(3);
  std::uniform_real_distribution<double> uniform;
  for (int i = 0; i < 4000; ++i) {
    const double a = 12 * uniform(bits) - 5, b = i % 3 ? 12 * uniform(bits) - 5 : a + 1e-3 * uniform(bits);
    const double near = std::pow(10.0, -12 * uniform(bits)), rho = (i % 2 ? 1 : -1) * (i % 5 ? uniform(bits) : 1 - near);
    const Bivariate value = bivariate(a, b, rho);
    EXPECT_NEAR(value.p + value.q, 1.0, 1e-15);
    EXPECT_NEAR(value.p, bivariate(b, a, rho).p, 2e-16);
    // X <= a is split by the sign of Y - b; the complement follows by inclusion and exclusion.
    EXPECT_NEAR(value.p + bivariate(a, -b, -rho).p, cdf(a), 2e-15) << a << ' ' << b << ' ' << rho;
    expect_relative(complement(a) + complement(b) - bivariate_upper(a, b, rho), value.q, 1e-14);
    EXPECT_LE(value.p, bivariate(a + 0.01, b, rho).p + 1e-16);
    EXPECT_GE(value.q, std::max(complement(a), complement(b)) * (1 - 1e-15));
  }
}

TEST(NormalBivariate, TailsKeepTheirRelativeAccuracy) {
  // P(X > h, Y > k) and its logarithm, integrated with 40 digits.
  struct Case {
    double h, k, rho, upper, log_upper;
  };
  const Case cases[] = {{5, 5, -0.5, 3.4325734800351083957e-25, -56.331317059272399759},
                        {3, 2, -0.9, 3.5953485194439634371e-31, -70.100496950737999706},
                        {1, 1, -0.9, 1.4529843854146401074e-7, -15.744476012873450701},
                        {6, 0.5, -0.7, 1.111549586100036044e-20, -45.94594679457800372},
                        {2.5, -1, -0.92, 6.9809780734249956827e-7, -14.174906618868127169},
                        {8, 8, 0.3, 1.750664974025028018e-24, -54.70204653094059138},
                        {5, 5, 0.93, 9.2750101948229479075e-8, -16.193357036287185236},
                        {4, 4, -0.93, 7.11862191586340888e-104, -237.506135515833086},
                        {3, -2, -0.95, 1.1128789511998569205e-6, -13.708560250615336608},
                        {4, -3.5, -0.85, 0.000013873615569296426086, -11.185521682099457228},
                        {20, 20, 0.5, 1.57668165314507175e-119, -273.552303647334871},
                        {25, 18, -0.3, 2.333084765357542e-295, -678.415411107663386},
                        {0.5, 0.2, 0.97, 0.30361517033629774091, -1.1919942665394059406},
                        {7, 6.5, 0.99, 1.2794816546266158066e-12, -27.38456607733733862},
                        {10, 3, 0.999, 7.619853024160526066e-24, -53.231285150512470578}};
  for (const Case& known : cases) {
    const auto [h, k, rho, value, log_value] = known;
    const double tolerance = 2e-15 * (5.0 + std::abs(log_value));
    expect_relative(bivariate_upper(h, k, rho), value, tolerance);
    expect_relative(bivariate(-h, -k, rho).p, value, tolerance);
  }
}

TEST(NormalBivariate, MethodsMeetWhereTheyChange) {
  for (const double sign : {-1.0, 1.0}) {
    for (const double a : {-3.0, 0.5, 6.0}) {
      for (const double b : {-1.0, 0.6, 6.1}) {
        const double below = bivariate(a, b, sign * (0.925 - 1e-13)).q, above = bivariate(a, b, sign * (0.925 + 1e-13)).q;
        expect_relative(below, above, 1e-11);
      }
    }
  }
}

// ---- three variables

TEST(NormalTrivariate, OrthantAndMarginals) {
  const Eigen::Matrix3d R{{1, 0.3, -0.5}, {0.3, 1, 0.4}, {-0.5, 0.4, 1}};
  const double expected = 0.125 + (std::asin(0.3) + std::asin(-0.5) + std::asin(0.4)) / (4 * kPi);
  EXPECT_NEAR(trivariate({0, 0, 0}, R).p, expected, 1e-14);
  EXPECT_NEAR(trivariate({0, 0, 0}, R).q, 1 - expected, 1e-14);
  expect_relative(trivariate({2, 1.5, 37}, R).q, bivariate(2, 1.5, 0.3).q, 1e-13);
  expect_relative(trivariate({37, 7, 6.5}, R).q, bivariate(7, 6.5, 0.4).q, 1e-12);
}

TEST(NormalTrivariate, InclusionAndExclusion) {
  const Eigen::Matrix3d R{{1, 0.7, 0.5}, {0.7, 1, 0.9}, {0.5, 0.9, 1}};
  for (const double shift : {-2.0, 0.0, 1.0, 5.0}) {
    const Eigen::Vector3d z{0.5 + shift, 0.1 + shift, 0.3 + shift};
    const double singles = complement(z[0]) + complement(z[1]) + complement(z[2]);
    const double pairs =
        bivariate_upper(z[0], z[1], R(0, 1)) + bivariate_upper(z[0], z[2], R(0, 2)) + bivariate_upper(z[1], z[2], R(1, 2));
    const double all = trivariate(-z, R).p;  // P(X > z), by symmetry
    expect_relative(trivariate(z, R).q, singles - pairs + all, 1e-11);
  }
}

TEST(NormalTrivariate, SingularMatrices) {
  // Three directions in a plane, 120 degrees apart: nowhere are all three components negative enough.
  const Eigen::Matrix3d star{{1, -0.5, -0.5}, {-0.5, 1, -0.5}, {-0.5, -0.5, 1}};
  EXPECT_NEAR(trivariate({-0.1, -0.1, -0.1}, star).p, 0.0, 1e-13);
  EXPECT_NEAR(trivariate({0.4, 30, 30}, star).p, cdf(0.4), 1e-13);
  const Eigen::Matrix3d opposite{{1, -1, 0}, {-1, 1, 0}, {0, 0, 1}};
  EXPECT_NEAR(trivariate({0.5, 1, 0.2}, opposite).p, interval(-1, 0.5) * cdf(0.2), 1e-12);
}

// ---- many variables

TEST(NormalMultivariate, NothingAndInfinities) {
  const Probability nothing = mvn_cdf({}, MatrixXd());
  EXPECT_EQ(nothing.p, 1.0);
  EXPECT_EQ(nothing.p_fail, 0.0);
  EXPECT_EQ(nothing.status, Status::ok);
  EXPECT_EQ(mvn_cdf_factor({}, MatrixXd(0, 3)).p, 1.0);
  const MatrixXd R = gram(random_factor(4, 6, 1));
  EXPECT_EQ(mvn_cdf(std::vector<double>(4, kInfinity), R).p, 1.0);
  const Probability never = mvn_cdf(std::vector<double>{1, -kInfinity, kInfinity, 2}, R);
  EXPECT_EQ(never.p, 0.0);
  EXPECT_EQ(never.p_fail, 1.0);
  EXPECT_EQ(never.status, Status::ok);
}

TEST(NormalMultivariate, EquicorrelatedOrthant) {
  for (const Index m : {2, 3, 4, 9, 50}) {
    const Probability half = mvn_cdf(std::vector<double>(m, 0.0), equicorrelated(m, 0.5));
    EXPECT_NEAR(half.p, 1.0 / static_cast<double>(m + 1), 1e-12) << m;
    EXPECT_NEAR(half.p_fail, static_cast<double>(m) / static_cast<double>(m + 1), 1e-12) << m;
    EXPECT_EQ(half.status, Status::ok);
  }
}

TEST(NormalMultivariate, IndependentVariablesMultiply) {
  const auto z = spread(12, 0.5, 2.5);
  double p = 1.0;
  for (const double limit : z) p *= cdf(limit);
  EXPECT_NEAR(mvn_cdf(z, MatrixXd::Identity(12, 12)).p, p, 1e-14);
  const auto high = spread(12, 7, 8);
  double q = 0.0;
  for (const double limit : high) q += complement(limit);
  expect_relative(mvn_cdf(high, MatrixXd::Identity(12, 12)).p_fail, q, 1e-10);
}

TEST(NormalMultivariate, IndependentBlocksMultiply) {
  MatrixXd R = MatrixXd::Identity(7, 7);
  R.topLeftCorner(3, 3) = gram(random_factor(3, 5, 2));
  R.bottomRightCorner(4, 4) = gram(random_factor(4, 5, 3));
  const auto z = spread(7, 0.2, 1.8);
  const Probability joint = mvn_cdf(z, R);
  const Probability one = mvn_cdf(std::span(z).first(3), R.topLeftCorner(3, 3));
  const Probability two = mvn_cdf(std::span(z).last(4), R.bottomRightCorner(4, 4));
  EXPECT_EQ(joint.method, "blocks");
  EXPECT_NEAR(joint.p, one.p * two.p, joint.error + one.error + two.error);
}

TEST(NormalMultivariate, OrderDoesNotMatter) {
  for (const Index rank : {2, 5, 12}) {
    const MatrixXd R = gram(random_factor(8, rank, 4));
    for (const double level : {0.3, 2.0, 5.0}) {
      const auto z = spread(8, level, level + 1);
      std::vector<Index> order(8);
      std::iota(order.begin(), order.end(), 0);
      std::shuffle(order.begin(), order.end(), std::mt19937(5));
      std::vector<double> shuffled(8);
      MatrixXd S(8, 8);
      for (Index i = 0; i < 8; ++i) {
        shuffled[i] = z[order[i]];
        for (Index j = 0; j < 8; ++j) S(i, j) = R(order[i], order[j]);
      }
      expect_same(mvn_cdf(z, R), mvn_cdf(shuffled, S));
    }
  }
}

TEST(NormalMultivariate, InfiniteLimitsAreMarginals) {
  const MatrixXd R = gram(random_factor(6, 9, 6));
  std::vector<double> z = spread(6, 0.4, 1.4);
  z[1] = z[4] = kInfinity;
  const std::vector<double> kept = {z[0], z[2], z[3], z[5]};
  MatrixXd S(4, 4);
  const Index at[] = {0, 2, 3, 5};
  for (Index i = 0; i < 4; ++i) {
    for (Index j = 0; j < 4; ++j) S(i, j) = R(at[i], at[j]);
  }
  const Probability with = mvn_cdf(z, R), without = mvn_cdf(kept, S);
  EXPECT_EQ(with.p, without.p);
  EXPECT_EQ(with.p_fail, without.p_fail);
}

TEST(NormalMultivariate, MonotoneInEachLimit) {
  const MatrixXd R = gram(random_factor(6, 4, 7));
  auto z = spread(6, 0.0, 1.5);
  double before = 0.0;
  for (double limit = -2.0; limit < 3.0; limit += 0.5) {
    z[3] = limit;
    const Probability now = mvn_cdf(z, R);
    EXPECT_GE(now.p + now.error, before);
    before = now.p - now.error;
  }
}

TEST(NormalMultivariate, DuplicatesAndOpposites) {
  MatrixXd U = random_factor(5, 8, 8);
  U.row(4) = U.row(1);
  auto z = spread(5, 0.5, 1.5);
  expect_same(mvn_cdf_factor(z, U), mvn_cdf_factor(std::span(z).first(4), U.topRows(4)));
  U.row(4) = -U.row(1);
  z[4] = -z[1] - 0.5;
  const Probability empty = mvn_cdf_factor(z, U);
  EXPECT_LE(empty.p, empty.error);
  EXPECT_LE(empty.error, 1e-4);
}

TEST(NormalMultivariate, SingularLimits) {
  // rho -> 1 and rho -> -1 converge to the degenerate results, and so do all ranks in between.
  const std::vector<double> z = {0.5, 0.8, 1.1, 1.4};
  for (const double gap : {1e-3, 1e-6, 1e-9, 1e-12, 0.0}) {
    const Probability nearly = mvn_cdf(z, equicorrelated(4, 1 - gap));
    EXPECT_NEAR(nearly.p, cdf(0.5), 1e-4 + std::sqrt(gap)) << gap;
    const MatrixXd pair{{1, -1 + gap}, {-1 + gap, 1}};
    EXPECT_NEAR(mvn_cdf(std::span(z).first(2), pair).p, interval(-0.8, 0.5), std::sqrt(gap) + 1e-15) << gap;
  }
  // A regular simplex around the origin: the smallest possible equicorrelation.
  const Probability simplex = mvn_cdf(std::vector<double>(4, 0.0), equicorrelated(4, -1.0 / 3));
  EXPECT_LE(simplex.p, 1e-4);
  EXPECT_EQ(simplex.status, Status::ok);
}

TEST(NormalMultivariate, PolygonInThePlane) {
  // A regular polygon with inradius r, rank 2: in polar coordinates p = 1 - m / pi * integral of exp(-r^2 / (2 cos^2)).
  for (const Index m : {5, 12, 60}) {
    const double inradius = 1.7, half = kPi / static_cast<double>(m);
    MatrixXd U(m, 2);
    for (Index i = 0; i < m; ++i)
      U.row(i) << std::cos(2 * half * static_cast<double>(i)), std::sin(2 * half * static_cast<double>(i));
    double q = 0.0;
    constexpr int kSteps = 2000;
    for (int k = 0; k < kSteps; ++k) {
      const double angle = half * (k + 0.5) / kSteps;
      q += std::exp(-0.5 * std::pow(inradius / std::cos(angle), 2)) / kSteps;
    }
    const Probability answer = mvn_cdf_factor(std::vector<double>(m, inradius), U);
    EXPECT_EQ(answer.status, Status::ok) << m;
    EXPECT_EQ(answer.method, "polygon");
    EXPECT_NEAR(answer.p_fail, q, 1e-8) << m;  // the midpoint rule's own error
    EXPECT_NEAR(answer.p, 1 - q, 1e-8) << m;
    const Probability from_matrix = mvn_cdf(std::vector<double>(m, inradius), gram(U));
    EXPECT_EQ(from_matrix.method, "polygon");
    EXPECT_NEAR(from_matrix.p, answer.p, answer.error + from_matrix.error) << m;
    EXPECT_LT(from_matrix.error, 1e-5);
  }
}

/// Rows (cos, sin) of angles in degrees.
MatrixXd directions(const std::vector<double>& degrees) {
  MatrixXd U(degrees.size(), 2);
  for (std::size_t i = 0; i < degrees.size(); ++i) U.row(i) << std::cos(degrees[i] * kPi / 180), std::sin(degrees[i] * kPi / 180);
  return U;
}

Integral polygon_of(const std::vector<double>& z, const std::vector<double>& degrees) {
  Arena arena;
  return polygon(z, directions(degrees), arena);
}

TEST(NormalPolygon, HalfPlanesStripsAndBoxes) {
  for (const double a : {-3.0, -0.4, 0.0, 1e-9, 0.7, 6.0}) {
    EXPECT_NEAR(polygon_of({a}, {37}).p, cdf(a), 1e-14) << a;
    expect_relative(polygon_of({a, 30}, {37, 37}).q, complement(a), 1e-13);
    for (const double b : {0.2, 2.0, 7.0}) {
      const double strip = interval(-b, std::max(a, -b));
      EXPECT_NEAR(polygon_of({a, b}, {10, 190}).p, strip, 1e-14) << a << ' ' << b;
      // A strip and a box with repeated sides, and two limits that do not bind.
      EXPECT_NEAR(polygon_of({a, b, b, b, b, 20, 20}, {10, 190, 100, 280, 280, 55, 145}).p, strip * interval(-b, b), 1e-14);
    }
  }
}

TEST(NormalPolygon, WedgesAreBivariate) {
  for (const double rho : {-0.99999, -0.6, 0.0, 0.3, 0.999999}) {
    for (const auto& [a, b] :
         {std::pair(0.5, 1.1), std::pair(-0.7, 0.6), std::pair(-2.0, -1.5), std::pair(4.0, 5.0), std::pair(0.0, 0.0)}) {
      const Bivariate both = bivariate(a, b, rho);
      const Integral wedge = polygon_of({a, b, 25}, {0, std::acos(rho) * 180 / kPi, 200});
      EXPECT_NEAR(wedge.p, both.p, 1e-13) << rho << ' ' << a << ' ' << b;
      expect_relative(wedge.q, both.q, 1e-12);
      EXPECT_LT(wedge.error_q, 1e-13 * both.q);
    }
  }
}

TEST(NormalPolygon, SidesThroughTheOrigin) {
  for (const double degrees : {1.0, 36.0, 90.0, 150.0}) {
    // The angle between the two sides is 180 - degrees; the other sides do not bind.
    const Integral wedge = polygon_of({0, 0, 0, 0}, {0, degrees, 0.3 * degrees, 0.8 * degrees});
    EXPECT_NEAR(wedge.p, (180 - degrees) / 360, 1e-14);
  }
  EXPECT_NEAR(polygon_of({0, 1e-17, 1e-12}, {0, 90, 45}).p, 0.25, 1e-12);
  EXPECT_NEAR(polygon_of({0, 0, 0}, {0, 120, 240}).p, 0.0, 1e-14);
}

// Regression test: rows that are parallel up to rounding, and limits at the end of the range of double.
TEST(NormalPolygon, NearlyParallelSidesAndHugeLimits) {
  MatrixXd a(4, 2), b(4, 2), c(4, 2);
  a << 5, -7, 35, -49, 7, 5, -7, -5;
  b << 0.6566659069688741, 0.754181600560996, 0.6566659069688743, 0.7541816005609964, -0.7541816005609961, 0.6566659069688742,
      0.7541816005609961, -0.6566659069688742;
  const double angles[] = {-1.7100990516509, -0.1035786784310, 0.0952593159661, -2.0228201422796};
  for (int i = 0; i < 4; ++i) c.row(i) << std::cos(angles[i]), std::sin(angles[i]);
  a = a.rowwise().normalized().eval();
  EXPECT_NEAR(mvn_cdf_factor(std::vector<double>{0, 2, 3, 3}, a).p, 0.5 * interval(-3, 3), 1e-13);
  EXPECT_NEAR(mvn_cdf_factor(std::vector<double>{1, 2, 3, 3}, b).p, cdf(1) * interval(-3, 3), 1e-13);
  EXPECT_NEAR(mvn_cdf_factor(std::vector<double>{2, 1, 3, 3}, b).p, cdf(1) * interval(-3, 3), 1e-13);
  EXPECT_NEAR(mvn_cdf_factor(std::vector<double>{1, 1e308, 1e308, 1e308}, c).p, cdf(1), 1e-13);
  EXPECT_NEAR(mvn_cdf_factor(std::vector<double>{1, -1e308, 1e308, 1e308}, c).p, 0, 1e-13);
  // The same direction on both sides of the jump at +-pi.
  EXPECT_NEAR(polygon_of({1, 2, 5, 5}, {180, -180, 90, -90}).p, cdf(1) * interval(-5, 5), 1e-14);
}

TEST(NormalPolygon, EmptyPolygon) {
  EXPECT_EQ(polygon_of({-1, -1, 0.5}, {0, 180, 90}).p, 0.0);
  EXPECT_EQ(polygon_of({-1, -1, 0.5}, {0, 180, 90}).q, 1.0);
  EXPECT_EQ(polygon_of({-1, -1, -1}, {0, 120, 240}).p, 0.0);
  EXPECT_EQ(polygon_of({1, -1.0001}, {0, 180}).q, 1.0);
}

TEST(NormalPolygon, LimitsOfAnySignAgreeWithSeparation) {
  Normals normal(77);
  for (int round = 0; round < 40; ++round) {
    const Index m = 4 + round % 9;
    const MatrixXd U = random_factor(m, 2, normal), R = gram(U);
    std::vector<double> z(m);
    for (double& limit : z) limit = 0.8 + normal();
    Arena arena;
    const Integral exact = polygon(z, U, arena);
    Separation sampled({m, z.data(), R.data(), m}, 5, 1 << 12, arena);
    sampled.refine();
    EXPECT_NEAR(exact.p, sampled.p(), sampled.error()) << round;
    EXPECT_NEAR(exact.p + exact.q, 1.0, 1e-14);
  }
}

TEST(NormalDirections, FacesThatAFirstLookMissesCount) {
  // Five regular polygons of 200 sides in orthogonal planes: many of the 1,000 faces are the nearest in only few directions.
  const int planes = 5, sides = 200;
  const double radius = 2.0;
  MatrixXd U = MatrixXd::Zero(planes * sides, 2 * planes);
  for (int i = 0; i < planes * sides; ++i) {
    const double angle = 2.0 * kPi * (i % sides) / sides;
    U.block<1, 2>(i, 2 * (i / sides)) << std::cos(angle), std::sin(angle);
  }
  const std::vector<double> z(planes * sides, radius);
  Arena arena;
  const double one = polygon({z.data(), sides}, U.topLeftCorner(sides, 2), arena).p;
  const Goal goal{2e-3, 1.0, 0, 1000000};
  const Integral all = directions(z, U, goal, arena).value();
  EXPECT_NEAR(all.p, std::pow(one, planes), all.error_p);
  EXPECT_LE(all.error_p, goal.abs);
  EXPECT_NEAR(all.p + all.q, 1.0, 1e-12);
}

// If few directions determine p, or few faces bind, the method returns no result, because the scatter would not show what it
// missed.
TEST(NormalDirections, RejectsProblemsItCannotSample) {
  const Index d = 11, m = 16 * d;
  MatrixXd U = random_factor(m, d, 3);
  U.topRows(d).setIdentity();
  std::vector<double> z(m, 8.0);
  std::fill_n(z.begin(), d, 0.0);
  Arena arena;
  EXPECT_FALSE(directions(z, U, {1e-4, 1.0, 1, 1000000}, arena).has_value());  // an orthant: 2^-11
  const Probability orthant = mvn_cdf_factor(z, U);
  EXPECT_NEAR(orthant.p, std::pow(0.5, 11), orthant.error);
  const MatrixXd cube = U.topRows(d).replicate(16, 1);
  EXPECT_EQ(mvn_cdf_factor(std::vector<double>(m, 1.5), cube).method, "blocks");
}

TEST(NormalDirections, InfiniteLimitsAreNone) {
  MatrixXd U = random_factor(200, 4, 11);
  std::vector<double> z = spread(200, 2.2, 4.0);
  const Probability all = mvn_cdf_factor(z, U);
  MatrixXd more(201, 4);
  more << U, U.row(0);
  z.push_back(INFINITY);
  const Probability same = mvn_cdf_factor(z, more);
  EXPECT_EQ(all.method, "directions");
  EXPECT_EQ(same.p, all.p);
  EXPECT_EQ(same.points, all.points);
}

TEST(NormalMultivariate, FewColumnsAreSampledByDirectionWhicheverFormTheyComeIn) {
  const MatrixXd U = random_factor(200, 4, 11);
  std::vector<double> z(200);
  Normals normal(12);
  for (double& limit : z) limit = 2.5 + std::abs(normal());
  const Probability factor = mvn_cdf_factor(z, U), matrix = mvn_cdf(z, gram(U));
  EXPECT_EQ(factor.method, "directions");
  EXPECT_EQ(matrix.method, "directions");
  EXPECT_NEAR(factor.p, matrix.p, factor.error + matrix.error);
  MatrixXd flat = MatrixXd::Zero(200, 4);  // four columns that make a plane: exact
  flat.leftCols(2) = random_factor(200, 2, 13);
  EXPECT_EQ(mvn_cdf_factor(z, flat).method, "polygon");
}

TEST(NormalMultivariate, SamplingAgreesWithQuadrature) {
  // One-factor matrices have an exact answer. The samplers are called directly, because mvn_cdf would not use them here.
  const Index m = 20;
  std::vector<double> loading(m), z(m);
  for (Index i = 0; i < m; ++i) loading[i] = 0.4 + 0.02 * static_cast<double>(i);
  MatrixXd R(m, m);
  for (Index i = 0; i < m; ++i) {
    for (Index j = 0; j < m; ++j) R(i, j) = i == j ? 1.0 : loading[i] * loading[j];
  }
  Arena arena;
  for (const double level : {2.0, 4.0, 7.0, 12.0}) {
    for (Index i = 0; i < m; ++i) z[i] = level + 0.03 * static_cast<double>(i);
    const Integral exact = one_factor(z, loading, arena);
    const Orthant orthant{m, z.data(), R.data(), m};
    const RareFailure sum = telescope(orthant, {1.0, 1e-3, 0, 400000}, arena);
    EXPECT_LE(sum.error, 1.1e-3 * exact.q) << level;
    EXPECT_NEAR(sum.q, exact.q, sum.error) << level;
    const RareFailure sampled = importance_sample(orthant, {1.0, 1e-2, 0, 400000}, arena);
    EXPECT_NEAR(sampled.q, exact.q, sampled.error) << level;
    EXPECT_LE(sampled.error, 1e-2 * exact.q) << level;
  }
}

TEST(NormalNeighbour, ExpansionAgreesWithDifferences) {
  // With three variables, pairs share indices; with four variables in two blocks, pairs share none. Both have exact answers.
  const std::vector<double> z = {0.4, 1.1, -0.3, 0.8};
  Arena arena;
  const auto check = [&](Index m, const std::vector<double>& loading, const MatrixXd& R, const auto& exact) {
    const Expansion expansion = expand_one_factor(Orthant{m, z.data(), R.data(), m}, loading, arena);
    const double h = 0.02, before = exact(-h), here = exact(0.0), after = exact(h);
    EXPECT_NEAR(expansion.zeroth, here, 1e-10) << m;
    EXPECT_NEAR(expansion.first, (after - before) / (2 * h), 2e-6) << m;
    EXPECT_NEAR(expansion.second, (after - 2 * here + before) / (2 * h * h), 2e-6) << m;
    EXPECT_LE(expansion.error, 1e-8);
    EXPECT_GT(std::abs(expansion.second), 1e-4) << "too small to tell";
  };
  const std::vector<double> three = {0.6, -0.5, 0.7}, four = {0.0, 0.0, 0.0, 0.0};
  MatrixXd R(3, 3);
  R << 1, 0.1, 0.7, 0.1, 1, -0.6, 0.7, -0.6, 1;
  check(3, three, R, [&](double t) {
    Eigen::Matrix3d mixed = t * R;
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) mixed(i, j) = i == j ? 1.0 : mixed(i, j) + (1 - t) * three[i] * three[j];
    }
    return trivariate({z[0], z[1], z[2]}, mixed).p;
  });
  MatrixXd blocks = MatrixXd::Identity(4, 4);
  blocks(0, 1) = blocks(1, 0) = 0.5;
  blocks(2, 3) = blocks(3, 2) = -0.4;
  check(4, four, blocks, [&](double t) { return bivariate(z[0], z[1], 0.5 * t).p * bivariate(z[2], z[3], -0.4 * t).p; });
}

TEST(NormalNeighbour, FindsAnExistingFactor) {
  const std::vector<double> loading = {0.9, -0.4, 0.6, 0.3, -0.8, 0.5};
  MatrixXd R(6, 6);
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j < 6; ++j) R(i, j) = i == j ? 1.0 : loading[i] * loading[j];
  }
  const std::vector<double> z(6, 1.0);
  Arena arena;
  const auto found = nearest_one_factor(Orthant{6, z.data(), R.data(), 6}, 0.99, 1e-9, arena);
  for (int i = 0; i < 6; ++i) EXPECT_NEAR(std::abs(found[i]), std::abs(loading[i]), 1e-8) << i;
}

TEST(NormalControlled, AgreesWithTheTelescopingSum) {
  const Index m = 40;
  const MatrixXd R = gram(random_factor(m, 120, 21));
  Arena arena;
  for (const double level : {0.6, 1.2, 2.0}) {
    const auto z = spread(m, level, level + 1.5);
    const Orthant orthant{m, z.data(), R.data(), m};
    const auto controlled = controlled_separation(orthant, {1e-4, 1.0, 0, 1 << 20}, kInfinity, arena);
    ASSERT_TRUE(controlled) << level;
    const RareFailure sum = telescope(orthant, {1e-5, 1.0, 0, 1 << 22}, arena);
    EXPECT_NEAR(1.0 - controlled->p, sum.q, controlled->error + sum.error) << level;
    EXPECT_LE(controlled->error, 1e-4) << level;
  }
}

/// Clusters of `each` variables with correlation `within`, and `across` between clusters; optionally with alternating signs.
MatrixXd clustered(Index clusters, Index each, double within, double across, bool alternate) {
  MatrixXd R(clusters * each, clusters * each);
  for (Index i = 0; i < R.rows(); ++i) {
    for (Index j = 0; j < R.cols(); ++j) {
      const double sign = alternate && i % 2 != j % 2 ? -1.0 : 1.0;
      R(i, j) = i == j ? 1.0 : sign * (i / each == j / each ? within : across);
    }
  }
  return R;
}

TEST(NormalMultivariate, NearlyEqualVariablesDoNotFoolTheError) {
  // The integrand is so steep that the first points show no scatter at all. Nested quadrature computes q.
  const MatrixXd R = clustered(3, 4, 0.999991, 0.04, false);
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const Probability answer = mvn_cdf(std::vector<double>(12, 1.0), R, {.seed = seed});
    EXPECT_NEAR(answer.p_fail, 0.400040, answer.error_fail + 1e-6) << seed;
    EXPECT_EQ(answer.status, Status::ok);
  }
}

TEST(NormalMultivariate, ANarrowRegionIsNotEmpty) {
  for (const auto& [within, p] : {std::pair{0.9999, 1.24e-8}, std::pair{0.9991, 3.35e-7}}) {
    const Probability answer = mvn_cdf(std::vector<double>(6, 0.0), clustered(3, 2, within, 0.25, true));
    EXPECT_NEAR(answer.p, p, answer.error) << within;
  }
}

TEST(NormalMultivariate, ErrorsOfGroupsCountByTheOthersProbabilities) {
  MatrixXd R = MatrixXd::Zero(60, 60);
  for (Index i = 0; i < 60; ++i) {
    for (Index j = 0; j < 60; ++j) R(i, j) = i / 6 == j / 6 ? std::pow(0.7, std::abs(i - j)) : 0.0;
  }
  const Probability answer = mvn_cdf(std::vector<double>(60, 0.5), R, {.abs = 1.0, .rel_q = 0.02});
  EXPECT_EQ(answer.status, Status::ok);
  EXPECT_LE(answer.error_fail, 0.02 * answer.p_fail);
}

TEST(NormalMultivariate, OneSharpVariableAmongManyIsSeen) {
  // 48 variables are nearly T with limits near -0.3; one is nearly -T with limit 0.301, so T lies in between.
  const Index m = 49;
  MatrixXd U = MatrixXd::Zero(m, m + 1);
  std::vector<double> z(m);
  for (Index i = 0; i < m; ++i) {
    const double a = i + 1 < m ? 1.0 - 1e-10 * (1.0 + 0.01 * static_cast<double>(i)) : 1e-10 - 1.0;
    z[i] = i + 1 < m ? -0.3 + 1e-9 * static_cast<double>(i) : 0.301;
    U(i, 0) = a;
    U(i, i + 1) = std::sqrt((1.0 - a) * (1.0 + a));
  }
  const Probability answer = mvn_cdf_factor(z, U);
  EXPECT_NEAR(answer.p, 3.679e-4, 1e-7) << answer.method;
}

TEST(NormalMultivariate, ManyRareLimitsAreImportanceSampled) {
  const Index m = 200;
  const MatrixXd U = random_factor(m, 40, 9);
  const auto z = spread(m, 6.0, 6.2);
  const Probability answer = mvn_cdf_factor(z, U);
  EXPECT_EQ(answer.method, "alore");
  EXPECT_EQ(answer.status, Status::ok);
  double most = 0.0;
  for (const double limit : z) most += complement(limit);
  EXPECT_GT(answer.p_fail, complement(6.0));
  EXPECT_LT(answer.p_fail, most);
}

TEST(NormalMultivariate, TailsAddUpTheSameWayTwice) {
  // q of all limits is q of some limits plus what the others add, computed with different methods and matrices.
  const MatrixXd R = gram(random_factor(9, 20, 10));
  const auto z = spread(9, 5.0, 5.4);
  const Probability all = mvn_cdf(z, R), some = mvn_cdf(std::span(z).first(3), R.topLeftCorner(3, 3));
  EXPECT_GT(all.p_fail, some.p_fail);
  double rest = 0.0;
  for (std::size_t i = 3; i < z.size(); ++i) rest += complement(z[i]);
  EXPECT_LT(all.p_fail, some.p_fail + rest);
  EXPECT_LE(all.error_fail, 1e-2 * all.p_fail);
}

TEST(NormalMultivariate, TighterOptionsGiveSmallerErrors) {
  const MatrixXd R = gram(random_factor(6, 8, 11));
  const auto z = spread(6, 0.2, 1.0);
  const Probability rough = mvn_cdf(z, R), fine = mvn_cdf(z, R, {.abs = 1e-5, .rel_q = 1e-3});
  EXPECT_LE(rough.error, 1e-4);
  EXPECT_LE(fine.error, 1e-5);
  EXPECT_GT(fine.points, rough.points);
  expect_same(rough, fine);
  const Probability stopped = mvn_cdf(z, R, {.abs = 1e-9, .max_points = 2000});
  EXPECT_EQ(stopped.status, Status::not_reached);
  EXPECT_LE(stopped.points, 2000);
  expect_same(stopped, fine);
}

TEST(NormalMultivariate, SameInputSameBits) {
  const MatrixXd R = gram(random_factor(10, 15, 12));
  for (const double level : {0.5, 3.0}) {
    const auto z = spread(10, level, level + 1);
    const Probability once = mvn_cdf(z, R), again = mvn_cdf(z, R), other = mvn_cdf(z, R, {.seed = 1});
    EXPECT_EQ(once.p, again.p);
    EXPECT_EQ(once.p_fail, again.p_fail);
    EXPECT_EQ(once.error, again.error);
    EXPECT_NE(once.p_fail, other.p_fail);
    expect_same(once, other);
  }
}

TEST(NormalMultivariate, RoundingInTheFactorIsAccepted) {
  MatrixXd U = random_factor(12, 2, 13);
  U *= 1 + 1e-12;
  EXPECT_TRUE(mvn_cdf_factor(spread(12, 0.5, 2), U).valid());
  MatrixXd R = U * U.transpose();  // diagonal and some entries exceed 1
  EXPECT_TRUE(mvn_cdf(spread(12, 0.5, 2), R).valid());
}

TEST(NormalMultivariate, EachBadInputHasItsStatus) {
  const MatrixXd I = MatrixXd::Identity(3, 3);
  const std::vector<double> z = {1, 2, 3};
  const auto expect = [](const Probability& answer, Status status) {
    EXPECT_EQ(answer.status, status) << describe(answer.status);
    EXPECT_FALSE(answer.valid());
    for (const double value : {answer.p, answer.p_fail, answer.error, answer.error_fail}) EXPECT_TRUE(std::isnan(value));
    EXPECT_EQ(answer.method, "none");
  };
  expect(mvn_cdf(z, MatrixXd::Identity(2, 2)), Status::size_mismatch);
  expect(mvn_cdf(z, MatrixXd::Identity(3, 4)), Status::size_mismatch);
  expect(mvn_cdf({}, I), Status::size_mismatch);
  expect(mvn_cdf_factor(z, MatrixXd::Identity(4, 3)), Status::size_mismatch);
  expect(mvn_cdf(std::vector<double>{1, kNan, 3}, I), Status::nonfinite);
  expect(mvn_cdf_factor(std::vector<double>{1, kNan, kInfinity}, I), Status::nonfinite);
  for (const double bad : {kNan, kInfinity}) {
    MatrixXd R = I;
    R(0, 1) = R(1, 0) = bad;
    expect(mvn_cdf(z, R), Status::nonfinite);
    expect(mvn_cdf_factor(z, R), Status::nonfinite);
  }
  MatrixXd diagonal = I;
  diagonal(1, 1) = 1.1;
  expect(mvn_cdf(z, diagonal), Status::bad_diagonal);
  expect(mvn_cdf_factor(z, diagonal), Status::bad_diagonal);
  expect(mvn_cdf_factor(z, MatrixXd::Zero(3, 0)), Status::bad_diagonal);
  MatrixXd asymmetric = I;
  asymmetric(0, 2) = 0.1;
  expect(mvn_cdf(z, asymmetric), Status::asymmetric);
  expect(mvn_cdf(z, MatrixXd{{1, 0.9, -0.9}, {0.9, 1, 0.9}, {-0.9, 0.9, 1}}), Status::indefinite);
  expect(mvn_cdf(std::span(z).first(2), MatrixXd{{1, 1.001}, {1.001, 1}}), Status::indefinite);
  // The matrix is rejected even if the result would not depend on it.
  expect(mvn_cdf(std::vector<double>{1, kInfinity, -kInfinity}, asymmetric), Status::asymmetric);
  expect(mvn_cdf(z, I, {.abs = 0}), Status::bad_options);
  expect(mvn_cdf(z, I, {.rel_q = kNan}), Status::bad_options);
  expect(mvn_cdf(z, I, {.max_points = 0}), Status::bad_options);
}

TEST(NormalMultivariate, HugeLimitsAreSupported) {
  const MatrixXd R = gram(random_factor(5, 7, 14));
  for (const double size : {1e3, 1e150, 1.7e308}) {
    const Probability high = mvn_cdf(std::vector<double>(5, size), R), low = mvn_cdf(std::vector<double>(5, -size), R);
    EXPECT_EQ(high.p, 1.0);
    EXPECT_EQ(high.p_fail, 0.0);
    EXPECT_NEAR(low.p, 0.0, 1e-12);
    EXPECT_NEAR(low.p_fail, 1.0, 1e-12);
    EXPECT_TRUE(high.valid() && low.valid());
  }
}

TEST(NormalFactor, RanksAndReproduces) {
  for (const Index rank : {1, 2, 3, 10}) {
    const MatrixXd R = gram(random_factor(10, rank, 15));
    Arena arena;
    const GrowingCholesky cholesky = pivoted_cholesky(Orthant{10, nullptr, R.data(), 10}, arena);
    MatrixXd L(10, cholesky.rank());
    for (Index j = 0; j < L.cols(); ++j) {
      for (Index i = 0; i < L.rows(); ++i) L(i, j) = cholesky.entry(i, j);
    }
    EXPECT_EQ(L.cols(), rank);
    EXPECT_LE((L * L.transpose() - R).cwiseAbs().maxCoeff(), 1e-13);
  }
  MatrixXd singular = equicorrelated(4, -1.0 / 3), indefinite = equicorrelated(4, -0.34);
  EXPECT_TRUE(semidefinite(Eigen::Map<MatrixXd>(singular.data(), 4, 4), 1e-9));
  EXPECT_FALSE(semidefinite(Eigen::Map<MatrixXd>(indefinite.data(), 4, 4), 1e-9));
}

// ---- the multivariate sigmoid

TEST(MvSigmoid, Formula) {
  const std::vector<double> z = {0.5, -1.0, 2.0};
  const double sum = std::exp(-0.5) + std::exp(1.0) + std::exp(-2.0);
  expect_relative(mv_sigmoid(z).p, 1 / (1 + sum), 1e-15);
  expect_relative(mv_sigmoid(z).p_fail, sum / (1 + sum), 1e-15);
  EXPECT_EQ(mv_sigmoid({}).p, 1.0);
  EXPECT_EQ(mv_sigmoid({}).p_fail, 0.0);
}

TEST(MvSigmoid, NeverOverflows) {
  const std::vector<double> high = {800, 900};
  expect_relative(mv_sigmoid(std::vector<double>{300, 310}).p_fail, std::exp(-300.0) + std::exp(-310.0), 1e-14);
  EXPECT_EQ(mv_sigmoid(high).p, 1.0);
  EXPECT_EQ(mv_sigmoid(std::vector<double>{-800, 5}).p_fail, 1.0);
  expect_relative(mv_sigmoid(std::vector<double>{-300, 5}).p, std::exp(-300.0), 1e-14);
  EXPECT_EQ(mv_sigmoid(std::vector<double>{kInfinity, 0}).p, 0.5);
  EXPECT_EQ(mv_sigmoid(std::vector<double>{-kInfinity, kInfinity}).p, 0.0);
  EXPECT_EQ(mv_sigmoid(std::vector<double>{-kInfinity, -kInfinity}).p_fail, 1.0);
  EXPECT_TRUE(std::isnan(mv_sigmoid(std::vector<double>{0, kNan}).p));
}

}  // namespace
