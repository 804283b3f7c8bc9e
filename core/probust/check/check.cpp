// SPDX-License-Identifier: MIT
#include "probust/check/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <utility>

#include "probust/check/alternatives.h"
#include "probust/check/findings.h"
#include "probust/check/label_orders.h"
#include "probust/estimators/statistics/binomial.h"
#include "probust/run/row.h"

namespace probust {
namespace {

constexpr double kLevel = 5e-3;            // significance level for all alternatives together
constexpr double kLeastGain = 0.03;        // minimum gain in accuracy
constexpr std::int64_t kFirstPoints = 32;  // enough points to judge an alternative
constexpr std::int64_t kFirstBlock = 16;   // number of points after which a hopeless alternative is dropped

// The probability of at least `gained` gains among gained + lost changes if gains and losses are equally likely (McNemar's exact
// test).
double sign_test_p(std::int64_t gained, std::int64_t lost) {
  return gained == 0 ? 1 : incomplete_beta(static_cast<double>(gained), static_cast<double>(lost) + 1, 0.5);
}

// The numbers of points that only one of two transforms predicts correctly.
struct Paired {
  std::int64_t gained = 0, lost = 0;

  double p() const { return sign_test_p(gained, lost); }
  double least_p() const { return sign_test_p(gained + lost, 0); }  // the p-value if all of these points were gained
};

// Which points are predicted correctly, and which of them are scored.
struct Score {
  std::vector<bool> right, counted;
};

struct Compared {
  Alternative result;
  int complexity = 0;
  int changes = 1;     // how many of preprocessing, layout and labels differ from the given ones
  std::string kind;    // the kind of the finding that reports this alternative
  std::string remedy;  // what to do if no option gives this alternative
  Score score;
  bool fitted = false;      // whether the order of labels was fitted, to points that are then not scored
  bool adds_order = false;  // whether this is an order of labels combined with a transform that was also compared alone
  Paired with_order = {};   // compared with that transform alone
};

std::int64_t count(const std::vector<bool>& of) { return std::count(of.begin(), of.end(), true); }

std::string joined(const std::string& a, const std::string& b) { return a.empty() || b.empty() ? a + b : a + "; " + b; }

// Compares alternatives with the given transform.
class Checker {
 public:
  explicit Checker(const CheckInput& input)
      : input_(input),
        given_(input.input_shape.empty() ? Way{} : given_way(input)),
        n_(input.x.shape[0]),
        values_(values_of(input)),
        labelled_(!input.labels.empty()) {}

  CheckReport report() {
    report_.points = n_;
    report_.classes = input_.classes;
    report_.decision = input_.decision;
    report_.point_shape.assign(input_.x.shape.begin() + 1, input_.x.shape.end());
    report_.low = values_.low;
    report_.high = values_.high;
    report_.scale = input_.scale;
    add(data_findings(input_, values_));
    add(label_findings(input_));
    const std::string arranged = given_.transform.arrangement.note;
    if (!arranged.empty()) report_.findings.push_back({Severity::note, "layout", arranged, {}});
    if (input_.logits) run();
    settle_options();
    // Puts warnings first.
    std::stable_sort(report_.findings.begin(), report_.findings.end(),
                     [](const Finding& a, const Finding& b) { return a.severity > b.severity; });
    return std::move(report_);
  }

 private:
  void add(std::vector<Finding> findings) {
    for (Finding& finding : findings) report_.findings.push_back(std::move(finding));
  }

  void run() {
    try {
      const std::vector<Way> preprocessing = other_preprocessing(input_, values_), layouts = other_layouts(input_, values_);
      limit_points(std::ssize(preprocessing) + std::ssize(layouts) + 1);
      predicted_ = predictions(given_, 0, used_);
      given_score_ = score(predicted_, {}, false);
      report_.predicted_classes = std::ssize(std::set<std::int64_t>(predicted_.begin(), predicted_.end()));
      if (labelled_) {
        report_.correct = count(given_score_.right);
        fitted_half_ = half_of_each_label(input_.labels);
        compare_labels(given_, predicted_);
        compare(preprocessing, layouts);
      } else if (one_class()) {
        look_for_variety(preprocessing);
      }
    } catch (const Error& error) {
      if (error.code != ErrorCode::interrupted) throw;
      report_.complete = false;
    }
    complete_range_finding();
    const bool explained = choose();
    if (predicted_.empty()) return;
    CheckInput seen;  // the input with the labels of only those points that were run
    seen.classes = input_.classes;
    seen.decision = input_.decision;
    seen.preprocessing = input_.preprocessing;
    if (labelled_) seen.labels.assign(input_.labels.begin(), input_.labels.begin() + used_);
    add(prediction_findings(seen, values_, predicted_, explained));
  }

