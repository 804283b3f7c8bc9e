// SPDX-License-Identifier: MIT
// Analyses of the rows of a run. Expected values without a formula were computed with SciPy.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "probust/analysis/agree.h"
#include "probust/analysis/bias.h"
#include "probust/analysis/certificate.h"
#include "probust/analysis/families.h"
#include "probust/analysis/ranking.h"
#include "probust/analysis/summary.h"
#include "probust/analysis/sweeps.h"
#include "probust/base/error.h"
#include "probust/base/text.h"
#include "probust/estimators/estimator.h"
#include "probust/normal/univariate.h"

namespace probust {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

struct Given {
  std::int64_t index;
  double p;
  std::optional<std::int64_t> label{};
  std::int64_t predicted = 0;
};

Row row_with(const Given& given, double sigma = 0.1, const std::string& estimator = "mc:100", const std::string& model = "") {
  Row row{.index = given.index,
          .label = given.label,
          .predicted = given.predicted,
          .target = given.predicted,
          .noise = "gaussian:" + shortest_text(sigma),
          .sigma = sigma,
          .estimator = estimator,
          .estimate = {},
          .model = model};
  row.estimate.p = given.p;
  row.estimate.p_fail = 1 - given.p;
  row.estimate.forwards = 100;
  if (std::isnan(given.p)) row.estimate.set(Status::nonfinite, "NaN in the point");
  return row;
}

std::vector<Row> rows_with(const std::vector<Given>& given, double sigma = 0.1, const std::string& estimator = "mc:100") {
  std::vector<Row> rows;
  for (const Given& one : given) rows.push_back(row_with(one, sigma, estimator));
  return rows;
}

void append(std::vector<Row>& rows, const std::vector<Row>& more) { rows.insert(rows.end(), more.begin(), more.end()); }

// ---- groups

TEST(RunAnalysis, RowsAreGroupedInOrderOfFirstAppearance) {
  std::vector<Row> rows = {row_with({0, 0.5}, 0.2, "taylor"), row_with({0, 0.6}, 0.1, "mc:10"), row_with({1, 0.7}, 0.2, "taylor"),
                           row_with({0, 0.8}, 0.2, "taylor", "b")};
  const std::vector<RowGroup> groups = grouped(rows);
  ASSERT_EQ(groups.size(), 3U);
  EXPECT_EQ(groups[0].key.noise, "gaussian:0.2");
  EXPECT_EQ(groups[0].key.sigma, 0.2);
  EXPECT_EQ(groups[0].p(), (std::vector<double>{0.5, 0.7}));
  EXPECT_EQ(groups[1].key.estimator, "mc:10");
  EXPECT_EQ(groups[2].key.model, "b");
}

TEST(RunAnalysis, ANoiseShapeIsTheNoiseWithoutItsScale) {
  EXPECT_EQ(noise_shape("gaussian:0.1", 0.1), "gaussian");
  EXPECT_EQ(noise_shape("gaussian:0.1@0..3", 0.1), "gaussian@0..3");
  EXPECT_EQ(noise_shape("gaussian:0.1|clip:0,1", 0.1), "gaussian|clip:0,1");
  EXPECT_EQ(noise_shape("gaussian:0.5|clip:0.5,1", 0.5), "gaussian|clip:0.5,1");
  EXPECT_EQ(noise_shape("categorical:a.json", {}), "categorical:a.json");
}

TEST(RunAnalysis, ANoiseIsNamedWithOrWithoutItsScaleAndClipping) {
  const std::string row = "rotate:10|clip:0,1";
  for (const char* text : {"rotate:10|clip:0,1", "rotate:10", "rotate|clip:0,1", "rotate"})
    EXPECT_TRUE(names_noise(text, row, 10)) << text;
  for (const char* text : {"rotate:1", "rot", "rotate:10|clip:0,2", ""}) EXPECT_FALSE(names_noise(text, row, 10)) << text;
  EXPECT_TRUE(names_noise("jpeg:uniform(10,90)", "jpeg:uniform(10,90)|clip:0,1", {}));
  EXPECT_FALSE(names_noise("jpeg", "jpeg:uniform(10,90)|clip:0,1", {}));
}

// ---- families

std::vector<Row> rows_under(const std::string& noise, const std::vector<double>& p) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < p.size(); ++i) {
    rows.push_back(row_with({static_cast<std::int64_t>(i), p[i], 0}));
    rows.back().noise = noise;
    rows.back().estimate.p_label = p[i] / 2;
  }
  return rows;
}

