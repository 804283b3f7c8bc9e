// SPDX-License-Identifier: MIT
// probit:N, the normal probability of margins whose mean and covariance are taken from N noisy copies in antithetic pairs: no
// gradients, any black box. Against the counts of the same copies it gives up freedom from bias for a fraction of the variance.
//
// probit:N:pooled also learns from the other points of the block. What a point's few copies leave uncertain is the covariance,
// and the covariance of the logits has much the same shape at every point: each point's is shrunk towards the mean shape of the
// others as an inverse Wishart prior has it (Haff, "Empirical Bayes estimation of the multivariate normal covariance matrix",
// Annals of Statistics 1980), and the scale of that prior half way, in its logarithm, from the point's own towards the others'.
#include <algorithm>
#include <cmath>

#include "probust/base/parallel.h"
#include "probust/estimators/common.h"
#include "probust/estimators/pairs.h"

namespace probust {
namespace {

constexpr double kPriorPairs = 12;  // that the others' shape counts for

Estimate probit(const Pairs& pairs, const CovarianceModel& model, std::int64_t target) {
  const Linearization normal = model.with(PairMoments(pairs, 0, 1).normal());
  Estimate estimate = from_linearization(normal, target, 1, NormalCdf::exact, 0);
  judge(estimate, pairs, model, count_kept(pairs, target), target, 1);
  estimate.forwards = 2 * pairs.size();
  return estimate;
}

CovarianceModel own_alone(const Pairs& pairs) { return {1, Eigen::MatrixXd::Zero(pairs.rivals(), pairs.rivals())}; }

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

std::vector<CovarianceModel> pooled(const std::vector<Pairs>& sampled, const std::vector<std::int64_t>& targets) {
  std::vector<Eigen::MatrixXd> logits;
  Pool pool(sampled.empty() ? 0 : sampled[0].rivals() + 1);
  for (std::size_t i = 0; i < sampled.size(); ++i) {
    logits.push_back(of_logits(PairMoments(sampled[i], 0, 1).normal().gram, targets[i]));
    pool.add(logits.back());
  }
  std::vector<CovarianceModel> models;
  for (std::size_t i = 0; i < sampled.size(); ++i) {
    models.push_back(own_alone(sampled[i]));
    const Eigen::MatrixXd prior = pool.prior(logits[i]);
    if (prior.size() == 0) continue;
    const auto h = static_cast<double>(sampled[i].size());
    models.back() = {h / (h + kPriorPairs), kPriorPairs / (h + kPriorPairs) * of_margins(prior, targets[i])};
  }
  return models;
}

std::int64_t bytes_per_point(std::int64_t pairs, std::int64_t classes) { return 32 * pairs * classes; }

}  // namespace

std::vector<Estimate> estimate_probit(Evaluation& evaluation, const Noise& noise, double samples) {
  Executor& executor = evaluation.executor();
  const Points& points = evaluation.points();
  const std::int64_t pairs = static_cast<std::int64_t>(samples) / 2;
  const std::int64_t step = points_at_once(executor, bytes_per_point(pairs, executor.classes()));
  std::vector<Estimate> estimates(static_cast<std::size_t>(points.size()));
  for (std::int64_t first = 0; first < points.size(); first += step) {
    const Points part = slice(points, first, std::min(step, points.size() - first));
    const std::vector<Pairs> sampled = executor.pairs(part, noise, pairs).value();
    parallel_for(part.size(), executor.options().threads,
                 [&](std::int64_t i, int) { estimates[first + i] = probit(sampled[i], own_alone(sampled[i]), part.target[i]); });
  }
  return estimates;
}

std::vector<Estimate> estimate_probit_pooled(Evaluation& evaluation, const Noise& noise, double samples) {
  Executor& executor = evaluation.executor();
  const Points& points = evaluation.points();
  const std::int64_t pairs = static_cast<std::int64_t>(samples) / 2, classes = executor.classes();
  // What is pooled must not depend on the memory: all points or none.
  (void)points_at_once(executor, points.size() * (bytes_per_point(pairs, classes) + 32 * classes * classes));
  const std::vector<Pairs> sampled = executor.pairs(points, noise, pairs).value();
  const std::vector<CovarianceModel> models = pooled(sampled, points.target);
  std::vector<Estimate> estimates(static_cast<std::size_t>(points.size()));
  parallel_for(points.size(), executor.options().threads,
               [&](std::int64_t i, int) { estimates[i] = probit(sampled[i], models[i], points.target[i]); });
  return estimates;
}

}  // namespace probust
