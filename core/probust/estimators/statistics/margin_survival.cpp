// SPDX-License-Identifier: MIT
#include "probust/estimators/statistics/margin_survival.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

#include "probust/estimators/noisy_logits.h"
#include "probust/estimators/statistics/counts.h"
#include "probust/estimators/statistics/sobol.h"
#include "probust/normal/univariate.h"

namespace probust {
namespace {

constexpr std::int64_t kCount = AveragedPlaces::kCount, kPaths = AveragedPlaces::kPaths,
                       kPathPlaces = AveragedPlaces::kPathPlaces, kWideCount = WidePlaces::kCount;
constexpr double kWider = 2.2;
constexpr std::int64_t kCandidates = 2048;  // of these places, a point places its own nodes at some
constexpr float kMostMargin = 1e30F;        // larger margins are treated as infinite
constexpr double kDeviations = 2, kDeviationsOfRare = 2.5, kUnseenShare = 0.3, kLeastHalf = 0.001;
constexpr double kOfBinomial = 0.25;  // the error of a mean over Sobol points, as a share of that of independent ones

// How many of `count` places keep all margins mean[r] + sum_q root(r, q) scatter[q] positive. Rows of `means` are `mean_stride`
// apart; those of `scatter` have `count` elements.
std::int64_t surviving(const float* means, std::int64_t mean_stride, const Eigen::MatrixXf& root, const float* scatter,
                       std::int64_t count) {
  constexpr std::int64_t kTogether = 128;
  std::int64_t survivors = 0;
  for (std::int64_t first = 0; first < count; first += kTogether) {
    std::array<float, kTogether> least, margin;
    least.fill(1);
    const std::int64_t some = std::min(kTogether, count - first);
    for (Eigen::Index r = 0; r < root.rows(); ++r) {
      const float* mean = means + r * mean_stride + first;
      for (std::int64_t m = 0; m < some; ++m) margin[m] = mean[m];
      for (Eigen::Index q = 0; q <= r; ++q) {
        const float weight = root(r, q);
        const float* draw = scatter + q * count + first;
        for (std::int64_t m = 0; m < some; ++m) margin[m] += weight * draw[m];
      }
      for (std::int64_t m = 0; m < some; ++m) least[m] = std::min(least[m], margin[m]);
    }
    for (std::int64_t m = 0; m < some; ++m) survivors += least[m] > 0 ? 1 : 0;
  }
  return survivors;
}

Eigen::MatrixXf root_of(const Eigen::MatrixXd& coefficients) {
  const auto freedom = static_cast<double>(std::max<Eigen::Index>(1, coefficients.rows() - 1));
  Eigen::MatrixXd covariance = transposed_product(coefficients, coefficients) / freedom;
  const double least = 1e-7 * std::max(covariance.diagonal().maxCoeff(), 1e-30);
  covariance.diagonal().array() += least;
  if (!cholesky_in_place(covariance)) return Eigen::MatrixXf::Zero(covariance.rows(), covariance.cols());
  return covariance.triangularView<Eigen::Lower>().toDenseMatrix().cast<float>();
}

// Standard deviations of the processes of margins with these coefficients.
Eigen::VectorXd deviations_of(const ProcessPosterior::Coefficients& coefficients) {
  const auto freedom = static_cast<double>(std::max<Eigen::Index>(1, coefficients.values.rows() - 1));
  return (coefficients.values.colwise().squaredNorm() / freedom).cwiseSqrt().cwiseMax(1e-30);
}

// What the posterior says about the margins of a point at its first places.
struct PosteriorMargins {
  ProcessPosterior::Coefficients coefficients;
  std::vector<float> means;      // [margins][count]
  std::vector<float> variances;  // [count or more] for s = 1