TEST(RunAnalysis, FamiliesBeginWithTheMostDangerous) {
  std::vector<Row> rows = rows_under("gaussian:0.1", {0.8, 0.9, 1});
  append(rows, rows_under("jpeg:50|clip:0,1", {kMissing, kMissing, kMissing}));
  append(rows, rows_under("rotate:5|clip:0,1", {0.9, 0.8, 0.7}));
  append(rows, rows_under("rotate:10|clip:0,1", {0.5, kMissing, 0.1}));
  const std::vector<RowGroup> groups = grouped(rows);
  std::vector<const RowGroup*> all;
  for (const RowGroup& group : groups) all.push_back(&group);
  const std::vector<FamilyRows> families = families_of(all);
  ASSERT_EQ(families.size(), 3U);
  EXPECT_EQ(families[0].family.name, "rotate");
  ASSERT_EQ(families[0].strengths.size(), 2U);
  EXPECT_EQ(families[0].strengths[1].number, "10");
  EXPECT_DOUBLE_EQ(families[0].strengths[1].p.mean, 0.3);
  EXPECT_DOUBLE_EQ(families[0].p.mean, (0.7 + 0.8 + 0.4) / 3);
  EXPECT_EQ(families[0].p.count, 3);
  const double variance = (0 + 0.01 + 0.09) - 3 * std::pow((0.0 + 0.1 - 0.3) / 3, 2);  // around 0.7
  EXPECT_NEAR(families[0].p.std_error, std::sqrt(variance / 2 / 3), 1e-12);
  EXPECT_DOUBLE_EQ(families[0].noisy.mean, families[0].p.mean / 2);
  EXPECT_EQ(families[1].family.name, "gaussian");
  EXPECT_DOUBLE_EQ(families[1].p.mean, 0.9);
  EXPECT_EQ(families[2].family.name, "jpeg");
}

// ---- summary

TEST(RunAnalysis, WilsonsInterval) {
  const Proportion eight = proportion(8, 10), none = proportion(0, 10), all = proportion(10, 10);
  EXPECT_NEAR(eight.low, 0.49016247153664183, 1e-12);
  EXPECT_NEAR(eight.high, 0.9433178485456247, 1e-12);
  EXPECT_EQ(none.low, 0);
  EXPECT_NEAR(none.high, 0.2775327998628892, 1e-12);
  EXPECT_NEAR(all.low, 0.7224672001371107, 1e-12);
  EXPECT_EQ(all.high, 1);
  EXPECT_TRUE(std::isnan(proportion(0, 0).share));
}

TEST(RunAnalysis, QuantilesInterpolate) {
  EXPECT_NEAR(quantile_of({4, 1, kMissing, 3, 2}, 0.25), 1.75, 1e-15);
  EXPECT_EQ(quantile_of({4, 1, 3, 2}, 0), 1);
  EXPECT_EQ(quantile_of({4, 1, 3, 2}, 1), 4);
  EXPECT_TRUE(std::isnan(quantile_of({kMissing}, 0.5)));
}

TEST(RunAnalysis, ASummaryCountsPointsWithoutP) {
  Results results{rows_with({{0, 0.5, 1, 1}, {1, 0.7, 1, 0}, {2, kMissing, 2, 2}, {3, 0.9, {}, 2}}), {}};
  append(results.rows, rows_with({{0, 1, 1, 1}, {1, kMissing, 1, 0}, {2, kMissing, 2, 2}, {3, kMissing, {}, 2}}, 0.2));
  results.rows.back().estimate.status = Status::undefined;
  results.rows[0].estimate.backwards = 9;
  const Summary summary = summarize(results);
  ASSERT_EQ(summary.models.size(), 1U);
  EXPECT_EQ(summary.models[0].points, 4);
  EXPECT_EQ(summary.models[0].accuracy.count, 2);
  EXPECT_EQ(summary.models[0].accuracy.of, 3);
  ASSERT_EQ(summary.groups.size(), 2U);
  const GroupSummary& first = summary.groups[0];
  EXPECT_EQ(first.points, 4);
  EXPECT_EQ(first.p.count, 3);
  EXPECT_NEAR(first.p.mean, 0.7, 1e-15);
  EXPECT_NEAR(first.p.low, 0.7 - 4.302652729749464 * 0.2 / std::sqrt(3), 1e-9);
  EXPECT_EQ(first.median, 0.7);
  EXPECT_EQ(first.unanswered, (std::vector<std::pair<Status, std::int64_t>>{{Status::nonfinite, 1}}));
  EXPECT_EQ(first.forwards, 400);
  EXPECT_EQ(first.backwards, 9);
  const GroupSummary& second = summary.groups[1];
  EXPECT_EQ(second.unanswered, (std::vector<std::pair<Status, std::int64_t>>{{Status::undefined, 1}, {Status::nonfinite, 2}}));
  EXPECT_EQ(second.p.low, 0);  // a single point only shows that p is a probability
  EXPECT_EQ(second.p.high, 1);
}

