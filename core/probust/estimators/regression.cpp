// SPDX-License-Identifier: MIT
// regression:N, with N the cost in forwards: the margins of antithetic noisy copies, regressed on the noise along the gradients
// of the two or three nearest margins. The explained part is normal and is integrated exactly; the residuals are sampled and
// smoothed. Exact on a linear model with no more rivals than gradients, which leaves no residuals. regression:N:adf uses the
// gradients of the mean under the noise, which are accurate at its scale, instead of those at the point.
//
// With w ~ N(0, I) for the noise in the span of those gradients: g = m + B w + r, p = mean_j P[m + a r_j + eta > 0],
// eta ~ N(0, B Bᵀ + (1 - a²) S_r): a kernel density estimate of the residuals that keeps their covariance S_r (Silverman 1986,
// section 6.4). regression:N:pooled shrinks the covariance B Bᵀ + S_r towards those of the other points of the block (pooling.h).
// regression:N:learned learns S_r from them, shares draws, and takes margins as normal (learning.h): p = Phi(m; B Bᵀ + S_r). It
// uses the gradients of the mean under the noise if there are enough copies and all operators have moment rules.
#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "probust/base/parallel.h"
#include "probust/estimators/common.h"
#include "probust/estimators/learning.h"
#include "probust/estimators/pair_statistics.h"
#include "probust/estimators/pooling.h"
#include "probust/normal/lanes.h"
#include "probust/normal/univariate.h"

namespace probust {
namespace {

constexpr std::int64_t kFrugal = 55;  // up to this cost, fewer gradients and more smoothing are better
constexpr double kRidge = 2;
constexpr double kLeastFreedom = 0.2;   // lower limit for 1 - leverage of a residual
constexpr std::int64_t kPoints = 2048;  // of the integral, all residuals together
constexpr double kNothingLeft = 1e-5;   // residuals below this share of the standard deviation are rounding errors

struct Budget {
  std::int64_t gradients, pairs;
  double roughness;  // a

