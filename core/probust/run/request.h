// SPDX-License-Identifier: MIT
//
// Converts requests for estimates, given as texts and numbers, to arguments of the estimators. Used by the command line and
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

/// The class that a text denotes: one of `names`, or a number. Empty if the text is neither.
std::optional<std::int64_t> class_number(const std::string& text, std::span<const std::string> names);

/// The target class for each row of `logits` [N, C]. `target` is "predicted", "label" (then `labels` [N] must not be empty), a
/// number or a name. Throws Error{usage}.
std::vector<std::int64_t> targets_of(const std::string& target, std::span<const std::int64_t> labels, const Tensor& logits,
                                     std::span<const std::string> names);

/// Throws Error{usage} naming the first label outside 0 .. classes - 1. A label of -1 means none and is accepted.
void require_classes(std::span<const std::int64_t> labels, std::int64_t classes);

/// Throws Error{usage} if all labels are -1 or 1 and there are two classes: they probably stand for the classes 0 and 1, not for
/// "none" and class 1.
void refuse_signs(std::span<const std::int64_t> labels, std::int64_t classes);

/// Throws Error{usage} naming the first of these options that is given. They apply to classifiers and have no meaning for a
/// regression model.
void reject_classifier_options(std::initializer_list<std::pair<const char*, bool>> given);

/// Splits "0,1/2,3" into lists of numbers or names. Empty for an empty text.
std::vector<std::vector<std::string>> split_groups(const std::string& text);

/// The event for a model with this many classes. Throws Error{usage} if a group names a class that does not exist, or names a
/// class twice, or if `top` is not in 1..classes or is combined with groups.
Event event_of(const std::vector<std::vector<std::string>>& groups, bool per_class, std::int64_t top, std::int64_t classes,
               std::span<const std::string> names);

/// The budget of `auto`, and what points share.
struct AutoBudget {
  std::optional<double> each{};   ///< forwards per point and noise model
  std::optional<double> total{};  ///< forwards for all points and noise models together
  bool independent = false;       ///< whether `auto` must not share draws between points
  std::string share{};            ///< as in parse_share, for estimators whose text does not say what to share; empty: the default
};

/// Parses estimators; an empty list means "auto". With a budget per point, "auto" becomes "auto:N". Also throws Error{usage} if a
/// budget is not a number of at least 2, if there is a budget but no auto, if there is a total but more than one auto, or if no
/// estimator supports the sharing.
std::vector<EstimatorSpec> parse_estimators(std::vector<std::string> texts, const AutoBudget& budget);

/// Whether the estimator fits a model to noisy samples, which calibration requires.
bool models_samples(const EstimatorSpec& estimator);

/// Options whose results depend on all points of the run.
struct WholeRunOptions {
  std::int64_t total = 0;  ///< AutoBudget::total; 0: none
  bool smooth = false;     ///< whether to smooth each sweep over scales (analysis/curve.h)
  bool calibrate = false;  ///< whether to calibrate all estimates of one question (analysis/calibration.h)

  /// Whether the estimator is an `auto` that shares the total.
  bool shares(const EstimatorSpec& estimator) const { return total > 0 && estimator.is_auto(); }
  /// The estimator's name in rows.
  std::string text(const EstimatorSpec& estimator) const { return shares(estimator) ? "auto" : estimator.text(); }
};

/// Throws Error{usage} if the options cannot be combined, or if calibration has no estimator that fits a model to noisy
/// samples.
void require_combinable(const WholeRunOptions& options, std::span<const EstimatorSpec> estimators);

}  // namespace probust
