// SPDX-License-Identifier: MIT
#include "probust/estimators/statistics/regression_fit.h"

#include <algorithm>
#include <cmath>

#include "probust/base/linear_algebra.h"
#include "probust/estimators/common.h"
#include "probust/noise/noise.h"
#include "probust/normal/univariate.h"
#include "probust/normal/vector_math.h"

namespace probust {
namespace {

constexpr std::int64_t kFrugal = 55;  // up to this cost, fewer gradients and more smoothing give smaller errors
constexpr double kRidge = 2;
constexpr double kLeastFreedom = 0.2;   // lower limit for 1 - leverage of a residual
constexpr std::int64_t kPoints = 2048;  // integration points for all residuals together
constexpr double kNothingLeft = 1e-5;   // residuals below this share of the margins' standard deviation are rounding errors
constexpr std::uint32_t kSlopeStream = 0x51095;  // stream of the generator, distinct from the streams of noise

// The cost of the gradients in forwards. A backward counts as one forward; with moment propagation, each gradient was measured to
// cost about three times as much.
std::int64_t cost_of(std::int64_t gradients, LinearizeAt around) {
  return around == LinearizeAt::input ? 1 + gradients : 4 + 3 * gradients;
}

// The coordinates w = G^(-1/2) U eps / sigma of the noise eps in the span of the gradients U with Gram matrix G, and the slopes
// that these gradients imply. `rows` are the margins whose gradients these are.
Explained along_gradients(const Projection& projection, const std::vector<std::int64_t>& rows, std::int64_t margins,
                          double sigma) {
  const auto [values, vectors] = symmetric_spectrum(projection.gram);
  Eigen::Index rank = 0;
  while (rank < values.size() && values[values.size() - 1 - rank] > 1e-12 * values.maxCoeff()) ++rank;
  const Eigen::MatrixXd basis = vectors.rightCols(rank);
  const Eigen::VectorXd lengths = values.tail(rank).cwiseSqrt();
  Explained result{Eigen::MatrixXd::Zero(margins, rank),
                   product((lengths * sigma).cwiseInverse().asDiagonal() * basis.transpose(), projection.along),
                   {},
                   {}};
  const Eigen::MatrixXd known = sigma * basis * lengths.asDiagonal();
  for (std::size_t a = 0; a < rows.size(); ++a) result.slopes.row(rows[a]) = known.row(static_cast<Eigen::Index>(a));
  return result;
}

// Ridge regression of the margins on w, shrunk towards the slopes that the gradients imply. It uses both samples of a pair and
// a free intercept.
void regress(const Pairs& pairs, Explained& explained) {
  const Eigen::MatrixXd& w = explained.coordinates;
  explained.leverage = Eigen::VectorXd::Constant(w.cols(), 0.5 / static_cast<double>(w.cols()));
  explained.errors.resize(w.rows(), w.rows());
  if (w.rows() == 0) return;  // all gradients are zero
  const Eigen::MatrixXd odd = (pairs.plus - pairs.minus) / 2;
  Eigen::MatrixXd normal = 2 * product_with_transposed(w, w);
  normal.diagonal().array() += kRidge;
  const PivotedCholesky solver(normal);
  explained.slopes += solver.solve(2 * product_with_transposed(w, odd - product(explained.slopes, w))).transpose();
  explained.leverage += (w.array() * solver.solve(w).array()).colwise().sum().matrix().transpose();
  explained.errors = Cholesky(normal).inverse_upper();
}

Pairs residuals(const Pairs& pairs, const Explained& explained) {
  const Eigen::MatrixXd line = product(explained.slopes, explained.coordinates);
  return {pairs.plus - line, pairs.minus + line};
}

// Leave-one-out residuals: the residuals of each pair for slopes fitted to the other pairs (Allen 1974). They are needed because
// the jackknife does not refit the slopes.
Pairs left_out(Pairs left, const Eigen::VectorXd& mean, const Eigen::VectorXd& leverage) {
  for (Eigen::MatrixXd* side : {&left.plus, &left.minus}) {
    for (Eigen::Index j = 0; j < side->cols(); ++j)
      side->col(j) = mean + (side->col(j) - mean) / std::max(1 - 2 * leverage[j], kLeastFreedom);
  }
  return left;
}

// F with F Fᵀ = covariance, the longest column first.
Eigen::MatrixXd factor(const Eigen::MatrixXd& covariance) {
  const auto [values, vectors] = symmetric_spectrum(covariance);
  Eigen::Index rank = 0;
  while (rank < values.size() && values[values.size() - 1 - rank] > 1e-14 * values.maxCoeff()) ++rank;
  if (rank == 0) return Eigen::MatrixXd::Zero(covariance.rows(), 1);
  const Eigen::MatrixXd columns = vectors.rightCols(rank) * values.tail(rank).cwiseSqrt().asDiagonal();
  return columns.rowwise().reverse();
}

// The probability, for a standard normal y, that c + f y > 0 does not hold in every row. Rows with f = 0 are decided by the sign
// of c. The lower class wins a tie, so c = 0 fails in rows before `target`.
double failure_on_a_line(const Eigen::VectorXd& c, const Eigen::VectorXd& f, std::int64_t target) {
  double low = -INFINITY, high = INFINITY;
  for (Eigen::Index i = 0; i < c.size(); ++i) {
    if (f[i] > 0) low = std::max(low, -c[i] / f[i]);
    if (f[i] < 0) high = std::min(high, -c[i] / f[i]);
    if (f[i] == 0 && (c[i] < 0 || (c[i] == 0 && i < target))) return 1;
  }
  return low >= high ? 1 : normal::cdf(low) + normal::complement(high);
}

// Coordinate `axis` of point n of an additive recurrence with the square roots of primes (Kuipers and Niederreiter 1974).
double recurrence(std::int64_t n, Eigen::Index axis) {
  constexpr int kPrimes[] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53};
  const int prime = kPrimes[axis % 16];
  const Eigen::Index round = axis / 16;
  const double step = std::sqrt(prime) * (1 + static_cast<double>(round) * 0.6180339887498949);
  const double x = (static_cast<double>(n) + 0.5) * step;
  return std::min(std::max(x - std::floor(x), 1e-12), 1 - 1e-12);
}

// Standard normals w [kLanes, axes] for the points of the recurrence, beginning with point `first`.
using Block = Eigen::Matrix<double, normal::kLanes, Eigen::Dynamic>;
Block normal_points(std::int64_t first, Eigen::Index axes) {
  Block w(normal::kLanes, axes);
  normal::Lanes u, x;
  for (Eigen::Index axis = 0; axis < axes; ++axis) {
    for (int i = 0; i < normal::kLanes; ++i) u[i] = recurrence(first + i, axis);
    normal::quantile_lanes(u, x);
    w.col(axis) = Eigen::Map<const Eigen::VectorXd>(x.data(), normal::kLanes);
  }
  return w;
}

// mean_j P[centre + a r_j + F w fails]; the columns of `scatter` are a r_j. The first coordinate of w is integrated exactly, the
// others with separate points for each j.
double mean_failure(const Eigen::VectorXd& centre, const Eigen::MatrixXd& scatter, const Eigen::MatrixXd& F,
                    std::int64_t target) {
  const std::int64_t each = (kPoints + scatter.cols() - 1) / scatter.cols(), all = each * scatter.cols();
  const Eigen::MatrixXd others = F.rightCols(F.cols() - 1);
  double sum = 0;
  for (std::int64_t first = 0; first < all; first += normal::kLanes) {
    const Eigen::MatrixXd moved = product_with_transposed(others, normal_points(first, others.cols()));
    for (std::int64_t n = first; n < std::min(all, first + normal::kLanes); ++n)
      sum += failure_on_a_line(centre + scatter.col(n / each) + moved.col(n - first), F.col(0), target);
  }
  return sum / static_cast<double>(all);
}

}  // namespace

