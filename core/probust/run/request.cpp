// SPDX-License-Identifier: MIT
#include "probust/run/request.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "probust/base/text.h"
#include "probust/run/row.h"

namespace probust {
namespace {

[[noreturn]] void refuse_option(const char* field, const std::string& what, const std::string& hint) {
  throw Error{ErrorCode::usage, option(field), what, hint};
}

std::string classes_text(std::int64_t classes) { return "the model has classes 0.." + std::to_string(classes - 1); }

void check_budget(const char* field, const std::optional<double>& value, const std::vector<std::string>& texts) {
  if (!value) return;
  if (!std::isfinite(*value) || *value < 2)
    refuse_option(field, "is not a number, or is less than 2", "give a number of forward passes, such as 100");
  if (std::find(texts.begin(), texts.end(), "auto") == texts.end())
    refuse_option(field, "needs auto among the estimators", "leave it out, or add auto");
}

using Share = EstimatorDefinition::Share;

// Replaces each estimator by its form that shares what the option names.
void share_among(std::vector<EstimatorSpec>& estimators, const AutoBudget& budget) {
  const Share share = parse_share(budget.share);
  const std::string what = "'" + budget.share + "'";
  if (budget.independent && share != Share::none)
    refuse_option("share", "cannot be " + what + " together with " + option("independent"), "leave one out");
  bool done = share == Share::none;
  for (EstimatorSpec& estimator : estimators) {
    if (estimator.is_auto() && budget.total && share == Share::draws)
      refuse_option("share", "cannot be " + what + " together with " + option("total_budget"), "leave one out");
    const std::optional<EstimatorSpec> sharing = with_share(estimator, share);
    done = done || sharing;
    if (sharing) estimator = *sharing;
    const EstimatorDefinition& own = *estimator.definition;
    const bool could = own.share && own.share != Share::designs && own.variant.empty() && !estimator.is_auto();
    if (!sharing && could)
      refuse_option("share", "cannot be " + what + " for " + estimator.text(),
                    "use none, pooled, or draws (which also estimates from all points of the block)");
  }
  if (!done) refuse_option("share", "is " + what + ", which applies to none of the estimators", "add probit:N or regression:N");
}

}  // namespace

std::optional<std::int64_t> class_number(const std::string& text, std::span<const std::string> names) {
  const auto name = std::find(names.begin(), names.end(), text);
  return name == names.end() ? parse_integer(text) : std::optional<std::int64_t>(name - names.begin());
}

std::vector<std::int64_t> targets_of(const std::string& target, std::span<const std::int64_t> labels, const Tensor& logits,
                                     std::span<const std::string> names) {
  const std::int64_t classes = logits.shape[1];
  std::vector<std::int64_t> result = predicted_classes(logits);
  if (target == "predicted") return result;
  if (target == "label") {
    if (labels.empty())
      throw Error{ErrorCode::usage, option("target") + " label", "needs labels, which the data do not have",
                  "give them with " + option("labels")};
    result.assign(labels.begin(), labels.end());
  } else {
    const auto fixed = class_number(target, names);
    if (!fixed)
      refuse_option(
          "target", "cannot be '" + target + "'",
          "use predicted, label" + std::string(names.empty() ? " or a class number" : ", a class number or a class name"));
    std::fill(result.begin(), result.end(), *fixed);
  }
  for (const std::int64_t c : result) {
    if (c < 0 || c >= classes)
      refuse_option("target", "is class " + std::to_string(c) + ", which does not exist", classes_text(classes));
  }
  return result;
}

void require_classes(std::span<const std::int64_t> labels, std::int64_t classes) {
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] < -1 || labels[i] >= classes)
      refuse_option("labels",
                    "must be classes of the model, not " + std::to_string(labels[i]) + " at position " + std::to_string(i),
                    classes_text(classes));
  }
}

