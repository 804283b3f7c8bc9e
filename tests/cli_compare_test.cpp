// SPDX-License-Identifier: MIT
// probust compare: runs on the same points, each compared with the first one.
#include <gtest/gtest.h>

#include <cmath>

#include "support/command.h"
#include "support/onnx_builder.h"
#include "support/run_file_of.h"
#include "support/run_rows.h"

namespace probust {
namespace {

using test::Finished;
using test::Folder;
using test::kDigits;
using test::mentions;
using test::row_of_p;
using test::rows_of_p;
using test::run_file_of;

nlohmann::json json_of(const std::string& arguments) {
  const Finished finished = test::probust("compare " + arguments + " --json");
  EXPECT_EQ(finished.status, 0) << finished.err;
  return nlohmann::json::parse(finished.out);
}

// Two inputs and two classes; class 0 wins if x_0 > slope x_1.
std::string half_plane(double slope) {
  test::OnnxBuilder builder;
  builder.input("x", {-1, 2}).weight("w", Tensor({2, 2}, {1, 0, 0, static_cast<float>(slope)}));
  return builder.node("MatMul", {"x", "w"}, {"y"}).output("y", {-1, 2}).bytes();
}

TEST(CliCompare, ARunDoesNotDifferFromItself) {
  const Folder folder;
  const std::string run = folder / "run.sqlite";
  ASSERT_EQ(test::probust("estimate " + kDigits + " --sigma 0.2,0.4 --estimator mc:50,taylor --quiet -o " + run).status, 0);
  const nlohmann::json document = json_of(run + " " + run);
  ASSERT_EQ(document["comparisons"].size(), 1U);
  ASSERT_EQ(document["comparisons"][0]["groups"].size(), 4U);
  for (const auto& group : document["comparisons"][0]["groups"]) {
    EXPECT_EQ(group["points"], 40) << group;
    EXPECT_EQ(group["difference"], 0.0);
    EXPECT_EQ(group["ci_low"], 0.0);
    EXPECT_EQ(group["ci_high"], 0.0);
    EXPECT_EQ(group["sign_test"], 1.0);
  }
}

TEST(CliCompare, TheMoreRobustModelHasAPositiveDifference) {
  const Folder folder;
  const std::string points = folder.write("x.csv", "2,1\n3,1\n4,2\n2,1.5\n"),
                    flags = " --label-column none --sigma 1 --estimator taylor";
  const std::string near = folder.write("near.onnx", half_plane(1)), far = folder.write("far.onnx", half_plane(0.2));
  for (const std::string& model : {near, far})
    ASSERT_EQ(test::probust("estimate " + model + " " + points + flags + " --quiet -o " + model + ".sqlite").status, 0);
  const std::string runs = near + ".sqlite " + far + ".sqlite";
  const auto p = [](double slope, double x, double y) {
    return 0.5 * std::erfc(-(x - slope * y) / std::sqrt(1 + slope * slope) / std::sqrt(2));
  };
  double expected = 0;
  for (const auto& [x, y] : {std::pair{2.0, 1.0}, {3.0, 1.0}, {4.0, 2.0}, {2.0, 1.5}})
    expected += (p(0.2, x, y) - p(1, x, y)) / 4;
  const auto group = json_of(runs)["comparisons"][0]["groups"][0];
  EXPECT_NEAR(group["difference"].get<double>(), expected, 1e-6);
  EXPECT_EQ(group["higher"], 4);
  const Finished table = test::probust("compare " + runs);
  EXPECT_TRUE(mentions(table.out, "gaussian:1  taylor          4")) << table.out;
  EXPECT_TRUE(mentions(table.out, "  +0.")) << table.out;
}

TEST(CliCompare, PointsOfOnlyOneRunAreListed) {
  const Folder folder;
  std::vector<Row> rows = rows_of_p({0.5, 0.6, 0.7});
  const std::string a = run_file_of(folder / "a.sqlite", rows);
  rows[2].estimate.p = NAN;
  for (int k = 100; k < 110; ++k) rows.push_back(row_of_p(k, 0.5));
  const std::string b = run_file_of(folder / "b.sqlite", rows);
  const std::string out = test::probust("compare " + a + " " + b).out;
  EXPECT_TRUE(mentions(out, "10 points only in B: 100, 101, 102, 103, 104, 105, 106, 107, ...\n")) << out;
  EXPECT_TRUE(mentions(out, "1 point without p in A or B\n")) << out;
  EXPECT_EQ(json_of(a + " " + b)["comparisons"][0]["groups"][0]["only_run"].size(), 10U);
}

TEST(CliCompare, ModelsOfOneRunAndEstimatorsAreCompared) {
  const Folder folder;
  std::vector<Row> rows;
  for (const char* model : {"first", "second", "third"}) {
    for (Row row : rows_of_p({0.5, 0.6, 0.7})) {
      row.model = model;
      row.estimate.p += rows.size() < 3 ? 0.0 : rows.size() < 6 ? 0.1 : -0.1;
      rows.push_back(row);
    }
  }
  const std::string models = run_file_of(folder / "models.sqlite", rows);
  const nlohmann::json document = json_of(models);
  ASSERT_EQ(document["comparisons"].size(), 2U);
  EXPECT_EQ(document["comparisons"][1]["baseline"]["model"], "first");
  EXPECT_EQ(document["comparisons"][1]["run"]["model"], "third");
  EXPECT_NEAR(document["comparisons"][0]["groups"][0]["difference"].get<double>(), 0.1, 1e-12);
  EXPECT_NEAR(document["comparisons"][1]["groups"][0]["difference"].get<double>(), -0.1, 1e-12);

  std::vector<Row> both = rows_of_p({0.5, 0.6});
  for (Row row : rows_of_p({0.7, 0.8})) {
    row.estimator = "taylor";
    both.push_back(row);
  }
  const std::string run = run_file_of(folder / "both.sqlite", both);
  const auto groups = json_of(run + " --against mc:100")["comparisons"][0]["groups"];
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[1]["estimator"], "taylor");
  EXPECT_EQ(groups[1]["baseline_estimator"], "mc:100");
  EXPECT_NEAR(groups[1]["difference"].get<double>(), 0.2, 1e-12);
}

TEST(CliCompare, RejectsRunsThatCannotBeCompared) {
  const Folder folder;
  const std::string a = run_file_of(folder / "a.sqlite", {row_of_p(0, 0.5, 3)});
  const auto refused = [&](const std::string& with, int status, const std::string& part) {
    const Finished finished = test::probust("compare " + a + " " + with);
    EXPECT_EQ(finished.status, status) << finished.err;
    EXPECT_TRUE(mentions(finished.err, part)) << finished.err;
  };
  refused(run_file_of(folder / "labels.sqlite", {row_of_p(0, 0.5, 4)}), 3,
          "labels.sqlite has different data: point 0 has label 4 here, but 3 in the baseline");
  refused(run_file_of(folder / "data.sqlite", {row_of_p(0, 0.5, 3)}, {{"data", "two"}}), 3, "data is 'two' here and 'one' there");
  Row other = row_of_p(0, 0.5);
  other.noise = "gaussian:0.5";
  refused(run_file_of(folder / "noise.sqlite", {other}), 3, "has no row with the same point, noise and estimator");
  refused("", 2, "cannot be compared with itself");
  refused(folder / "none.sqlite", 3, "cannot be opened");
}

TEST(CliCompare, TheFirstLineNamesTheMoreRobustModel) {
  const Folder folder;
  std::vector<Row> right, wrong;
  for (int i = 0; i < 20; ++i) {
    right.push_back(test::labelled_row(i, 0.8, 0.8, true));
    wrong.push_back(test::labelled_row(i, 0.99, 0.01, false));
  }
  const std::string runs = run_file_of(folder / "a.sqlite", right) + " " + run_file_of(folder / "b.sqlite", wrong);
  const std::string out = test::probust("compare " + runs).out;
  EXPECT_EQ(
      out.rfind("B keeps the correct prediction under noise less often than A: 1% against 80%, difference -79 percentage points",
                0),
      0U)
      << out;
  EXPECT_TRUE(mentions(out, "100.0%     0.0%")) << out;
  const auto first = json_of(runs)["comparisons"][0];
  EXPECT_EQ(out.rfind(first["sentence"].get<std::string>(), 0), 0U);
  EXPECT_EQ(first["groups"][0]["clean_accuracy"], 0.0);
  EXPECT_NEAR(first["groups"][0]["noisy_accuracy"].get<double>(), 0.01, 1e-12);
  EXPECT_NEAR(first["groups"][0]["noisy_difference"].get<double>(), -0.79, 1e-12);
  EXPECT_GT(first["groups"][0]["difference"].get<double>(), 0);
}

}  // namespace
}  // namespace probust
