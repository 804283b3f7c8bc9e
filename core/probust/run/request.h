// SPDX-License-Identifier: MIT
//
// Requests for estimates, as texts and numbers, converted to arguments of the estimators; shared by the command line and
// JavaScript.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "probust/estimators/estimator.h"

namespace probust {

/// The class that a text denotes: one of `names`, or a number. Empty if it is neither.
std::optional<std::int64_t> class_number(const std::string& text, std::span<const std::string> names);

/// The target class for each row of `logits` [N, C]. `target` is "predicted", "label" (then `labels` [N] must not be empty), a
/// number or a name. Throws Error{usage}.
std::vector<std::int64_t> targets_of(const std::string& target, std::span<const std::int64_t> labels, const Tensor& logits,
                                     std::span<const std::string> names);

/// Throws Error{usage} naming the first label outside 0 .. classes - 1. A label of -1 means none and is accepted.
void require_classes(std::span<const std::int64_t> labels, std::int64_t classes);

/// Throws Error{usage} if all labels of all points are -1 or 1: for two classes, these mean 0 and 1, not "none" and 1.
void refuse_signs(std::span<const std::int64_t> labels, std::int64_t classes);

/// Throws Error{usage} naming the first of these options that is given: they apply to classifiers and mean nothing for a
/// regression model.
void reject_classifier_options(std::initializer_list<std::pair<const char*, bool>> given);

/// "0,1/2,3" as lists of numbers or names. Empty for an empty text.
std::vector<std::vector<std::string>> split_groups(const std::string& text);

/// The event for a model with this many classes. Throws Error{usage} if a group names a class that does not exist or one class
/// twice, or if `top` is not in 1..classes or is combined with groups.
Event event_of(const std::vector<std::vector<std::string>>& groups, bool per_class, std::int64_t top, std::int64_t classes,
               std::span<const std::string> names);

/// The budget of `auto`, and what points share.
struct AutoBudget {
  std::optional<double> each{};   ///< forwards per point and noise model
  std::optional<double> total{};  ///< forwards for all points and noise models together
  bool independent = false;       ///< `share` is none for auto
  std::string share{};            ///< as in parse_share, for estimators whose name does not say it; empty: their default
};

/// The estimators of these texts; "auto" if there are none. With a budget per point, "auto" becomes "auto:N". Throws
/// Error{usage}, also if a budget is not a number of at least 2 or lacks an auto, if a total has several, or if no estimator
/// supports the sharing.
std::vector<EstimatorSpec> parse_estimators(std::vector<std::string> texts, const AutoBudget& budget);

/// Whether the estimator models noisy samples, which calibration needs.
bool models_samples(const EstimatorSpec& estimator);

/// Options whose results depend on all points of the run.
struct WholeRunOptions {
  std::int64_t total = 0;  ///< AutoBudget::total; 0: none
  bool smooth = false;     ///< smooth each sweep over scales (analysis/curve.h)
  bool calibrate = false;  ///< calibrate all estimates of one question (analysis/calibration.h)

  /// Whether `auto` shares the total.
  bool shares(const EstimatorSpec& estimator) const { return total > 0 && estimator.is_auto(); }
  /// The estimator's name in rows.
  std::string text(const EstimatorSpec& estimator) const { return shares(estimator) ? "auto" : estimator.text(); }
};

/// Throws Error{usage} if they cannot be combined, or calibration has no estimator that models noisy samples.
void require_combinable(const WholeRunOptions& options, std::span<const EstimatorSpec> estimators);

}  // namespace probust
