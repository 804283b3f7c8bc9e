// SPDX-License-Identifier: MIT
// The probability of the given label and that of the prediction, and a p_fail that claims no more than the samples can show.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "probust/analysis/calibration.h"
#include "probust/analysis/curve.h"
#include "probust/estimators/tolerance.h"
#include "probust/run/run.h"
#include "support/networks.h"

namespace probust {
namespace {

// Three classes in the plane.
const Graph kThreeClasses = test::linear_classifier(Tensor({3, 2}, {1, 0, -1, 1, 0, -2}), Tensor({3}, {0.2F, 0, -0.1F}));

// Points around (0.3, 0.2), where most noisy samples get class 0 or 1, with a label that is often another class.
Tensor points_with_labels(std::int64_t count) {
  std::mt19937 random(5);
  std::uniform_real_distribution<float> near(-0.15F, 0.15F);
  Tensor x({count, 2});
  for (std::int64_t i = 0; i < count; ++i) {
    x.data[2 * i] = 0.3F + near(random);
    x.data[2 * i + 1] = 0.2F + near(random);
  }
  return x;
}

std::vector<std::int64_t> some_labels(std::int64_t count) {
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < count; ++i) labels.push_back(i % 3);
  return labels;
}

struct LabelQuestion {
  std::int64_t count = 70;
  std::vector<std::string> estimators;
  std::vector<std::int64_t> labels{};
  Event event{};
  std::string target = "predicted";
  std::vector<double> sigmas{0.5};
  int threads = 1;
  bool smooth = false;
  std::int64_t total = 0;
};

std::vector<Row> labelled_rows_of(const LabelQuestion& asked, const Graph& graph = kThreeClasses) {
  ExecutorOptions options;
  options.threads = asked.threads;
  const auto executor = make_executor("cpu", graph, options).value();
  EstimateRequest request;
  request.x = points_with_labels(asked.count);
  request.labels = asked.labels;
  request.event = asked.event;
  request.target = asked.target;
  request.seed = 11;
  for (const double sigma : asked.sigmas) request.noises.push_back({isotropic_gaussian(), sigma});
  for (const std::string& text : asked.estimators) request.estimators.push_back(parse_estimator(text));
  if (asked.smooth) request.curve = &estimate_curve;
  request.total = asked.total;
  EstimateRun run(*executor, std::move(request));
  run.finish();
  return run.rows();
}

const std::vector<std::string> kSamplingForms = {"mc:2000",
                                                 "mc:2000:stratified",
                                                 "mc:±0.03",
                                                 "mc:p>0.2",
                                                 "probit:400",
                                                 "probit:400:pooled",
                                                 "probit:400:learned",
                                                 "probit:400:shared",
                                                 "regression:400",
                                                 "regression:400:pooled",
                                                 "regression:400:adf",
                                                 "regression:400:learned",
                                                 "auto:100",
                                                 "auto:2000",
                                                 "subset:3000"};
const std::vector<std::string> kExactForms = {"taylor", "adf", "quadrature:64"};

std::vector<std::string> all_of_them() {
  std::vector<std::string> all = kSamplingForms;
  all.insert(all.end(), kExactForms.begin(), kExactForms.end());
  all.insert(all.end(), {"mmse:200:centered", "mmse:200:loo", "softmax:1", "taylor_mvs"});
  return all;
}

std::vector<Row> counted_labels(std::int64_t count) {
  return labelled_rows_of({.count = count, .estimators = {"mc:200000"}, .labels = some_labels(count), .target = "label"});
}

TEST(Labels, EveryEstimatorAgreesWithCountsOfTheLabel) {
  constexpr std::int64_t kCount = 70;
  const std::vector<Row> truth = counted_labels(kCount);
  for (const std::string& estimator : all_of_them()) {
    if (estimator == "softmax:1" || estimator == "taylor_mvs") continue;  // they ignore the noise or are approximate
    const bool exact = std::find(kExactForms.begin(), kExactForms.end(), estimator) != kExactForms.end();
    const std::vector<Row> rows = labelled_rows_of({.count = kCount, .estimators = {estimator}, .labels = some_labels(kCount)});
    std::int64_t others = 0, outside = 0;
    double bias = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Estimate& one = rows[i].estimate;
      ASSERT_TRUE(one.p_label) << estimator;
      const double p = truth[i].estimate.p, error = *one.p_label - p;
      bias += error / kCount;
      EXPECT_NEAR(*one.p_label, p, exact ? 0.006 : 1) << estimator << i;
      others += rows[i].label != rows[i].predicted ? 1 : 0;
      if (!one.ci_low) continue;
      ASSERT_TRUE(one.p_label_low && one.p_label_high) << estimator;
      outside += *one.p_label_low > p + 0.003 || *one.p_label_high < p - 0.003 ? 1 : 0;
      EXPECT_LE(*one.p_label_low, *one.p_label);
      EXPECT_GE(*one.p_label_high, *one.p_label);
    }
    EXPECT_GT(others, 20);
    EXPECT_LE(outside, 8) << estimator;
    EXPECT_NEAR(bias, 0, 0.02) << estimator;
  }
}

