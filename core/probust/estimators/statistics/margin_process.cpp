// SPDX-License-Identifier: MIT
#include "probust/estimators/statistics/margin_process.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "probust/base/parallel.h"

namespace probust {
namespace {

constexpr double kRoot3 = 1.7320508075688772;
constexpr double kJitter = 1e-6;
constexpr double kPriorSlope = 0.5, kPriorSlopeDeviation = 2;
// The range of the logarithms of lengths and slope. Posteriors are computed in single precision, which would not resolve larger
// values.
constexpr double kLeastLog = -4, kMostLogLength = 3, kMostLogSlope = 2;

double matern(double r) { return (1 + kRoot3 * r) * std::exp(-kRoot3 * r); }

// Minus the logarithm of the posterior of the scales, and its gradient with respect to their logarithms [k + 1].
struct Objective {
  double value = 0;
  Eigen::VectorXd gradient;
};

ProcessScales scales_of(const Eigen::VectorXd& logs) {
  const Eigen::Index k = logs.size() - 1;
  return {logs.head(k).array().exp(), std::exp(logs[k])};
}

// [N, curves] The values of the curves that are not constant, divided by their standard deviations.
Eigen::MatrixXd varying(const Eigen::MatrixXd& values) {
  Eigen::MatrixXd kept(values.rows(), values.cols());
  Eigen::Index count = 0;
  for (Eigen::Index c = 0; c < values.cols(); ++c) {
    const Eigen::VectorXd centred = values.col(c).array() - values.col(c).mean();
    const double size = centred.norm(), least = 1e-6 * values.col(c).norm();
    if (std::isfinite(size) && size > least) kept.col(count++) = centred / size;
  }
  return kept.leftCols(count);
}

// The sums over one design's curves of minus the restricted log-likelihood, in which each curve has its own best variance.
Objective restricted_likelihood(const Curves& curves, const Eigen::VectorXd& logs) {
  const ProcessScales scales = scales_of(logs);
  const Eigen::Index n = curves.nodes.rows(), k = curves.nodes.cols(), q = curves.values.cols();
  const Eigen::MatrixXd scaled = curves.nodes * scales.lengths.cwiseInverse().asDiagonal();
  Eigen::MatrixXd covariance = product_with_transposed(curves.nodes, curves.nodes) * (scales.slope * scales.slope);
  Eigen::MatrixXd decay(n, n);  // exp(-sqrt(3) r)
  for (Eigen::Index i = 0; i < n; ++i) {
    for (Eigen::Index j = 0; j <= i; ++j) {
      const double r = (scaled.row(i) - scaled.row(j)).norm();
      decay(i, j) = decay(j, i) = std::exp(-kRoot3 * r);
      const double own = (1 + kRoot3 * r) * decay(i, j) + (i == j ? kJitter : 0);
      covariance(i, j) += own;
      if (i != j) covariance(j, i) += own;
    }
  }
  Objective objective{0, Eigen::VectorXd::Zero(k + 1)};
  const Cholesky factors(covariance);
  if (!factors.definite()) return {INFINITY, objective.gradient};
  const Eigen::MatrixXd inverse = factors.inverse();
  const Eigen::VectorXd ones = inverse.rowwise().sum();
  const double total = ones.sum();
  const Eigen::MatrixXd reduced = inverse - ones * ones.transpose() / total;  // P
  const Eigen::MatrixXd weighted = product(reduced, curves.values);           // P Y
  const Eigen::VectorXd forms = (curves.values.array() * weighted.array()).colwise().sum().transpose();
  const double freedom = static_cast<double>(n - 1), count = static_cast<double>(q);
  objective.value = 0.5 * (freedom * forms.array().log().sum() + count * (factors.log_determinant() + std::log(total)));
  const Eigen::MatrixXd own = weighted * forms.cwiseInverse().asDiagonal();
  const Eigen::MatrixXd slope = count * reduced - freedom * product_with_transposed(own, weighted);  // d / d covariance, twice
  const Eigen::MatrixXd near = slope.array() * decay.array();
  for (Eigen::Index d = 0; d < k; ++d) {
    double sum = 0;
    for (Eigen::Index i = 0; i < n; ++i) {
      for (Eigen::Index j = 0; j < n; ++j) {
        const double step = scaled(i, d) - scaled(j, d);
        sum += near(i, j) * step * step;
      }
    }
    objective.gradient[d] = 0.5 * 3 * sum;
  }
  const Eigen::MatrixXd linear = product(slope, curves.nodes);
  objective.gradient[k] = scales.slope * scales.slope * (linear.array() * curves.nodes.array()).sum();
  return objective;
}

// The mean over all curves, and the prior.
class ScalesFit {
 public:
  ScalesFit(std::span<const Curves> designs, int threads, const StopToken* stop) : threads_(threads), stop_(stop) {
    for (const Curves& design : designs) {
      Eigen::MatrixXd kept = varying(design.values);
      curves_ += static_cast<double>(kept.cols());
      if (kept.cols() > 0) designs_.push_back({design.nodes, std::move(kept)});
    }
  }

