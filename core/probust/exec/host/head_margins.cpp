// SPDX-License-Identifier: MIT
#include "probust/exec/host/head_margins.h"

#include <algorithm>

#include "probust/base/linear_algebra.h"

namespace probust {
namespace {

constexpr Eigen::Index kRowsAtOnce = 256;  // rows of D at a time, so that D is never in memory as a whole

// Rows first .. first + count - 1 of the matrix D, whose rows are W_t - W_i for the margins of `target`.
Eigen::MatrixXd differences(const LastLayer& last, std::int64_t target, Eigen::Index first, Eigen::Index count) {
  Eigen::MatrixXd rows(count, last.weights.cols());
  const Eigen::RowVectorXd own = last.weights.row(target).cast<double>();
  for (Eigen::Index k = 0; k < count; ++k) rows.row(k) = own - last.weights.row(rival_of(first + k, target)).cast<double>();
  return rows;
}

// Calls use(first, rows) for each block of rows of D; `first` is the index of the block's first row.
template <class Use>
void for_differences(const LastLayer& last, std::int64_t target, const StopToken* stop, Use use) {
  const Eigen::Index m = last.weights.rows() - 1;
  for (Eigen::Index first = 0; first < m; first += kRowsAtOnce) {
    stop_if_asked(stop);
    use(first, differences(last, target, first, std::min(kRowsAtOnce, m - first)));
  }
}

Linearization margins_from(const std::shared_ptr<const LastLayer>& last, Linearization features, std::int64_t target,
                           const StopToken* stop) {
  const Eigen::Index m = last->weights.rows() - 1;
  Linearization result;
  result.last = last;
  result.target = target;
  result.margins.resize(m);
  result.margin_variances = margin_variances(*last, features.gram, target, stop);
  const bool samples = features.sampled.size() > 0;
  for (Eigen::MatrixXd* each : {&result.sampled, &result.along_mean, &result.along_own})
    each->resize(samples ? m : 0, samples ? features.sampled.cols() : 0);
  for_differences(*last, target, stop, [&](Eigen::Index first, const Eigen::MatrixXd& D) {
    const Eigen::Index count = D.rows();
    Eigen::VectorXd shift(count);
    for (Eigen::Index k = 0; k < count; ++k)
      shift[k] = double{last->bias[target]} - double{last->bias[rival_of(first + k, target)]};
    result.margins.segment(first, count) = times(D, features.margins) + shift;
    if (!samples) return;
    result.sampled.middleRows(first, count) = product(D, features.sampled).colwise() + shift;
    result.along_mean.middleRows(first, count) = product(D, features.along_mean);
    result.along_own.middleRows(first, count) = product(D, features.along_own);
  });
  result.gram = std::move(features.gram);
  return result;
}

}  // namespace

Eigen::MatrixXd Linearization::covariance(std::span<const std::int64_t> rows) const {
  const std::vector<std::int64_t> chosen(rows.begin(), rows.end());
  if (!last) return gram(chosen, chosen);
  Eigen::MatrixXd D(static_cast<Eigen::Index>(rows.size()), gram.cols());
  for (std::size_t k = 0; k < rows.size(); ++k) D.row(static_cast<Eigen::Index>(k)) = differences(*last, target, rows[k], 1);
  return congruent(D, gram);
}

Eigen::VectorXd margin_variances(const LastLayer& last, const Eigen::MatrixXd& gram, std::int64_t target, const StopToken* stop) {
  Eigen::VectorXd variances(last.weights.rows() - 1);
  for_differences(last, target, stop, [&](Eigen::Index first, const Eigen::MatrixXd& D) {
    variances.segment(first, D.rows()) = product(D, gram).cwiseProduct(D).rowwise().sum();
  });
  return variances;
}

Points for_features(const Points& points) {
  Points result = points;
  std::fill(result.target.begin(), result.target.end(), 0);
  return result;
}

std::vector<Linearization> through_last_layer(const std::shared_ptr<const LastLayer>& last, std::vector<Linearization> features,
                                              const Points& points, const StopToken* stop) {
  std::vector<Linearization> result;
  result.reserve(features.size());
  for (std::size_t i = 0; i < features.size(); ++i)
    result.push_back(margins_from(last, std::move(features[i]), points.target[i], stop));
  return result;
}

}  // namespace probust
