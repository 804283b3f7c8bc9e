// SPDX-License-Identifier: MIT
//
// Checks that reported errors are honest, with 2,400 random problems whose results are known by other means, m from 2 to 400, and
// p from nearly 0 to nearly 1: the true error is within the reported error in at least 99 of 100 cases, and is never more than
// three times as large.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "probust/normal/batch.h"
#include "probust/normal/separation.h"
#include "probust/normal/univariate.h"
#include "support/correlations.h"

namespace {

using namespace probust::normal;  // NOLINT(google-build-using-namespace): the code under test
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr int kProblems = 400;  // of each kind

struct Known {
  std::vector<double> z;
  MatrixXd matrix;  ///< R, or U if `factor`
  bool factor = false;
  double p = 0.0, q = 0.0;
};

class Dice {
 public:
  explicit Dice(unsigned seed) : bits_(seed) {}
  double uniform(double from, double to) { return from + (to - from) * std::uniform_real_distribution<double>()(bits_); }
  double normal() { return std::normal_distribution<double>()(bits_); }
  Index size() { return static_cast<Index>(std::lround(std::exp(uniform(std::log(2.0), std::log(200.0))))); }

 private:
  std::mt19937_64 bits_;
};

/// Limits from frequent failure (half the problems) to a failure probability of 1e-9.
std::vector<double> limits(Dice& dice, Index m) {
  const double base = std::sqrt(2.0 * std::log(static_cast<double>(m) + 1.0)) - 1.0, level = dice.uniform(0.0, 5.0);
  std::vector<double> z(m);
  for (double& limit : z) limit = base + level + 0.5 * dice.normal() - 0.3;
  return z;
}

Known product(Dice& dice) {
  const Index m = dice.size();
  Known known{limits(dice, m), MatrixXd::Identity(m, m)};
  double log_p = 0.0;
  for (const double limit : known.z) log_p += log_cdf(limit);
  known.p = std::exp(log_p);
  known.q = -std::expm1(log_p);
  return known;
}

Known one_factor_problem(Dice& dice) {
  const Index m = dice.size();
  Known known{limits(dice, m), MatrixXd::Identity(m, m)};
  const double centre = dice.uniform(0.2, 0.8), width = dice.uniform(0.0, 0.15);
  VectorXd a(m);
  for (double& each : a) each = dice.uniform(centre - width, centre + width) * (dice.uniform(0.0, 1.0) < 0.1 ? -1.0 : 1.0);
  for (Index i = 0; i < m; ++i) {
    for (Index j = 0; j < m; ++j) known.matrix(i, j) = i == j ? 1.0 : a[i] * a[j];
  }
  // The trapezoidal rule over the factor converges exponentially; complements are added one by one to avoid cancellation.
  constexpr double kStep = 0.05;
  for (double t = -16.0; t <= 16.0; t += kStep) {
    double p = kStep * pdf(t), q = 0.0;
    for (Index i = 0; i < m; ++i) {
      const double x = (known.z[i] - a[i] * t) / std::sqrt(1.0 - a[i] * a[i]);
      q += p * complement(x);
      p *= cdf(x);
    }
    known.p += p;
    known.q += q;
  }
  return known;
}

/// X_{k+1} = rho X_k + sqrt(1 - rho^2) e with two alternating limits: the probability of failure at step k or later, given X_k,
/// by backward quadrature.
Known autoregressive(Dice& dice) {
  const Index m = dice.size();
  const double rho = dice.uniform(-0.9, 0.9), s = std::sqrt(1.0 - rho * rho);
  const auto pair = limits(dice, 2);
  const double base = std::sqrt(2.0 * std::log(static_cast<double>(m) + 1.0)) - 1.1;
  const double level[] = {pair[0] + base, pair[1] + base};
  Known known{std::vector<double>(m), MatrixXd(m, m)};
  for (Index i = 0; i < m; ++i) {
    known.z[i] = level[i % 2];
    for (Index j = 0; j < m; ++j) known.matrix(i, j) = std::pow(rho, static_cast<double>(std::abs(i - j)));
  }
  // Gauss-Legendre nodes of order 5 on panels narrower than the kernel, below either limit.
  constexpr double kNode[] = {-0.9061798459386640, -0.5384693101056831, 0.0, 0.5384693101056831, 0.9061798459386640};
  constexpr double kWeight[] = {0.2369268850561891, 0.4786286704993665, 0.5688888888888889, 0.4786286704993665,
                                0.2369268850561891};
  std::vector<double> x[2], w[2];
  for (int side = 0; side < 2; ++side) {
    const int panels = static_cast<int>(std::ceil((level[side] + 9.0) / (0.6 * s)));
    const double half = 0.5 * (level[side] + 9.0) / panels;
    for (int k = 0; k < panels; ++k) {
      for (int i = 0; i < 5; ++i) {
        x[side].push_back(-9.0 + half * (2 * k + 1 + kNode[i]));
        w[side].push_back(half * kWeight[i]);
      }
    }
  }
  MatrixXd kernel[2];  // from the nodes of one side to those of the other, including weights
  for (int side = 0; side < 2; ++side) {
    kernel[side].resize(static_cast<Index>(x[side].size()), static_cast<Index>(x[1 - side].size()));
    for (Index i = 0; i < kernel[side].rows(); ++i) {
      for (Index j = 0; j < kernel[side].cols(); ++j) {
        kernel[side](i, j) = w[1 - side][j] * pdf((x[1 - side][j] - rho * x[side][i]) / s) / s;
      }
    }
  }
  VectorXd failure = VectorXd::Zero(static_cast<Index>(x[(m - 1) % 2].size()));
  VectorXd success = VectorXd::Ones(failure.size());
  for (Index k = m - 2; k >= 0; --k) {
    const int side = static_cast<int>(k % 2);
    failure = kernel[side] * failure;
    success = kernel[side] * success;
    for (Index i = 0; i < failure.size(); ++i) failure[i] += complement((level[1 - side] - rho * x[side][i]) / s);
  }
  known.q = complement(level[0]);
  for (Index i = 0; i < failure.size(); ++i) {
    known.q += w[0][i] * pdf(x[0][i]) * failure[i];
    known.p += w[0][i] * pdf(x[0][i]) * success[i];
  }
  return known;
}

/// Half-planes around the origin of the plane: in polar coordinates q is the mean over angles of exp(-r^2 / 2), r the distance
/// to the boundary. 1 / r is the maximum of cos(angle - angle_i) / z_i; each term is the maximum on one arc.
class Polygon {
 public:
  Polygon(std::vector<double> angle, std::vector<double> z) : angle_(std::move(angle)), z_(std::move(z)) {}