RegressionBudget regression_budget(std::int64_t cost, std::int64_t classes, LinearizeAt around) {
  const std::int64_t gradients = std::min<std::int64_t>(cost <= kFrugal ? 2 : 3, classes - 1);
  return {gradients, (cost - cost_of(gradients, around)) / 2, cost <= kFrugal ? 0.5 : 0.7};
}

void count_passes(Estimate& estimate, const RegressionBudget& budget, LinearizeAt around) {
  const std::int64_t each = around == LinearizeAt::input ? 1 : 2;  // two for means and variances
  estimate.forwards = 2 * budget.pairs + each;
  estimate.backwards = budget.gradients * each;
}

PickedGradients pick_gradients(std::vector<Pairs> pairs, const std::vector<std::int64_t>& targets, std::int64_t gradients) {
  PickedGradients picked{std::move(pairs), {}, {}};
  for (std::size_t i = 0; i < picked.pairs.size(); ++i) {
    std::vector<std::int64_t>& rows = picked.rows.emplace_back(rows_by_score(picked.pairs[i]));
    rows.resize(static_cast<std::size_t>(gradients));
    std::vector<std::int64_t>& rivals = picked.rivals.emplace_back();
    for (const std::int64_t row : rows) rivals.push_back(rival_of(row, targets[i]));
  }
  return picked;
}