  bool empty() const { return designs_.empty(); }

  Objective operator()(const Eigen::VectorXd& logs) const {
    stop_if_asked(stop_);
    std::vector<Objective> parts(designs_.size());
    parallel_for(std::ssize(designs_), threads_,
                 [&](std::int64_t i, int) { parts[i] = restricted_likelihood(designs_[i], logs); });
    Objective sum{0, Eigen::VectorXd::Zero(logs.size())};
    for (const Objective& part : parts) {
      sum.value += part.value / curves_;
      sum.gradient += part.gradient / curves_;
    }
    const Eigen::VectorXd away = (logs - middle(logs.size() - 1)).cwiseProduct(precision(logs.size() - 1));
    sum.value += 0.5 * (away.array() * (logs - middle(logs.size() - 1)).array()).sum();
    sum.gradient += away;
    return sum;
  }

  static Eigen::VectorXd middle(Eigen::Index k) {
    Eigen::VectorXd logs = Eigen::VectorXd::Constant(k + 1, std::log(1.5 * std::sqrt(static_cast<double>(k))));
    logs[k] = std::log(kPriorSlope);
    return logs;
  }

 private:
  static Eigen::VectorXd precision(Eigen::Index k) {
    Eigen::VectorXd precision = Eigen::VectorXd::Ones(k + 1);
    precision[k] = 1 / (kPriorSlopeDeviation * kPriorSlopeDeviation);
    return precision;
  }

