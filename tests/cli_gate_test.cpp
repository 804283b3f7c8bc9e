// SPDX-License-Identifier: MIT
// probust gate: exit status, table, JSON and JUnit XML (which junit_test.py parses).
#include <gtest/gtest.h>

#include <cmath>

#include "support/command.h"
#include "support/run_file_of.h"
#include "support/run_rows.h"

namespace probust {
namespace {

using test::Finished;
using test::Folder;
using test::mentions;
using test::row_of_p;
using test::rows_of_p;
using test::run_file_of;

// Two noises. Under the first, p is 0.7 to 0.9; under the second, it is 0.2 lower.
std::vector<Row> two_noises(double lower_by = 0) {
  std::vector<Row> rows;
  for (int k = 0; k < 30; ++k) {
    rows.push_back(row_of_p(k, 0.7 + 0.1 * (k % 3) - lower_by, k % 3));
    rows.push_back(row_of_p(k, 0.5 + 0.1 * (k % 3) - lower_by, k % 3));
    rows.back().noise = "gaussian:0.2";
  }
  return rows;
}

int status_of_gate(const std::string& arguments) { return test::probust("gate " + arguments).status; }

TEST(CliGate, EveryGroupHasToMeetEveryThreshold) {
  const Folder folder;
  const std::string run = run_file_of(folder / "run.sqlite", two_noises());
  EXPECT_EQ(status_of_gate(run + " --min-mean 0.59 --min-quantile 0.05=0.5 --min-quantile 0.5=0.6 --min-class 0.49"), 0);
  EXPECT_EQ(status_of_gate(run + " --min-mean 0.61"), 1);
  EXPECT_EQ(status_of_gate(run + " --min-mean 0.59 --min-quantile 0.05=0.51"), 1);
  EXPECT_EQ(status_of_gate(run + " --min-class 0.51"), 1);
  EXPECT_EQ(status_of_gate(run + " --min-mean 0.61 --noise gaussian:0.1"), 0);
  EXPECT_EQ(status_of_gate(run + " --min-mean 0.61 --noise gaussian:0.2 --estimator mc:100"), 1);
  EXPECT_EQ(status_of_gate(run + " --min-mean 0.61 --confident"), 0);  // the interval is 0.570..0.630
  EXPECT_EQ(status_of_gate(run + " --min-mean 0.64 --confident"), 1);
  const Finished failed = test::probust("gate " + run + " --min-class 0.6");
  EXPECT_TRUE(mentions(failed.out, "gaussian:0.2  mc:100     worst class's mean p (0)    0.5000")) << failed.out;
  EXPECT_TRUE(mentions(failed.out, "2 checks, 1 not met\n")) << failed.out;
}

TEST(CliGate, ADropIsMeasuredAgainstTheBaseline) {
  const Folder folder;
  const std::string baseline = folder / "base.sqlite", flags = " --baseline " + baseline + " --max-drop ";
  run_file_of(baseline, two_noises());
  EXPECT_EQ(status_of_gate(baseline + flags + "0"), 0);
  const std::string lower = run_file_of(folder / "lower.sqlite", two_noises(0.05));
  EXPECT_EQ(status_of_gate(lower + flags + "0.051"), 0);
  EXPECT_EQ(status_of_gate(lower + flags + "0.04"), 1);
  const Finished other =
      test::probust("gate " + run_file_of(folder / "other.sqlite", two_noises(), {{"data", "two"}}) + flags + "0.5");
  EXPECT_EQ(other.status, 3) << other.out;
  EXPECT_TRUE(mentions(other.err, "other.sqlite is not comparable")) << other.err;
  std::vector<Row> labels = two_noises();
  for (Row& row : labels) row.label = 9;
  EXPECT_EQ(status_of_gate(run_file_of(folder / "labels.sqlite", labels) + flags + "0.5"), 3);
}

TEST(CliGate, WarnsOfOtherPreprocessingThanTheBaselines) {
  const Folder folder;
  std::vector<Row> unlabelled = two_noises();
  for (Row& row : unlabelled) row.label.reset();
  const std::string flags = " --max-drop 0 --baseline ", warning = "warning: mean is '0.5', but '' in the baseline";
  for (const bool labels : {false, true}) {
    const std::vector<Row> rows = labels ? two_noises() : unlabelled;
    const std::string baseline = run_file_of(folder / "base.sqlite", rows, {{"mean", ""}});
    const std::string run = run_file_of(folder / "run.sqlite", rows, {{"mean", "0.5"}});
    EXPECT_EQ(mentions(test::probust("gate " + run + flags + baseline).err, warning), !labels);
    EXPECT_EQ(mentions(test::probust("compare " + baseline + " " + run).err, warning), !labels);
  }
}

// 30 points, each of which only excludes p_fail > 0.036, do not show that nothing ever fails.
TEST(CliGate, TheIntervalOfAMeanOfBoundsExtendsToTheirLimit) {
  const Folder folder;
  std::vector<Row> rows = rows_of_p(std::vector<double>(30, 1.0));
  for (Row& row : rows) {
    row.estimate.status = Status::bound;
    row.estimate.p_fail = 0.036;
  }
  const std::string run = run_file_of(folder / "run.sqlite", rows);
  EXPECT_TRUE(mentions(test::probust("gate " + run + " --min-mean 0.9").out, "0.9988..1.0000"));
  EXPECT_TRUE(mentions(test::probust("summary " + run).out, "0.9988..1.0000"));
}

TEST(CliGate, ARunThatLacksPointsFailsUnlessAllowed) {
  const Folder folder;
  const auto both = [&](const std::string& arguments, const std::string& warning) {
    const Finished failed = test::probust("gate " + arguments), allowed = test::probust("gate " + arguments + " --allow-partial");
    EXPECT_EQ(failed.status, 1) << failed.out;
    EXPECT_EQ(allowed.status, 0) << allowed.out;
    EXPECT_TRUE(mentions(failed.out, "points with p")) << failed.out;
    for (const Finished& one : {failed, allowed}) EXPECT_TRUE(mentions(one.err, warning)) << one.err;
  };
  const std::vector<Row> rows = rows_of_p({0.9, 0.9, 0.9});
  both(run_file_of(folder / "planned.sqlite", rows, {{"data", "one"}}, {{"points", "5"}}) + " --min-mean 0.5",
       "gaussian:0.1, mc:100: only 3 of 5 points have p");
  both(run_file_of(folder / "nan.sqlite", rows_of_p({0.9, NAN, 0.9})) + " --min-mean 0.5", "only 2 of 3 points have p");
  const std::string baseline = run_file_of(folder / "base.sqlite", rows_of_p({0.9, 0.9, 0.9, 0.9}));
  const std::string fewer = run_file_of(folder / "fewer.sqlite", rows), flags = " --max-drop 0.1 --baseline ";
  both(fewer + flags + baseline, "only 3 of 4 points have p");
  std::vector<Row> more = rows;
  for (Row row : rows) {
    row.noise = "gaussian:0.7";
    more.push_back(row);
  }
  both(fewer + flags + run_file_of(folder / "more.sqlite", more), "gaussian:0.7, mc:100: only 0 of 3 points have p");
  const std::string complete = run_file_of(folder / "all.sqlite", rows, {{"data", "one"}}, {{"points", "3"}});
  EXPECT_EQ(status_of_gate(complete + " --min-mean 0.5"), 0);
}

TEST(CliGate, WrongOptionsAreUsageErrors) {
  const Folder folder;
  const std::string run = run_file_of(folder / "run.sqlite", two_noises());
  for (const char* options :
       {"", "--min-mean 1.1", "--min-mean -0.1", "--min-mean nan", "--min-mean x", "--min-class inf", "--min-quantile 0.5",
        "--min-quantile 0.5=", "--min-quantile =0.5", "--min-quantile 2=0.5", "--min-quantile 0.5=0.5=0.5",
        "--min-quantile nan=0.5", "--max-drop 0.1", "--min-mean 0.5 --baseline run.sqlite", "--min-mean 0.5 --noise gaussian:9",
        "--min-mean 0.5 --estimator mc:1"}) {
    const Finished finished = test::probust("gate " + run + " " + options);
    EXPECT_EQ(finished.status, 2) << options << ": " << finished.out << finished.err;
    EXPECT_EQ(test::lines_of(finished.err).size(), 1U) << finished.err;
  }
  EXPECT_EQ(status_of_gate(folder / "none.sqlite" + " --min-mean 0.5"), 3);
  EXPECT_TRUE(mentions(test::probust("gate " + run + " --min-mean 0.5 --noise gaussian:9").err, "gaussian:0.1, gaussian:0.2"));
  EXPECT_EQ(status_of_gate(run + " --min-mean 0.5 --junit " + folder / "." + "/run.sqlite"), 2);
  EXPECT_EQ(status_of_gate(run + " --min-mean 0.5"), 0);  // the run is unchanged
}

TEST(CliGate, ChecksArePrintedEvenIfTheirFileCannotBeWritten) {
  const Folder folder;
  const std::string run = run_file_of(folder / "run.sqlite", two_noises());
  for (const std::string& file : {std::string("/none/report.xml"), folder / "."}) {
    const Finished finished = test::probust("gate " + run + " --min-mean 0.61 --junit " + file);
    EXPECT_EQ(finished.status, 5) << file;
    EXPECT_TRUE(mentions(finished.out, "mean p") && mentions(finished.out, "1 not met")) << finished.out;
    EXPECT_EQ(test::lines_of(finished.err).size(), 1U) << finished.err;
    EXPECT_TRUE(mentions(finished.err, file + " cannot be written: ")) << finished.err;
  }
}

TEST(CliGate, JsonHasTheChecks) {
  const Folder folder;
  const std::string run = run_file_of(folder / "run.sqlite", two_noises());
  const Finished finished = test::probust("gate " + run + " --min-mean 0.75 --min-class 0.1 --json");
  EXPECT_EQ(finished.status, 1);
  const nlohmann::json document = nlohmann::json::parse(finished.out);
  EXPECT_EQ(document["met"], false);
  ASSERT_EQ(document["checks"].size(), 4U);
  EXPECT_EQ(document["checks"][2]["noise"], "gaussian:0.2");
  EXPECT_NEAR(document["checks"][2]["measured"].get<double>(), 0.6, 1e-12);
  EXPECT_EQ(document["checks"][2]["met"], false);
  EXPECT_EQ(document["checks"][3]["class"], 0);
}

TEST(CliGate, AccuraciesNeedLabels) {
  const Folder folder;
  std::vector<Row> rows;
  for (int i = 0; i < 10; ++i) rows.push_back(test::labelled_row(i, 1, i < 5 ? 0.9 : 0.1, i < 6));
  const std::string run = run_file_of(folder / "run.sqlite", rows);
  EXPECT_EQ(status_of_gate(run + " --min-accuracy 0.6 --min-noisy-accuracy 0.49"), 0);
  EXPECT_EQ(status_of_gate(run + " --min-accuracy 0.61"), 1);
  EXPECT_EQ(status_of_gate(run + " --min-noisy-accuracy 0.51"), 1);
  EXPECT_EQ(status_of_gate(run + " --min-noisy-accuracy 0.51 --confident"), 0);
  const Finished failed = test::probust("gate " + run + " --min-noisy-accuracy 0.6 --json");
  const auto check = nlohmann::json::parse(failed.out)["checks"][0];
  EXPECT_EQ(check["check"], "accuracy under noise >= 0.6");
  EXPECT_NEAR(check["measured"].get<double>(), 0.5, 1e-12);
  for (Row& row : rows) row.estimate.p_label.reset();
  const std::string old = run_file_of(folder / "old.sqlite", rows);
  EXPECT_EQ(status_of_gate(old + " --min-accuracy 0.6"), 0);
  const Finished unknown = test::probust("gate " + old + " --min-noisy-accuracy 0.5");
  EXPECT_EQ(unknown.status, 2);
  EXPECT_TRUE(mentions(unknown.err, "--min-noisy-accuracy needs the probabilities of labels")) << unknown.err;
  for (Row& row : rows) row.label.reset();
  const Finished none = test::probust("gate " + run_file_of(folder / "none.sqlite", rows) + " --min-accuracy 0.5");
  EXPECT_EQ(none.status, 2);
  EXPECT_TRUE(mentions(none.err, "--min-accuracy needs labels")) << none.err;
}

}  // namespace
}  // namespace probust