  double failure() const {
    constexpr int kArcs = 48;
    double sum = 0.0;
    for (int k = 0; k < kArcs; ++k) {
      sum += arc(2.0 * std::numbers::pi * k / kArcs, 2.0 * std::numbers::pi * (k + 1) / kArcs, 0);
    }
    return sum / (2.0 * std::numbers::pi);
  }

 private:
  double inverse(std::size_t i, double angle) const { return std::cos(angle - angle_[i]) / z_[i]; }

  std::size_t nearest(double angle) const {
    std::size_t best = 0;
    for (std::size_t i = 1; i < z_.size(); ++i) {
      if (inverse(i, angle) > inverse(best, angle)) best = i;
    }
    return best;
  }

  double arc(double from, double to, int depth) const {
    const std::size_t first = nearest(from), last = nearest(to);
    if (first != last && depth < 60 && to - from > 1e-12) {
      // Splits the arc where the two are equally near; a third one may be nearer there.
      const double top = std::cos(angle_[first]) / z_[first] - std::cos(angle_[last]) / z_[last];
      const double side = std::sin(angle_[first]) / z_[first] - std::sin(angle_[last]) / z_[last];
      double split = std::atan2(-top, side);
      while (split < from) split += std::numbers::pi;
      if (!(split > from + 1e-13 && split < to - 1e-13)) split = 0.5 * (from + to);
      return arc(from, split, depth + 1) + arc(split, to, depth + 1);
    }
    // The midpoint rule for a smooth function, with Richardson extrapolation.
    const auto rule = [&](int panels) {
      double sum = 0.0;
      for (int k = 0; k < panels; ++k) {
        const double angle = from + (to - from) * (k + 0.5) / panels;
        const double near = std::max(inverse(first, angle), inverse(last, angle));
        sum += near > 0.0 ? std::exp(-0.5 / (near * near)) : 0.0;
      }
      return sum * (to - from) / panels;
    };
    const double coarse = rule(256), fine = rule(512);
    return fine + (fine - coarse) / 3.0;
  }

