// SPDX-License-Identifier: MIT
#include "probust/estimators/shared_noise.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "probust/base/linear_algebra.h"
#include "probust/base/select.h"
#include "probust/noise/noise.h"

namespace probust {
namespace {

constexpr double kMostAlike = 0.97;  // upper limit for the share of a point's noise that other points of the same draw explain
constexpr std::uint32_t kSharingStream = 0x5ead;  // stream of the generator, distinct from the streams of noise
using Index = std::vector<Eigen::Index>;

// Calls use(stratum, points) for each draw of each stratum.
template <class Use>
void for_draws(const SharedNoise& noise, Use use) {
  for (std::size_t k = 0; k < noise.draw.size(); ++k) {
    std::vector<Index> at(static_cast<std::size_t>(noise.draws));
    for (std::size_t i = 0; i < noise.draw[k].size(); ++i) at[noise.draw[k][i]].push_back(static_cast<Eigen::Index>(i));
    for (const Index& points : at) use(static_cast<Eigen::Index>(k), points);
  }
}

// The correlation between the noise effects at two points that share a draw: a weighted sum of similarities, with weights from
// the observed correlations of points that share draws.
Eigen::MatrixXd correlations(const Similarities& similarities, const std::vector<Eigen::MatrixXd>& even,
                             const Eigen::VectorXd& deviation, const SharedNoise& noise) {
  const auto n = static_cast<Eigen::Index>(even.size()), r = even[0].rows(), h = even[0].cols();
  const double scale = static_cast<double>(h) / static_cast<double>((h - 1) * r);
  Eigen::MatrixXd products = Eigen::MatrixXd::Zero(n, n), meetings = products;
  for_draws(noise, [&](Eigen::Index k, const Index& points) {
    for (const Eigen::Index i : points) {
      for (const Eigen::Index j : points) {
        products(i, j) += scale * even[i].col(k).dot(even[j].col(k)) / (deviation[i] * deviation[j]);
        meetings(i, j) += 1;
      }
    }
  });
  Eigen::MatrixXd alike = weighted_sum(similarities, component_weights(similarities, products, meetings));
  const Eigen::VectorXd within = (kMostAlike / alike.diagonal().array().max(kMostAlike)).sqrt();
  for (Eigen::Index j = 0; j < n; ++j) alike.col(j).array() *= within.array() * within[j];
  return alike;
}

}  // namespace

SharedNoise SharedNoise::of(const std::vector<std::int64_t>& points) const {
  SharedNoise some{draws, {}};
  some.draw.reserve(draw.size());
  for (const std::vector<std::int64_t>& of_pair : draw) some.draw.push_back(select(of_pair, points));
  return some;
}

SharedNoise share_noise(std::int64_t points, std::int64_t pairs, std::uint64_t seed, std::int64_t position) {
  SharedNoise noise{(points + kServed - 1) / kServed, {}};
  noise.draw.reserve(static_cast<std::size_t>(pairs));
  for (std::int64_t k = 0; k < pairs; ++k) {
    NoiseStream random(seed, static_cast<std::uint32_t>(position), static_cast<std::uint32_t>(k), kSharingStream);
    std::vector<std::int64_t> order(static_cast<std::size_t>(points));
    std::iota(order.begin(), order.end(), 0);
    for (std::int64_t i = points - 1; i > 0; --i) {
      const auto j = std::min(i, static_cast<std::int64_t>(random.uniform() * static_cast<double>(i + 1)));
      std::swap(order[i], order[j]);
    }
    std::vector<std::int64_t> draw(order.size());
    for (std::int64_t i = 0; i < points; ++i) draw[order[i]] = i * noise.draws / points;
    noise.draw.push_back(std::move(draw));
  }
  return noise;
}

SharedPoints share_draws(const Points& points, const Noise& noise, std::int64_t pairs) {
  SharedPoints shared{points};
  if (noise.shape->differs()) return shared;
  shared.noise = share_noise(points.size(), pairs, points.seed, points.index[0]);
  shared.points.draws = shared.noise.draw;
  for (std::vector<std::int64_t>& of_pair : shared.points.draws) {
    for (std::int64_t& position : of_pair) position += points.index[0];
  }
  return shared;
}

CommonErrors common_errors(const Similarities& similarities, const std::vector<Eigen::MatrixXd>& even,
                           const Eigen::VectorXd& variance, const SharedNoise& noise) {
  const auto n = static_cast<Eigen::Index>(even.size()), r = even[0].rows(), h = even[0].cols();
  const Eigen::VectorXd own = variance / static_cast<double>(h);
  if (!noise.shared() || !(variance.minCoeff() > 0)) return {Eigen::MatrixXd::Zero(n, r), own.asDiagonal()};
  const Eigen::VectorXd deviation = variance.cwiseSqrt();
  const Eigen::MatrixXd alike = correlations(similarities, even, deviation, noise);
  Eigen::MatrixXd precision = Eigen::MatrixXd::Zero(n, n), weighted = Eigen::MatrixXd::Zero(n, r);
  for_draws(noise, [&](Eigen::Index k, const Index& points) {
    const auto size = static_cast<Eigen::Index>(points.size());
    Eigen::MatrixXd covariance(size, size), moved(size, r);
    for (Eigen::Index a = 0; a < size; ++a) {
      const Eigen::Index i = points[a];
      for (Eigen::Index b = 0; b < size; ++b) covariance(a, b) = deviation[i] * deviation[points[b]] * alike(i, points[b]);
      covariance(a, a) = variance[i];
      moved.row(a) = even[i].col(k);
    }
    const Eigen::MatrixXd inverse = Cholesky(covariance).inverse(), weights = product(inverse, moved);
    for (Eigen::Index a = 0; a < size; ++a) {
      for (Eigen::Index b = 0; b < size; ++b) precision(points[a], points[b]) += inverse(a, b);
      weighted.row(points[a]) += weights.row(a);
    }
  });
  const Cholesky root(precision);
  return {root.solve(weighted), root.inverse()};
}

}  // namespace probust