TEST(RunAnalysis, RecordedPointsCountEvenWithoutRows) {
  Results results{rows_with({{0, 0.5, 1, 1}}), {}};
  results.points = {{"", 0, 1, 1, {0, 1}}, {"", 1, 0, 1, {0, 1}}};
  const Summary summary = summarize(results);
  EXPECT_EQ(summary.models[0].points, 2);
  EXPECT_EQ(summary.models[0].accuracy.count, 1);
  EXPECT_EQ(summary.models[0].accuracy.of, 2);
}

TEST(RunAnalysis, ModelsHaveTheirOwnAccuracy) {
  Results results{{row_with({0, 0.5, 1, 1}, 0.1, "mc:1", "b"), row_with({0, 0.5, 1, 0}, 0.1, "mc:1", "a")}, {}};
  const Summary summary = summarize(results);
  ASSERT_EQ(summary.models.size(), 2U);
  EXPECT_EQ(summary.models[0].model, "b");
  EXPECT_EQ(summary.models[0].accuracy.share, 1);
  EXPECT_EQ(summary.models[1].accuracy.share, 0);
}

// ---- bias

TEST(RunAnalysis, StudentsQuantiles) {
  EXPECT_NEAR(student_quantile(1, 0.95), 12.70620473617464, 1e-9);
  EXPECT_NEAR(student_quantile(4.5, 0.95), 2.6589123472044007, 1e-9);
  EXPECT_NEAR(student_quantile(2, 1 - 0.05 / 3), 7.648803937915428, 1e-9);
  EXPECT_NEAR(student_quantile(7.25, 1 - 0.05 / 45), 5.209124767617816, 1e-9);
}

// Three classes with 3, 4 and 2 points, and one with a single point, which is not compared.
std::vector<Given> four_classes() {
  return {{0, 0.9, 0}, {1, 0.8, 0}, {2, 1.0, 0},  {3, 0.5, 4},  {4, 0.7, 4},
          {5, 0.3, 4}, {6, 0.6, 4}, {7, 0.92, 7}, {8, 0.86, 7}, {9, 0.1, 9}};
}

TEST(RunAnalysis, IntervalsOfClassesAreAdjusted) {
  const std::vector<Row> rows = rows_with(four_classes());
  const GroupBias bias = bias_of(grouped(rows)[0]);
  EXPECT_TRUE(bias.by_label);
  EXPECT_EQ(bias.classes, (std::vector<std::int64_t>{0, 4, 7, 9}));
  EXPECT_EQ(bias.compared, 3);
  EXPECT_NEAR(bias.confidence, 1 - 0.05 / 3, 1e-15);
  EXPECT_NEAR(bias.p[0].low, 0.4583960987465859, 1e-9);
  EXPECT_EQ(bias.p[0].high, 1);
  EXPECT_EQ(bias.p[1].low, 0);
  EXPECT_NEAR(bias.p[1].high, 0.8041760876172952, 1e-9);
  EXPECT_EQ(bias.p[3].count, 1);
  EXPECT_EQ(bias.all.count, 10);
  ASSERT_TRUE(bias.largest);
  EXPECT_EQ(bias.largest->most, 0);
  EXPECT_EQ(bias.largest->least, 4);
  EXPECT_NEAR(bias.largest->difference, 0.375, 1e-12);
  EXPECT_NEAR(bias.largest->high, 0.375 + 0.3693449173873147, 1e-8);
  EXPECT_NEAR(bias.largest->low, 0.375 - 0.3693449173873147, 1e-8);
}