TEST(Labels, DoNotChangeAnythingElse) {
  for (const std::string& estimator : all_of_them()) {
    const std::vector<Row> with = labelled_rows_of({.count = 66, .estimators = {estimator}, .labels = some_labels(66)}),
                           without = labelled_rows_of({.count = 66, .estimators = {estimator}});
    for (std::size_t i = 0; i < with.size(); ++i) {
      const Estimate &a = with[i].estimate, &b = without[i].estimate;
      EXPECT_EQ(std::tie(a.p, a.p_fail, a.std_error, a.ci_low, a.ci_high, a.forwards, a.backwards, a.status, a.note),
                std::tie(b.p, b.p_fail, b.std_error, b.ci_low, b.ci_high, b.forwards, b.backwards, b.status, b.note))
          << estimator << i;
      EXPECT_FALSE(b.p_label);
    }
  }
}

TEST(Labels, DoNotDependOnThreads) {
  for (const std::string& estimator : all_of_them()) {
    const std::vector<Row> one = labelled_rows_of({.count = 20, .estimators = {estimator}, .labels = some_labels(20)}),
                           three = labelled_rows_of(
                               {.count = 20, .estimators = {estimator}, .labels = some_labels(20), .threads = 3});
    for (std::size_t i = 0; i < one.size(); ++i) EXPECT_EQ(one[i].estimate.p_label, three[i].estimate.p_label) << estimator;
  }
}

TEST(Labels, OfTheTargetRepeatP) {
  for (const Row& row : labelled_rows_of({.count = 40, .estimators = all_of_them(), .labels = some_labels(40)})) {
    if (row.label != row.target) continue;
    EXPECT_EQ(row.estimate.p_label, row.estimate.p) << row.estimator;
    EXPECT_EQ(row.estimate.p_label_low, row.estimate.ci_low);
    EXPECT_EQ(row.estimate.p_label_high, row.estimate.ci_high);
  }
}

TEST(Labels, ThatAreNoClassHaveNoProbability) {
  for (const Row& row : labelled_rows_of({.count = 3, .estimators = {"mc:100", "taylor"}, .labels = {-1, -1, -1}})) {
    EXPECT_FALSE(row.estimate.p_label);
    EXPECT_FALSE(row.label);  // otherwise, the prediction would count as wrong
  }
}

TEST(Labels, OfAGroupNeedAnyOfItsClasses) {
  const Event groups{{0, 1, 1}};
  for (const Row& row :
       labelled_rows_of({.estimators = {"mc:4000", "taylor", "auto:4000"}, .labels = some_labels(70), .event = groups})) {
    const bool same = groups.same_group(*row.label, row.target);
    EXPECT_NEAR(*row.estimate.p_label, same ? row.estimate.p : 1 - row.estimate.p, 1e-6) << row.estimator;
  }
}

TEST(Labels, AmongTheLargestAreCounted) {
  const Event top{{}, false, 2};
  const std::vector<Row> rows = labelled_rows_of({.estimators = {"mc:4000"}, .labels = some_labels(70), .event = top});
  const std::vector<Row> labels =
      labelled_rows_of({.estimators = {"mc:4000"}, .labels = some_labels(70), .event = top, .target = "label"});
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i].estimate.p_label, labels[i].estimate.p);
}

TEST(Labels, AreAnsweredOverASweepAndWithinATotal) {
  const std::vector<Row> truth = counted_labels(20);
  const auto near_truth = [&](const std::vector<Row>& rows, std::size_t each) {
    for (std::size_t i = 0; i < rows.size(); i += each) {
      ASSERT_TRUE(rows[i].estimate.p_label) << rows[i].estimator;
      EXPECT_NEAR(*rows[i].estimate.p_label, truth[i / each].estimate.p, 0.1) << rows[i].estimator;
    }
  };
  const std::vector<double> sigmas = {0.5, 0.6, 0.8};
  for (const char* estimator : {"probit:300", "auto:300", "regression:300"})
    near_truth(
        labelled_rows_of({.count = 20, .estimators = {estimator}, .labels = some_labels(20), .sigmas = sigmas, .smooth = true}),
        3);
  near_truth(labelled_rows_of({.count = 20, .estimators = {"auto"}, .labels = some_labels(20), .total = 6000}), 1);
}

TEST(Labels, FollowACalibratedP) {
  std::vector<Row> rows = labelled_rows_of({.estimators = {"probit:20"}, .labels = some_labels(70)});
  const std::vector<Row> before = rows;
  ASSERT_GT(calibrate_questions(rows, 1)[0].points, 0);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_NE(rows[i].estimate.p, before[i].estimate.p);
    EXPECT_EQ(rows[i].estimate.p_label,
              rows[i].label == rows[i].target ? std::optional(rows[i].estimate.p) : before[i].estimate.p_label);
  }
}