  // Pairs that are used to choose the gradients. Their noise is drawn twice.
  std::int64_t pilot() const { return std::min(pairs, std::max<std::int64_t>(6, pairs / 8)); }
};

// The cost of the gradients in forwards: a backward counts as one; moment propagation, with its gradients, was measured at about
// three times as much.
std::int64_t cost_of(std::int64_t gradients, Around around) {
  return around == Around::point ? 1 + gradients : 4 + 3 * gradients;
}

Budget split(std::int64_t cost, std::int64_t classes, Around around) {
  const std::int64_t gradients = std::min<std::int64_t>(cost <= kFrugal ? 2 : 3, classes - 1);
  return {gradients, (cost - cost_of(gradients, around)) / 2, cost <= kFrugal ? 0.5 : 0.7};
}

struct Explained {
  Eigen::MatrixXd slopes;       // B [m, r]
  Eigen::MatrixXd coordinates;  // w_j [r, h] of the first of each pair
  Eigen::VectorXd leverage;     // [h]
};

// Coordinates w = G^(-1/2) U eps / sigma in the span of the gradients, and the slopes that the gradients imply. `rows` are the
// margins that the gradients belong to.
Explained along_gradients(const Projection& projection, const std::vector<std::int64_t>& rows, std::int64_t margins,
                          double sigma) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(projection.gram);
  const Eigen::VectorXd& values = eigen.eigenvalues();  // ascending
  Eigen::Index rank = 0;
  while (rank < values.size() && values[values.size() - 1 - rank] > 1e-12 * values.maxCoeff()) ++rank;
  const Eigen::MatrixXd basis = eigen.eigenvectors().rightCols(rank);
  const Eigen::VectorXd lengths = values.tail(rank).cwiseSqrt();
  Explained result{Eigen::MatrixXd::Zero(margins, rank),
                   (lengths * sigma).cwiseInverse().asDiagonal() * basis.transpose() * projection.along,
                   {}};
  const Eigen::MatrixXd known = sigma * basis * lengths.asDiagonal();
  for (std::size_t a = 0; a < rows.size(); ++a) result.slopes.row(rows[a]) = known.row(static_cast<Eigen::Index>(a));
  return result;
}

// Ridge regression of the margins on w, shrunk towards the slopes of the gradients, with both copies of a pair and a free
// intercept.
void regress(const Pairs& pairs, Explained& explained) {
  const Eigen::MatrixXd& w = explained.coordinates;
  explained.leverage = Eigen::VectorXd::Constant(w.cols(), 0.5 / static_cast<double>(w.cols()));
  if (w.rows() == 0) return;  // no gradient at x
  const Eigen::MatrixXd odd = (pairs.plus - pairs.minus) / 2;
  const Eigen::MatrixXd normal = 2 * w * w.transpose() + kRidge * Eigen::MatrixXd::Identity(w.rows(), w.rows());
  const Eigen::LDLT<Eigen::MatrixXd> solver(normal);
  explained.slopes += solver.solve(2 * w * (odd - explained.slopes * w).transpose()).transpose();
  explained.leverage += (w.array() * solver.solve(w).array()).colwise().sum().matrix().transpose();
}

Pairs residuals(const Pairs& pairs, const Explained& explained) {
  const Eigen::MatrixXd line = explained.slopes * explained.coordinates;
  return {pairs.plus - line, pairs.minus + line};
}

// Leave-one-out residuals: each pair's, with slopes fitted without it (Allen 1974). Needed because the jackknife does not refit
// the slopes.
Pairs left_out(Pairs left, const Eigen::VectorXd& mean, const Eigen::VectorXd& leverage) {
  for (Eigen::MatrixXd* side : {&left.plus, &left.minus}) {
    for (Eigen::Index j = 0; j < side->cols(); ++j)
      side->col(j) = mean + (side->col(j) - mean) / std::max(1 - 2 * leverage[j], kLeastFreedom);
  }
  return left;
}

// F with F Fᵀ = covariance, the longest column first.
Eigen::MatrixXd factor(const Eigen::MatrixXd& covariance) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(covariance);
  Eigen::Index rank = 0;
  const Eigen::VectorXd& values = eigen.eigenvalues();
  while (rank < values.size() && values[values.size() - 1 - rank] > 1e-14 * values.maxCoeff()) ++rank;
  if (rank == 0) return Eigen::MatrixXd::Zero(covariance.rows(), 1);
  const Eigen::MatrixXd columns = eigen.eigenvectors().rightCols(rank) * values.tail(rank).cwiseSqrt().asDiagonal();
  return columns.rowwise().reverse();
}

// P[c + f y > 0 does not hold for all rows], y standard normal. Rows with f = 0 are decided by the sign of c. The lower class
// wins a tie: rows before `target` lose theirs.
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

// Standard normals w [kLanes, axes] of the points from `first` on.
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

// mean_j P[centre + a r_j + F w fails], `scatter` being a r. The first coordinate of w is integrated exactly, the others by
// separate points for every j.
double mean_failure(const Eigen::VectorXd& centre, const Eigen::MatrixXd& scatter, const Eigen::MatrixXd& F,
                    std::int64_t target) {
  const std::int64_t each = (kPoints + scatter.cols() - 1) / scatter.cols(), all = each * scatter.cols();
  const Eigen::MatrixXd others = F.rightCols(F.cols() - 1);
  double sum = 0;
  for (std::int64_t first = 0; first < all; first += normal::kLanes) {
    const Eigen::MatrixXd moved = others * normal_points(first, others.cols()).transpose();
    for (std::int64_t n = first; n < std::min(all, first + normal::kLanes); ++n)
      sum += failure_on_a_line(centre + scatter.col(n / each) + moved.col(n - first), F.col(0), target);
  }
  return sum / static_cast<double>(all);
}

// A point's regression: margins = mean + slopes w + residual, for the rivals that matter.
struct Fit {
  Rivals rivals;
  std::int64_t kept;  // of all copies
  Pairs left;         // margins without the explained part
  Explained explained;
  Eigen::VectorXd mean;      // [m]
  Eigen::MatrixXd scatter;   // residuals [m, 2h]
  Eigen::MatrixXd residual;  // their covariance [m, m]
  bool finite = true;
};

// `rows` are the margins whose gradients the projection has.
Fit fit(Rivals rivals, std::int64_t kept, const Projection& projection, std::vector<std::int64_t> rows, double sigma) {
  Fit result;
  result.rivals = std::move(rivals);
  result.kept = kept;
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
  result.residual = scatter * scatter.transpose() / static_cast<double>(2 * pairs.size() - 1);
  return result;
}

