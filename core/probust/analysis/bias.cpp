// SPDX-License-Identifier: MIT
#include "probust/analysis/bias.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace probust {
namespace {

// The points of a group that have p, with their classes.
struct ClassedPoints {
  bool by_label = false;
  std::vector<std::int64_t> classes;  // the classes that occur, ascending
  std::vector<double> p;
  std::vector<std::int64_t> of_class;  // position in `classes` of each p
  double common = 0;                   // RowGroup::common_variance
};

ClassedPoints classed_points(const RowGroup& group) {
  ClassedPoints points;
  points.common = group.common_variance();
  points.by_label = std::any_of(group.rows.begin(), group.rows.end(), [](const Row* row) { return row->label.has_value(); });
  const auto class_of = [&](const Row& row) { return points.by_label ? row.label.value_or(-1) : row.predicted; };
  std::set<std::int64_t> occur;
  for (const Row* row : group.rows) occur.insert(class_of(*row));
  std::erase_if(occur, [](std::int64_t c) { return c < 0; });
  points.classes.assign(occur.begin(), occur.end());
  for (const Row* row : group.rows) {
    const auto place = std::lower_bound(points.classes.begin(), points.classes.end(), class_of(*row));
    if (place == points.classes.end() || *place != class_of(*row) || !std::isfinite(row->estimate.p)) continue;
    points.p.push_back(row->estimate.p);
    points.of_class.push_back(place - points.classes.begin());
  }
  return points;
}

// Welch's interval for the difference between the means of the classes at positions `most` and `least` (Welch, "The
// generalization of Student's problem ...", Biometrika 1947).
ClassGap gap_between(const ClassedPoints& points, const std::vector<MeanInterval>& means, std::int64_t most, std::int64_t least,
                     double confidence) {
  const double difference = means[most].mean - means[least].mean;
  const auto squared_error = [](const MeanInterval& mean) { return mean.std_error * mean.std_error; };
  const double a = squared_error(means[most]), b = squared_error(means[least]);
  ClassGap gap{points.classes[most], points.classes[least], difference, difference, difference};
  if (!(a + b > 0)) return gap;
  const auto counted = [](const MeanInterval& mean) { return static_cast<double>(mean.count - 1); };
  const double freedom = (a + b) * (a + b) / (a * a / counted(means[most]) + b * b / counted(means[least]));
  const double half = student_quantile(freedom, confidence) * std::sqrt(a + b);
  gap.low = std::max(-1.0, difference - half);  // because p is a probability
  gap.high = std::min(1.0, difference + half);
  return gap;
}

// The positions of the classes that have a point with p, ascending by mean.
std::vector<std::int64_t> by_mean(const std::vector<MeanInterval>& means) {
  std::vector<std::int64_t> places;
  for (std::int64_t c = 0; c < std::ssize(means); ++c) {
    if (means[c].count > 0) places.push_back(c);
  }
  std::stable_sort(places.begin(), places.end(), [&](std::int64_t a, std::int64_t b) { return means[a].mean < means[b].mean; });
  return places;
}

// Pairwise comparisons of the classes, all with the same confidence.
void compare(const ClassedPoints& points, GroupBias& bias) {
  const std::vector<std::int64_t> places = by_mean(bias.p);
  const auto compared = [&](std::int64_t c) { return bias.p[c].count >= 2; };
  const auto least = std::find_if(places.begin(), places.end(), compared);
  if (least == places.end()) return;
  const double pairs = 0.5 * static_cast<double>(bias.compared) * static_cast<double>(bias.compared - 1);
  const auto gap = [&](std::int64_t c) { return gap_between(points, bias.p, c, *least, 1 - 0.05 / pairs); };
  const auto most = std::find_if(places.rbegin(), places.rend(), compared);
  if (bias.compared >= 2) bias.largest = gap(*most);
  bias.fragile.push_back(bias.classes[*least]);
  for (const std::int64_t c : places) {
    if (c != *least && (!compared(c) || gap(c).low <= 0)) bias.fragile.push_back(bias.classes[c]);
  }
}

// The rows of each class in `classes`.
std::vector<RowGroup> by_class(const RowGroup& group, const std::vector<std::int64_t>& classes) {
  std::vector<RowGroup> parts(classes.size(), RowGroup{group.key, {}});
  for (const Row* row : group.rows) {
    const auto place = std::lower_bound(classes.begin(), classes.end(), row->label.value_or(-1));
    if (place != classes.end() && *place == row->label) parts[place - classes.begin()].rows.push_back(row);
  }
  return parts;
}

void add_accuracies(const RowGroup& group, GroupBias& bias) {
  const double common = group.common_variance();
  bool any = false;
  for (const RowGroup& part : by_class(group, bias.classes)) {
    bias.clean.push_back(clean_accuracy(part));
    bias.noisy.push_back(mean_probability(part.p_label(), bias.confidence, common));
    any = any || bias.noisy.back().count > 0;
  }
  if (!any) bias.noisy.clear();
}

}  // namespace

GroupBias bias_of(const RowGroup& group) {
  const ClassedPoints points = classed_points(group);
  const std::int64_t classes = std::ssize(points.classes);
  std::vector<std::int64_t> count(static_cast<std::size_t>(classes), 0);
  for (const std::int64_t c : points.of_class) ++count[c];
  GroupBias bias{group.key, points.by_label, points.classes};
  bias.compared = std::count_if(count.begin(), count.end(), [](std::int64_t n) { return n >= 2; });
  bias.confidence = 1 - 0.05 / static_cast<double>(std::max<std::int64_t>(1, bias.compared));
  ClassBias means = class_bias(points.p, points.of_class, classes, bias.confidence, points.common);
  bias.p = std::move(means.classes);
  bias.all = means.all;
  if (bias.by_label) add_accuracies(group, bias);
  compare(points, bias);
  return bias;
}

}  // namespace probust
