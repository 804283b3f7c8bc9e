// SPDX-License-Identifier: MIT
//
// Derivatives of the multivariate normal probability: closed forms, quadrature, differences, and defined edge cases.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <numbers>
#include <random>
#include <vector>

#include "probust/normal/gradient.h"
#include "probust/normal/limits.h"
#include "probust/normal/univariate.h"
#include "support/correlations.h"

namespace {

using namespace probust::test;    // NOLINT(google-build-using-namespace): the helpers of the tests
using namespace probust::normal;  // NOLINT(google-build-using-namespace): the code under test
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kCommon = 0.7;  ///< common part of the rows of a random factor
constexpr Options kTight{.abs = 1e-6, .rel_q = 1e-3, .max_points = 100000};

/// The slope of f at 0 by central differences at h and h / 2, extrapolated.
template <class F>
double slope(const F& f, double h) {
  const double wide = (f(h) - f(-h)) / (2 * h), narrow = (f(h / 2) - f(-h / 2)) / h;
  return (4 * narrow - wide) / 3;
}

double moved(std::vector<double> z, Index i, double step, const MatrixXd& R) {
  z[i] += step;
  return mvn_cdf(z, R, kTight).p;
}

void expect_numbers(const MvnGradient& gradient, Index m) {
  ASSERT_TRUE(gradient.valid()) << describe(gradient.status);
  ASSERT_EQ(gradient.dz.size(), m);
  ASSERT_EQ(gradient.dR.rows(), m);
  EXPECT_TRUE(gradient.dR == gradient.dR.transpose());
  EXPECT_EQ(gradient.dR.diagonal().cwiseAbs().sum(), 0.0);
  EXPECT_GE(gradient.dz.minCoeff(), 0.0);
  EXPECT_GE(gradient.dR.minCoeff(), 0.0);
}

TEST(NormalGradient, OneAndNoVariable) {
  const MvnGradient one = mvn_gradient(std::vector<double>{0.7}, MatrixXd::Identity(1, 1));
  expect_numbers(one, 1);
  EXPECT_NEAR(one.dz[0], pdf(0.7), 1e-16);
  const MvnGradient none = mvn_gradient({}, MatrixXd());
  EXPECT_EQ(none.status, Status::ok);
  EXPECT_EQ(none.value.p, 1.0);
  EXPECT_EQ(none.dz.size(), 0);
}

TEST(NormalGradient, TwoVariables) {
  for (const double rho : {-0.95, -0.3, 0.0, 0.6, 0.999}) {
    const double a = 0.4, b = 0.9, s = std::sqrt(1 - rho * rho);
    const MvnGradient gradient = mvn_gradient(std::vector<double>{a, b}, MatrixXd{{1, rho}, {rho, 1}});
    expect_numbers(gradient, 2);
    EXPECT_NEAR(gradient.dz[0], pdf(a) * cdf((b - rho * a) / s), 1e-14);
    EXPECT_NEAR(gradient.dz[1], pdf(b) * cdf((a - rho * b) / s), 1e-14);
    const double density = std::exp(-(a * a - 2 * rho * a * b + b * b) / (2 * s * s)) / (2 * std::numbers::pi * s);
    EXPECT_NEAR(gradient.dR(0, 1), density, 1e-12 * density);
    EXPECT_LE(gradient.dR_error(0, 1), 1e-9);
  }
}

TEST(NormalGradient, DifferencesInEachLimitAndCorrelation) {
  for (const Index m : {2, 3, 4, 5, 6}) {
    const auto z = spread(m, -0.3, 1.1);
    const MatrixXd R = gram(random_factor(m, m + 4, 20 + static_cast<unsigned>(m), kCommon));
    const MvnGradient gradient = mvn_gradient(z, R, {.abs = 1e-6});
    expect_numbers(gradient, m);
    const double h = m <= 3 ? 5e-3 : 0.05, tolerance = m <= 3 ? 1e-9 : 2e-5;
    for (Index i = 0; i < m; ++i) {
      const double by_limit = slope([&](double step) { return moved(z, i, step, R); }, h);
      EXPECT_NEAR(gradient.dz[i], by_limit, gradient.dz_error[i] + tolerance) << m << ' ' << i;
      for (Index j = 0; j < i; ++j) {
        const auto at = [&](double step) {
          MatrixXd S = R;
          S(i, j) = S(j, i) = R(i, j) + step;
          return mvn_cdf(z, S, kTight).p;
        };
        EXPECT_NEAR(gradient.dR(i, j), slope(at, h), gradient.dR_error(i, j) + tolerance) << m << ' ' << i << ' ' << j;
      }
    }
  }
}

TEST(NormalGradient, DifferencesAlongMatricesOfLowRank) {
  // R varies among matrices of the same rank, along the directions D.
  for (const Index rank : {2, 3}) {
    const Index m = 3 + rank;
    const MatrixXd U = random_factor(m, rank, 30 + static_cast<unsigned>(rank), kCommon), D = random_factor(m, rank, 40, 0.0);
    const auto z = spread(m, 0.2, 1.0);
    const MvnGradient gradient = mvn_gradient(z, gram(U), {.abs = 1e-6});
    expect_numbers(gradient, m);
    const auto turned = [&](double step) { return MatrixXd((U + step * D).rowwise().normalized()); };
    const double expected = slope([&](double step) { return mvn_cdf_factor(z, turned(step), kTight).p; }, 0.02);
    const MatrixXd dR = (gram(turned(1e-6)) - gram(turned(-1e-6))) / 2e-6;
    EXPECT_NEAR(0.5 * gradient.dR.cwiseProduct(dR).sum(), expected, 1e-4) << rank;
    for (Index i = 0; i < m; ++i) {
      const double by_limit = slope([&](double step) { return moved(z, i, step, gram(U)); }, 0.02);
      EXPECT_NEAR(gradient.dz[i], by_limit, 1e-4) << rank << ' ' << i;
    }
  }
}

TEST(NormalGradient, OneFactorByQuadrature) {
  const Index m = 9;
  VectorXd a(m);
  for (Index i = 0; i < m; ++i) a[i] = (i % 3 == 0 ? -1 : 1) * (0.3 + 0.06 * static_cast<double>(i));
  MatrixXd R = a * a.transpose();
  R.diagonal().setOnes();
  for (const double level : {-0.5, 1.0, 6.0}) {
    const auto z = spread(m, level, level + 1.0);
    const MvnGradient gradient = mvn_gradient(z, R, {.abs = 1e-6});
    expect_numbers(gradient, m);
    // Given T = t, all variables are independent; the trapezoidal rule integrates exactly here.
    const auto integral = [&](Index one, Index two) {
      double sum = 0.0;
      for (double t = -12.0; t <= 12.0; t += 0.05) {
        double product = 0.05 * pdf(t);
        for (Index k = 0; k < m; ++k) {
          const double s = std::sqrt(1 - a[k] * a[k]), x = (z[k] - a[k] * t) / s;
          product *= k == one || k == two ? pdf(x) / s : cdf(x);
        }
        sum += product;
      }
      return sum;
    };
    for (Index i = 0; i < m; ++i) {
      const double by_limit = integral(i, i);
      EXPECT_NEAR(gradient.dz[i], by_limit, gradient.dz_error[i]) << i;
      EXPECT_LE(gradient.dz_error[i], 1e-6 * pdf(z[i])) << i;
      for (Index j = 0; j < i; ++j) {
        const double by_correlation = integral(i, j);
        EXPECT_NEAR(gradient.dR(i, j), by_correlation, gradient.dR_error(i, j)) << i << ' ' << j;
        EXPECT_NEAR(gradient.dR(i, j), by_correlation, 2e-5 * by_correlation) << i << ' ' << j;
      }
    }
  }
}

TEST(NormalGradient, OrderDoesNotMatter) {
  const Index m = 6;
  const auto z = spread(m, 0.0, 1.5);
  const MatrixXd R = gram(random_factor(m, 9, 50, kCommon));
  Eigen::PermutationMatrix<Eigen::Dynamic> turn(m);
  turn.indices() << 3, 0, 5, 1, 4, 2;
  const VectorXd turned_z = turn * Eigen::Map<const VectorXd>(z.data(), m);
  const MvnGradient one = mvn_gradient(z, R);
  const MvnGradient two = mvn_gradient(std::span(turned_z.data(), m), turn * R * turn.transpose());
  expect_numbers(two, m);
  for (Index i = 0; i < m; ++i) {
    const Index at = turn.indices()[i];
    EXPECT_NEAR(one.dz[i], two.dz[at], one.dz_error[i] + two.dz_error[at]);
    for (Index j = 0; j < m; ++j) {
      const Index to = turn.indices()[j];
      EXPECT_NEAR(one.dR(i, j), two.dR(at, to), one.dR_error(i, j) + two.dR_error(at, to));
    }
  }
}

TEST(NormalGradient, LimitsAloneAgreeWithAll) {
  const auto z = spread(5, 0.0, 1.5);
  const MatrixXd R = gram(random_factor(5, 7, 51, kCommon));
  const MvnGradient all = mvn_gradient(z, R), limits = mvn_gradient_z(z, R);
  EXPECT_TRUE(all.dz == limits.dz);
  EXPECT_EQ(all.value.p, limits.value.p);
  EXPECT_EQ(limits.dR.size(), 0);
  EXPECT_EQ(limits.status, Status::ok);
}

TEST(NormalGradient, InfiniteLimits) {
  const MatrixXd R = gram(random_factor(4, 6, 52, kCommon));
  const MvnGradient three = mvn_gradient(std::vector<double>{0.3, 0.5, 0.7}, R.topLeftCorner(3, 3));
  const MvnGradient four = mvn_gradient(std::vector<double>{0.3, 0.5, 0.7, kInfinity}, R);
  EXPECT_EQ(four.dz[3], 0.0);
  EXPECT_EQ(four.dR.col(3).cwiseAbs().sum(), 0.0);
  EXPECT_LE((four.dz.head(3) - three.dz).cwiseAbs().maxCoeff(), 1e-12);
  EXPECT_LE((four.dR.topLeftCorner(3, 3) - three.dR).cwiseAbs().maxCoeff(), 1e-12);
  const MvnGradient never = mvn_gradient(std::vector<double>{0.3, -kInfinity, 0.7, kInfinity}, R);
  EXPECT_EQ(never.status, Status::ok);
  EXPECT_EQ(never.dz.cwiseAbs().sum() + never.dR.cwiseAbs().sum(), 0.0);
  for (const double size : {40.0, 1e200, 1.7e308}) {
    const MvnGradient far = mvn_gradient(std::vector<double>{size, -size, size, -size}, R);
    EXPECT_TRUE(far.valid());
    EXPECT_EQ(far.dz.cwiseAbs().sum() + far.dR.cwiseAbs().sum(), 0.0);
  }
}

TEST(NormalGradient, EqualAndOppositeVariables) {
  MatrixXd U = random_factor(3, 5, 53, kCommon);
  U.row(2) = U.row(0);
  const MatrixXd twins = gram(U);
  const double rho = twins(0, 1);
  const MvnGradient pair = mvn_gradient(std::vector<double>{0.4, 0.8}, MatrixXd{{1, rho}, {rho, 1}});
  const auto expect_pair = [&](const MvnGradient& three, Index bound, Index idle) {
    expect_numbers(three, 3);
    EXPECT_NEAR(three.dz[bound], pair.dz[0], 1e-14);
    EXPECT_NEAR(three.dz[1], pair.dz[1], 1e-14);
    EXPECT_EQ(three.dz[idle], 0.0);
    EXPECT_NEAR(three.dR(bound, 1), pair.dR(0, 1), 1e-14);
    EXPECT_EQ(three.dR(idle, 1), 0.0);
  };
  const MvnGradient first = mvn_gradient(std::vector<double>{0.4, 0.8, 0.5}, twins);
  expect_pair(first, 0, 2);
  EXPECT_EQ(first.dR(0, 2), 0.0);
  expect_pair(mvn_gradient(std::vector<double>{0.5, 0.8, 0.4}, twins), 2, 0);
  const MvnGradient tied = mvn_gradient(std::vector<double>{0.4, 0.8, 0.4}, twins);
  expect_pair(tied, 0, 2);
  EXPECT_EQ(tied.dR(0, 2), kInfinity);

  const MatrixXd opposite{{1, -1}, {-1, 1}};
  const MvnGradient between = mvn_gradient(std::vector<double>{0.4, 0.8}, opposite);  // -0.8 <= X <= 0.4
  EXPECT_NEAR(between.dz[0], pdf(0.4), 1e-16);
  EXPECT_NEAR(between.dz[1], pdf(0.8), 1e-16);
  EXPECT_EQ(between.dR(0, 1), 0.0);
  const MvnGradient empty = mvn_gradient(std::vector<double>{0.4, -0.8}, opposite);
  EXPECT_EQ(empty.dz.sum() + empty.dR.sum(), 0.0);
}

TEST(NormalGradient, TailsKeepTheirRelativeAccuracy) {
  const Index m = 6;
  const auto z = spread(m, 9.0, 9.5);
  const MvnGradient gradient = mvn_gradient_z(z, gram(random_factor(m, 8, 54, kCommon)));
  ASSERT_TRUE(gradient.valid());
  for (Index i = 0; i < m; ++i) {
    EXPECT_LE(gradient.dz_error[i], 1.1e-2 * gradient.dz[i]);
    EXPECT_NEAR(gradient.dz[i], pdf(z[i]), 1e-2 * pdf(z[i]));
  }
}

TEST(NormalGradient, NearlySingularMatricesHaveCoveringErrors) {
  // X_2 is X_1 plus a spread of 1e-6: given one of them, the other is uncertain only if the limits are nearly equal.
  const double rho = 1 - 5e-13;
  const MatrixXd R{{1, rho, 0.3}, {rho, 1, 0.3}, {0.3, 0.3, 1}};
  const MvnGradient apart = mvn_gradient(std::vector<double>{0.4, 0.5, 1.0}, R);
  EXPECT_NEAR(apart.dz[0], pdf(0.4) * cdf((1.0 - 0.3 * 0.4) / std::sqrt(1 - 0.09)), apart.dz_error[0]);
  EXPECT_LE(apart.dz_error[0], 2e-3);
  EXPECT_NEAR(apart.dz[1], 0.0, apart.dz_error[1]);
  const MvnGradient tied = mvn_gradient(std::vector<double>{0.4, 0.4, 1.0}, R);
  EXPECT_NEAR(tied.dz[0] + tied.dz[1], pdf(0.4) * cdf((1.0 - 0.3 * 0.4) / std::sqrt(1 - 0.09)),
              tied.dz_error[0] + tied.dz_error[1]);
}

TEST(NormalGradient, EachBadInputHasItsStatus) {
  const MatrixXd I = MatrixXd::Identity(3, 3);
  const std::vector<double> z = {1, 2, 3};
  const auto expect = [](const MvnGradient& answer, Status status, Index m) {
    EXPECT_EQ(answer.status, status) << describe(answer.status);
    EXPECT_FALSE(answer.valid());
    EXPECT_TRUE(std::isnan(answer.value.p));
    EXPECT_EQ(answer.dz.size(), m);
    for (const MatrixXd& numbers : {MatrixXd(answer.dz), MatrixXd(answer.dz_error), answer.dR, answer.dR_error})
      EXPECT_TRUE(numbers.array().isNaN().all());
  };
  for (const auto& call : {mvn_gradient, mvn_gradient_z}) {
    expect(call(z, MatrixXd::Identity(2, 2), {}), Status::size_mismatch, 3);
    expect(call({}, I, {}), Status::size_mismatch, 0);
    expect(call(std::vector<double>{1, kNan, 3}, I, {}), Status::nonfinite, 3);
    MatrixXd bad = I;
    bad(0, 1) = bad(1, 0) = kNan;
    expect(call(z, bad, {}), Status::nonfinite, 3);
    bad = I;
    bad(1, 1) = 1.1;
    expect(call(z, bad, {}), Status::bad_diagonal, 3);
    bad = I;
    bad(0, 2) = 0.1;
    expect(call(z, bad, {}), Status::asymmetric, 3);
    expect(call(z, MatrixXd{{1, 0.9, -0.9}, {0.9, 1, 0.9}, {-0.9, 0.9, 1}}, {}), Status::indefinite, 3);
    expect(call(z, I, {.abs = 0}), Status::bad_options, 3);
    expect(call(z, I, {.rel_q = kNan}), Status::bad_options, 3);
    expect(call(z, I, {.max_points = 0}), Status::bad_options, 3);
  }
}

TEST(NormalGradient, AnUnreachedToleranceIsReported) {
  // p and its error are tiny. Given that the low limit binds, the remaining probability is not tiny.
  auto z = spread(6, 0.0, 1.0);
  z[0] = -6.0;
  MatrixXd R(6, 6);
  for (Index i = 0; i < 6; ++i) {
    for (Index j = 0; j < 6; ++j) R(i, j) = i == j ? 1.0 : i == 0 || j == 0 ? 0.1 : std::pow(0.6, std::abs(i - j));
  }
  const MvnGradient stopped = mvn_gradient_z(z, R, {.rel_q = 1e-7, .max_points = 2000});
  EXPECT_EQ(stopped.value.status, Status::ok);
  EXPECT_EQ(stopped.status, Status::not_reached);
  EXPECT_TRUE(stopped.dz.allFinite());
}

TEST(NormalGradient, EqualVariablesBeforeOthers) {
  // The rank is 2, but the first two pivots in the given order are 1 and 0.
  MatrixXd R(3, 3);
  R << 1, 1, 0.3, 1, 1, 0.3, 0.3, 0.3, 1;
  const std::vector<double> z = {1.0, 1.5, 0.5};
  const double s = std::sqrt(1.0 - 0.09);
  MvnGradient gradient = mvn_gradient(z, R);
  ASSERT_EQ(gradient.status, Status::ok);
  EXPECT_NEAR(gradient.dz[0], pdf(1.0) * cdf((0.5 - 0.3) / s), 1e-12);
  EXPECT_EQ(gradient.dz[1], 0.0);
  EXPECT_NEAR(gradient.dz[2], pdf(0.5) * cdf((1.0 - 0.15) / s), 1e-12);
  R(0, 2) = R(2, 0) = R(1, 2) = R(2, 1) = 0.0;
  gradient = mvn_gradient(z, R);
  ASSERT_EQ(gradient.status, Status::ok);
  EXPECT_NEAR(gradient.dz[0], pdf(1.0) * cdf(0.5), 1e-12);
  EXPECT_NEAR(gradient.dz[2], pdf(0.5) * cdf(1.0), 1e-12);
}

}  // namespace
