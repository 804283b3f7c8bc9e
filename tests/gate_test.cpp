// SPDX-License-Identifier: MIT
// Thresholds for the rows of a run: the measured quantity, its interval, and whether the threshold is met.
#include "probust/analysis/gate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "probust/base/error.h"
#include "support/run_rows.h"

namespace probust {
namespace {

using test::row_of_p;
using test::rows_of_p;

RowGroup group_of(const std::vector<Row>& rows) {
  RowGroup group;
  for (const Row& row : rows) group.rows.push_back(&row);
  return group;
}

Check checked(const std::vector<Row>& rows, const Threshold& threshold, Decision decision = Decision::measured,
              const std::vector<Row>& baseline = {}) {
  return check(group_of(rows), threshold, group_of(baseline), decision);
}

Threshold at_least(double limit) { return {Threshold::Kind::mean, limit}; }
Threshold quantile_at_least(double q, double limit) { return {Threshold::Kind::quantile, limit, q}; }
Threshold classes_at_least(double limit) { return {Threshold::Kind::worst_class, limit}; }
Threshold drops_at_most(double limit) { return {Threshold::Kind::drop, limit}; }

// Rows with p = k / (n + 1) for k = 1 .. n.
std::vector<Row> evenly(int n) {
  std::vector<double> p;
  for (int k = 1; k <= n; ++k) p.push_back(static_cast<double>(k) / (n + 1));
  return rows_of_p(p);
}

// The interval from SciPy: 0.84 +- t.ppf(0.975, 4) * std / sqrt(5).
TEST(Gate, TheMeanOrItsIntervalIsTested) {
  const std::vector<Row> rows = rows_of_p({0.9, 0.8, 0.85, NAN, 0.95, 0.7});
  const Check check = checked(rows, at_least(0.84));
  EXPECT_NEAR(check.measured, 0.84, 1e-12);
  EXPECT_NEAR(check.low, 0.6613802141717937, 1e-9);
  EXPECT_NEAR(check.high, 0.9370075025624044, 1e-9);
  EXPECT_EQ(check.count, 5);
  EXPECT_TRUE(checked(rows, at_least(0.839)).met);
  EXPECT_FALSE(checked(rows, at_least(0.85)).met);
  EXPECT_TRUE(checked(rows, at_least(0.93), Decision::confident).met);
  EXPECT_FALSE(checked(rows, at_least(0.94), Decision::confident).met);
}

TEST(Gate, IntervalsAreCutToThePossibleValues) {
  const Check one = checked(rows_of_p({0.5}), at_least(0.9), Decision::confident),
              two = checked(rows_of_p({0.1, 0.9}), at_least(0));
  EXPECT_EQ(one.low, 0);
  EXPECT_EQ(one.high, 1);
  EXPECT_TRUE(one.met);
  EXPECT_EQ(two.low, 0);
  EXPECT_EQ(two.high, 1);
  EXPECT_EQ(checked(rows_of_p({0.5}), drops_at_most(0), Decision::measured, rows_of_p({0.5})).low, -1);
}

TEST(Gate, ThresholdsThatAreReachedExactlyAreMet) {
  EXPECT_TRUE(checked(rows_of_p({0.5, 0.5}), at_least(0.5)).met);
  EXPECT_TRUE(checked(rows_of_p({1, 1}), at_least(1)).met);
  EXPECT_TRUE(checked(rows_of_p({0.3, 0.4}), drops_at_most(0), Decision::measured, rows_of_p({0.3, 0.4})).met);
}

// Quantiles are from numpy.quantile; the ranks of the order statistics are from scipy.stats.binom.
TEST(Gate, QuantilesHaveOrderStatisticsAsTheirInterval) {
  const Check median = checked(evenly(20), quantile_at_least(0.5, 0.5));
  EXPECT_NEAR(median.measured, 0.5, 1e-12);
  EXPECT_NEAR(median.low, 6.0 / 21, 1e-12);
  EXPECT_NEAR(median.high, 15.0 / 21, 1e-12);
  const Check low = checked(evenly(100), quantile_at_least(0.05, 0.05));
  EXPECT_NEAR(low.measured, 5.95 / 101, 1e-12);
  EXPECT_NEAR(low.low, 1.0 / 101, 1e-12);
  EXPECT_NEAR(low.high, 11.0 / 101, 1e-12);
  const Check few = checked(evenly(10), quantile_at_least(0.05, 0.05));
  EXPECT_EQ(few.low, 0);
  EXPECT_NEAR(few.high, 3.0 / 11, 1e-12);
  EXPECT_EQ(checked(evenly(10), quantile_at_least(0.99, 0.5)).high, 1);
  EXPECT_NEAR(checked(evenly(9), quantile_at_least(0, 0.1)).measured, 0.1, 1e-12);
  EXPECT_NEAR(checked(evenly(9), quantile_at_least(1, 0.9)).measured, 0.9, 1e-12);
  EXPECT_FALSE(checked(evenly(9), quantile_at_least(0, 0.11)).met);
  EXPECT_TRUE(checked(evenly(9), quantile_at_least(0, 0.1)).met);
}

TEST(Gate, TheWorstClassIsByLabelOrElseByPrediction) {
  std::vector<Row> rows;
  for (int k = 0; k < 12; ++k) rows.push_back(row_of_p(k, k % 3 == 2 ? 0.6 : 0.9, k % 3));
  Check check = checked(rows, classes_at_least(0.7));
  EXPECT_EQ(check.worst, 2);
  EXPECT_NEAR(check.measured, 0.6, 1e-12);
  EXPECT_FALSE(check.met);
  EXPECT_TRUE(checked(rows, classes_at_least(0.6)).met);
  for (Row& row : rows) {
    row.predicted = row.target = (*row.label + 1) % 3;
    row.label.reset();
  }
  EXPECT_EQ(checked(rows, classes_at_least(0.7)).worst, 0);
}

// A class with few scattered points may be lower by chance; one with many equal points is certainly lower.
TEST(Gate, AConfidentCheckNamesTheClassThatIsCertainlyLow) {
  std::vector<Row> rows{row_of_p(0, 0.1, 0), row_of_p(1, 0.9, 0)};
  for (int k = 2; k < 30; ++k) rows.push_back(row_of_p(k, 0.6 + 0.001 * (k % 2), 1));
  EXPECT_EQ(checked(rows, classes_at_least(0.7)).worst, 0);
  const Check confident = checked(rows, classes_at_least(0.7), Decision::confident);
  EXPECT_EQ(confident.worst, 1);
  EXPECT_FALSE(confident.met);
  EXPECT_TRUE(checked(rows, classes_at_least(0.6), Decision::confident).met);
}

TEST(Gate, AmongPossiblyPerfectClassesTheLowestMeanIsNamed) {
  std::vector<Row> rows;
  for (int k = 0; k < 4; ++k) {
    rows.push_back(row_of_p(2 * k, k == 0 ? 0.98 : 1, 0));
    rows.push_back(row_of_p(2 * k + 1, k == 0 ? 0.5 : 1, 1));
  }
  EXPECT_EQ(checked(rows, classes_at_least(0.7), Decision::confident).worst, 1);
}

TEST(Gate, ADropIsPairedByPoint) {
  const std::vector<Row> baseline = rows_of_p({0.2, 0.5, 0.9}), run = rows_of_p({0.17, 0.48, 0.89, 0.01});
  const Check check = checked(run, drops_at_most(0.03), Decision::measured, baseline);
  EXPECT_NEAR(check.measured, 0.02, 1e-12);
  EXPECT_NEAR(check.low, 0.02 - 0.0248414, 1e-6);  // t of 2 degrees of freedom, 4.302653, times 0.01 / sqrt(3)
  EXPECT_NEAR(check.high, 0.02 + 0.0248414, 1e-6);
  EXPECT_EQ(check.count, 3);
  EXPECT_TRUE(check.met);
  EXPECT_FALSE(checked(run, drops_at_most(0.01), Decision::measured, baseline).met);
  EXPECT_TRUE(checked(run, drops_at_most(0.01), Decision::confident, baseline).met);
  EXPECT_TRUE(checked(baseline, drops_at_most(0), Decision::measured, run).met);  // the mean rose
}

TEST(Gate, ThresholdsWithoutDataAreNotMet) {
  for (const Decision decision : {Decision::measured, Decision::confident}) {
    for (const Threshold& threshold : {at_least(0), quantile_at_least(0.5, 0), classes_at_least(0), drops_at_most(1)}) {
      const Check check = checked(rows_of_p({NAN, NAN}), threshold, decision, rows_of_p({0.5, 0.5}));
      EXPECT_FALSE(check.met) << threshold.quantity();
      EXPECT_TRUE(std::isnan(check.measured)) << threshold.quantity();
    }
  }
  EXPECT_FALSE(checked(rows_of_p({0.5}), drops_at_most(1)).met);  // the baseline has no rows for this noise and estimator
}

TEST(Gate, ThresholdsHaveNames) {
  EXPECT_EQ(quantile_at_least(0.05, 0.8).quantity() + " " + quantile_at_least(0.05, 0.8).condition(),
            "0.05-quantile of p >= 0.8");
  EXPECT_EQ(drops_at_most(0.02).condition(), "<= 0.02");
}

TEST(Gate, AccuraciesAreThoseOfTheLabels) {
  const std::vector<Row> rows = {test::labelled_row(0, 1, 1, true), test::labelled_row(1, 1, 0.8, true),
                                 test::labelled_row(2, 1, 0, false), test::labelled_row(3, 0.9, 0.1, false), row_of_p(4, 1)};
  const Check clean = checked(rows, {Threshold::Kind::accuracy, 0.5});
  EXPECT_EQ(clean.measured, 0.5);
  EXPECT_EQ(clean.count, 4);
  EXPECT_TRUE(clean.met);
  EXPECT_FALSE(checked(rows, {Threshold::Kind::accuracy, 0.6}).met);
  EXPECT_TRUE(checked(rows, {Threshold::Kind::accuracy, 0.6}, Decision::confident).met);
  const Check noisy = checked(rows, {Threshold::Kind::noisy_accuracy, 0.48});
  EXPECT_NEAR(noisy.measured, 0.475, 1e-12);
  EXPECT_EQ(noisy.count, 4);
  EXPECT_FALSE(noisy.met);
  EXPECT_FALSE(checked(rows_of_p({1, 1}), {Threshold::Kind::noisy_accuracy, 0}).met) << "nothing was measured";
}

TEST(Gate, ADropOfAccuracyUnderNoiseIsPaired) {
  const std::vector<Row> before = {test::labelled_row(0, 0.8, 0.8, true), test::labelled_row(1, 0.9, 0.9, true)},
                         after = {test::labelled_row(0, 1, 0.7, true), test::labelled_row(1, 1, 0.8, true)};
  const Check drop = checked(after, {Threshold::Kind::noisy_drop, 0.09}, Decision::measured, before);
  EXPECT_NEAR(drop.measured, 0.1, 1e-12);
  EXPECT_FALSE(drop.met);
  EXPECT_EQ(drop.threshold.quantity() + " " + drop.threshold.condition(), "drop of accuracy under noise <= 0.09");
  EXPECT_TRUE(checked(after, drops_at_most(0), Decision::measured, before).met) << "mean p has risen";
}

}  // namespace
}  // namespace probust
