// SPDX-License-Identifier: MIT
#include "probust/estimators/statistics/pooling.h"

#include <cmath>
#include <iterator>

#include "probust/base/linear_algebra.h"
#include "probust/estimators/statistics/logit_covariance.h"

namespace probust {
namespace {

constexpr double kAlike = 4;  // the weight of a shape is exp(kAlike * cosine between centred logits); chosen by measurements

// Candidates for the degrees of freedom that the other points' shape is worth, and the value to use without evidence.
constexpr double kWorths[] = {1.5, 3, 6, 12, 24, 48, 96};
constexpr double kUnknownWorth = 12;

// The covariances of the logits of a block, split into size (trace) and shape, and the similarities of the points.
class Pool {
 public:
  Pool(const std::vector<Eigen::MatrixXd>& margins, const std::vector<std::int64_t>& targets, const Tensor& logits)
      : alike_(static_cast<Eigen::Index>(margins.size()), logits.shape[1]) {
    shapes_.reserve(margins.size());
    for (std::size_t i = 0; i < margins.size(); ++i) {
      const auto row = logits.row(static_cast<std::int64_t>(i));
      Eigen::VectorXd at = Eigen::Map<const Eigen::VectorXf>(row.data(), alike_.cols()).cast<double>();
      at.array() -= at.mean();
      alike_.row(static_cast<Eigen::Index>(i)) = at.normalized();
      shapes_.push_back(covariance_of_logits(margins[i], targets[i]));
      log_sizes_.push_back(at.allFinite() && shapes_[i].allFinite() ? std::log(shapes_[i].trace()) : NAN);
      shapes_[i] /= shapes_[i].trace();
    }
  }

  // The covariance of point i's logits as predicted from the other points; empty if none of these is usable.
  Eigen::MatrixXd prior(std::size_t i) const {
    if (!usable(i)) return {};
    Eigen::MatrixXd shape = Eigen::MatrixXd::Zero(alike_.cols(), alike_.cols());
    double log_size = 0, weights = 0;
    for (std::size_t j = 0; j < shapes_.size(); ++j) {
      if (j == i || !usable(j)) continue;
      const auto a = static_cast<Eigen::Index>(i), b = static_cast<Eigen::Index>(j);
      const double weight = std::exp(kAlike * alike_.row(a).dot(alike_.row(b)));
      shape += weight * shapes_[j];
      log_size += weight * log_sizes_[j];
      weights += weight;
    }
    if (weights == 0) return {};
    return std::exp((log_sizes_[i] + log_size / weights) / 2) / weights * shape;
  }

 private:
  bool usable(std::size_t i) const { return std::isfinite(log_sizes_[i]); }

  Eigen::MatrixXd alike_;  // rows: centred logits, normalized
  std::vector<Eigen::MatrixXd> shapes_;
  std::vector<double> log_sizes_;
};

// ln of the multivariate gamma function, up to a constant that depends only on m.
double log_gamma(Eigen::Index m, double a) {
  double sum = 0;
  for (Eigen::Index j = 0; j < m; ++j) sum += std::lgamma(a - static_cast<double>(j) / 2);
  return sum;
}

// The eigenvalues of a covariance relative to its prior; empty if the prior is singular.
Eigen::VectorXd relative(const Eigen::MatrixXd& own, const Eigen::MatrixXd& prior) {
  const Cholesky root(prior);
  if (prior.size() == 0 || !root.definite() || root.reciprocal_condition() < 1e-12) return {};
  return symmetric_eigenvalues(root.solve_lower(root.solve_lower(own).transpose())).cwiseMax(0);
}

// The log likelihood, up to a constant, of a covariance with `freedom` degrees of freedom if its prior counts as `worth`
// degrees: a Wishart matrix with an inverse Wishart prior.
double log_likelihood(const Eigen::VectorXd& eigenvalues, double freedom, double worth) {
  const Eigen::Index m = eigenvalues.size();
  const double v = worth + static_cast<double>(m) + 1;
  return v / 2 * static_cast<double>(m) * std::log(worth) -
         (v + freedom) / 2 * (worth + freedom * eigenvalues.array()).log().sum() + log_gamma(m, (v + freedom) / 2) -
         log_gamma(m, v / 2);
}

// The weight of the priors in the posterior mean of covariances with `freedom` degrees of freedom, averaged over kWorths by
// likelihood.
double prior_weight(const std::vector<Eigen::MatrixXd>& own, const std::vector<Eigen::MatrixXd>& priors, double freedom) {
  const Eigen::Map<const Eigen::ArrayXd> worths(kWorths, static_cast<Eigen::Index>(std::size(kWorths)));
  Eigen::ArrayXd logs = Eigen::ArrayXd::Zero(worths.size());
  bool told = false;
  for (std::size_t i = 0; i < own.size(); ++i) {
    const Eigen::VectorXd eigenvalues = relative(own[i], priors[i]);
    told = told || eigenvalues.size() > 0;
    for (Eigen::Index k = 0; k < worths.size() && eigenvalues.size() > 0; ++k)
      logs[k] += log_likelihood(eigenvalues, freedom, worths[k]);
  }
  if (!told) return kUnknownWorth / (freedom + kUnknownWorth);
  const Eigen::ArrayXd likelihoods = (logs - logs.maxCoeff()).exp();
  return (likelihoods * worths / (freedom + worths)).sum() / likelihoods.sum();
}

}  // namespace

std::vector<CovarianceModel> pooled_covariances(const std::vector<Eigen::MatrixXd>& own, const std::vector<std::int64_t>& targets,
                                                const Tensor& logits, std::int64_t pairs) {
  std::vector<Eigen::MatrixXd> priors;
  priors.reserve(own.size());
  const Pool pool(own, targets, logits);
  for (std::size_t i = 0; i < own.size(); ++i) {
    const Eigen::MatrixXd prior = pool.prior(i);
    priors.push_back(prior.size() == 0 ? prior : covariance_of_margins(prior, targets[i]));
  }
  // h pairs give h differences and h - 1 deviations of sums, 2 h - 1 degrees of freedom in all, but little more than h if
  // differences or sums dominate. 1.5 h is assumed.
  const double weight = prior_weight(own, priors, 1.5 * static_cast<double>(pairs));
  std::vector<CovarianceModel> models;
  models.reserve(own.size());
  for (std::size_t i = 0; i < own.size(); ++i)
    models.push_back(priors[i].size() == 0 ? own_alone(own[i].rows()) : CovarianceModel{1 - weight, weight * priors[i]});
  return models;
}

}  // namespace probust