  // Reduces the number of points so that all alternatives together stay within the limit on passes.
  void limit_points(std::int64_t ways) {
    used_ = n_;
    if (input_.most_passes / std::max<std::int64_t>(1, ways) >= n_) return;
    const std::int64_t least = std::min(n_, std::int64_t{kFirstPoints});
    used_ = std::clamp(input_.most_passes / std::max<std::int64_t>(1, ways),
                       std::min(least, std::max<std::int64_t>(1, input_.most_passes)), n_);
    report_.points = used_;
  }

  bool one_class() const {
    constexpr std::int64_t kFew = 10;  // this few points may all belong to one class
    return used_ >= kFew && report_.predicted_classes == 1;
  }

  std::vector<std::int64_t> predictions(const Way& way, std::int64_t first, std::int64_t last) {
    if (first == last) return {};
    report_.passes += last - first;
    return predicted_classes(input_.logits(transformed(rows(input_.x, first, last - first), way.transform, input_.input_shape)));
  }

  // Whether each prediction is the class of the label. Points in `half`, to which the order was fitted, are not scored.
  Score score(const std::vector<std::int64_t>& predicted, const std::vector<std::int64_t>& classes_of, bool half) const {
    Score result{std::vector<bool>(predicted.size(), false), std::vector<bool>(predicted.size(), true)};
    for (std::size_t i = 0; i < predicted.size(); ++i) {
      if (half && fitted_half_[i]) {
        result.counted[i] = false;
        continue;
      }
      if (!labelled_) continue;
      std::int64_t wanted = input_.labels[i];
      if (!classes_of.empty()) wanted = wanted >= 0 && wanted < std::ssize(classes_of) ? classes_of[wanted] : -1;
      result.right[i] = predicted[i] == wanted;
    }
    return result;
  }

  void count_against_given(Alternative& result, const Score& score) const {
    result.points = count(score.counted);
    result.correct = count(score.right);
    const Paired paired = paired_of(score, given_score_);
    result.gained = paired.gained;
    result.lost = paired.lost;
    result.p_value = paired.p();
  }

  // Compares two scores on the points that `a` counts.
  static Paired paired_of(const Score& a, const Score& b) {
    Paired paired;
    for (std::size_t i = 0; i < a.right.size(); ++i) {
      if (!a.counted[i]) continue;
      paired.gained += a.right[i] && !b.right[i] ? 1 : 0;
      paired.lost += !a.right[i] && b.right[i] ? 1 : 0;
    }
    return paired;
  }

  // Whether an alternative is hopeless: it would not become significant even if all further points were gained, or it has lost
  // far more points than it has gained.
  bool hopeless(const Score& score) {
    Paired most = paired_of(score, given_score_);
    constexpr double kRare = 0.02;
    const bool worse = sign_test_p(most.lost, most.gained) < kRare;
    for (std::size_t i = score.right.size(); i < given_score_.right.size(); ++i) most.gained += given_score_.right[i] ? 0 : 1;
    if (most.p() < kLevel && !worse) return false;
    least_p_.push_back(most.least_p());
    return true;
  }

  // The significance level of each test (Tarone, "A modified Bonferroni method for discrete data", Biometrics 46, 1990). Tests
  // that cannot be significant, because few points differ, do not count.
  double level() const {
    std::vector<double> least = least_p_;
    for (const Compared& compared : compared_) {
      const Paired paired{compared.result.gained, compared.result.lost};
      least.push_back(std::max(paired.least_p(), compared.adds_order ? compared.with_order.least_p() : 0));
    }
    for (std::int64_t tests = 1;; ++tests) {
      const double each = kLevel / static_cast<double>(tests);
      if (std::count_if(least.begin(), least.end(), [&](double p) { return p < each; }) <= tests) return each;
    }
  }