  // [count] The smallest margin at each place, in posterior standard deviations.
  Eigen::ArrayXd smallest_scores(std::int64_t count) const {
    const Eigen::VectorXd deviations = deviations_of(coefficients);
    Eigen::ArrayXd least = Eigen::ArrayXd::Constant(count, std::numeric_limits<double>::infinity());
    for (Eigen::Index r = 0; r < deviations.size(); ++r)
      least = least.min(Eigen::Map<const Eigen::ArrayXf>(means.data() + r * count, count).cast<double>() / deviations[r]);
    return least / Eigen::Map<const Eigen::ArrayXf>(variances.data(), count).cast<double>().max(1e-12).sqrt();
  }
};

PosteriorMargins posterior_margins(const ProcessPosterior& posterior, const PointMargins& margins, std::int64_t count) {
  PosteriorMargins result{posterior.coefficients(margins.values), {}, posterior.variances()};
  result.means.resize(static_cast<std::size_t>(margins.values.cols() * count));
  posterior.means(result.coefficients, count, result.means.data());
  return result;
}

}  // namespace

PointMargins margins_at(std::span<const float> logits, std::int64_t classes, std::int64_t target) {
  const std::int64_t nodes = std::ssize(logits) / classes;
  Eigen::MatrixXf all(nodes, classes - 1);
  for (std::int64_t i = 0; i < nodes; ++i) {
    const auto row = logits.subspan(i * classes, classes);
    for (std::int64_t c = 0; c < classes - 1; ++c) all(i, c) = finite_margin(row, target, rival_of(c, target));
  }
  // The number of nodes at which a rival has the smallest margin, and its smallest margin at any node.
  std::vector<std::pair<std::int64_t, float>> threats;
  for (std::int64_t c = 0; c < classes - 1; ++c) threats.emplace_back(0, nodes > 0 ? all.col(c).minCoeff() : 0);
  for (std::int64_t i = 0; i < nodes; ++i) {
    Eigen::Index least = 0;
    all.row(i).minCoeff(&least);
    --threats[least].first;
  }
  std::vector<Eigen::Index> order(threats.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](Eigen::Index a, Eigen::Index b) { return std::tie(threats[a], a) < std::tie(threats[b], b); });
  const Eigen::Index kept = std::min<Eigen::Index>(classes - 1, PointMargins::kMost);
  PointMargins margins{Eigen::MatrixXd(nodes, kept), nodes == 0 || all.cwiseAbs().maxCoeff() < kMostMargin};
  for (Eigen::Index k = 0; k < kept; ++k) margins.values.col(k) = all.col(order[k]).cast<double>();
  for (std::size_t k = static_cast<std::size_t>(kept); k < order.size(); ++k)
    margins.values.col(kept - 1) = margins.values.col(kept - 1).cwiseMin(all.col(order[k]).cast<double>());
  return margins;
}

std::vector<float> seeded_normals(std::uint64_t seed, std::int64_t rows, std::int64_t columns) {
  std::vector<float> z(static_cast<std::size_t>(rows * columns), 0.0F);
  const std::vector<std::uint32_t> zero(static_cast<std::size_t>(columns), 0);
  std::vector<std::uint32_t> samples(zero.size());
  std::iota(samples.begin(), samples.end(), 0U);
  isotropic_gaussian()->add({seed, zero, samples}, rows, 1, z.data());
  return z;
}

AveragedPlaces averaged_places(std::int64_t parameters, std::int64_t rivals, std::uint64_t seed) {
  return {SobolNormals(parameters, design_seed(seed, 2)).first(kCount),
          seeded_normals(design_seed(seed, 3), rivals, kCount + kPaths * kPathPlaces)};
}

WidePlaces wide_places(std::int64_t parameters, std::int64_t rivals, std::uint64_t seed) {
  WidePlaces wide;
  wide.at = kWider * SobolNormals(parameters, design_seed(seed, 4)).first(kWideCount);
  const Eigen::ArrayXd squares = wide.at.rowwise().squaredNorm().array();
  wide.weights = std::pow(kWider, static_cast<double>(parameters)) * (-0.5 * (1 - 1 / (kWider * kWider)) * squares).exp();
  wide.z = seeded_normals(design_seed(seed, 5), rivals, kWideCount);
  return wide;
}

