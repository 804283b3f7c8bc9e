// SPDX-License-Identifier: MIT
// Section 6: the prediction of a forest is constant on boxes. Therefore, p under independent Gaussian noise is a sum of
// products of normal probabilities, and the nearest point with a different prediction is in the nearest box with a different
// class. The paper suggests this method but does not use it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "experiments/natural.h"
#include "probust/analysis/statistics.h"
#include "probust/normal/univariate.h"
#include "probust/ops/op.h"
#include "report/words.h"

namespace probust::cli::reproduce::scher {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t kMostBoxes = 1'000'000;

// The thresholds of each feature, ascending.
std::vector<std::vector<float>> thresholds_of(const Graph& forest, std::int64_t features) {
  std::vector<std::vector<float>> all(static_cast<std::size_t>(features));
  for (const Node& node : forest.nodes) {
    if (node.op != Op::tree_ensemble) continue;
    for (const TreeNode& question : std::get<TreesAttribute>(node.attributes).trees->nodes) {
      if (question.mode != TreeNode::Mode::leaf) all[static_cast<std::size_t>(question.feature)].push_back(question.threshold);
    }
  }
  for (std::vector<float>& list : all) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  return all;
}

// All boxes into which the thresholds divide the space. The digits of a box's number (intervals) are the positions of its
// intervals along the features. Interval k of a feature goes from its threshold k - 1, exclusive, to its threshold k.
class Boxes {
 public:
  Boxes(Executor& executor, std::vector<std::vector<float>> thresholds) : thresholds_(std::move(thresholds)) {
    count_ = 1;
    for (const std::vector<float>& list : thresholds_) {
      count_ *= static_cast<std::int64_t>(list.size()) + 1;
      if (count_ > kMostBoxes)
        throw Error{ErrorCode::resources, "the forest",
                    "has thresholds that divide the space into more than " + std::to_string(kMostBoxes) + " boxes",
                    "train a smaller one"};
    }
    Tensor inside({count_, static_cast<std::int64_t>(thresholds_.size())});
    for (std::int64_t b = 0; b < count_; ++b) {
      const std::vector<std::size_t> at = intervals(b);
      for (std::size_t e = 0; e < at.size(); ++e) inside.row(b)[e] = inside_of(thresholds_[e], at[e]);
    }
    answers_ = predicted_classes(executor.logits(inside).value());
  }

  std::int64_t count() const { return count_; }

  double p(std::span<const float> x, std::int64_t target, double sigma) const {
    double sum = 0;
    for (std::int64_t b = 0; b < count_; ++b) {
      if (answers_[b] != target) continue;
      const std::vector<std::size_t> at = intervals(b);
      double product = 1;
      for (std::size_t e = 0; e < at.size(); ++e)
        product *= normal::interval((low(e, at[e]) - x[e]) / sigma, (high(e, at[e]) - x[e]) / sigma);
      sum += product;
    }
    return sum;
  }

  double distance(std::span<const float> x, std::int64_t target) const {
    double nearest = kInfinity;
    for (std::int64_t b = 0; b < count_; ++b) {
      if (answers_[b] == target) continue;
      const std::vector<std::size_t> at = intervals(b);
      double squares = 0;
      for (std::size_t e = 0; e < at.size(); ++e)
        squares += std::pow(std::max({low(e, at[e]) - x[e], x[e] - high(e, at[e]), 0.0}), 2);
      nearest = std::min(nearest, std::sqrt(squares));
    }
    return nearest;
  }

 private:
  std::vector<std::size_t> intervals(std::int64_t box) const {
    std::vector<std::size_t> at;
    for (const std::vector<float>& list : thresholds_) {
      const auto intervals = static_cast<std::int64_t>(list.size()) + 1;
      at.push_back(static_cast<std::size_t>(box % intervals));
      box /= intervals;
    }
    return at;
  }
  static float inside_of(const std::vector<float>& list, std::size_t interval) {
    if (interval < list.size()) return list[interval];
    return list.empty() ? 0 : std::nextafter(list.back(), std::numeric_limits<float>::max());
  }
  double low(std::size_t e, std::size_t interval) const { return interval == 0 ? -kInfinity : thresholds_[e][interval - 1]; }
  double high(std::size_t e, std::size_t interval) const {
    return interval == thresholds_[e].size() ? kInfinity : thresholds_[e][interval];
  }