Eigen::MatrixXd explained_covariance(const Fit& fit) { return fit.explained.slopes * fit.explained.slopes.transpose(); }

// `model` gives the covariance of the margins: the point's own, or shrunk towards that of others.
Estimate conclude(const Fit& fit, const CovarianceModel& model, double roughness, const std::atomic<bool>* stop) {
  if (!fit.finite) return nonfinite_estimate();
  const Eigen::MatrixXd explained = explained_covariance(fit);
  const double unexplained = fit.residual.trace(), share = unexplained / std::max(unexplained + explained.trace(), 1e-300);
  Estimate estimate;
  if (share < kNothingLeft * kNothingLeft) {
    estimate = from_moments({fit.mean, explained}, fit.rivals.target, stop);
  } else {
    const double rough = roughness * std::sqrt(model.weight);  // factor of the sampled residuals
    const Eigen::MatrixXd F = factor(model.weight * (explained + fit.residual) + model.known - rough * rough * fit.residual);
    estimate.p_fail = mean_failure(fit.mean, rough * fit.scatter, F, fit.rivals.target);
    estimate.p = 1 - estimate.p_fail;
  }
  judge(estimate, left_out(fit.left, fit.mean, fit.explained.leverage), {model.weight, model.weight * explained + model.known},
        fit.kept, fit.rivals.target, std::sqrt(share));
  tell_left_out(estimate, fit.rivals);
  return estimate;
}

Pairs joined(const Pairs& a, const Pairs& b) {
  Pairs all{Eigen::MatrixXd(a.rivals(), a.size() + b.size()), Eigen::MatrixXd(a.rivals(), a.size() + b.size())};
  all.plus << a.plus, b.plus;
  all.minus << a.minus, b.minus;
  return all;
}

enum class Learning { alone, from_others };

std::vector<CovarianceModel> models_of(const std::vector<Fit>& fits, const std::vector<std::int64_t>& targets,
                                       const Tensor& logits, std::int64_t pairs, Learning learning) {
  if (learning == Learning::alone) {
    std::vector<CovarianceModel> models;
    models.reserve(fits.size());
    for (const Fit& each : fits) models.push_back(own_alone(each.residual.rows()));
    return models;
  }
  std::vector<Eigen::MatrixXd> own;
  own.reserve(fits.size());
  for (const Fit& each : fits) own.push_back(each.finite ? explained_covariance(each) + each.residual : each.residual);
  return pooled_covariances(own, targets, logits, pairs);
}

std::vector<Estimate> by_regression(Evaluation& evaluation, const Noise& noise, std::int64_t cost, Around around,
                                    Learning learning) {
  Executor& executor = evaluation.executor();
  const Points& points = evaluation.points();
  Estimate certain;
  certain.p = 1;
  std::vector<Estimate> estimates(static_cast<std::size_t>(points.size()), certain);
  if (executor.classes() == 1) return estimates;
  const Budget budget = split(cost, executor.classes(), around);
  const std::int64_t bytes = 64 * budget.pairs * executor.classes();
  std::int64_t step = points.size();
  if (learning == Learning::alone) {
    const std::int64_t deciding = std::min<std::int64_t>(executor.classes(), kMostRivals);
    step = points_at_once(executor, bytes + 32 * deciding * deciding);
  } else {
    check_all_fit(executor, points.size(), bytes + 32 * executor.classes() * executor.classes());
  }
  for (std::int64_t first = 0; first < points.size(); first += step) {
    const Points part = slice(points, first, std::min(step, points.size() - first));
    const std::vector<Pairs> pairs = executor.pairs(part, noise, budget.pilot()).value();
    std::vector<std::vector<std::int64_t>> rows, rivals;  // those of the gradients, as rows of the margins and as classes
    rows.reserve(pairs.size());
    rivals.reserve(pairs.size());
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      rows.push_back(by_threat(pairs[i]));
      rows[i].resize(static_cast<std::size_t>(budget.gradients));
      rivals.push_back(rows[i]);
      for (std::int64_t& rival : rivals[i]) rival += rival >= part.target[i] ? 1 : 0;
    }
    const std::vector<Projection> projections =
        executor.project(part, rivals, noise, budget.pairs, budget.pilot(), around).value();
    std::vector<Fit> fits(pairs.size());
    parallel_for(part.size(), executor.options().threads, [&](std::int64_t i, int) {
      stop_if_asked(&executor.progress.stop);
      const Pairs all = joined(pairs[i], projections[i].pairs);
      const std::int64_t target = part.target[i];
      Rivals deciding = learning == Learning::alone ? decisive(all, target, rows[i]) : all_rivals(all, target);
      fits[i] = fit(std::move(deciding), count_kept(all, target), projections[i], rows[i], noise.scale);
    });
    const std::vector<CovarianceModel> models = models_of(fits, part.target, evaluation.logits(), budget.pairs, learning);
    parallel_for(part.size(), executor.options().threads, [&](std::int64_t i, int) {
      stop_if_asked(&executor.progress.stop);
      Estimate& estimate = estimates[first + i];
      estimate = conclude(fits[i], models[i], budget.roughness, &executor.progress.stop);
      const std::int64_t each = around == Around::point ? 1 : 2;  // means and variances
      estimate.forwards = 2 * budget.pairs + each;
      estimate.backwards = budget.gradients * each;
    });
  }
  return estimates;
}

