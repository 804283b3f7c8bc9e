// SPDX-License-Identifier: MIT
#include "probust/run/row.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace probust {

Row row_of(const Points& points, const Tensor& logits, std::int64_t i, const Noise& noise, std::string estimator,
           Estimate estimate) {
  if (sees_failures_in_samples(estimate.method ? estimate.method->text() : estimator)) bound_failure(estimate);
  if (points.label_of(i) == points.target[static_cast<std::size_t>(i)]) estimate.set_label(estimate);
  const auto of_point = logits.row(i);
  const std::int64_t predicted = predicted_class(of_point);
  const bool tie = std::count(of_point.begin(), of_point.end(), of_point[predicted]) > 1;
  if (tie && estimate.status == Status::ok) estimate.status = Status::tie;
  return {points.index[i],    {}, predicted, points.target[i], noise.text(), noise.sigma(), std::move(estimator),
          std::move(estimate)};
}

std::int64_t predicted_class(std::span<const float> logits) { return std::max<std::int64_t>(0, argmax(logits)); }

std::vector<std::int64_t> predicted_classes(const Tensor& logits) {
  std::vector<std::int64_t> classes(static_cast<std::size_t>(logits.shape[0]));
  for (std::int64_t i = 0; i < logits.shape[0]; ++i) classes[i] = predicted_class(logits.row(i));
  return classes;
}

std::vector<std::int64_t> asked_labels(std::span<const std::int64_t> labels, std::span<const std::int64_t> targets,
                                       const Event& event, std::int64_t classes) {
  std::vector<std::int64_t> asked;
  asked.reserve(labels.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const bool exists = labels[i] >= 0 && labels[i] < classes;
    asked.push_back(!exists ? -1 : event.same_group(labels[i], targets[i]) ? targets[i] : labels[i]);
  }
  return asked;
}

Points points_of(Tensor x, std::vector<std::int64_t> targets, std::int64_t offset, std::uint64_t seed) {
  std::vector<std::int64_t> index(targets.size());
  std::iota(index.begin(), index.end(), offset);
  return {std::move(x), std::move(index), std::move(targets), seed};
}

}  // namespace probust