// Class 7 is 0.365 above class 4, with an interval of 0.38 to either side, and the single point of class 9 shows little.
TEST(RunAnalysis, ClassesThatMayBeTheMostFragile) {
  EXPECT_EQ(bias_of(grouped(rows_with(four_classes()))[0]).fragile, (std::vector<std::int64_t>{4, 9, 7}));
}

TEST(RunAnalysis, WithoutLabelsClassesArePredictions) {
  std::vector<Given> points = four_classes();
  for (Given& point : points) {
    point.predicted = *point.label == 4 ? 1 : 0;
    point.label.reset();
  }
  const std::vector<Row> rows = rows_with(points);
  const GroupBias bias = bias_of(grouped(rows)[0]);
  EXPECT_FALSE(bias.by_label);
  EXPECT_EQ(bias.classes, (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(bias.p[0].count, 6);
}

TEST(RunAnalysis, OneClassHasNoDifference) {
  const std::vector<Row> one = rows_with({{0, 0.9, 3}, {1, 0.8, 3}}), none = rows_with({{0, kMissing, 3}, {1, kMissing, 4}});
  const GroupBias single = bias_of(grouped(one)[0]);
  EXPECT_FALSE(single.largest);
  EXPECT_EQ(single.fragile, (std::vector<std::int64_t>{3}));
  EXPECT_EQ(single.confidence, 0.95);
  EXPECT_FALSE(bias_of(grouped(none)[0]).largest);
  EXPECT_TRUE(bias_of(grouped(none)[0]).fragile.empty());
  EXPECT_EQ(bias_of(grouped(none)[0]).all.count, 0);
}

TEST(RunAnalysis, ClassesWithoutScatterDifferForCertain) {
  const std::vector<Row> rows = rows_with({{0, 1, 0}, {1, 1, 0}, {2, 0.5, 1}, {3, 0.5, 1}, {4, 0.2, -1}, {5, 0.2}});
  const GroupBias bias = bias_of(grouped(rows)[0]);
  EXPECT_EQ(bias.classes.size(), 2U);  // points without a label, or with -1, are omitted
  ASSERT_TRUE(bias.largest);
  EXPECT_EQ(bias.largest->low, 0.5);
  EXPECT_EQ(bias.largest->high, 0.5);
  EXPECT_EQ(bias.fragile, (std::vector<std::int64_t>{1}));
}

// ---- rank

std::vector<std::int64_t> indices(const std::vector<const Row*>& rows) {
  std::vector<std::int64_t> result;
  for (const Row* row : rows) result.push_back(row->index);
  return result;
}

TEST(RunAnalysis, RanksDistinguishPointsByPFail) {
  std::vector<Row> rows = rows_with({{0, 1}, {1, 0.2}, {2, 1}, {3, kMissing}, {4, 0.2}, {5, 0.7}});
  rows[0].estimate.p_fail = 1e-20;
  rows[2].estimate.p_fail = 1e-30;
  const Ranking ranking = ranking_of(grouped(rows)[0], 3);
  EXPECT_EQ(ranking.answered, 5);
  EXPECT_EQ(indices(ranking.least), (std::vector<std::int64_t>{1, 4, 5}));
  EXPECT_EQ(indices(ranking.most), (std::vector<std::int64_t>{2, 0, 5}));
  EXPECT_EQ(ranking_of(grouped(rows)[0], 100).most.size(), 5U);
}

// ---- curve

// p = Phi(-ln(sigma / middle) / width): Phi^-1(p) is linear in ln sigma.
double falling(double sigma, double middle, double width) { return normal::cdf(-std::log(sigma / middle) / width); }

std::vector<Row> sweep_rows(const std::vector<double>& middles) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < middles.size(); ++i) {
    for (const double sigma : {0.4, 0.1, 0.2}) {  // not in ascending order
      Row row = row_with({static_cast<std::int64_t>(i), falling(sigma, middles[i], 0.5)}, sigma, "auto:50");
      row.estimate.p_fail = normal::cdf(std::log(sigma / middles[i]) / 0.5);
      rows.push_back(row);
    }
  }
  return rows;
}