// `rows` are the margins whose gradients `projection` contains.
RegressionFit fit_regression(Rivals rivals, std::int64_t survivors, const Projection& projection, std::vector<std::int64_t> rows,
                             double sigma) {
  RegressionFit result;
  result.rivals = std::move(rivals);
  result.survivors = survivors;
  const Pairs& pairs = result.rivals.pairs;
  result.finite = pairs.plus.allFinite() && pairs.minus.allFinite() && projection.gram.allFinite();
  if (!result.finite) {
    result.residual = Eigen::MatrixXd::Constant(pairs.rivals(), pairs.rivals(), NAN);
    return result;
  }
  const std::vector<std::int64_t>& all = result.rivals.rows;
  for (std::int64_t& row : rows) row = std::lower_bound(all.begin(), all.end(), row) - all.begin();
  result.explained = along_gradients(projection, rows, pairs.rivals(), sigma);
  regress(pairs, result.explained);
  result.left = residuals(pairs, result.explained);
  result.mean = PairMoments(result.left, 0, 1).moments().mean;
  Eigen::MatrixXd& scatter = result.scatter;
  scatter.resize(pairs.rivals(), 2 * pairs.size());
  scatter << result.left.plus, result.left.minus;
  scatter.colwise() -= result.mean;
  for (std::int64_t j = 0; j < pairs.size(); ++j) {
    const double freedom = std::sqrt(std::max(1 - result.explained.leverage[j], kLeastFreedom));
    scatter.col(j) /= freedom;
    scatter.col(pairs.size() + j) /= freedom;
  }
  result.residual = product_with_transposed(scatter, scatter) / static_cast<double>(2 * pairs.size() - 1);
  return result;
}

Eigen::MatrixXd explained_covariance(const RegressionFit& fit) { return fit.explained.slopes * fit.explained.slopes.transpose(); }

Eigen::MatrixXd RegressionFit::explained_covariance() const {
  return product_with_transposed(explained.slopes, explained.slopes);
}

double RegressionFit::unexplained() const {
  const double rest = residual.trace();
  return std::sqrt(rest / std::max(rest + explained.slopes.squaredNorm(), 1e-300));
}

SlopePosterior::SlopePosterior(const RegressionFit& fit, const std::vector<std::int64_t>& rows)
    : slopes_(fit.explained.slopes(rows, Eigen::all)),
      root_(PivotedCholesky(fit.residual(rows, rows)).root()),
      errors_(fit.explained.errors) {}

Eigen::MatrixXd SlopePosterior::covariance(std::int64_t point, std::uint32_t number) const {
  NoiseStream random(0, static_cast<std::uint32_t>(point), number, kSlopeStream);
  Eigen::MatrixXd z(slopes_.rows(), slopes_.cols());
  for (double& each : z.reshaped()) each = random.normal();
  const Eigen::MatrixXd slopes = slopes_ + product_with_transposed(product(root_, z), errors_);
  return product_with_transposed(slopes, slopes);
}

Estimate estimate_from_fit(const RegressionFit& fit, const CovarianceModel& model, double roughness, const StopToken* stop) {
  if (!fit.finite) return nonfinite_estimate();
  const Eigen::MatrixXd explained = fit.explained_covariance();
  Estimate estimate;
  if (fit.unexplained() < kNothingLeft) {
    estimate = from_moments({fit.mean, explained}, fit.rivals.target, stop);
  } else {
    const double rough = roughness * std::sqrt(model.weight);  // factor by which the sampled residuals are scaled
    const Eigen::MatrixXd F = factor(model.weight * (explained + fit.residual) + model.known - rough * rough * fit.residual);
    estimate.p_fail = mean_failure(fit.mean, rough * fit.scatter, F, fit.rivals.target);
    estimate.p = 1 - estimate.p_fail;
  }
  attach_interval(estimate, left_out(fit.left, fit.mean, fit.explained.leverage),
                  {model.weight, model.weight * explained + model.known}, fit.survivors, fit.rivals.target, fit.unexplained());
  mark_left_out(estimate, fit.rivals);
  return estimate;
}

std::vector<Estimate> certain_estimates(std::int64_t points) {
  Estimate certain;
  certain.p = 1;
  return std::vector<Estimate>(static_cast<std::size_t>(points), certain);
}

Pairs joined(const Pairs& a, const Pairs& b) {
  Pairs all{Eigen::MatrixXd(a.rivals(), a.size() + b.size()), Eigen::MatrixXd(a.rivals(), a.size() + b.size())};
  all.plus << a.plus, b.plus;
  all.minus << a.minus, b.minus;
  return all;
}

}  // namespace probust
