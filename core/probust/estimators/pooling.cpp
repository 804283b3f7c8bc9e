// SPDX-License-Identifier: MIT
#include "probust/estimators/pooling.h"

#include <cmath>

namespace probust {
namespace {

constexpr double kPriorPairs = 12;  // that the others' shape counts for

// Class of row i of the margins of `target`.
Eigen::Index rival(Eigen::Index i, std::int64_t target) { return i < target ? i : i + 1; }

// The covariance of logits, centred over the classes, whose margins have a given covariance: f_i = -g_i and f_t = 0, centred.
Eigen::MatrixXd of_logits(const Eigen::MatrixXd& margins, std::int64_t target) {
  const Eigen::Index classes = margins.rows() + 1;
  Eigen::MatrixXd from_margins = Eigen::MatrixXd::Zero(classes, classes - 1);
  for (Eigen::Index i = 0; i + 1 < classes; ++i) from_margins(rival(i, target), i) = -1;
  from_margins.rowwise() -= from_margins.colwise().mean().eval();
  return from_margins * margins * from_margins.transpose();
}

// And back: the covariance of f_t - f_i.
Eigen::MatrixXd of_margins(const Eigen::MatrixXd& logits, std::int64_t target) {
  const Eigen::Index m = logits.rows() - 1;
  Eigen::MatrixXd result(m, m);
  for (Eigen::Index i = 0; i < m; ++i) {
    for (Eigen::Index j = 0; j < m; ++j) {
      const Eigen::Index a = rival(i, target), b = rival(j, target);
      result(i, j) = logits(target, target) - logits(target, b) - logits(a, target) + logits(a, b);
    }
  }
  return result;
}

// The mean shape and scale of the covariances of logits in a block, with or without one point.
class Pool {
 public:
  explicit Pool(Eigen::Index classes) : shapes_(Eigen::MatrixXd::Zero(classes, classes)) {}

  void add(const Eigen::MatrixXd& logits) {
    if (!usable(logits)) return;
    shapes_ += logits / logits.trace();
    log_scales_ += std::log(logits.trace());
    ++count_;
  }

  // The prior mean for a point whose own logits have this covariance; nothing where no other point says anything.
  Eigen::MatrixXd prior(const Eigen::MatrixXd& logits) const {
    if (count_ < 2 || !usable(logits)) return {};
    const double own = logits.trace(), others = count_ - 1;
    const double log_scale = (std::log(own) + (log_scales_ - std::log(own)) / others) / 2;
    return std::exp(log_scale) * (shapes_ - logits / own) / others;
  }

 private:
  static bool usable(const Eigen::MatrixXd& logits) { return logits.allFinite() && logits.trace() > 0; }
  Eigen::MatrixXd shapes_;
  double log_scales_ = 0, count_ = 0;
};

}  // namespace

std::vector<Eigen::MatrixXd> prior_covariances(const std::vector<Eigen::MatrixXd>& own,
                                               const std::vector<std::int64_t>& targets) {
  std::vector<Eigen::MatrixXd> logits;
  logits.reserve(own.size());
  Pool pool(own.empty() ? 0 : own[0].rows() + 1);
  for (std::size_t i = 0; i < own.size(); ++i) {
    logits.push_back(of_logits(own[i], targets[i]));
    pool.add(logits.back());
  }
  std::vector<Eigen::MatrixXd> priors;
  priors.reserve(own.size());
  for (std::size_t i = 0; i < own.size(); ++i) {
    const Eigen::MatrixXd prior = pool.prior(logits[i]);
    priors.push_back(prior.size() == 0 ? prior : of_margins(prior, targets[i]));
  }
  return priors;
}

CovarianceModel shrunk(std::int64_t pairs, const Eigen::MatrixXd& prior) {
  const auto h = static_cast<double>(pairs);
  return {h / (h + kPriorPairs), kPriorPairs / (h + kPriorPairs) * prior};
}

}  // namespace probust
