// SPDX-License-Identifier: MIT
#include "probust/estimators/block_model.h"

#include <algorithm>
#include <cmath>

#include "probust/base/linear_algebra.h"
#include "probust/base/select.h"
#include "probust/estimators/common.h"
#include "probust/estimators/statistics/logit_covariance.h"
#include "probust/estimators/statistics/regression_fit.h"
#include "probust/noise/noise.h"

namespace probust {
namespace {

// Widths of the Gaussian similarities, relative to the mean squared distance of the logits.
constexpr double kWidths[] = {0.1, 0.4};
constexpr std::size_t kNearest = 1;         // index of the narrower Gaussian similarity
constexpr Eigen::Index kElements = 4096;    // maximum number of elements of a point that are compared; enough for cosines
constexpr double kLeastShape = 0.03;        // lower limit for the eigenvalues of a whitened shape, whose mean is about 1
constexpr double kRank = 1e-9;              // directions with less than this share of the largest variance count as constant
constexpr std::uint32_t kDraws = 9;         // draws from the posterior for a standard error
constexpr Eigen::Index kPointsEach = 8;     // minimum number of points per coordinate in regressions of the shifts
constexpr std::int64_t kTestedPoints = 64;  // maximum number of points at which margins are tested for normality
constexpr std::uint32_t kPosteriorStream = 0x1ea2;  // stream of the generator, distinct from the streams of noise

// Rows of a tensor in double precision: [which, elements]. Large rows are reduced to kElements evenly spaced elements.
Eigen::MatrixXd rows_of(const Tensor& tensor, const std::vector<std::int64_t>& which) {
  const auto elements = static_cast<Eigen::Index>(tensor.row(0).size()), taken = std::min(elements, kElements);
  Eigen::MatrixXd rows(static_cast<Eigen::Index>(which.size()), taken);
  for (Eigen::Index k = 0; k < rows.rows(); ++k) {
    const auto row = tensor.row(which[k]);
    for (Eigen::Index e = 0; e < taken; ++e) rows(k, e) = row[e * elements / taken];
  }
  return rows;
}

// The cosines of the angles between rows. A row of zeros has cosine 0 with all other rows.
Eigen::MatrixXd cosines(const Eigen::MatrixXd& rows) {
  Eigen::MatrixXd unit = rows;
  for (Eigen::Index k = 0; k < unit.rows(); ++k) unit.row(k) /= std::max(unit.row(k).norm(), 1e-300);
  Eigen::MatrixXd result = product_with_transposed(unit, unit);
  result.diagonal().setOnes();
  return result;
}

// A Gaussian function of the distances between rows; `width` is relative to the mean of the squared distances.
Eigen::MatrixXd nearness(const Eigen::MatrixXd& rows, double width) {
  const Eigen::VectorXd squares = rows.rowwise().squaredNorm();
  Eigen::MatrixXd distances = -2 * product_with_transposed(rows, rows);
  distances.colwise() += squares;
  distances.rowwise() += squares.transpose();
  distances = distances.cwiseMax(0);
  return (distances / (-2 * width * std::max(distances.mean(), 1e-300))).array().exp();
}

// Converts a symmetric matrix [r, r] to a vector whose length is the matrix's Frobenius norm, and back.
Eigen::Index packed_size(Eigen::Index r) { return r * (r + 1) / 2; }

Eigen::RowVectorXd packed(const Eigen::MatrixXd& matrix) {
  Eigen::RowVectorXd result(packed_size(matrix.rows()));
  Eigen::Index at = 0;
  for (Eigen::Index j = 0; j < matrix.cols(); ++j) {
    for (Eigen::Index i = 0; i <= j; ++i) result[at++] = i == j ? matrix(i, j) : M_SQRT2 * matrix(i, j);
  }
  return result;
}

Eigen::MatrixXd unpacked(const Eigen::RowVectorXd& values, Eigen::Index r) {
  Eigen::MatrixXd matrix(r, r);
  Eigen::Index at = 0;
  for (Eigen::Index j = 0; j < r; ++j) {
    for (Eigen::Index i = 0; i <= j; ++i, ++at) matrix(i, j) = matrix(j, i) = i == j ? values[at] : values[at] * M_SQRT1_2;
  }
  return matrix;
}

Eigen::MatrixXd with_eigenvalues_from(const Eigen::MatrixXd& matrix, double least) {
  const auto [values, vectors] = symmetric_spectrum(matrix);
  if (values.size() == 0 || values[0] >= least) return matrix;
  return product_with_transposed(vectors * values.cwiseMax(least).asDiagonal(), vectors);
}

// The pairs of a point in whitened coordinates: odd parts, and even parts minus their mean.
struct OddAndEven {
  Eigen::MatrixXd even, odd;  // [r, h]
};

// Statistics of a point's covariance in whitened coordinates, from its pairs: the size (the mean over pairs of the sum of squares
// over coordinates) with its variance; the mean square of the products that enter the covariance; and the covariance.
struct Spread {
  double size, size_variance, squares;
  Eigen::MatrixXd covariance;
};

Spread spread_of(const OddAndEven& parts) {
  const auto h = static_cast<double>(parts.odd.cols());
  const Eigen::MatrixXd even = parts.even * std::sqrt(h / (h - 1));
  const Eigen::ArrayXd odd_square = parts.odd.colwise().squaredNorm(), even_square = even.colwise().squaredNorm(),
                       both = parts.odd.cwiseProduct(even).colwise().sum();
  const Eigen::ArrayXd sizes = odd_square + even_square;
  Spread spread;
  spread.size = sizes.mean();
  spread.size_variance = (sizes - spread.size).square().sum() / ((h - 1) * h);
  spread.squares = (odd_square.square() + even_square.square() + 2 * both.square()).mean();
  spread.covariance = (product_with_transposed(parts.odd, parts.odd) + product_with_transposed(even, even)) / h;
  return spread;
}

}  // namespace

Similarities similarities(const Tensor& x, const Tensor& logits, const std::vector<std::int64_t>& which) {
  const Eigen::MatrixXd raw = rows_of(logits, which), values = rows_of(x, which);
  const Eigen::MatrixXd centred = raw.colwise() - raw.rowwise().mean();
  const Eigen::Index n = raw.rows();
  Similarities all{Eigen::MatrixXd::Ones(n, n)};
  for (const double width : kWidths) all.push_back(nearness(centred, width));
  all.push_back(cosines(centred));
  all.push_back(cosines(values.rowwise() - values.colwise().mean()));
  return all;
}

namespace {

// The covariance of each point's centred logits, from its own pairs, and the points at which it is finite and not zero.
struct OwnCovariances {
  std::vector<std::int64_t> usable;
  std::vector<Eigen::MatrixXd> of_logits;  // [usable]
};

OwnCovariances own_covariances(const std::vector<Pairs>& sampled, const std::vector<std::int64_t>& targets) {
  OwnCovariances own;
  for (std::size_t i = 0; i < sampled.size(); ++i) {
    Eigen::MatrixXd covariance = covariance_of_logits(PairMoments(sampled[i], 0, 1).moments().covariance, targets[i]);
    const double trace = covariance.trace();
    if (!std::isfinite(trace) || trace <= 0 || !covariance.allFinite()) continue;
    own.usable.push_back(static_cast<std::int64_t>(i));
    own.of_logits.push_back(std::move(covariance));
  }
  return own;
}

// Coordinates in which the mean shape of the covariances is the identity.
struct Whitening {
  Eigen::MatrixXd to, back;  // [r, C], [C, r]
};

Whitening whitening_of(const std::vector<Eigen::MatrixXd>& covariances) {
  Eigen::MatrixXd mean = Eigen::MatrixXd::Zero(covariances[0].rows(), covariances[0].rows());
  for (const Eigen::MatrixXd& covariance : covariances)
    mean += covariance / (covariance.trace() * static_cast<double>(covariances.size()));
  const auto [values, vectors] = symmetric_spectrum(mean);
  const Eigen::Index r = (values.array() > kRank * values[values.size() - 1]).count();
  const Eigen::VectorXd root = values.tail(r).cwiseSqrt();
  const Eigen::MatrixXd directions = vectors.rightCols(r);
  return {root.cwiseInverse().asDiagonal() * directions.transpose(), directions * root.asDiagonal()};
}

OddAndEven odd_and_even(const Pairs& pairs, std::int64_t target, const Whitening& whitening) {
  const Eigen::MatrixXd to = product(whitening.to, logits_of_margins(pairs.rivals(), target));
  OddAndEven parts{product(to, pairs.plus + pairs.minus) / 2, product(to, pairs.plus - pairs.minus) / 2};
  parts.even.colwise() -= parts.even.rowwise().mean().eval();
  return parts;
}

// The part of y [n, d] that a regression on x [n, d] explains. All columns share one nonnegative slope.
Eigen::MatrixXd explained_by(const Eigen::MatrixXd& x, const Eigen::MatrixXd& y) {
  const Eigen::MatrixXd dx = x.rowwise() - x.colwise().mean(), dy = y.rowwise() - y.colwise().mean();
  return dx * std::max(0.0, dx.cwiseProduct(dy).sum() / std::max(dx.squaredNorm(), 1e-300));
}

// Smooths the part of `observed` that a regression on `predicted` [n, d] does not explain. `predicted` may be empty.
Smoothed smooth_residuals(const Eigen::MatrixXd& predicted, const Similarities& alike, const Eigen::MatrixXd& observed,
                          double sampling) {
  if (predicted.size() == 0) return smooth(alike, observed, sampling);
  const Eigen::MatrixXd explained = explained_by(predicted, observed);
  Smoothed smoothed = smooth(alike, observed - explained, sampling);
  smoothed.values += explained;
  return smoothed;
}

// Smooths the logarithms of the sizes. `predicted` are the logarithms of the sizes that moment propagation predicts, or empty;
// only differences between points matter.
Smoothed smoothed_log_sizes(const Eigen::VectorXd& predicted, const Similarities& alike, const std::vector<Spread>& spreads) {
  Eigen::MatrixXd logs(static_cast<Eigen::Index>(spreads.size()), 1);
  double sampling = 0;
  for (Eigen::Index k = 0; k < logs.rows(); ++k) {
    logs(k, 0) = std::log(spreads[k].size);
    sampling += spreads[k].size_variance / (spreads[k].size * spreads[k].size) / static_cast<double>(logs.rows());
  }
  return smooth_residuals(predicted, alike, logs, sampling);
}

Smoothed smoothed_shapes(const Eigen::MatrixXd& predicted, const Similarities& alike, const std::vector<Spread>& spreads,
                         const Eigen::VectorXd& sizes, std::int64_t pairs) {
  const auto n = static_cast<Eigen::Index>(spreads.size()), r = spreads[0].covariance.rows(), entries = packed_size(r);
  Eigen::MatrixXd shapes(n, entries);
  double sampling = 0;
  for (Eigen::Index k = 0; k < n; ++k) {
    shapes.row(k) = packed(spreads[k].covariance / sizes[k]);
    const double squares = spreads[k].squares / (sizes[k] * sizes[k]) - shapes.row(k).squaredNorm();
    sampling += squares / static_cast<double>((pairs - 1) * entries * n);
  }
  return smooth_residuals(predicted, alike, shapes, std::max(sampling, 0.0));
}

// [n] The variance of the even part of a pair, averaged over the coordinates. This is the geometric mean of two values: the
// variance over the point's own pairs, and the variance predicted from the point's size if the even part has the same share of
// the variance at all points.
Eigen::VectorXd even_variances(const std::vector<Eigen::MatrixXd>& even, const Eigen::VectorXd& sizes) {
  Eigen::VectorXd own(sizes.size());
  for (Eigen::Index k = 0; k < own.size(); ++k)
    own[k] = even[k].squaredNorm() / static_cast<double>((even[k].cols() - 1) * even[k].rows());
  const Eigen::VectorXd both = own.cwiseProduct(sizes).cwiseSqrt();
  return both * (own.mean() / std::max(both.mean(), 1e-300));
}

// [r] The variance of each coordinate of the even part, relative to the mean over the coordinates.
Eigen::VectorXd shares(const std::vector<Eigen::MatrixXd>& even, const Eigen::VectorXd& variances) {
  Eigen::VectorXd all = Eigen::VectorXd::Zero(even[0].rows());
  for (Eigen::Index k = 0; k < variances.size(); ++k) {
    if (variances[k] > 0) all += even[k].rowwise().squaredNorm() / variances[k];
  }
  return all / std::max(all.mean(), 1e-300);
}

// Predictors of the moments of points, from moment propagation. Empty if there are no propagated moments, few points, or values
// that are not finite.
struct Predictors {
  Eigen::VectorXd log_sizes;      // [n] logarithms of the sizes of covariances
  Eigen::MatrixXd shapes;         // [n, r (r + 1) / 2] shapes of the covariances, as if logits were independent
  Eigen::MatrixXd unmoved;        // [n, r] whitened logits without noise
  Eigen::MatrixXd log_variances;  // [n, C] logarithms of the variances of logits
  Eigen::MatrixXd of_shifts;      // [n, 2 + 2 q] a constant; log_sizes; shifts of the mean and logits in q coordinates
};

Predictors predictors_of(const Tensor& logits, const Propagated& propagated, const std::vector<std::int64_t>& which,
                         const Whitening& whitening) {
  const auto n = static_cast<Eigen::Index>(which.size()), r = whitening.to.rows(), q = std::min(r, n / kPointsEach);
  if (!propagated || n < kLeastPoints) return {};
  const Eigen::RowVectorXd weights =
      whitening.to.colwise().squaredNorm();  // weight of each logit's variance in the total over all coordinates
  Predictors predictors{Eigen::VectorXd(n), Eigen::MatrixXd(n, packed_size(r)),
                        product_with_transposed(rows_of(logits, which), whitening.to), Eigen::MatrixXd(n, logits.row(0).size()),
                        Eigen::MatrixXd(n, 2 + 2 * q)};
  for (Eigen::Index k = 0; k < n; ++k) {
    const LogitMoments& moments = (*propagated)[which[k]];
    const Eigen::RowVectorXd unmoved = predictors.unmoved.row(k), moved = times(whitening.to, moments.mean);
    const double size = std::max(weights.dot(moments.variance), 1e-300);
    predictors.log_sizes[k] = std::log(size);
    predictors.shapes.row(k) = packed(
        product_with_transposed(whitening.to * (moments.variance * static_cast<double>(r) / size).asDiagonal(), whitening.to));
    predictors.log_variances.row(k) = moments.variance.array().max(1e-300).log();
    predictors.of_shifts.row(k) << 1, predictors.log_sizes[k], (moved - unmoved).tail(q), unmoved.tail(q);
  }
  return predictors.shapes.allFinite() && predictors.of_shifts.allFinite() ? predictors : Predictors{};
}

// [n, r] The whitened means minus `unmoved`.
Eigen::MatrixXd shifts(const std::vector<Eigen::VectorXd>& means, Eigen::MatrixXd unmoved, const Whitening& whitening) {
  for (std::size_t k = 0; k < means.size(); ++k) unmoved.row(k) = times(whitening.to, means[k]).transpose() - unmoved.row(k);
  return unmoved;
}

}  // namespace

BlockModel::BlockModel(const std::vector<Pairs>& sampled, const std::vector<std::int64_t>& targets, const Tensor& x,
                       const Tensor& logits, const SharedNoise& noise, const Propagated& propagated)
    : targets_(targets), place_(sampled.size(), -1) {
  const OwnCovariances own = own_covariances(sampled, targets);
  if (own.usable.size() < 2) return;
  const Whitening whitening = whitening_of(own.of_logits);
  back_ = whitening.back;
  std::vector<Eigen::MatrixXd> even;
  std::vector<Spread> spreads;
  even.reserve(own.usable.size());
  spreads.reserve(own.usable.size());
  for (const std::int64_t i : own.usable) {
    OddAndEven parts = odd_and_even(sampled[i], targets[i], whitening);
    spreads.push_back(spread_of(parts));
    even.push_back(std::move(parts.even));
  }
  Similarities alike = similarities(x, logits, own.usable);
  const Predictors predictors = predictors_of(logits, propagated, own.usable, whitening);
  if (predictors.log_variances.size() > 0) alike.push_back(nearness(predictors.log_variances, kWidths[0]));
  log_size_ = smoothed_log_sizes(predictors.log_sizes, alike, spreads);
  const Eigen::VectorXd sizes = log_size_.values.array().exp() / static_cast<double>(back_.cols());
  shape_ = smoothed_shapes(predictors.shapes, alike, spreads, sizes, sampled[0].size());
  const Eigen::VectorXd variances = even_variances(even, sizes);
  share_ = shares(even, variances);
  for (const std::int64_t i : own.usable) {
    const Eigen::VectorXd mean = (sampled[i].plus + sampled[i].minus).rowwise().mean() / 2;
    place_[i] = std::ssize(means_);
    means_.push_back(times(logits_of_margins(mean.size(), targets[i]), mean));
  }
  CommonErrors errors = common_errors(alike, even, variances, noise.of(own.usable));
  if (predictors.of_shifts.size() > 0)
    errors = regressed(errors, shifts(means_, predictors.unmoved, whitening) + errors.correction, predictors.of_shifts, share_,
                       alike[kNearest]);
  mean_variance_ = errors.covariance.diagonal();
  for (std::size_t k = 0; k < means_.size(); ++k) means_[k] += times(back_, errors.correction.row(k));
}

MarginMoments BlockModel::moments(std::int64_t i) const {
  const std::int64_t k = place_[i], r = back_.cols();
  const Eigen::MatrixXd shape = with_eigenvalues_from(unpacked(shape_.values.row(k), r), kLeastShape);
  const double scale = std::exp(log_size_.values(k, 0)) / static_cast<double>(r);
  const Eigen::MatrixXd covariance = congruent(back_, scale * shape);
  return {margins_of_logits(means_[k], targets_[i]), covariance_of_margins(covariance, targets_[i])};
}

// On average, an error in the shape multiplies the variance in every direction by the same factor, just as an error in the size
// does. So both are drawn as one factor.
std::vector<BlockModel::PosteriorDraw> BlockModel::posterior_draws(std::int64_t i, std::int64_t count) const {
  const std::int64_t k = place_[i], r = back_.cols();
  NoiseStream random(0, static_cast<std::uint32_t>(i), 0, kPosteriorStream);
  const Eigen::MatrixXd normals = balanced_normals(random, r + 1, count);
  const Eigen::VectorXd errors = (share_ * mean_variance_[k]).cwiseSqrt();
  const double log_error = std::sqrt(log_size_.variances[k] + shape_.variances[k]);
  std::vector<PosteriorDraw> draws;
  draws.reserve(static_cast<std::size_t>(count));
  for (const auto& normal : normals.colwise()) {
    draws.push_back(
        {margins_of_logits(times(back_, errors.cwiseProduct(normal.head(r))), targets_[i]), std::exp(log_error * normal[r])});
  }
  return draws;
}

Eigen::MatrixXd balanced_normals(NoiseStream& random, std::int64_t d, std::int64_t count) {
  Eigen::MatrixXd normals(d, count);
  for (double& each : normals.reshaped()) each = random.normal();
  normals.colwise() -= normals.rowwise().mean().eval();
  const auto [values, vectors] = symmetric_spectrum(transposed_product(normals, normals));
  Eigen::VectorXd scale = Eigen::VectorXd::Zero(count);
  const std::int64_t rank = std::min(d, count - 1);
  const auto variance = static_cast<double>(std::max(d, count - 1));
  scale.tail(rank) = (variance / values.tail(rank).array()).sqrt();
  return product(normals, product_with_transposed(vectors * scale.asDiagonal(), vectors));
}

double std_error_of_z(const BlockModel& model, std::int64_t i, const Rivals& nearest, const DrawnCovariance& more) {
  const MarginMoments all = model.moments(i);
  const Eigen::VectorXd mean = all.mean(nearest.rows);
  const Eigen::MatrixXd covariance = all.covariance(nearest.rows, nearest.rows);
  Eigen::ArrayXd z(kDraws);
  std::uint32_t number = 0;
  for (const BlockModel::PosteriorDraw& draw : model.posterior_draws(i, kDraws)) {
    MarginMoments drawn{mean + draw.mean_offset(nearest.rows), draw.covariance_factor * covariance};
    if (more) drawn.covariance += more(number);
    z[number++] = rough_z(drawn, nearest.target);
  }
  return std::sqrt((z - z.mean()).square().sum() / (kDraws - 1));  // NaN if a z is infinite: only counts are then used
}

double excess_scatter(const std::vector<Estimate>& estimates, const std::vector<std::int64_t>& survivors, std::int64_t samples) {
  const auto n = static_cast<double>(samples);
  double excess = 0, squares = 0;
  for (std::size_t i = 0; i < estimates.size(); ++i) {
    if (!std::isfinite(estimates[i].p)) continue;
    const double p = std::clamp(estimates[i].p, 0.5 / n, 1 - 0.5 / n), variance = p * (1 - p) / n;
    excess += std::pow(static_cast<double>(survivors[i]) / n - estimates[i].p, 2) - variance;
    squares += variance * variance;
  }
  return excess / std::sqrt(std::max(2 * squares, 1e-300));
}

std::vector<std::int64_t> spread_out(std::int64_t n) {
  std::vector<std::int64_t> some;
  for (std::int64_t i = 0; i < n; i += (n + kTestedPoints - 1) / kTestedPoints) some.push_back(i);
  return some;
}

double excess_scatter(const std::vector<Pairs>& sampled, const std::vector<std::int64_t>& targets, const StopToken* stop,
                      const std::function<std::optional<Estimate>(std::int64_t)>& estimate) {
  std::vector<Estimate> estimates;
  std::vector<std::int64_t> survivors;
  for (std::int64_t i = 0; i < std::ssize(sampled); ++i) {
    stop_if_asked(stop);
    const std::optional<Estimate> own = estimate(i);
    if (!own) continue;
    estimates.push_back(*own);
    survivors.push_back(count_survivors(sampled[i], targets[i]));
  }
  return sampled.empty() ? 0 : excess_scatter(estimates, survivors, 2 * sampled[0].size());
}

bool far_from_normal(const std::vector<Pairs>& sampled, const std::vector<std::int64_t>& targets, const StopToken* stop) {
  const std::vector<std::int64_t> some = spread_out(std::ssize(sampled));
  const std::vector<Pairs> pairs = select(sampled, some);
  const std::vector<std::int64_t> their_targets = select(targets, some);
  const auto estimate = [&](std::int64_t i) -> std::optional<Estimate> {
    const Rivals rivals = nearest_rivals(pairs[i], their_targets[i]);
    return from_moments(PairMoments(rivals.pairs, 0, 1).moments(), rivals.target, stop);
  };
  return excess_scatter(pairs, their_targets, stop, estimate) > kContradicted;
}

std::vector<Pairs> with_pairs_up_to(std::int64_t count, Executor& executor, const Points& points, const Noise& noise,
                                    std::vector<Pairs> pairs) {
  const std::int64_t known = pairs[0].size();
  const std::vector<Pairs> more = executor.pairs(points, noise, count - known, known).value();
  for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i] = joined(pairs[i], more[i]);
  return pairs;
}

double even_share(const std::vector<Pairs>& sampled) {
  double sum = 0;
  std::int64_t count = 0;
  for (const Pairs& pairs : sampled) {
    const Eigen::MatrixXd even = (pairs.plus + pairs.minus) / 2;
    const auto h = static_cast<double>(pairs.size());
    const double evens = (even.colwise() - even.rowwise().mean().eval()).squaredNorm() * h / (h - 1);
    const double share = evens / (evens + (pairs.plus - pairs.minus).squaredNorm() / 4);
    if (!std::isfinite(share)) continue;
    sum += share;
    ++count;
  }
  return count > 0 ? sum / static_cast<double>(count) : 0;
}

std::int64_t bytes_of_block_model(std::int64_t n, std::int64_t pairs, std::int64_t classes) {
  return 2 * bytes_of_pairs(pairs, classes) + 48 * classes * classes + 96 * n;
}

}  // namespace probust