  std::vector<double> angle_, z_;
};

Known plane(Dice& dice, Index m) {
  Known known{limits(dice, m), MatrixXd(m, 2), true};
  std::vector<double> angle(m);
  const double width = dice.uniform(0.3, std::numbers::pi);
  for (Index i = 0; i < m; ++i) {
    known.z[i] = std::max(known.z[i], 0.05);
    angle[i] = dice.uniform(-width, width);
    known.matrix.row(i) << std::cos(angle[i]), std::sin(angle[i]);
  }
  known.q = Polygon(angle, known.z).failure();
  known.p = 1.0 - known.q;
  return known;
}

Known plane(Dice& dice) { return plane(dice, dice.size()); }

/// Two to four orthogonal planes, in rotated coordinates.
Known planes_together(Dice& dice) {
  const int planes = static_cast<int>(dice.uniform(2.0, 4.999));
  const Index each = static_cast<Index>(dice.uniform(32.0, 100.0)), m = planes * each, d = 2 * planes;
  MatrixXd U = MatrixXd::Zero(m, d), mixed(d, d);
  for (double& entry : mixed.reshaped()) entry = dice.normal();
  Known known{{}, {}, true, 1.0, 0.0};
  for (int k = 0; k < planes; ++k) {
    const Known part = plane(dice, each);
    known.z.insert(known.z.end(), part.z.begin(), part.z.end());
    U.block(k * each, 2 * k, each, 2) = part.matrix;
    known.q += known.p * part.q;
    known.p *= part.p;
  }
  const MatrixXd rotation = mixed.householderQr().householderQ();
  known.matrix = U * rotation;
  return known;
}

/// Clusters of nearly equal or opposite variables: X = +-(g T + h W_cluster + s e), down to s = 0.03. Two nested integrals.
Known nested(Dice& dice) {
  const int clusters = static_cast<int>(dice.uniform(2.0, 6.999)), each = static_cast<int>(dice.uniform(2.0, 6.999));
  const double s = std::exp(dice.uniform(std::log(0.03), std::log(0.7))), g = std::sqrt((1.0 - s * s) * dice.uniform(0.0, 0.9));
  const double h = std::sqrt(1.0 - s * s - g * g), opposed = dice.uniform(0.0, 1.0) < 0.5 ? 0.0 : 0.3;
  const Index m = static_cast<Index>(clusters) * each;
  Known known{std::vector<double>(m), MatrixXd(m, m)};
  std::vector<double> sign(m);
  for (Index i = 0; i < m; ++i) sign[i] = dice.uniform(0.0, 1.0) < opposed ? -1.0 : 1.0;
  for (Index i = 0; i < m; ++i) {
    for (Index j = 0; j < m; ++j) {
      known.matrix(i, j) = i == j ? 1.0 : sign[i] * sign[j] * (g * g + (i / each == j / each ? h * h : 0.0));
    }
  }
  const double z = dice.uniform(-0.3, 3.0);
  std::fill(known.z.begin(), known.z.end(), z);
  constexpr double kOuter = 0.1, kReach = 8.0;
  const double inner = std::min(0.1, 0.5 * s / h);
  for (double t = -kReach; t <= kReach; t += kOuter) {
    double p = kOuter * pdf(t), q = 0.0;
    for (int c = 0; c < clusters; ++c) {
      const auto up = std::count(sign.begin() + c * each, sign.begin() + (c + 1) * each, 1.0);
      double kept = 0.0, failed = 0.0;
      for (double w = -kReach; w <= kReach; w += inner) {
        const double x = (z - g * t - h * w) / s, y = (z + g * t + h * w) / s, density = inner * pdf(w);
        const double cdf_x = cdf(x), cdf_y = cdf(y), complement_x = complement(x), complement_y = complement(y);
        double all = density;
        for (int i = 0; i < each; ++i) {
          failed += all * (i < up ? complement_x : complement_y);
          all *= i < up ? cdf_x : cdf_y;
        }
        kept += all;
      }
      q += p * failed;
      p *= kept;
    }
    known.p += p;
    known.q += q;
  }
  return known;
}

class NormalCoverage : public testing::TestWithParam<std::pair<std::string, Known (*)(Dice&)>> {};

TEST_P(NormalCoverage, ReportedErrorsCoverTrueErrors) {
  Dice dice(20240229);
  std::vector<Known> problems;
  for (int i = 0; i < kProblems; ++i) problems.push_back(GetParam().second(dice));
  std::vector<Problem> batch;
  for (const Known& known : problems) {
    batch.push_back(
        {known.z, {known.matrix.data(), static_cast<std::size_t>(known.matrix.size())}, known.factor ? known.matrix.cols() : 0});
  }
  std::vector<Probability> answers(batch.size());
  BatchSolver(2).solve(batch, answers);

  int within = 0;
  double worst = 0.0;
  std::map<std::string_view, int> methods;
  for (int i = 0; i < kProblems; ++i) {
    const Known& known = problems[i];
    const Probability& answer = answers[i];
    ASSERT_TRUE(answer.valid()) << i << ' ' << describe(answer.status);
    ++methods[answer.method];
    // Allows for the accuracy of the known results themselves.
    const double slack_p = 1e-9, slack_q = 1e-9 * known.q + 1e-16;
    const double ratio = std::max((std::abs(answer.p - known.p) - slack_p) / answer.error,
                                  (std::abs(answer.p_fail - known.q) - slack_q) / answer.error_fail);
    EXPECT_LE(ratio, 3.0) << "problem " << i << ", m = " << known.z.size() << ", " << answer.method << ": q = " << answer.p_fail
                          << " +- " << answer.error_fail << ", known " << known.q;
    within += ratio <= 1.0 ? 1 : 0;
    worst = std::max(worst, ratio);
  }
  EXPECT_GE(within, kProblems * 99 / 100);
  std::string used;
  for (const auto& [method, count] : methods) used += " " + std::string(method) + " " + std::to_string(count);
  RecordProperty("methods", used);
  std::printf("%s: within %d of %d, worst ratio %.2f;%s\n", GetParam().first.c_str(), within, kProblems, worst, used.c_str());
}

INSTANTIATE_TEST_SUITE_P(Structures, NormalCoverage,
                         testing::Values(std::pair<std::string, Known (*)(Dice&)>{"OneFactor", one_factor_problem},
                                         std::pair<std::string, Known (*)(Dice&)>{"Product", product},
                                         std::pair<std::string, Known (*)(Dice&)>{"Autoregressive", autoregressive},
                                         std::pair<std::string, Known (*)(Dice&)>{"Plane",
                                                                                  [](Dice& dice) { return plane(dice); }},
                                         std::pair<std::string, Known (*)(Dice&)>{"PlanesTogether", planes_together},
                                         std::pair<std::string, Known (*)(Dice&)>{"Nested", nested}),
                         [](const auto& structure) { return structure.param.first; });

/// For planes, mvn_cdf uses the polygon method; the sampler for singular matrices must also cover its errors there.
TEST(NormalCoverageOfSeparation, Planes) {
  Dice dice(20240229);
  int within = 0;
  double worst = 0.0;
  for (int i = 0; i < kProblems; ++i) {
    const Known known = plane(dice);
    const MatrixXd R = probust::test::gram(known.matrix);
    Arena arena;
    Separation sampled({R.rows(), known.z.data(), R.data(), R.rows()}, 0, 32, arena);
    do sampled.refine();
    while (sampled.error() > 1e-4 && !sampled.exhausted());
    const double ratio = (std::abs(sampled.p() - known.p) - 1e-9) / sampled.error();
    EXPECT_LE(ratio, 3.0) << "problem " << i << ", m = " << known.z.size();
    within += ratio <= 1.0 ? 1 : 0;
    worst = std::max(worst, ratio);
  }
  EXPECT_GE(within, kProblems * 99 / 100);
  std::printf("planes by separation: within %d of %d, worst ratio %.2f\n", within, kProblems, worst);
}

}  // namespace