// Pairs that are sampled first, and which margins get gradients: those of the rivals nearest to all of them.
struct Chosen {
  std::vector<Pairs> pairs;
  std::vector<std::vector<std::int64_t>> rows, rivals;  // [points] as rows of the margins and as classes
};

Chosen choose(std::vector<Pairs> pairs, const std::vector<std::int64_t>& targets, std::int64_t gradients) {
  Chosen chosen{std::move(pairs), {}, {}};
  for (std::size_t i = 0; i < chosen.pairs.size(); ++i) {
    std::vector<std::int64_t>& rows = chosen.rows.emplace_back(by_threat(chosen.pairs[i]));
    rows.resize(static_cast<std::size_t>(gradients));
    for (const std::int64_t row : rows) {
      if (chosen.rivals.size() == i) chosen.rivals.emplace_back();
      chosen.rivals[i].push_back(rival_of(row, targets[i]));
    }
  }
  return chosen;
}

// Points whose draws are shared, unless their noise differs.
struct SharedPoints {
  Points points;
  SharedNoise noise;
};

SharedPoints share(const Points& points, const Noise& noise, std::int64_t pairs) {
  if (noise.shape->differs()) return {points, {}};
  SharedNoise shared = share_noise(points.size(), pairs, points.seed, points.index[0]);
  return {with_draws(points, shared), std::move(shared)};
}

// regression:N:learned. The residuals share draws and are learned from each other; what the gradients explain is each point's
// own.
class LearnedResiduals {
 public:
  LearnedResiduals(Evaluation& evaluation, const Noise& noise, std::int64_t cost)
      : evaluation_(evaluation),
        executor_(evaluation.executor()),
        noise_(noise),
        cost_(cost),
        around_(cost >= kPropagationPays && propagates(executor_, evaluation.points(), noise) ? Around::noise : Around::point),
        budget_(split(cost, executor_.classes(), around_)) {}

  std::vector<Estimate> estimates() {
    const std::int64_t n = evaluation_.points().size(), classes = executor_.classes();
    check_all_fit(executor_, n, bytes_to_learn(n, budget_.pairs, classes) + 4 * bytes_of_pairs(budget_.pairs, classes));
    shared_ = share(evaluation_.points(), noise_, cost_ / 2);
    std::vector<Pairs> pairs = executor_.pairs(shared_.points, noise_, budget_.pairs).value();
    if (far_from_normal(pairs, shared_.points.target, &executor_.progress.stop)) return pooled(std::move(pairs));
    shared_.noise.draw.resize(std::min<std::size_t>(shared_.noise.draw.size(), budget_.pairs));
    return from(choose(std::move(pairs), shared_.points.target, budget_.gradients));
  }