  // Marks the alternatives that are better than the given transform. An order of labels must also be significantly better than
  // the transform with which it is combined.
  void settle_better() {
    const double each = level();
    for (Compared& compared : compared_) {
      Alternative& way = compared.result;
      way.better = static_cast<double>(way.gained - way.lost) > kLeastGain * static_cast<double>(way.points) &&
                   way.p_value < each && (!compared.adds_order || compared.with_order.p() < each);
    }
    std::erase_if(compared_, [](const Compared& compared) { return compared.adds_order && !compared.result.better; });
  }

  // Runs the transform, and compares it with the labels as given and in other orders. Returns its position in compared_, or -1 if
  // it was dropped.
  std::int64_t run(const Way& way, const std::string& kind, int changes = 1) {
    const bool needed = input_.thorough || (way.name == kUnitPixels && range_is_suspicious());
    if (!needed && report_.passes + used_ > input_.most_passes) return -1;
    std::vector<std::int64_t> predicted;
    for (std::int64_t end = std::min(kFirstBlock, used_); std::ssize(predicted) < used_; end = std::min(2 * end, used_)) {
      if (!needed && hopeless(score(predicted, {}, false))) return -1;
      const std::vector<std::int64_t> more = predictions(way, std::ssize(predicted), end);
      predicted.insert(predicted.end(), more.begin(), more.end());
    }
    Compared compared{{way.name, way.options}, way.complexity, changes, kind, way.remedy, score(predicted, {}, false)};
    count_against_given(compared.result, compared.score);
    compared_.push_back(std::move(compared));
    const auto position = std::ssize(compared_) - 1;
    compare_labels(way, predicted);
    return position;
  }

  void compare(const std::vector<Way>& preprocessing, const std::vector<Way>& layouts) {
    const Way* best = nullptr;
    std::int64_t most = report_.correct.value_or(0);
    for (const Way& way : preprocessing) {
      const std::int64_t position = run(way, "preprocessing");
      if (position < 0 || compared_[position].result.correct <= most) continue;
      most = compared_[position].result.correct;
      best = &way;
    }
    for (const Way& layout : layouts) {
      run(layout, "layout");
      if (best != nullptr) {
        run(combined(*best, layout), "layout", 2);
        continue;
      }
      // If preprocessing and layout are both wrong, neither change helps alone. With reversed colours, half of the classes may
      // still be right.
      const double poor = layout.transform.reverse.stride > 0 && input_.thorough ? 1 - kLeastGain : 0.5;
      if (static_cast<double>(report_.correct.value_or(0)) > poor * static_cast<double>(used_)) continue;
      for (const Way& way : preprocessing) run(combined(way, layout), "layout", 2);
    }
  }

  // Compares the predictions of a transform with other orders of the labels.
  void compare_labels(const Way& way, const std::vector<std::int64_t>& predicted) {
    const auto compare_order = [&](const LabelOrder& order, bool half) {
      Compared compared{{order.name, way.options},
                        way.complexity + (half ? 6 : 4),
                        &way == &given_ ? 1 : 2,
                        "labels",
                        joined(way.remedy, order.remedy),
                        score(predicted, order.classes_of, half),
                        half,
                        &way != &given_};
      if (compared.adds_order) {
        compared.result.name = way.name + ", " + order.name;
        compared.with_order = paired_of(compared.score, score(predicted, {}, false));
      }
      count_against_given(compared.result, compared.score);
      compared_.push_back(std::move(compared));
    };
    const std::span<const std::int64_t> labels(input_.labels.data(), predicted.size());
    for (const LabelOrder& order : label_orders(labels, input_.label_names, input_.classes)) compare_order(order, false);
    const LabelOrder fitted = fitted_order(labels, predicted, fitted_half_, input_.classes);
    if (!fitted.classes_of.empty() && explains_labels(fitted, labels, predicted)) compare_order(fitted, true);
  }