  std::vector<std::vector<float>> thresholds_;
  std::int64_t count_ = 0;
  std::vector<std::int64_t> answers_;
};

}  // namespace

Findings integrate_forest(Study& study, const Table& table) {
  const Graph forest = read_model(table.model, table.width());
  const auto executor = executor_of(study, forest);
  const Boxes boxes(*executor, thresholds_of(forest, table.width()));
  const std::vector<std::int64_t> targets = predicted_classes(executor->logits(table.x).value());
  const std::string mc = fmt::format("mc:{}", copies(study));
  const std::vector<double> scales = {0.5, 1, 2, 4};
  Question question{.name = "natural-" + table.name + "-boxes", .model = table.model, .estimators = {mc}, .data = table.file};
  for (const double scale : scales) question.sigma.push_back(scale / std::sqrt(static_cast<double>(table.width())));
  const Results results = study.rows(question);

  std::vector<double> searched = distances(*executor, table.x, false), nearest, excess;
  for (std::int64_t i = 0; i < table.x.shape[0]; ++i) {
    nearest.push_back(boxes.distance(table.x.row(i), targets[i]));
    excess.push_back(searched[i] / nearest[i] - 1);
  }
  std::vector<double> errors, differences, ranks_agree, reversed;
  double worst = 0, largest = 0;
  for (const double sigma : question.sigma) {
    std::vector<double> exact;
    for (std::int64_t i = 0; i < table.x.shape[0]; ++i) exact.push_back(boxes.p(table.x.row(i), targets[i], sigma));
    const std::vector<double> share = p_of(results, gaussian(sigma), mc);
    differences.push_back(largest_difference(share, exact));
    errors.push_back(largest_error(share, exact, copies(study)));
    ranks_agree.push_back(spearman(exact, nearest));
    reversed.push_back(static_cast<double>(compare_orders(exact, nearest, 0).reversed));
    worst = std::max(worst, errors.back());
    largest = std::max(largest, differences.back());
  }
  const auto fewest = static_cast<std::int64_t>(*std::min_element(reversed.begin(), reversed.end()));
  const auto most = static_cast<std::int64_t>(*std::max_element(reversed.begin(), reversed.end()));
  const std::string range = fewest == most ? report::counted(fewest) : report::counted(fewest) + " to " + report::counted(most);
  const std::int64_t pairs = table.x.shape[0] * (table.x.shape[0] - 1) / 2;
  const double highest = *std::max_element(ranks_agree.begin(), ranks_agree.end());
  const double longest = *std::max_element(excess.begin(), excess.end());
  Findings findings;
  findings.claims = {
      {"For decision trees, p could be integrated over the regions with one prediction; the paper does not explore this.",
       "section 6",
       fmt::format(
           "The forest on {} has {} boxes. Over {} points and {} scales, {} differs from the integral by at most {}, {:.1f} "
           "standard errors. The distances found without gradients are at most {} longer than the exact ones.",
           table.title, report::counted(boxes.count()), table.x.shape[0], scales.size(), mc, report::rounded(largest), worst,
           report::percent(longest)),
       verdict_of(worst < 5 && longest < 0.05)},
      {"p and the distance do not measure the same thing: the order of the points differs.", "section 4.1.3, figure 3",
       fmt::format("On {}, with p by integration and exact distances, so without errors of either, {} of {} pairs of points have "
                   "opposite orders at scales {}, and Spearman's correlation is at most {}.",
                   table.title, range, report::counted(pairs), fmt::join(scales, ", "), report::rounded(highest)),
       verdict_of(fewest > 0)}};
  findings.sheets = {
      sheet_of(table.name + "-boxes", fmt::format("{} against p integrated over the boxes of the forest: {}.", mc, table.title),
               {"scale", "largest difference", "in standard errors", "Spearman's correlation with the distance",
                "pairs in opposite order"},
               {scales, differences, errors, ranks_agree, reversed}, true),
      sheet_of(table.name + "-distances", "Distances by search and by boxes.", {"searched", "exact"}, {searched, nearest},
               false)};
  return findings;
}

}  // namespace probust::cli::reproduce::scher