  std::vector<Curves> designs_;
  double curves_ = 0;
  int threads_;
  const StopToken* stop_;
};

// Minimises a smooth function by BFGS with backtracking (Nocedal and Wright, "Numerical optimization", 2006, section 6.1).
Eigen::VectorXd minimum(const std::function<Objective(const Eigen::VectorXd&)>& function, Eigen::VectorXd at) {
  constexpr int kSteps = 25, kHalvings = 12;
  constexpr double kEnough = 1e-4, kSmall = 1e-3, kLongest = 1;
  const auto size = at.size();
  Eigen::VectorXd most = Eigen::VectorXd::Constant(size, kMostLogLength);
  most[size - 1] = kMostLogSlope;
  Eigen::MatrixXd inverse = Eigen::MatrixXd::Identity(size, size);
  Objective here = function(at);
  for (int step = 0; step < kSteps && here.gradient.norm() > kSmall; ++step) {
    Eigen::VectorXd direction = -times(inverse, here.gradient);
    if (direction.dot(here.gradient) >= 0) direction = -here.gradient;
    direction *= std::min(1.0, kLongest / direction.norm());
    Objective there;
    Eigen::VectorXd next;
    bool found = false;
    double length = 1;
    for (int k = 0; k < kHalvings && !found; ++k, length /= 2) {
      next = (at + length * direction).cwiseMax(kLeastLog).cwiseMin(most);
      there = function(next);
      found = there.value <= here.value + kEnough * here.gradient.dot(next - at);
    }
    if (!found) return at;
    const Eigen::VectorXd moved = next - at, change = there.gradient - here.gradient;
    const double curvature = moved.dot(change);
    if (curvature > 1e-10) {
      const Eigen::VectorXd image = times(inverse, change);
      inverse += moved * moved.transpose() * ((curvature + change.dot(image)) / (curvature * curvature)) -
                 (image * moved.transpose() + moved * image.transpose()) / curvature;
    }
    at = next;
    here = there;
  }
  return at;
}

}  // namespace

ProcessScales fit_scales(std::span<const Curves> designs, int threads, const StopToken* stop) {
  const ScalesFit fit(designs, threads, stop);
  const Eigen::VectorXd start = ScalesFit::middle(designs.front().nodes.cols());
  return scales_of(fit.empty() ? start : minimum(fit, start));
}

ProcessPosterior::ProcessPosterior(ProcessScales scales, const Eigen::MatrixXd& at)
    : scales_(std::move(scales)), at_(at.cast<float>()) {}

double ProcessPosterior::covariance(const Eigen::VectorXd& a, const Eigen::VectorXd& b) const {
  return matern((a - b).cwiseQuotient(scales_.lengths).norm()) + scales_.slope * scales_.slope * a.dot(b);
}

std::vector<float> ProcessPosterior::squared_distances(const Eigen::VectorXd& w, std::int64_t count) const {
  std::vector<float> squares(static_cast<std::size_t>(count), 0.0F);
  Eigen::Map<Eigen::ArrayXf> all(squares.data(), count);
  for (Eigen::Index d = 0; d < w.size(); ++d)
    all += ((at_.col(d).head(count).array() - static_cast<float>(w[d])) * static_cast<float>(1 / scales_.lengths[d])).square();
  return squares;
}

void ProcessPosterior::covariances(const Eigen::VectorXd& w, std::int64_t count, float* to) const {
  const std::vector<float> squares = squared_distances(w, count);
  const Eigen::ArrayXf root = std::sqrt(3.0F) * Eigen::Map<const Eigen::ArrayXf>(squares.data(), count).sqrt();
  Eigen::Map<Eigen::ArrayXf> all(to, count);
  all = (1 + root) * (-root).exp();
  const double slope = scales_.slope * scales_.slope;
  for (Eigen::Index d = 0; d < w.size(); ++d) all += static_cast<float>(slope * w[d]) * at_.col(d).head(count).array();
}

void ProcessPosterior::add(const Eigen::VectorXd& w) {
  const Eigen::Index n = count_;
  Eigen::VectorXd with(n);
  for (Eigen::Index i = 0; i < n; ++i) with[i] = covariance(nodes_[i], w);
  for (Eigen::Index i = 0; i < n; ++i) with[i] = (with[i] - lower_.row(i).head(i).dot(with.head(i))) / lower_(i, i);
  const double left = covariance(w, w) + kJitter - with.squaredNorm(), diagonal = std::sqrt(std::max(left, kJitter));
  lower_.conservativeResize(n + 1, n + 1);
  lower_.col(n).setZero();
  lower_.row(n).head(n) = with.transpose();
  lower_(n, n) = diagonal;
  ones_.conservativeResize(n + 1);
  ones_[n] = (1 - (n > 0 ? with.dot(ones_.head(n)) : 0)) / diagonal;
  std::vector<float> row(static_cast<std::size_t>(places()));
  covariances(w, places(), row.data());
  Eigen::Map<Eigen::ArrayXf> own(row.data(), places());
  for (Eigen::Index i = 0; i < n; ++i)
    own -= static_cast<float>(with[i]) * Eigen::Map<const Eigen::ArrayXf>(rows_[i].data(), places());
  own *= static_cast<float>(1 / diagonal);
  rows_.push_back(std::move(row));
  nodes_.push_back(w);
  ++count_;
}

ProcessPosterior::Coefficients ProcessPosterior::coefficients(const Eigen::MatrixXd& values) const {
  Coefficients result{values, Eigen::VectorXd::Zero(values.cols())};
  const double total = ones_.squaredNorm();
  for (Eigen::Index c = 0; c < values.cols(); ++c) {
    for (Eigen::Index i = 0; i < count_; ++i)
      result.values(i, c) = (values(i, c) - lower_.row(i).head(i).dot(result.values.col(c).head(i))) / lower_(i, i);
    result.constant[c] = ones_.dot(result.values.col(c)) / total;
    result.values.col(c) -= result.constant[c] * ones_;
  }
  return result;
}

void ProcessPosterior::means(const Coefficients& coefficients, std::int64_t count, float* means) const {
  constexpr std::int64_t kTogether = 256;  // places whose rows stay in the first cache
  const Eigen::MatrixXf weights = coefficients.values.cast<float>();
  for (std::int64_t begin = 0; begin < count; begin += kTogether) {
    const std::int64_t some = std::min(kTogether, count - begin);
    for (Eigen::Index c = 0; c < weights.cols(); ++c) {
      Eigen::Map<Eigen::ArrayXf> own(means + c * count + begin, some);
      own.setConstant(static_cast<float>(coefficients.constant[c]));
      for (Eigen::Index i = 0; i < count_; ++i)
        own += weights(i, c) * Eigen::Map<const Eigen::ArrayXf>(rows_[i].data() + begin, some);
    }
  }
}

std::vector<float> ProcessPosterior::variances() const {
  Eigen::ArrayXf squares = Eigen::ArrayXf::Zero(places()), unit = Eigen::ArrayXf::Ones(places());
  for (Eigen::Index i = 0; i < count_; ++i) {
    const Eigen::Map<const Eigen::ArrayXf> row(rows_[i].data(), places());
    squares += row.square();
    unit -= static_cast<float>(ones_[i]) * row;
  }
  const auto slope = static_cast<float>(scales_.slope * scales_.slope), total = static_cast<float>(ones_.squaredNorm());
  const Eigen::ArrayXf prior = 1 + slope * at_.rowwise().squaredNorm().array();
  const Eigen::ArrayXf all = (prior - squares).max(0.0F) + unit.square() / total;
  return {all.data(), all.data() + all.size()};
}

Eigen::MatrixXf ProcessPosterior::root(std::int64_t count) const {
  Eigen::MatrixXd rows(count_, count);
  for (Eigen::Index i = 0; i < count_; ++i)
    rows.row(i) = Eigen::Map<const Eigen::RowVectorXf>(rows_[i].data(), count).cast<double>();
  const Eigen::VectorXd unit = Eigen::VectorXd::Ones(count) - transposed_times(rows, ones_);
  Eigen::MatrixXd posterior = unit * unit.transpose() / ones_.squaredNorm() - transposed_product(rows, rows);
  std::vector<float> prior(static_cast<std::size_t>(count));
  for (Eigen::Index i = 0; i < count; ++i) {
    covariances(at_.row(i).cast<double>(), count, prior.data());
    posterior.col(i) += Eigen::Map<const Eigen::VectorXf>(prior.data(), count).cast<double>();
    posterior(i, i) += 1e-5;
  }
  const Eigen::MatrixXd semidefinite = posterior;
  if (!cholesky_in_place(posterior)) return PivotedCholesky(semidefinite).root().cast<float>();
  return posterior.triangularView<Eigen::Lower>().toDenseMatrix().cast<float>();
}

Eigen::MatrixXd ProcessPosterior::precision() const {
  const Eigen::MatrixXd inverse = Cholesky(product_with_transposed(lower_, lower_)).inverse();
  const Eigen::VectorXd ones = inverse.rowwise().sum();
  return inverse - ones * ones.transpose() / ones.sum();
}

}  // namespace probust