void refuse_signs(std::span<const std::int64_t> labels, std::int64_t classes) {
  const std::set<std::int64_t> distinct(labels.begin(), labels.end());
  if (classes == 2 && distinct == std::set<std::int64_t>{-1, 1})
    refuse_option("labels", "cannot be -1 and 1, because -1 means unlabelled", "give 0 and 1, for example labels > 0 in NumPy");
}

void reject_classifier_options(std::initializer_list<std::pair<const char*, bool>> given) {
  for (const auto& [name, is_given] : given) {
    if (is_given)
      refuse_option(name, "applies to classifiers, but " + option("tolerance") + " applies to regression models",
                    "leave one out");
  }
}

std::vector<std::vector<std::string>> split_groups(const std::string& text) {
  std::vector<std::vector<std::string>> groups;
  if (text.empty()) return groups;
  for (const std::string& group : split(text, '/')) groups.push_back(split(group, ','));
  return groups;
}

Event event_of(const std::vector<std::vector<std::string>>& groups, bool per_class, std::int64_t top, std::int64_t classes,
               std::span<const std::string> names) {
  Event event{{}, per_class, top};
  if (top < 1 || top > classes)
    refuse_option("top", "cannot be " + std::to_string(top) + " for " + std::to_string(classes) + " classes",
                  "give 1 to " + std::to_string(classes));
  if (groups.empty()) return event;
  if (top > 1) refuse_option("top", "cannot be combined with " + option("groups"), "leave one out");
  for (std::int64_t c = 0; c < classes; ++c) event.group.push_back(c);
  std::set<std::int64_t> seen;
  for (const std::vector<std::string>& group : groups) {
    std::int64_t first = -1;
    for (const std::string& member : group) {
      const std::int64_t c = class_number(member, names).value_or(-1);
      if (c < 0 || c >= classes || !seen.insert(c).second) {
        std::string text = group.front();
        for (std::size_t i = 1; i < group.size(); ++i) text += "," + group[i];
        refuse_option("groups", "has the group '" + text + "', in which a class does not exist or is listed twice",
                      classes_text(classes) + "; try 0,1/2,3");
      }
      first = first < 0 ? c : first;
      event.group[c] = first;
    }
  }
  return event;
}

std::vector<EstimatorSpec> parse_estimators(std::vector<std::string> texts, const AutoBudget& budget) {
  if (texts.empty()) texts.emplace_back("auto");
  check_budget("budget", budget.each, texts);
  check_budget("total_budget", budget.total, texts);
  if (budget.each && budget.total) refuse_option("total_budget", "cannot be combined with " + option("budget"), "leave one out");
  if (budget.each)
    std::replace(texts.begin(), texts.end(), std::string("auto"), "auto:" + shortest_text(std::floor(*budget.each)));
  std::vector<EstimatorSpec> estimators;
  for (const std::string& text : texts) {
    const EstimatorSpec estimator = parse_estimator(text);
    const bool apart = budget.independent && estimator.is_auto();
    estimators.push_back(apart ? with_share(estimator, Share::none).value_or(estimator) : estimator);
  }
  if (!budget.share.empty()) share_among(estimators, budget);
  if (budget.total && std::count_if(estimators.begin(), estimators.end(), [](const auto& each) { return each.is_auto(); }) > 1)
    refuse_option("total_budget", "needs auto to be listed exactly once", "leave out auto:N");
  return estimators;
}

bool models_samples(const EstimatorSpec& estimator) {
  return estimator.definition->smoothing != EstimatorDefinition::Smoothing::none;
}

void require_combinable(const WholeRunOptions& options, std::span<const EstimatorSpec> estimators) {
  if (options.total > 0 && options.smooth)
    refuse_option("total_budget", "cannot be combined with " + option("smooth"), "leave one out");
  if (options.calibrate && std::none_of(estimators.begin(), estimators.end(), models_samples))
    refuse_option("calibrate", "needs an estimator that models noisy samples", "add probit:N or regression:N");
}

}  // namespace probust
