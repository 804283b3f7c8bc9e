// SPDX-License-Identifier: MIT
// The gradient of mc: for Gaussian noise eps of covariance C, dp/dx = E[1(x + eps survives) C^-1 eps] (the score function, or
// likelihood-ratio, estimator: Glynn, Communications of the ACM 33, 1990). With antithetic pairs,
//
//     (1(x + eps survives) - 1(x - eps survives)) C^-1 eps / 2,
//
// so pairs that both survive or both fail contribute nothing: this is also the best constant baseline.
#include <algorithm>
#include <array>
#include <cmath>

#include "probust/estimators/common.h"
#include "probust/estimators/gradient/gradient_of_p.h"
#include "probust/estimators/statistics/pair_statistics.h"

namespace probust {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

void require_independent_gaussian(const Noise& noise) {
  const auto elements = noise.shape->by_element();
  if (elements && elements->draw == ElementNoise::Draw::normal && !elements->range) return;
  throw Error{ErrorCode::unsupported, "the gradient of mc",
              "needs independent Gaussian noise that is not clipped, not " + noise.text(), "use taylor, or try gaussian:0.1"};
}

// The variances of the noise of a point.
VectorXd variances_of(const Noise& noise, std::uint32_t index, std::int64_t d) {
  std::vector<float> variances(static_cast<std::size_t>(d), static_cast<float>(noise.scale * noise.scale));
  noise.shape->variances({&index, 1}, d, variances.data());
  const auto fixed = std::find_if(variances.begin(), variances.end(), [](float variance) { return !(variance > 0); });
  if (fixed != variances.end())
    throw Error{ErrorCode::unsupported, "the gradient of mc",
                "needs noise on every element, but element " + std::to_string(fixed - variances.begin()) + " has none",
                "use taylor"};
  return Eigen::Map<const Eigen::VectorXf>(variances.data(), d).cast<double>();
}

// Sums over the pairs of one point.
class ScoreSums {
 public:
  ScoreSums(const Points& points, std::int64_t i, const Noise& noise)
      : points_(points), i_(i), noise_(noise), d_(std::ssize(points.x.row(i))), sum_(VectorXd::Zero(d_)), squares_(sum_) {}

  void add(Executor& executor, std::int64_t first, std::int64_t pairs) {
    Shape shape = points_.x.shape;
    shape[0] = 2 * pairs;
    Tensor copies(shape);
    for (std::int64_t j = 0; j < 2 * pairs; ++j) draw(first + j / 2, j % 2 == 0 ? 1 : -1, copies.row(j));
    const Tensor logits = executor.logits(copies).value();
    for (std::int64_t j = 0; j < pairs; ++j) {
      const int plus = survives(logits.row(2 * j)), minus = survives(logits.row(2 * j + 1));
      survivors_ += plus + minus;
      if (plus != minus) add_pair(copies.row(2 * j), plus - minus);
    }
  }

  void write(std::int64_t pairs, GradientOfP& result) const {
    const auto n = static_cast<double>(pairs);
    const VectorXd variances = variances_of(noise_, static_cast<std::uint32_t>(points_.index[i_]), d_);
    const auto gradient = result.gradient.row(i_), std_error = result.std_error.row(i_);
    for (Index e = 0; e < d_; ++e) {
      const double mean = sum_[e] / n, variance = std::max(0.0, squares_[e] / n - mean * mean) * n / (n - 1);
      gradient[e] = static_cast<float>(mean / (2 * variances[e]));
      std_error[e] = static_cast<float>(std::sqrt(variance / n) / (2 * variances[e]));
    }
    result.p[i_] = static_cast<double>(survivors_) / (2 * n);
  }

 private:
  void draw(std::int64_t pair, int sign, std::span<float> copy) const {
    const auto index = static_cast<std::uint32_t>(points_.index[i_]), sample = static_cast<std::uint32_t>(pair);
    const auto x = points_.x.row(i_);
    std::copy(x.begin(), x.end(), copy.begin());
    noise_.shape->add({points_.seed, {&index, 1}, {&sample, 1}}, d_, static_cast<float>(sign * noise_.scale), copy.data());
  }

  int survives(std::span<const float> logits) const { return argmax(logits) == points_.target[i_] ? 1 : 0; }

  void add_pair(std::span<const float> copy, int difference) {
    const auto x = points_.x.row(i_);
    for (Index e = 0; e < d_; ++e) {
      const double eps = double{copy[e]} - double{x[e]};
      sum_[e] += difference * eps;
      squares_[e] += eps * eps;
    }
  }

  const Points& points_;
  std::int64_t i_;
  const Noise& noise_;
  Index d_;
  VectorXd sum_, squares_;
  std::int64_t survivors_ = 0;
};

}  // namespace

GradientOfP gradient_of_monte_carlo(Executor& executor, const Points& points, const Noise& noise, const EstimatorSpec& asked) {
  constexpr std::int64_t kMostTogether = 1024, kLeastPairs = 2;
  const std::int64_t pairs = asked.samples / 2;
  if (pairs < kLeastPairs)
    throw Error{ErrorCode::usage, "estimator " + asked.text(), "has too few noisy samples for a gradient", "use mc:4 or more"};
  require_independent_gaussian(noise);
  GradientOfP result{
      Tensor(points.x.shape), Tensor(points.x.shape), std::vector<double>(static_cast<std::size_t>(points.size())), {}};
  const std::int64_t own = element_count(executor.point_shape()) + executor.classes();
  const std::int64_t step = std::min(kMostTogether, points_at_once(executor, 6 * static_cast<std::int64_t>(sizeof(float)) * own));
  for (std::int64_t i = 0; i < points.size(); ++i) {
    ScoreSums sums(points, i, noise);
    for (std::int64_t first = 0; first < pairs; first += step) sums.add(executor, first, std::min(step, pairs - first));
    sums.write(pairs, result);
  }
  return result;
}

}  // namespace probust
