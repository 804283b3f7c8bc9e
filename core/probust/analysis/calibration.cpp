// SPDX-License-Identifier: MIT
#include "probust/analysis/calibration.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "probust/base/linear_algebra.h"
#include "probust/estimators/common.h"
#include "probust/normal/univariate.h"

namespace probust {
namespace {

constexpr std::int64_t kFewest = 30;
constexpr std::size_t kFolds = 10;
// Above this |z|, the polynomial is constant, because samples carry little information about the tails.
constexpr double kKnown = 3;
constexpr double kExpectedBias = 0.1;  // prior standard deviation of each coefficient, in z

Eigen::Vector3d powers(double z) {
  const double within = std::clamp(z, -kKnown, kKnown);
  return {1, within, within * within};
}

bool takes_part(const Estimate& estimate) { return estimate.model_samples > 0 && std::isfinite(z_of(estimate)); }

// The normal equations of one fold.
struct Equations {
  Eigen::Matrix3d squares = Eigen::Matrix3d::Zero();
  Eigen::Vector3d products = Eigen::Vector3d::Zero();

  void add(const Estimate& estimate) {
    const double z = z_of(estimate);
    const auto samples = static_cast<double>(estimate.model_samples);
    const double share = static_cast<double>(estimate.survivors) / samples;
    const double weight = samples / (estimate.p * estimate.failure() + 1 / samples);
    const Eigen::Vector3d row = normal::pdf(z) * powers(z);
    squares += weight * row * row.transpose();
    products += weight * (share - estimate.p) * row;
  }
};

Eigen::Vector3d solve(const Equations& all, const Equations& own) {
  const Eigen::Matrix3d prior = Eigen::Matrix3d::Identity() / (kExpectedBias * kExpectedBias);
  return PivotedCholesky(all.squares - own.squares + prior).solve(all.products - own.products);
}

// Whether the estimate for the label equals that for the target, because the label is the target.
bool repeats_p(const Estimate& estimate) {
  return estimate.p_label == estimate.p && estimate.p_label_low == estimate.ci_low && estimate.p_label_high == estimate.ci_high;
}

void move(Estimate& estimate, const Eigen::Vector3d& bias) {
  const double z = z_of(estimate), moved = z + bias.dot(powers(z));
  const bool bounded = estimate.bounded(), repeated = repeats_p(estimate);
  estimate.p = normal::cdf(moved);
  estimate.p_fail = normal::complement(moved);
  if (estimate.ci_low) estimate.ci_low = std::min(*estimate.ci_low, estimate.p);
  if (estimate.ci_high) estimate.ci_high = std::max(*estimate.ci_high, estimate.p);
  if (bounded) {  // recomputes the bound from the new p
    if (estimate.status == Status::bound) estimate.status = Status::ok;
    bound_failure(estimate);
  }
  if (repeated) estimate.set_label(estimate);
  estimate.add_note("calibrated on the counts of all points");
}

}  // namespace

Calibration calibrate(std::span<Estimate> estimates) {
  std::vector<Estimate*> parts;
  for (Estimate& estimate : estimates) {
    if (takes_part(estimate)) parts.push_back(&estimate);
  }
  const auto count = static_cast<std::int64_t>(parts.size());
  if (count < kFewest) return {};
  Equations all, folds[kFolds];
  for (std::size_t i = 0; i < parts.size(); ++i) folds[i % kFolds].add(*parts[i]);
  for (const Equations& fold : folds) {
    all.squares += fold.squares;
    all.products += fold.products;
  }
  Calibration result{count};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    result.before += parts[i]->p / static_cast<double>(count);
    move(*parts[i], solve(all, folds[i % kFolds]));
    result.after += parts[i]->p / static_cast<double>(count);
  }
  return result;
}

std::vector<Calibration> calibrate_questions(std::span<Row> rows, std::size_t questions) {
  std::vector<Calibration> all;
  for (std::size_t q = 0; q < questions; ++q) {
    std::vector<Estimate> estimates;
    for (std::size_t r = q; r < rows.size(); r += questions) estimates.push_back(std::move(rows[r].estimate));
    all.push_back(calibrate(estimates));
    for (std::size_t r = q, i = 0; r < rows.size(); r += questions) rows[r].estimate = std::move(estimates[i++]);
  }
  return all;
}

}  // namespace probust