  // Whether the fitted order explains the predictions: they agree with most labels, and almost as many classes are predicted as
  // there are distinct labels. (A model that predicts only two of three classes does not use a different order.)
  static bool explains_labels(const LabelOrder& fitted, std::span<const std::int64_t> labels,
                              const std::vector<std::int64_t>& predicted) {
    constexpr double kMost = 0.8;
    const std::set<std::int64_t> given(labels.begin(), labels.end()), answers(predicted.begin(), predicted.end());
    std::int64_t right = 0;
    for (std::size_t i = 0; i < predicted.size(); ++i) {
      const auto label = static_cast<std::size_t>(labels[i]);
      right += labels[i] >= 0 && label < fitted.classes_of.size() && fitted.classes_of[label] == predicted[i] ? 1 : 0;
    }
    return 2 * right > std::ssize(predicted) && static_cast<double>(answers.size()) >= kMost * static_cast<double>(given.size());
  }

  // Whether transform `a` is right significantly more often than `b`, on the points that are scored for both.
  static bool beats(const Compared& a, const Compared& b) {
    std::int64_t more = 0, less = 0, points = 0;
    for (std::size_t i = 0; i < a.score.right.size(); ++i) {
      if (!a.score.counted[i] || !b.score.counted[i]) continue;
      ++points;
      more += a.score.right[i] && !b.score.right[i] ? 1 : 0;
      less += !a.score.right[i] && b.score.right[i] ? 1 : 0;
    }
    constexpr double kRare = 0.05, kVeryRare = 0.001, kSlight = 0.01;
    const bool freer = a.kind == "labels" && a.changes == b.changes;  // a fitted order has far more ways to be right by chance
    if (a.changes > b.changes || freer) return sign_test_p(more, less) < kVeryRare;
    return static_cast<double>(more - less) > kSlight * static_cast<double>(points) || sign_test_p(more, less) < kRare;
  }

  // Reports the best of the alternatives that are better than the given transform; if several are about equally good, the
  // simplest. Returns whether there is one.
  bool choose() {
    settle_better();
    const Compared* best = nullptr;
    for (const Compared& compared : compared_) {
      report_.alternatives.push_back(compared.result);
      if (compared.result.better && (best == nullptr || compared.result.accuracy() > best->result.accuracy())) best = &compared;
    }
    std::stable_sort(report_.alternatives.begin(), report_.alternatives.end(),
                     [](const Alternative& a, const Alternative& b) { return a.accuracy() > b.accuracy(); });
    if (best == nullptr) return false;
    const Compared* chosen = best;
    for (const Compared& compared : compared_) {
      const bool simpler = std::pair(compared.changes, compared.complexity) < std::pair(chosen->changes, chosen->complexity);
      if (compared.result.better && simpler && !beats(*best, compared)) chosen = &compared;
    }
    report_better(*chosen);
    return true;
  }

  void report_better(const Compared& chosen) {
    const Alternative& way = chosen.result;
    const std::int64_t given = way.correct - way.gained + way.lost;  // correct with the given transform, on the same points
    Finding finding{Severity::warning, chosen.kind, "", way.options, chosen.remedy};
    finding.text = fmt::format("the accuracy is {} as given and {} with {} ({} points{}, {} gained, {} lost)",
                               percent(static_cast<double>(given) / static_cast<double>(way.points)), percent(way.accuracy()),
                               way.name, way.points, chosen.fitted ? " not used to find the order" : "", way.gained, way.lost);
    report_.findings.insert(report_.findings.begin(), std::move(finding));  // first, because its options come first
  }

  // A finding about the range may suggest a scale, which also changes the model's input. If the changed input lowers accuracy,
  // this suggests a std that undoes the change.
  void complete_range_finding() {
    for (Finding& finding : report_.findings) {
      if (finding.kind != "range" || finding.options.empty()) continue;
      for (const Compared& compared : compared_) {
        const Alternative& unit = compared.result;
        if (compared.kind != "preprocessing" || unit.name != kUnitPixels || sign_test_p(unit.lost, unit.gained) > kLevel)
          continue;
        if (input_.preprocessing.mean.empty() && input_.preprocessing.std.empty())
          finding.options.add.emplace_back("std", finding.options.add.front().second);
      }
    }
  }

  bool range_is_suspicious() const {
    return std::any_of(report_.findings.begin(), report_.findings.end(),
                       [](const Finding& finding) { return finding.kind == "range"; });
  }