TEST(RunAnalysis, TheToleratedScaleIsExactIfTheQuantileIsLinear) {
  const double threshold = 0.9;
  const std::vector<Row> rows = sweep_rows({0.3, 0.7, 0.01, 50});
  const std::vector<RowSweep> sweeps = sweeps_of(rows);
  ASSERT_EQ(sweeps.size(), 1U);
  EXPECT_EQ(sweeps[0].shape, "gaussian");
  ASSERT_EQ(sweeps[0].scales.size(), 3U);
  EXPECT_EQ(sweeps[0].scales[0].sigma, 0.1);
  const Tolerances tolerances = tolerances_of(sweeps[0], threshold);
  ASSERT_EQ(tolerances.points.size(), 4U);
  const double factor = std::exp(-0.5 * normal::quantile(threshold));
  EXPECT_NEAR(tolerances.points[0].scale.sigma, 0.3 * factor, 1e-12);  // between 0.1 and 0.2
  EXPECT_NEAR(tolerances.points[1].scale.sigma, 0.7 * factor, 1e-12);  // between 0.2 and 0.4
  EXPECT_EQ(tolerances.points[2].scale.kind, ToleratedScale::Kind::below);
  EXPECT_EQ(tolerances.points[2].scale.sigma, 0.1);
  EXPECT_EQ(tolerances.points[3].scale.kind, ToleratedScale::Kind::above);
  EXPECT_EQ(tolerances.points[3].scale.sigma, 0.4);
  EXPECT_EQ(tolerances.below, 1);
  EXPECT_EQ(tolerances.within, 2);
  EXPECT_EQ(tolerances.above, 1);
}

TEST(RunAnalysis, QuantilesOfToleratedScalesMayBeBeyondTheRange) {
  const std::vector<Row> rows = sweep_rows({0.3, 0.7, 0.01, 50});
  const Tolerances tolerances = tolerances_of(sweeps_of(rows)[0], 0.9);
  ASSERT_EQ(tolerances.quantiles.size(), 5U);
  EXPECT_EQ(tolerances.quantiles[0].kind, ToleratedScale::Kind::below);
  EXPECT_EQ(tolerances.quantiles[2].kind, ToleratedScale::Kind::within);  // the second of four
  EXPECT_EQ(tolerances.quantiles[2].sigma, tolerances.points[0].scale.sigma);
  EXPECT_EQ(tolerances.quantiles[4].kind, ToleratedScale::Kind::above);
}

TEST(RunAnalysis, SharesOfAllSamplesCountAsHalfASampleLess) {
  std::vector<Row> rows = {row_with({0, 1}, 0.1), row_with({0, 0}, 0.4)};
  const Tolerances tolerances = tolerances_of(sweeps_of(rows)[0], 0.5);
  EXPECT_NEAR(tolerances.points[0].scale.sigma, 0.2, 1e-12);  // halfway in ln sigma, by symmetry
  const double z = normal::quantile_complement(0.005), high = tolerances_of(sweeps_of(rows)[0], 0.9).points[0].scale.sigma;
  EXPECT_NEAR(high, 0.1 * std::pow(4, (z - normal::quantile(0.9)) / (2 * z)), 1e-12);
}

TEST(RunAnalysis, ScalesWithoutPAreSkipped) {
  const std::vector<Row> rows = {row_with({0, 0.99}, 0.1), row_with({0, kMissing}, 0.2), row_with({0, 0.5}, 0.4),
                                 row_with({1, kMissing}, 0.1), row_with({1, kMissing}, 0.4)};
  const Tolerances tolerances = tolerances_of(sweeps_of(rows)[0], 0.9);
  ASSERT_EQ(tolerances.points.size(), 1U);
  EXPECT_EQ(tolerances.unanswered, 1);
  const double z = normal::quantile(0.99);
  EXPECT_NEAR(tolerances.points[0].scale.sigma, 0.1 * std::pow(4, (z - normal::quantile(0.9)) / z), 1e-12);
}

TEST(RunAnalysis, TheThresholdIsAProbability) {
  const std::vector<Row> rows = sweep_rows({0.3});
  for (const double threshold : {0.0, 1.0, -1.0, kMissing}) EXPECT_THROW(tolerances_of(sweeps_of(rows)[0], threshold), Error);
  const std::vector<Row> at = {row_with({0, 0.95}, 0.1), row_with({0, 0.9}, 0.2), row_with({0, 0.9}, 0.4)};
  EXPECT_EQ(tolerances_of(sweeps_of(at)[0], 0.9).points[0].scale.sigma, 0.2);  // the first scale at which it is reached
}

// ---- agree