PosteriorDraws posterior_draws(const ProcessPosterior& posterior, const AveragedPlaces& places, std::int64_t rivals) {
  const std::int64_t stride = kCount + kPaths * kPathPlaces;
  PosteriorDraws draws;
  draws.places.resize(static_cast<std::size_t>(rivals * kCount));
  draws.paths.resize(static_cast<std::size_t>(kPaths * rivals * kPathPlaces));
  const std::vector<float> variances = posterior.variances();
  const Eigen::ArrayXf deviations = Eigen::Map<const Eigen::ArrayXf>(variances.data(), kCount).sqrt();
  const Eigen::MatrixXf root = posterior.root(kPathPlaces);
  for (std::int64_t r = 0; r < rivals; ++r) {
    const float* z = places.z.data() + r * stride;
    Eigen::Map<Eigen::ArrayXf>(draws.places.data() + r * kCount, kCount) =
        deviations * Eigen::Map<const Eigen::ArrayXf>(z, kCount);
    const Eigen::Map<const Eigen::MatrixXf> own(z + kCount, kPathPlaces, kPaths);
    Eigen::MatrixXf paths;
    product(root, own, paths);
    for (std::int64_t path = 0; path < kPaths; ++path)
      std::copy_n(paths.data() + path * kPathPlaces, kPathPlaces, draws.paths.data() + (path * rivals + r) * kPathPlaces);
  }
  return draws;
}

Estimate estimate_of(const ProcessPosterior& posterior, const PosteriorDraws& draws, const PointMargins& margins) {
  const auto rivals = margins.values.cols();
  const auto nodes = static_cast<double>(margins.values.rows());
  const ProcessPosterior::Coefficients coefficients = posterior.coefficients(margins.values);
  const Eigen::MatrixXf root = root_of(coefficients.values);
  std::vector<float> means(static_cast<std::size_t>(rivals * kCount));
  posterior.means(coefficients, kCount, means.data());
  Estimate estimate;
  const std::int64_t survivors = surviving(means.data(), kCount, root, draws.places.data(), kCount);
  estimate.p = static_cast<double>(survivors) / kCount;
  estimate.p_fail = static_cast<double>(kCount - survivors) / kCount;
  double sum = 0, squares = 0;
  for (std::int64_t path = 0; path < kPaths; ++path) {
    const double share = static_cast<double>(surviving(means.data(), kCount, root,
                                                       draws.paths.data() + path * rivals * kPathPlaces, kPathPlaces)) /
                         kPathPlaces;
    sum += share;
    squares += share * share;
  }
  const double deviation = std::sqrt(std::max(0.0, (squares - sum * sum / kPaths) / (kPaths - 1)));
  const double half = kDeviations * deviation + kUnseenShare / nodes + kLeastHalf +
                      2 * kOfBinomial * std::sqrt(estimate.p * estimate.p_fail / kCount);
  estimate.std_error = half / 1.96;
  estimate.ci_low = std::max(0.0, estimate.p - half);
  estimate.ci_high = std::min(1.0, estimate.p + half);
  return estimate;
}

Estimate estimate_of_rare(const ProcessPosterior& posterior, const WidePlaces& wide, const PointMargins& margins) {
  const PosteriorMargins at = posterior_margins(posterior, margins, kWideCount);
  const Eigen::MatrixXf root = root_of(at.coefficients.values);
  const Eigen::ArrayXd scores = at.smallest_scores(kWideCount);
  double fails = 0, least = 0, most = 0;
  for (Eigen::Index m = 0; m < kWideCount; ++m) {
    const float deviation = std::sqrt(at.variances[m]);
    bool survives = true;
    for (Eigen::Index r = 0; r < root.rows() && survives; ++r) {
      float margin = at.means[r * kWideCount + m];
      for (Eigen::Index q = 0; q <= r; ++q) margin += root(r, q) * deviation * wide.z[q * kWideCount + m];
      survives = margin > 0;
    }
    fails += survives ? 0 : wide.weights[m];
    least += scores[m] < -kDeviationsOfRare ? wide.weights[m] : 0;
    most += scores[m] < kDeviationsOfRare ? wide.weights[m] : 0;
  }
  Estimate estimate;
  estimate.p_fail = std::min(1.0, fails / kWideCount);
  estimate.p = 1 - estimate.p_fail;
  estimate.ci_low = std::max(0.0, 1 - most / kWideCount);
  estimate.ci_high = std::min(1.0, 1 - least / kWideCount);
  estimate.std_error = (*estimate.ci_high - *estimate.ci_low) / (2 * 1.96);
  return estimate;
}