  // Without labels, a transform that leads to more distinct predictions is only a hint.
  void look_for_variety(const std::vector<Way>& ways) {
    const std::int64_t some = std::min<std::int64_t>(used_, kFirstPoints);
    std::size_t most = 2;
    const Way* best = nullptr;
    for (const Way& way : ways) {
      const std::vector<std::int64_t> predicted = predictions(way, 0, some);
      const std::size_t classes = std::set<std::int64_t>(predicted.begin(), predicted.end()).size();
      if (classes <= most) continue;
      most = classes;
      best = &way;
    }
    if (best == nullptr) return;
    report_.findings.push_back(
        {Severity::note, "preprocessing",
         fmt::format("as given, all points get the same class; with {}, the first {} get {} classes", best->name, some, most),
         best->options});
  }

  // Collects the options of all findings, each once: the finding about the range may suggest the same scale as another.
  void settle_options() {
    for (const Finding& finding : report_.findings) {
      for (const auto& [field, value] : finding.options.add) {
        const bool known = std::any_of(report_.options.add.begin(), report_.options.add.end(),
                                       [&field = field](const auto& option) { return option.first == field; });
        if (!known && finding.severity == Severity::warning) report_.options.add.emplace_back(field, value);
      }
      if (finding.severity != Severity::warning) continue;
      if (!finding.remedy.empty()) report_.remedies.push_back(finding.remedy);
      for (const std::string& field : finding.options.leave_out) report_.options.leave_out.push_back(field);
    }
  }

  const CheckInput& input_;
  const Way given_;
  std::int64_t n_, used_ = 0;
  Values values_;
  bool labelled_;
  CheckReport report_;
  std::vector<std::int64_t> predicted_;
  std::vector<bool> fitted_half_;
  Score given_score_;
  std::vector<Compared> compared_;
  std::vector<double> least_p_;  // smallest possible p-values of dropped alternatives
};

void require_usable(const CheckInput& input) {
  if (input.x.shape.size() < 2 || input.x.shape[0] < 1)
    throw Error{ErrorCode::usage, "the data set", "has no points", "give at least one"};
  if (!input.labels.empty() && std::ssize(input.labels) != input.x.shape[0])
    throw Error{ErrorCode::usage, option("labels"),
                fmt::format("must have one label per point, not {} labels for {} points", input.labels.size(), input.x.shape[0]),
                "give each point a label"};
}

}  // namespace

CheckReport check(const CheckInput& input) {
  require_usable(input);
  return Checker(input).report();
}

std::function<Tensor(const Tensor&)> raw_logits(Executor& executor, const Shape& input_shape,
                                                const Preprocessing& preprocessing) {
  const Shape point = executor.point_shape();
  Transform transform{1, preprocessing.mean, preprocessing.std, 0, arrangement_of(point, input_shape, preprocessing.layout)};
  transform.channel_axis = channel_axis(transform.arrangement, point, preprocessing);
  return [&executor, point, transform](const Tensor& inputs) {
    return executor.logits(transformed_back(inputs, transform, point)).value();
  };
}

std::int64_t first_check_passes(std::int64_t points, std::int64_t planned) {
  constexpr std::int64_t kMany = 1000, kDefaultPasses = 100;  // passes of auto for one point
  return static_cast<std::int64_t>((points >= kMany ? 0.03 : 0.06) *
                                   static_cast<double>(std::max(planned, kDefaultPasses * points)));
}

std::vector<std::int64_t> spread_positions(std::int64_t count, std::int64_t most) {
  const std::int64_t taken = std::min(count, most);
  std::vector<std::int64_t> positions;
  for (std::int64_t k = 0; k < taken; ++k) {
    // A random position within each part: if classes alternate in the data, equally spaced positions might miss some of them.
    const std::int64_t first = k * count / taken, size = (k + 1) * count / taken - first;
    const std::uint64_t mixed = (static_cast<std::uint64_t>(k) + 1) * 0x9e3779b97f4a7c15U;
    positions.push_back(first + static_cast<std::int64_t>((mixed >> 33U) % static_cast<std::uint64_t>(size)));
  }
  return positions;
}

}  // namespace probust
