// SPDX-License-Identifier: MIT
#include "probust/estimators/common.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "probust/base/parallel.h"
#include "probust/normal/batch.h"
#include "probust/normal/multivariate.h"
#include "probust/normal/mv_sigmoid.h"
#include "probust/normal/univariate.h"

namespace probust {
namespace {

constexpr double kNegligibleLeftOut = 1e-4, kNegligibleLeftOutShare = 1e-2;  // the tolerances of the normal CDF: abs, rel_q

Estimate certain(double p) {
  Estimate estimate;
  estimate.p = p;
  estimate.p_fail = 1 - p;  // exactly 0 or 1
  return estimate;
}

// dp/dz_i = phi(z_i) P(the other margins are positive | X_i = z_i) (Plackett 1954), accurately enough for a standard error.
// Unlike normal/gradient.h, this has no defined results for ties, and is small enough for the first part of a page's download.
Eigen::VectorXd normal_gradient(const NormalProblem& problem) {
  constexpr double kCertain = 1e-8;  // conditional variances up to this are treated as rounding
  const auto m = static_cast<Eigen::Index>(problem.z.size());
  Eigen::VectorXd gradient(m);
  for (Eigen::Index i = 0; i < m; ++i) {
    std::vector<Eigen::Index> others;
    std::vector<double> limits, deviations;
    for (Eigen::Index j = 0; j < m; ++j) {
      const double rho = problem.R(i, j), rest = 1 - rho * rho;
      if (j == i || rest <= kCertain) continue;
      others.push_back(j);
      deviations.push_back(std::sqrt(rest));
      limits.push_back((problem.z[j] - rho * problem.z[i]) / deviations.back());
    }
    const auto count = static_cast<Eigen::Index>(others.size());
    Eigen::MatrixXd R(count, count);
    for (Eigen::Index a = 0; a < count; ++a) {
      for (Eigen::Index b = 0; b < count; ++b) {
        const double covariance = problem.R(others[a], others[b]) - problem.R(i, others[a]) * problem.R(i, others[b]);
        R(a, b) = a == b ? 1 : covariance / (deviations[a] * deviations[b]);
      }
    }
    const normal::Probability kept = normal::mvn_cdf(limits, R, {.abs = 1e-3, .rel_q = 0.02});
    gradient[i] = normal::pdf(problem.z[i]) * (kept.valid() ? kept.p : 1);
  }
  return gradient;
}

// Standard error of p from the scatter of the averaged margins (delta method). The scatter of the averaged gradients is
// neglected, because it is smaller by a factor of about the dimension of the input.
double delta_std_error(const NormalProblem& problem, const Linearization& linearization, const Eigen::VectorXd& dp_dz,
                       double sigma, std::int64_t samples) {
  const Eigen::VectorXd weights = dp_dz.cwiseQuotient(problem.deviations);
  // For each noisy sample, the component of its margins along the gradient of p.
  Eigen::RowVectorXd along = Eigen::RowVectorXd::Zero(linearization.sampled.cols());
  for (std::size_t a = 0; a < problem.rows.size(); ++a)
    along += weights[static_cast<Eigen::Index>(a)] * linearization.sampled.row(problem.rows[a]);
  const double variance = (along.array() - along.mean()).square().sum() / std::max(1.0, static_cast<double>(along.size() - 1));
  return std::sqrt(variance / static_cast<double>(samples)) / sigma;
}

// The estimate in cases that need no multivariate probability.
std::optional<Estimate> settled(const NormalProblem& problem, std::int64_t samples) {
  if (!problem.finite) return nonfinite_estimate();
  if (!problem.always_fails && !problem.z.empty()) return std::nullopt;
  Estimate estimate = certain(problem.always_fails ? 0 : 1);
  if (problem.degenerate) estimate.set(Status::degenerate, "no margin changes with the noise");
  if (samples > 1) estimate.std_error = 0;
  return estimate;
}

// The estimate if R differs from a correlation matrix by more than the rounding that the normal CDF tolerates.
Estimate invalid_problem(normal::Status status) {
  Estimate estimate = nonfinite_estimate();
  estimate.set(Status::invalid, std::string(normal::describe(status)));
  return estimate;
}

Estimate from_probability(const NormalProblem& problem, const normal::Probability& probability) {
  if (!probability.valid()) return invalid_problem(probability.status);
  Estimate estimate;
  estimate.p = probability.p;
  estimate.p_fail = probability.p_fail;
  if (probability.status == normal::Status::not_reached)
    estimate.set(Status::inexact, "normal CDF known to " + short_text(probability.error));
  if (problem.left_out > std::min(kNegligibleLeftOut, kNegligibleLeftOutShare * estimate.p_fail))
    mark_left_out(estimate, problem.rows.size(), problem.left_out);
  return estimate;
}

Estimate with_probability(const NormalProblem& problem, const normal::Probability& probability,
                          const Linearization& linearization, double sigma, std::int64_t samples) {
  Estimate estimate = from_probability(problem, probability);
  if (samples > 1 && probability.valid())
    estimate.std_error = delta_std_error(problem, linearization, normal_gradient(problem), sigma, samples);
  return estimate;
}

}  // namespace

Eigen::VectorXd mv_sigmoid_gradient(const NormalProblem& problem, double p) {
  Eigen::VectorXd gradient(static_cast<Eigen::Index>(problem.z.size()));
  for (Eigen::Index i = 0; i < gradient.size(); ++i) {
    // p e^(-z_i / 2) is at most 1, so its square does not overflow.
    const double root = p * std::exp(std::min(-problem.z[i] / 2, 350.0));
    gradient[i] = root * root;
  }
  return gradient;
}

std::string short_text(double value) { return fmt::format("{:.1e}", value); }

void mark_left_out(Estimate& estimate, std::size_t taken, double left_out) {
  estimate.set(Status::inexact, "rivals beyond the " + std::to_string(taken) + " nearest may add " +
                                    short_text(std::min(left_out, estimate.p)) + " to p_fail");
}

bool sees_failures_in_samples(std::string_view estimator) {
  const std::string_view name = estimator.substr(0, estimator.find(':'));
  return name == "mc" || name == "probit" || name == "regression" || name == "surrogate";
}

void bound_failure(Estimate& estimate) {
  constexpr double kReachesOne = 1 - 1e-12, kResolved = 0.1;
  if (!estimate.ci_low || !(estimate.ci_high >= kReachesOne)) return;
  const double most = 1 - *estimate.ci_low;
  if (!(estimate.p_fail < kResolved * most)) return;
  estimate.p_fail = most;
  if (estimate.status == Status::ok) estimate.status = Status::bound;
}

double z_of(const Estimate& estimate) {
  if (estimate.bounded()) return normal::quantile_complement(std::max(estimate.failure(), 1e-16));
  return estimate.p_fail < 0.5 ? normal::quantile_complement(estimate.p_fail) : normal::quantile(estimate.p);
}

bool finite_at(const Points& points, const Tensor& logits, std::int64_t i, bool missing) {
  const auto all = [](std::span<const float> values, bool or_missing) {
    return std::all_of(values.begin(), values.end(),
                       [=](float value) { return std::isfinite(value) || (or_missing && std::isnan(value)); });
  };
  return all(points.x.row(i), missing) && all(logits.row(i), false);
}

std::int64_t other_label(const Points& points, std::int64_t i) {
  const std::int64_t label = points.label_of(i);
  return label == points.target[static_cast<std::size_t>(i)] ? -1 : label;
}

Estimate nonfinite_estimate() {
  Estimate estimate;
  estimate.p = estimate.p_fail = std::numeric_limits<double>::quiet_NaN();
  estimate.status = Status::nonfinite;
  return estimate;
}

Estimate from_linearization(const Linearization& linearization, std::int64_t target, double sigma, NormalCdf cdf,
                            std::int64_t samples, const std::atomic<bool>* stop) {
  const NormalProblem problem =
      normal_problem(linearization, target, sigma, cdf == NormalCdf::exact ? Wanted::z_and_R : Wanted::all_z);
  if (const auto estimate = settled(problem, samples)) return *estimate;
  if (cdf == NormalCdf::exact)
    return with_probability(problem, normal::mvn_cdf(problem.z, problem.R, {.stop = stop}), linearization, sigma, samples);
  Estimate estimate;
  const normal::MvSigmoid probability = normal::mv_sigmoid(problem.z);
  estimate.p = probability.p;
  estimate.p_fail = probability.p_fail;
  if (samples > 1)
    estimate.std_error = delta_std_error(problem, linearization, mv_sigmoid_gradient(problem, estimate.p), sigma, samples);
  return estimate;
}

Estimate from_moments(const MarginMoments& moments, std::int64_t target, const std::atomic<bool>* stop) {
  const NormalProblem problem = normal_problem(moments, target);
  if (const auto estimate = settled(problem, 0)) return *estimate;
  return from_probability(problem, normal::mvn_cdf(problem.z, problem.R, {.stop = stop}));
}

std::vector<Estimate> from_linearizations(Executor& executor, std::span<const Linearization> linearizations,
                                          std::span<const std::int64_t> targets, double sigma, std::int64_t samples) {
  const auto count = static_cast<std::int64_t>(linearizations.size());
  const int threads = executor.options().threads;
  std::vector<NormalProblem> problems(linearizations.size());
  parallel_for(count, threads, [&](std::int64_t i, int) {
    stop_if_asked(&executor.progress.stop);
    problems[i] = normal_problem(linearizations[i], targets[i], sigma);
  });

  std::vector<Estimate> estimates(linearizations.size());
  std::vector<normal::Problem> open;  // `owner` has their indices
  std::vector<std::int64_t> owner;
  for (std::int64_t i = 0; i < count; ++i) {
    if (const auto estimate = settled(problems[i], samples)) {
      estimates[i] = *estimate;
    } else {
      open.push_back({problems[i].z, {problems[i].R.data(), static_cast<std::size_t>(problems[i].R.size())}});
      owner.push_back(i);
    }
  }
  std::vector<normal::Probability> answers(open.size());
  normal::BatchSolver here(threads);
  normal::ProblemSolver* const there = executor.normal_solver();
  (there != nullptr ? *there : here).solve(open, answers, {.stop = &executor.progress.stop});
  stop_if_asked(&executor.progress.stop);
  parallel_for(static_cast<std::int64_t>(owner.size()), threads, [&](std::int64_t k, int) {
    const std::int64_t i = owner[k];
    estimates[i] = with_probability(problems[i], answers[k], linearizations[i], sigma, samples);
  });
  return estimates;
}

bool propagates(Executor& executor, const Points& points, const Noise& noise) {
  const std::int64_t rival = points.target[0] == 0 ? 1 : 0;
  const auto tried = executor.project(slice(points, 0, 1), {{rival}}, noise, 0, 0, LinearizeAt::noise_mean);
  if (!tried && tried.error().code != ErrorCode::unsupported) throw tried.error();
  return static_cast<bool>(tried);
}

}  // namespace probust
