// SPDX-License-Identifier: MIT
// Runs paired by point: differences, points that are in only one of them, and points that are not the same.
#include "probust/analysis/comparison.h"

#include <gtest/gtest.h>

#include <cmath>

#include "probust/base/error.h"
#include "support/run_rows.h"

namespace probust {
namespace {

using test::row_of_p;
using test::rows_of_p;

PairedComparison only(const std::vector<Row>& baseline, const std::vector<Row>& run) {
  const std::vector<PairedComparison> comparisons = compare_rows(baseline, run);
  EXPECT_EQ(comparisons.size(), 1U);
  return comparisons.at(0);
}

std::string problem_of(const std::vector<Row>& baseline, const std::vector<Row>& run) {
  try {
    compare_rows(baseline, run);
  } catch (const Error& error) {
    EXPECT_EQ(error.code, ErrorCode::unreadable);
    return error.problem;
  }
  return "";
}

// Reference values from SciPy 1.10.1: ttest_rel(b, a).confidence_interval() and binomtest(1, 4).pvalue.
TEST(Comparison, ThePairedIntervalIsStudents) {
  const PairedComparison c = only(rows_of_p({0.5, 0.6, 0.7, 0.8, 0.9}), rows_of_p({0.6, 0.65, 0.78, 0.75, 0.9}));
  EXPECT_EQ(c.pairs, 5);
  EXPECT_NEAR(c.baseline_p.mean, 0.7, 1e-12);
  EXPECT_NEAR(c.run_p.mean, 0.736, 1e-12);
  EXPECT_EQ(c.run_p.high, mean_probability(std::vector<double>{0.6, 0.65, 0.78, 0.75, 0.9}).high);
  EXPECT_NEAR(c.difference.mean, 0.036, 1e-12);
  EXPECT_NEAR(c.difference.low, -0.03983304673388711, 1e-9);
  EXPECT_NEAR(c.difference.high, 0.11183304673388714, 1e-9);
  EXPECT_EQ(c.higher, 3);
  EXPECT_EQ(c.lower, 1);
  EXPECT_NEAR(c.sign_test, 0.625, 1e-12);
}

TEST(Comparison, TheSignTestCountsBothTails) {
  std::vector<double> low(12, 0.5), high(12, 0.6);
  EXPECT_NEAR(only(rows_of_p(low), rows_of_p(high)).sign_test, 2.0 / 4096, 1e-12);
  high[0] = 0.4;
  EXPECT_NEAR(only(rows_of_p(low), rows_of_p(high)).sign_test, 2.0 * 13 / 4096, 1e-12);
}

TEST(Comparison, ARunDoesNotDifferFromItself) {
  const std::vector<Row> rows = rows_of_p({0.1, 1.0 / 3, 0.9999999, 0.7});
  const PairedComparison c = only(rows, rows);
  EXPECT_EQ(c.difference.mean, 0);
  EXPECT_EQ(c.difference.low, 0);
  EXPECT_EQ(c.difference.high, 0);
  EXPECT_EQ(c.higher + c.lower + c.beyond, 0);
  EXPECT_EQ(c.sign_test, 1);
  EXPECT_NEAR(c.pearson, 1, 1e-12);
  EXPECT_TRUE(c.only_baseline.empty() && c.only_run.empty());
}

TEST(Comparison, PointsOfOnlyOneRunOrWithoutPDoNotCount) {
  std::vector<Row> baseline = rows_of_p({0.5, 0.6, NAN, 0.8}), run = rows_of_p({0.6, NAN, 0.5, 0.9});
  baseline.push_back(row_of_p(10, 0.1));
  run.push_back(row_of_p(11, 0.1));
  run.push_back(row_of_p(12, NAN));
  const PairedComparison c = only(baseline, run);
  EXPECT_EQ(c.pairs, 2);
  EXPECT_EQ(c.unanswered, 2);
  EXPECT_NEAR(c.difference.mean, 0.1, 1e-12);
  EXPECT_NEAR(c.baseline_p.mean, 0.65, 1e-12);
  EXPECT_EQ(c.only_baseline, (std::vector<std::int64_t>{10}));
  EXPECT_EQ(c.only_run, (std::vector<std::int64_t>{11, 12}));
}

TEST(Comparison, IntervalsThatDoNotOverlapAreCounted) {
  std::vector<Row> baseline = rows_of_p({0.5, 0.5, 0.5, 0.5}), run = rows_of_p({0.7, 0.55, 0.7, 0.9});
  for (const int k : {0, 1}) {
    baseline[k].estimate.ci_low = 0.4, baseline[k].estimate.ci_high = 0.6;
    run[k].estimate.ci_low = run[k].estimate.p - 0.05, run[k].estimate.ci_high = run[k].estimate.p + 0.05;
  }
  baseline[2].estimate.std_error = run[2].estimate.std_error = 0.06;  // 0.5 + 0.1176 > 0.7 - 0.1176
  const PairedComparison c = only(baseline, run);
  EXPECT_EQ(c.with_intervals, 3);
  EXPECT_EQ(c.beyond, 1);
  EXPECT_EQ(only(run, baseline).beyond, 1);
  baseline[2].estimate.std_error = run[2].estimate.std_error = 0.05;
  EXPECT_EQ(only(baseline, run).beyond, 2);
}

TEST(Comparison, GroupsMeetByNoiseAndEstimator) {
  std::vector<Row> baseline = rows_of_p({0.5, 0.6}), run = rows_of_p({0.6, 0.8});
  for (const Row& row : rows_of_p({0.1, 0.2})) {
    baseline.push_back(row);
    baseline.back().noise = "gaussian:0.3";
    run.push_back(row);
    run.back().estimator = "taylor";
  }
  const std::vector<PairedComparison> all = compare_rows(baseline, run);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].pairs, 2);
  EXPECT_EQ(all[1].baseline.noise, "gaussian:0.3");
  EXPECT_EQ(all[1].pairs, 0);
  EXPECT_EQ(all[1].only_baseline.size(), 2U);
  EXPECT_EQ(all[2].run.estimator, "taylor");
  EXPECT_EQ(all[2].only_run.size(), 2U);
  EXPECT_TRUE(std::isnan(all[2].difference.mean));