Estimate counted_at(const PointMargins& margins) {
  const std::int64_t nodes = margins.values.rows(), survivors = (margins.values.array() > 0).rowwise().all().count();
  return from_counts(survivors, nodes, clopper_pearson(survivors, nodes));
}

double rough_failure(const ProcessPosterior& posterior, const PointMargins& margins) {
  const std::int64_t count = posterior.places();
  const Eigen::ArrayXd scores = posterior_margins(posterior, margins, count).smallest_scores(count);
  return scores.unaryExpr([](double score) { return normal::complement(score); }).mean();
}

std::vector<Eigen::Index> uncertain_places(const ProcessPosterior& posterior, const Eigen::MatrixXd& places,
                                           const Eigen::ArrayXd* weights, const PointMargins& margins, std::int64_t wanted,
                                           bool explore) {
  constexpr float kExplore = 0.02F, kSpread = 0.5F, kDamped = 0.5F;
  constexpr float kLogistic = 1.702F;  // 1 / (1 + exp(-1.702 x)) is the normal CDF to within 0.01
  const PosteriorMargins at = posterior_margins(posterior, margins, kCandidates);
  const Eigen::ArrayXf survives = 1 / (1 + (-kLogistic * at.smallest_scores(kCandidates).cast<float>()).min(80.0F).exp());
  const float spread = explore ? kSpread : std::sqrt((survives - survives.mean()).square().mean());
  Eigen::ArrayXf scores =
      survives.min(1 - survives) + kExplore * spread * Eigen::Map<const Eigen::ArrayXf>(at.variances.data(), kCandidates).sqrt();
  if (weights != nullptr) scores *= weights->head(kCandidates).sqrt().cast<float>();
  std::vector<Eigen::Index> chosen;
  while (std::ssize(chosen) < wanted) {
    Eigen::Index best = 0;
    scores.maxCoeff(&best);
    chosen.push_back(best);
    const std::vector<float> squares = posterior.squared_distances(places.row(best), kCandidates);
    const Eigen::Map<const Eigen::ArrayXf> apart(squares.data(), kCandidates);
    scores *= 1 - (apart / (-2 * kDamped * kDamped)).exp();
    scores[best] = -1;
  }
  return chosen;
}

void LeaveOneOut::add(const PointMargins& margins, const Eigen::MatrixXd& precision) {
  const Eigen::MatrixXd weighted = product(precision, margins.values);
  const auto nodes = static_cast<double>(margins.values.rows());
  const Eigen::ArrayXd deviations =
      ((margins.values.array() * weighted.array()).colwise().sum().transpose() / std::max(1.0, nodes - 1)).max(1e-60).sqrt();
  double survivors = 0;
  for (Eigen::Index i = 0; i < weighted.rows(); ++i) {
    const double own = precision(i, i);
    const Eigen::ArrayXd predicted = margins.values.row(i).array() - weighted.row(i).array() / own;
    const double survives = normal::cdf((predicted / deviations).minCoeff() * std::sqrt(own));
    const double survived = (margins.values.row(i).array() > 0).all() ? 1 : 0;
    errors += (survives - survived) * (survives - survived);
    survivors += survived;
  }
  variance += survivors * (1 - survivors / nodes);
}

}  // namespace probust