 private:
  // All of the cost goes into pairs.
  std::vector<Estimate> pooled(std::vector<Pairs> pairs) {
    const std::vector<Pairs> more = executor_.pairs(shared_.points, noise_, cost_ / 2 - budget_.pairs, budget_.pairs).value();
    for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i] = joined(pairs[i], more[i]);
    return estimates_from_pooled(evaluation_, pairs);
  }

  std::vector<Estimate> from(const Chosen& chosen) {
    const std::vector<Fit> fits = fitted(chosen);
    std::vector<Pairs> left;
    std::vector<std::int64_t> kept;
    for (std::size_t i = 0; i < fits.size(); ++i) {
      left.push_back(fits[i].finite ? fits[i].left : chosen.pairs[i]);
      kept.push_back(fits[i].kept);
    }
    const Points& points = shared_.points;
    const LearnedMargins learned(left, points.target, points.x, evaluation_.logits(), shared_.noise);
    std::vector<Estimate> estimates(fits.size());
    for_points([&](std::int64_t i) {
      if (!learned.learned(i))
        return void(estimates[i] = conclude(fits[i], own_alone(executor_.classes() - 1), budget_.roughness, stop()));
      MarginMoments moments = learned.moments(i);
      moments.covariance += explained_covariance(fits[i]);
      estimates[i] = from_moments(moments, points.target[i], stop());
    });
    if (contradicted(estimates, kept, 2 * budget_.pairs)) {
      estimates = estimates_from_pooled(evaluation_, chosen.pairs);
    } else {
      for_points([&](std::int64_t i) {
        if (learned.learned(i)) judge_learned(estimates[i], learned, i, fits[i], chosen.pairs[i]);
      });
    }
    const std::int64_t each = around_ == Around::point ? 1 : 2;  // means and variances
    for (Estimate& estimate : estimates) {
      estimate.forwards = 2 * budget_.pairs + each;
      estimate.backwards = budget_.gradients * each;
    }
    return estimates;
  }

  std::vector<Fit> fitted(const Chosen& chosen) {
    const Points& points = shared_.points;
    const std::vector<Projection> projections =
        executor_.project(points, chosen.rivals, noise_, budget_.pairs, budget_.pairs, around_).value();
    std::vector<Fit> fits(projections.size());
    for_points([&](std::int64_t i) {
      const std::int64_t target = points.target[i], kept = count_kept(chosen.pairs[i], target);
      fits[i] = fit(all_rivals(chosen.pairs[i], target), kept, projections[i], chosen.rows[i], noise_.scale);
    });
    return fits;
  }

  void judge_learned(Estimate& estimate, const LearnedMargins& learned, std::int64_t i, const Fit& fit,
                     const Pairs& pairs) const {
    const Eigen::MatrixXd explained = explained_covariance(fit);
    const double unexplained = fit.residual.trace(), share = unexplained / std::max(unexplained + explained.trace(), 1e-300);
    const double std_error = std_error_of_z(learned, i, explained, pairs, shared_.points.target[i]);
    judge(estimate, std_error, fit.kept, 2 * budget_.pairs, std::sqrt(share));
  }

  template <class Use>
  void for_points(Use use) const {
    parallel_for(shared_.points.size(), executor_.options().threads, [&](std::int64_t i, int) {
      stop_if_asked(stop());
      use(i);
    });
  }

  const StopToken* stop() const { return &executor_.progress.stop; }

  Evaluation& evaluation_;
  Executor& executor_;
  const Noise& noise_;
  std::int64_t cost_;
  Around around_;
  Budget budget_;
  SharedPoints shared_;
};

}  // namespace

std::vector<Estimate> estimate_regression(Evaluation& evaluation, const Noise& noise, const EstimatorSpec& asked) {
  return by_regression(evaluation, noise, asked.samples, Around::point, Learning::alone);
}

std::vector<Estimate> estimate_regression_pooled(Evaluation& evaluation, const Noise& noise, const EstimatorSpec& asked) {
  return by_regression(evaluation, noise, asked.samples, Around::point, Learning::from_others);
}

std::vector<Estimate> estimate_regression_adf(Evaluation& evaluation, const Noise& noise, const EstimatorSpec& asked) {
  return by_regression(evaluation, noise, asked.samples, Around::noise, Learning::alone);
}

std::vector<Estimate> estimate_regression_learned(Evaluation& evaluation, const Noise& noise, const EstimatorSpec& asked) {
  if (evaluation.points().size() == 0) return {};
  if (evaluation.executor().classes() == 1) return estimate_regression(evaluation, noise, asked);
  return LearnedResiduals(evaluation, noise, asked.samples).estimates();
}

}  // namespace probust