  const std::vector<PairedComparison> against = compare_rows(baseline, run, "mc:100");
  ASSERT_EQ(against.size(), 3U);  // mc:100 and taylor of the run; gaussian:0.3 has no partner
  EXPECT_EQ(against[1].run.estimator, "taylor");
  EXPECT_EQ(against[1].baseline.estimator, "mc:100");
  EXPECT_NEAR(against[1].difference.mean, -0.4, 1e-12);
}

TEST(Comparison, OtherPointsAreRefused) {
  const std::vector<Row> labelled{row_of_p(0, 0.5, 3), row_of_p(7, 0.5, 1)}, others{row_of_p(0, 0.5, 3), row_of_p(7, 0.5, 2)};
  EXPECT_NE(problem_of(labelled, others).find("point 7 has label 2 here, but 1 in the baseline"), std::string::npos);
  EXPECT_EQ(problem_of(labelled, rows_of_p({0.5})), "");  // without labels, nothing can differ

  std::vector<Row> predicted = rows_of_p({0.5}), asked = rows_of_p({0.5});
  predicted[0].predicted = predicted[0].target = 1;
  EXPECT_EQ(problem_of(asked, predicted), "");  // the target is each model's own prediction
  asked[0].predicted = 2;
  EXPECT_NE(problem_of(asked, predicted).find("point 0 has target 1 here, but 0 in the baseline"), std::string::npos);
}

TEST(Comparison, ModelsAreFoundByName) {
  Results results;
  for (const char* model : {"a", "b"}) {
    for (const double p : {0.1, 0.2, 0.3}) {
      results.rows.push_back(row_of_p(std::ssize(results.rows) % 3, p));
      results.rows.back().model = model;
    }
  }
  EXPECT_EQ(models_of(results), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(rows_of_model(results, "b").size(), 3U);
  EXPECT_EQ(rows_of_model(results, "b").data(), &results.rows[3]);
  EXPECT_TRUE(rows_of_model(results, "c").empty());
  EXPECT_EQ(baseline_model({"a", "b"}, "b"), "b");
  EXPECT_EQ(baseline_model({"a"}, "b"), "a");
  EXPECT_EQ(baseline_model({"a", "b"}, "c"), std::nullopt);
}

// A model that is always certain of a wrong prediction, compared with one that is often right.
std::vector<Row> rows_with_p_label(const std::vector<double>& p, const std::vector<double>& p_label) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < p.size(); ++i)
    rows.push_back(test::labelled_row(static_cast<std::int64_t>(i), p[i], p_label[i], p[i] == p_label[i]));
  return rows;
}

TEST(Comparison, AccuracyUnderNoiseDecidesTheSentence) {
  const PairedComparison c =
      only(rows_with_p_label({0.7, 0.8, 0.7, 0.8}, {0.7, 0.8, 0.7, 0.2}), rows_with_p_label({1, 1, 0.9, 1}, {0, 0.1, 0.1, 0}));
  EXPECT_GT(c.difference.mean, 0);
  EXPECT_NEAR(c.baseline_noisy.mean, 0.6, 1e-12);
  EXPECT_NEAR(c.run_noisy.mean, 0.05, 1e-12);
  EXPECT_NEAR(c.noisy_difference.mean, -0.55, 1e-12);
  EXPECT_EQ(c.baseline_clean.count, 3);
  EXPECT_EQ(c.run_clean.count, 0);
  const std::string sentence = in_one_sentence(c);
  EXPECT_EQ(
      sentence.rfind(
          "B keeps the correct prediction under noise less often than A: 5% against 60%, difference -55 percentage points (", 0),
      0U)
      << sentence;
  EXPECT_EQ(in_one_sentence(only(rows_with_p_label({0.7, 0.8, 0.6}, {0.7, 0.8, 0.6}),
                                 rows_with_p_label({0.75, 0.86, 0.64}, {0.75, 0.86, 0.64})),
                            "old", "new")
                .rfind("new keeps the correct prediction under noise more often than old: 75.0% against 70.0%, difference +5.0 "
                       "percentage points",
                       0),
            0U);
}

TEST(Comparison, WithoutLabelsTheSentenceIsAboutP) {
  const std::string sentence = in_one_sentence(only(rows_of_p({0.5, 0.6, 0.7}), rows_of_p({0.8, 0.91, 1})));
  EXPECT_NE(sentence.find("B keeps its own prediction, right or wrong, under noise more often than A: 90% against 60%"),
            std::string::npos)
      << sentence;
  EXPECT_NE(sentence.find("there are no labels"), std::string::npos) << sentence;
}

TEST(Comparison, ADifferenceThatMayBeChanceIsNotReported) {
  const std::string sentence =
      in_one_sentence(only(rows_with_p_label({0.7, 0.8}, {0.7, 0.8}), rows_with_p_label({0.6, 0.9}, {0.6, 0.9})));
  EXPECT_EQ(
      sentence.rfind("B keeps the correct prediction under noise about as often as A, as far as these points show: 75.0%", 0), 0U)
      << sentence;
}

}  // namespace
}  // namespace probust