TEST(RunAnalysis, EstimatorsAreComparedPointByPoint) {
  Results results{rows_with({{0, 0.9}, {1, 0.8}, {2, 0.5}, {3, kMissing}}), {}};
  append(results.rows, rows_with({{3, 0.3}, {2, 0.4}, {1, 0.8}, {0, 1.0}}, 0.1, "taylor"));
  append(results.rows, rows_with({{0, 0.5}}, 0.2, "taylor"));
  const std::vector<Comparison> pairs = compare_estimators(results);
  ASSERT_EQ(pairs.size(), 1U);
  EXPECT_EQ(pairs[0].a, "mc:100");
  EXPECT_EQ(pairs[0].b, "taylor");
  EXPECT_EQ(pairs[0].p.count, 3);
  EXPECT_NEAR(pairs[0].p.mae, 0.2 / 3, 1e-12);
  EXPECT_NEAR(pairs[0].p.bias, 0, 1e-12);
  EXPECT_NEAR(pairs[0].p.spearman, 1, 1e-15);
  EXPECT_EQ(pairs[0].reference, "mc:100");
  EXPECT_NEAR(pairs[0].relative_p, (0.1 / 0.9 + 0 + 0.1 / 0.5) / 3, 1e-12);
  EXPECT_NEAR(pairs[0].relative_fail, (0.1 / 0.1 + 0 + 0.1 / 0.5) / 3, 1e-12);
  EXPECT_EQ(indices(pairs[0].points), (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(pairs[0].p_b, (std::vector<double>{1.0, 0.8, 0.4}));
}

TEST(RunAnalysis, TheSoftmaxProbabilityComesFromTheLogits) {
  Results results{rows_with({{0, 0.9, {}, 1}, {1, 0.6, {}, 0}, {2, 0.6, {}, 0}}), {}};
  const float ln3 = std::log(3.0F);
  results.points = {{"", 0, {}, 1, {0, ln3, -1000}}, {"", 1, {}, 0, {0, 0}}, {"", 2, {}, 0, {}}};
  const std::vector<Comparison> pairs = compare_estimators(results);
  ASSERT_EQ(pairs.size(), 1U);
  EXPECT_EQ(pairs[0].b, kSoftmax);
  ASSERT_EQ(pairs[0].points.size(), 2U);  // the third point has no logits
  EXPECT_NEAR(pairs[0].p_b[0], 0.75, 1e-7);
  EXPECT_NEAR(pairs[0].p_b[1], 0.5, 1e-15);
  EXPECT_NEAR(pairs[0].relative_p, (0.15 / 0.9 + 0.1 / 0.6) / 2, 1e-7);
  EXPECT_NEAR(pairs[0].relative_fail, (0.15 / 0.1 + 0.1 / 0.4) / 2, 1e-7);
}

TEST(RunAnalysis, RelativeErrorsAreRelativeToMonteCarlo) {
  Results results{rows_with({{0, 0.8}, {1, 0.5}}, 0.1, "taylor"), {}};
  append(results.rows, rows_with({{0, 0.5}, {1, 0}}, 0.1, "mc:100"));
  append(results.rows, rows_with({{0, 0.4}, {1, 0}}, 0.1, "mc:1000"));
  append(results.rows, rows_with({{0, 0.4}, {1, 0.4}}, 0.1, "adf"));
  const std::vector<Comparison> pairs = compare_estimators(results);
  ASSERT_EQ(pairs.size(), 6U);
  const auto expect = [&](std::size_t pair, const std::string& reference, double relative_p) {
    EXPECT_EQ(pairs[pair].reference, reference) << pair;
    EXPECT_NEAR(pairs[pair].relative_p, relative_p, 1e-12) << pair;
  };
  expect(0, "mc:100", 0.3 / 0.5);  // the second point, whose reference is 0, does not count
  expect(1, "mc:1000", 1);
  expect(2, "taylor", (0.5 + 0.1 / 0.5) / 2);
  expect(3, "mc:1000", 0.1 / 0.4);
  expect(4, "mc:100", 0.1 / 0.5);
  expect(5, "mc:1000", 0);
}

TEST(RunAnalysis, NoCommonPointsGiveNaN) {
  Results results{rows_with({{0, 0.9}, {1, kMissing}}), {}};
  append(results.rows, rows_with({{0, kMissing}, {1, 0.3}}, 0.1, "taylor"));
  const std::vector<Comparison> pairs = compare_estimators(results);
  ASSERT_EQ(pairs.size(), 1U);
  EXPECT_EQ(pairs[0].p.count, 0);
  EXPECT_TRUE(pairs[0].points.empty());
  EXPECT_TRUE(std::isnan(pairs[0].p.mae));
  EXPECT_TRUE(std::isnan(pairs[0].relative_p));
}

// ---- distance

Row counted(std::int64_t index, std::int64_t kept, std::int64_t copies, double sigma) {
  const auto n = static_cast<double>(copies);
  Row row = row_with({index, static_cast<double>(kept) / n}, sigma, "mc:" + std::to_string(copies));
  row.estimate.forwards = copies;
  return row;
}

// If all n samples agree, Clopper and Pearson's one-sided bound is alpha^(1/n). According to Cohen et al. (section 3.2.2),
// 100,000 samples then certify 3.8 sigma at alpha = 0.001.
TEST(RunAnalysis, CertifiedRadii) {
  const std::vector<Row> rows = {counted(0, 100000, 100000, 0.25), counted(1, 60000, 100000, 0.25),
                                 counted(2, 50100, 100000, 0.25), counted(3, 0, 100000, 0.25)};
  const GroupCertificates group = certificates_of(grouped(rows)[0]);
  ASSERT_EQ(group.points.size(), 4U);
  EXPECT_NEAR(group.points[0].p_low, std::pow(0.001, 1e-5), 1e-12);
  EXPECT_NEAR(group.points[0].radius, 0.25 * normal::quantile(std::pow(0.001, 1e-5)), 1e-7);
  EXPECT_NEAR(group.points[0].radius / 0.25, 3.81, 0.005);
  EXPECT_NEAR(group.points[1].p_low, 0.5952010472945846, 1e-9);  // scipy.stats.beta.ppf(0.001, 60000, 40001)
  EXPECT_EQ(group.points[2].radius, 0);                          // the bound is below 1/2
  EXPECT_EQ(group.certified, 2);
  EXPECT_EQ(group.share_beyond(0.5), 0.25);
  EXPECT_EQ(group.share_beyond(0), 0.5);
}

TEST(RunAnalysis, OnlyCountsUnderIsotropicGaussianNoiseCertify) {
  const auto reason = [](Row row) {
    const std::vector<Row> rows = {std::move(row)};
    return certificates_of(grouped(rows)[0]).reason;
  };
  EXPECT_EQ(reason(counted(0, 90, 100, 0.1)), "");
  Row clipped = counted(0, 90, 100, 0.1);
  clipped.noise = "gaussian:0.1|clip:0,1";
  EXPECT_EQ(reason(clipped), "");
  for (const char* noise : {"uniform:0.1", "gaussian:0.1@0..3", "gaussian:std=a.npy", "gaussian:0.1@0+laplace:0.1@1"}) {
    Row other = counted(0, 90, 100, 0.1);
    other.noise = noise;
    EXPECT_NE(reason(other), "") << noise;
  }
  for (const char* estimator : {"auto:100", "mc:100:stratified", "mc:±0.01", "mc:p>0.9", "taylor", "mc:"}) {
    Row other = counted(0, 90, 100, 0.1);
    other.estimator = estimator;
    EXPECT_NE(reason(other), "") << estimator;
  }
  Row smoothed = counted(0, 90, 100, 0.1);
  smoothed.estimate.p = 0.9012345;
  EXPECT_EQ(reason(smoothed), "no row has a count of noisy samples");
  EXPECT_EQ(reason(row_with({0, kMissing}, 0.1)), "no row has a count of noisy samples");
  const std::vector<Row> rows = {counted(0, 90, 100, 0.1)};
  for (const double confidence : {0.4, 1.0, kMissing}) EXPECT_THROW(certificates_of(grouped(rows)[0], confidence), Error);
}

// 40 points share draws: 16 draws serve 40 points, and a quarter of the errors' variance is common. The mean's variance grows
// by 16 / 40 of it.
TEST(RunAnalysis, IntervalsOfMeansIncludeSharedErrors) {
  const auto rows_of = [](const std::string& estimator, std::int64_t count) {
    std::vector<Row> rows;
    for (std::int64_t i = 0; i < count; ++i) {
      rows.push_back(row_with({i, i % 2 == 0 ? 0.4 : 0.8, i % 4 < 2 ? 0 : 1}, 0.1, estimator));
      rows.back().estimate.std_error = 0.05;
    }
    return rows;
  };
  const auto common = [&](const std::string& estimator, std::int64_t count) {
    const std::vector<Row> rows = rows_of(estimator, count);
    return grouped(rows)[0].common_variance();
  };
  EXPECT_EQ(common("probit:24:learned", 40), 0);
  EXPECT_EQ(common("no such estimator", 40), 0);
  EXPECT_NEAR(common("probit:24:shared", 40), 0.25 * 16 / 40 * 0.05 * 0.05, 1e-15);
  EXPECT_NEAR(common("probit:24:shared", 10), 0.25 * 0.05 * 0.05, 1e-15);  // one draw serves all points
  std::vector<Row> mixed = rows_of("auto:24", 40);
  EXPECT_EQ(grouped(mixed)[0].common_variance(), 0);
  for (std::size_t i = 0; i < 20; ++i) mixed[i].estimate.method = parse_estimator("probit:24:shared");
  EXPECT_NEAR(grouped(mixed)[0].common_variance(), 0.25 * 0.25 * 16 / 20 * 0.05 * 0.05, 1e-15);

  const std::vector<Row> rows = rows_of("probit:24:shared", 40);
  const double spread = 40.0 / 39 * 0.04 / 40, half = student_quantile(39, 0.95) * std::sqrt(spread + 0.00025);
  const MeanInterval mean = summarize({rows}).groups[0].p;
  EXPECT_NEAR(mean.high - mean.mean, half, 1e-9);
  EXPECT_NEAR(bias_of(grouped(rows)[0]).all.high - mean.mean, half, 1e-9);
  const MeanInterval of_class = bias_of(grouped(rows)[0]).p[0];
  EXPECT_NEAR(of_class.high - of_class.mean, student_quantile(19, 0.975) * std::sqrt(20.0 / 19 * 0.04 / 20 + 0.00025), 1e-9);
}

// ---- accuracy under noise

TEST(RunAnalysis, AccuracyUnderNoiseIsTheMeanProbabilityOfTheLabel) {
  std::vector<Row> rows = rows_with({{0, 0.9, 0}, {1, 0.8, 1}, {2, 0.7}});
  rows[0].estimate.p_label = 0.9;
  rows[1].estimate.p_label = 0.1;
  const Summary summary = summarize({rows, {}, {}});
  ASSERT_EQ(summary.groups.size(), 1U);
  EXPECT_NEAR(summary.groups[0].noisy.mean, 0.5, 1e-12);
  EXPECT_EQ(summary.groups[0].noisy.count, 2);
  EXPECT_NEAR(summary.groups[0].p.mean, 0.8, 1e-12);
  EXPECT_EQ(summary.models[0].accuracy.count, 1);
  EXPECT_EQ(summary.models[0].accuracy.of, 2);
  const GroupBias bias = bias_of(grouped(rows)[0]);
  ASSERT_EQ(bias.noisy.size(), 2U);
  EXPECT_EQ(bias.clean[0].share, 1);
  EXPECT_EQ(bias.clean[1].share, 0);
  EXPECT_EQ(bias.noisy[1].mean, 0.1);
}

TEST(RunAnalysis, WithoutLabelsThereIsNoAccuracyUnderNoise) {
  const std::vector<Row> rows = rows_with({{0, 0.9}, {1, 0.8}});
  EXPECT_EQ(summarize({rows, {}, {}}).groups[0].noisy.count, 0);
  EXPECT_TRUE(bias_of(grouped(rows)[0]).noisy.empty());
  EXPECT_TRUE(bias_of(grouped(rows)[0]).clean.empty());
}

TEST(RunAnalysis, ABoundOfPFailIsNotAnEstimate) {
  std::vector<Row> rows = {row_with({0, 0.9999}, 0.1), row_with({0, 0.5}, 0.2)};
  const Tolerances exact = tolerances_of(sweeps_of(rows)[0], 0.9);
  rows[0].estimate.p_fail = 0.034;
  rows[0].estimate.status = Status::bound;
  const Tolerances bounded = tolerances_of(sweeps_of(rows)[0], 0.9);
  EXPECT_NEAR(bounded.points[0].scale.sigma, exact.points[0].scale.sigma, 1e-9);
}

}  // namespace
}  // namespace probust