TEST(Labels, StayWithTheirPoints) {
  const Points points{points_with_labels(3), {4, 5, 6}, {0, 0, 0}, 0, {}, {2, -1, 1}};
  EXPECT_EQ(slice(points, 1, 2).label, (std::vector<std::int64_t>{-1, 1}));
  EXPECT_EQ(select(points, std::vector<std::int64_t>{2, 0}).label, (std::vector<std::int64_t>{1, 2}));
  Points short_of_one = points;
  short_of_one.label.pop_back();
  EXPECT_THROW((void)slice(short_of_one, 0, 1), Error);
}

// ---- p_fail

Estimate few_copies(double p, double p_fail, double low, double high) {
  Estimate estimate;
  estimate.p = p;
  estimate.p_fail = p_fail;
  estimate.ci_low = low;
  estimate.ci_high = high;
  return estimate;
}

TEST(SmallFailures, AreBoundedByTheInterval) {
  Estimate estimate = few_copies(1, 3e-58, 0.966, 1);
  bound_failure(estimate);
  EXPECT_EQ(estimate.status, Status::bound);
  EXPECT_EQ(estimate.p, 1);
  EXPECT_EQ(estimate.p_fail, 1 - 0.966);
  EXPECT_TRUE(estimate.bounded());
  EXPECT_EQ(estimate.failure(), 0);
  const Estimate once = estimate;
  bound_failure(estimate);
  EXPECT_EQ(estimate.p_fail, once.p_fail);
  EXPECT_EQ(estimate.status, once.status);
}

TEST(SmallFailures, ThatTheSamplesCanShowStay) {
  for (Estimate estimate :
       {few_copies(0.996, 0.004, 0.966, 1), few_copies(0.999, 0.001, 0.966, 0.9995), few_copies(0.2, 0.8, 0, 1)}) {
    const Estimate before = estimate;
    bound_failure(estimate);
    EXPECT_EQ(estimate.p_fail, before.p_fail);
    EXPECT_EQ(estimate.status, Status::ok);
    EXPECT_FALSE(estimate.bounded());
  }
}

TEST(SmallFailures, DoNotTouchOtherStatuses) {
  Estimate estimate = few_copies(0.9996, 3.7e-4, 0.9658, 1);
  estimate.set(Status::approximate, "for other noise");
  bound_failure(estimate);
  EXPECT_EQ(estimate.status, Status::approximate);
  EXPECT_EQ(estimate.note, "for other noise");
  EXPECT_EQ(estimate.p_fail, 1 - 0.9658);
}

TEST(SmallFailures, WithoutAnyFailureCountingGivesABound) {
  const Graph far = test::linear_classifier(Tensor({2, 2}, {100, 0, -100, 0}), Tensor({2}));
  for (const Row& row : labelled_rows_of({.count = 70, .estimators = {"mc:20000"}, .sigmas = {0.02}}, far)) {
    EXPECT_EQ(row.estimate.status, Status::bound);
    EXPECT_EQ(row.estimate.p, 1);
    EXPECT_NEAR(row.estimate.p_fail, 1.8442e-4, 1e-7);
  }
  for (const char* estimator : {"probit:94", "regression:94", "auto:100", "probit:94:shared", "mc:500:stratified"}) {
    for (const Row& row : labelled_rows_of({.count = 70, .estimators = {estimator}, .sigmas = {0.02}}, far)) {
      EXPECT_EQ(row.estimate.status, Status::bound) << estimator;
      EXPECT_EQ(row.estimate.p_fail, 1 - *row.estimate.ci_low) << estimator;
    }
  }
  for (const char* estimator : {"taylor", "adf", "quadrature:64", "subset:2000"}) {
    for (const Row& row : labelled_rows_of({.count = 5, .estimators = {estimator}, .sigmas = {0.07}}, far)) {
      EXPECT_FALSE(row.estimate.bounded()) << estimator;
      EXPECT_LT(row.estimate.p_fail, 2e-2) << estimator;
    }
  }
}

TEST(SmallFailures, StayBoundedAfterCalibration) {
  const Graph far = test::linear_classifier(Tensor({2, 2}, {1, 0, -1, 0}), Tensor({2}));
  std::vector<Row> rows = labelled_rows_of({.estimators = {"probit:50"}, .sigmas = {0.08}}, far);
  calibrate_questions(rows, 1);
  std::int64_t bounded = 0;
  for (const Row& row : rows) {
    EXPECT_EQ(row.estimate.bounded(), row.estimate.status == Status::bound);
    bounded += row.estimate.bounded() ? 1 : 0;
    EXPECT_TRUE(!row.estimate.bounded() || row.estimate.p_fail == 1 - *row.estimate.ci_low);
  }
  EXPECT_GT(bounded, 10);
}

}  // namespace
}  // namespace probust
