// SPDX-License-Identifier: MIT
// The command line: its output, and how it reports errors.
#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "datasets/npy.h"
#include "probust/base/text.h"
#include "support/command.h"
#include "support/onnx_builder.h"

namespace probust {
namespace {

using nlohmann::json;
using test::digits;
using test::Finished;
using test::Folder;
using test::kDigits;
using test::lines_of;
using test::rows;

// An error: the documented status, nothing on stdout, one line of the documented form on stderr.
void expect_refusal(const Finished& finished, int status, const std::string& mentions = {}) {
  EXPECT_EQ(finished.status, status) << finished.err;
  EXPECT_EQ(finished.out, "");
  EXPECT_EQ(lines_of(finished.err).size(), 1U) << finished.err;
  EXPECT_EQ(finished.err.rfind("probust: ", 0), 0U) << finished.err;
  EXPECT_NE(finished.err.find(mentions), std::string::npos) << finished.err;
}

// x [1, 2] times a weight [2, 2] that is in another file, after 8 unrelated bytes.
std::string model_with_external_weight(const std::string& location, const std::string& length) {
  const std::string tensor = test::encode_external({2, 2}, "w", location, "8", length);
  test::OnnxBuilder builder;
  builder.input("x", {-1, 2}).initializer(tensor).node("MatMul", {"x", "w"}, {"y"}).output("y", {-1, 2});
  return builder.bytes();
}

TEST(Cli, WeightsMayBeInAnotherFile) {
  const Folder folder;
  const float weights[] = {0, 0, 1, 2, 3, 4};
  folder.write("w.data", std::string(reinterpret_cast<const char*>(weights), sizeof weights));
  const std::string points = folder.write("x.csv", "1,10\n");
  const auto logits = [&](const std::string& location, const std::string& length) {
    const std::string model = folder.write("m.onnx", model_with_external_weight(location, length));
    return test::probust("logits '" + model + "' '" + points + "' --label-column none -o '" + folder / "y.npy" + "' --quiet");
  };
  const Finished finished = logits("w.data", "16");
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(read_npy(folder / "y.npy")->data, (std::vector<float>{31, 42}));
  expect_refusal(logits("w.data", "20"), 3, "end of 'w.data'");
  expect_refusal(logits("missing.data", "16"), 3, "missing.data");
  expect_refusal(logits("../w.data", "16"), 3, "outside the model's folder");
  expect_refusal(logits("w.data", "-1"), 3, "length");
}

// keras2onnx may write nodes before the nodes whose outputs they read.
TEST(Cli, NodesMayBeInAnyOrder) {
  const Folder folder;
  const std::string sorted = test::read_whole(digits("digits.onnx")), reversed = test::with_reversed_nodes(sorted);
  ASSERT_EQ(reversed.size(), sorted.size());
  ASSERT_NE(reversed, sorted);
  const std::string model = "'" + folder.write("digits.onnx", reversed) + "'",
                    points = " '" + digits("points.npz") + "' --limit 3 --quiet";
  const Finished inspected = test::probust("inspect --json " + model);
  EXPECT_EQ(inspected.status, 0) << inspected.err;
  EXPECT_EQ(json::parse(inspected.out)["classes"], 10);
  const auto logits = [&](const std::string& of, const std::string& to) {
    const Finished finished = test::probust("logits " + of + points + " -o '" + folder / to + "'");
    EXPECT_EQ(finished.status, 0) << finished.err;
    return read_npy(folder / to)->data;
  };
  const std::string original = "'" + digits("digits.onnx") + "'";
  EXPECT_EQ(logits(model, "a.npy"), logits(original, "b.npy"));
  const std::string mc = " --sigma 0.4 --estimator mc:100";
  EXPECT_EQ(rows(test::probust("estimate " + model + points + mc).out),
            rows(test::probust("estimate " + original + points + mc).out));
}

// A model for images of any size, with three classes.
std::string model_of_any_size() {
  test::OnnxBuilder builder;
  builder.input("x", {-1, 2, -1, -1}).node("GlobalAveragePool", {"x"}, {"p"}).node("Flatten", {"p"}, {"f"});
  builder.weight("w", Tensor({2, 3}, {1, 2, 3, 4, 5, 6})).node("MatMul", {"f", "w"}, {"y"}).output("y", {-1, 3});
  return builder.bytes();
}

TEST(Cli, OpenExtentsComeFromTheData) {
  const Folder folder;
  const std::string model = "'" + folder.write("m.onnx", model_of_any_size()) + "'", out = "'" + folder / "y.npy" + "'";
  write_npy(folder / "x.npy", Tensor({1, 2, 1, 3}, {1, 2, 3, 0, 0, 3}));
  const std::string points = model + " '" + folder / "x.npy" + "' --quiet";
  for (const char* command : {"logits ", "jacobian "}) {
    const Finished finished = test::probust(command + points + " -o " + out);
    ASSERT_EQ(finished.status, 0) << finished.err;
  }
  EXPECT_EQ(read_npy(folder / "y.npy")->shape, (Shape{1, 3, 6}));
  ASSERT_EQ(test::probust("logits " + points + " -o " + out).status, 0);
  EXPECT_EQ(read_npy(folder / "y.npy")->data, (std::vector<float>{6, 9, 12}));
  for (const std::string& command : {std::string("estimate "), std::string("bench --frontier --reference mc:100 --json ")}) {
    const Finished finished = test::probust(command + points + " --sigma 0.1 --estimator mc:50");
    ASSERT_EQ(finished.status, 0) << finished.err;
    EXPECT_EQ(rows(finished.out).at(0)["estimator"], "mc:50");
  }
  const std::string flat = folder.write("x.csv", "1,2,3,0,0,3\n");
  expect_refusal(test::probust("logits " + model + " '" + flat + "' --label-column none -o " + out), 4,
                 "--input-shape 1,2,224,224");
  expect_refusal(test::probust("bench " + model), 4, "--input-shape 1,2,224,224");
  write_npy(folder / "gray.npy", Tensor({1, 1, 2, 3}));
  expect_refusal(test::probust("logits " + model + " '" + folder / "gray.npy" + "' -o " + out), 3,
                 "the points have shape [1, 2, 3]");
}

TEST(Cli, InspectShowsOpenExtents) {
  const Folder folder;
  const std::string model = "'" + folder.write("m.onnx", model_of_any_size()) + "'";
  const Finished text = test::probust("inspect " + model), json_text = test::probust("inspect --json " + model);
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_NE(text.out.find("x float32 [?, 2, ?, ?]"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("which the data determine"), std::string::npos) << text.out;
  EXPECT_EQ(json_text.status, 0) << json_text.err;
  const json info = json::parse(json_text.out);
  EXPECT_TRUE(info["runs"].is_null());
  EXPECT_EQ(info["notes"].size(), 1U);
  EXPECT_EQ(info["inputs"][0]["shape"], (std::vector<int>{-1, 2, -1, -1}));
  EXPECT_TRUE(json::parse(test::probust("inspect --json --input-shape 1,2,4,4 " + model).out)["runs"]);
}

// If neither the model nor the data determine the input shape, the same option sets it for every command.
TEST(Cli, OpenExtentsAreGivenByInputShape) {
  test::OnnxBuilder builder;
  builder.input("x", {-1, -1}).node("Relu", {"x"}, {"y"}).output("y", {-1, -1});
  const Folder folder;
  const std::string model = "'" + folder.write("m.onnx", builder.bytes()) + "'";
  const std::string points = " '" + folder.write("x.csv", "-1,2,3\n") + "' --label-column none";
  const Finished inspected = test::probust("inspect --input-shape 1,3 " + model);
  EXPECT_EQ(inspected.status, 0) << inspected.err;
  EXPECT_NE(inspected.out.find("3 classes"), std::string::npos) << inspected.out;
  const Finished finished =
      test::probust("logits --input-shape 1,3 " + model + points + " -o '" + folder / "y.npy" + "' --quiet");
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(read_npy(folder / "y.npy")->data, (std::vector<float>{0, 2, 3}));
}

TEST(Cli, OptionsMayComeBeforeTheModel) {
  const Finished finished =
      test::probust("estimate --limit 1 --quiet --std 1 --sigma 0.1 --estimator mc:10,softmax --mean 0.5 " + kDigits);
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(rows(finished.out).size(), 2U);
  const Finished repeated = test::probust("estimate --limit 1 --quiet --sigma 0.1 --sigma 0.2 --estimator mc:10 " + kDigits);
  ASSERT_EQ(repeated.status, 0) << repeated.err;
  EXPECT_EQ(rows(repeated.out).size(), 2U);
}

TEST(Cli, EstimateGivesARowPerPointNoiseAndEstimator) {
  const Finished finished = test::probust(
      "estimate " + kDigits + " --limit 3 --offset 2 --sigma 0.1,0.3 --estimator taylor,mmse:4 --estimator mc:200 --quiet");
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(finished.err, "");
  const auto all = rows(finished.out);
  ASSERT_EQ(all.size(), 18U);
  const std::set<std::string> columns = {"index",  "label",  "predicted", "target",  "noise",       "sigma",       "estimator",
                                         "p",      "p_fail", "std_error", "ci_low",  "ci_high",     "forwards",    "backwards",
                                         "status", "method", "note",      "p_label", "p_label_low", "p_label_high"};
  for (const json& row : all) {
    std::set<std::string> found;
    for (const auto& [name, value] : row.items()) found.insert(name);
    EXPECT_EQ(found, columns);
    EXPECT_GE(row["p"].get<double>(), 0);
    EXPECT_NEAR(row["p"].get<double>() + row["p_fail"].get<double>(), 1, row["status"] == "bound" ? 0.05 : 1e-12);
  }
  EXPECT_EQ(all[0]["index"], 2);
  EXPECT_EQ(all[0]["estimator"], "taylor");
  EXPECT_EQ(all[0]["forwards"], 1);
  EXPECT_EQ(all[0]["backwards"], 9);
  EXPECT_TRUE(all[0]["std_error"].is_null());
  EXPECT_EQ(all[1]["estimator"], "mmse:4");
  EXPECT_EQ(all[1]["backwards"], 36);
  EXPECT_EQ(all[2]["forwards"], 200);
  EXPECT_FALSE(all[2]["ci_low"].is_null());
  EXPECT_EQ(all[3]["noise"], "gaussian:0.3");
  EXPECT_EQ(all[17]["index"], 4);
}

TEST(Cli, TheDecisionRuleIsPrintedFirstThenTheCleanAccuracy) {
  const Finished finished = test::probust("estimate " + kDigits + " --sigma 0.1 --estimator softmax");
  EXPECT_EQ(finished.err.rfind("decision rule: the largest of 10 values of 'logits'\nclean accuracy ", 0), 0U) << finished.err;
}

TEST(Cli, RowsAreTheSameForAnyThreadsAndMemory) {
  const std::string base =
      "estimate " + kDigits +
      " --sigma 0.2,0.4 --estimator taylor,taylor_mvs,mmse:5,mmse_mvs:5,softmax,mc:333 --quiet --seed 5 --format csv ";
  const Finished expected = test::probust(base + "--threads 1");
  ASSERT_EQ(expected.status, 0) << expected.err;
  for (const char* options : {"--threads 2", "--threads 3 --memory 4M", "--threads 1 --memory 600K", "--threads 2 --memory 8G"}) {
    EXPECT_EQ(test::probust(base + options).out, expected.out) << options;
  }
  EXPECT_NE(test::probust(base + "--seed 6").out, expected.out);
}

TEST(Cli, PointsKeepTheirNoiseWithAnOffset) {
  const std::string base = "estimate " + kDigits + " --sigma 0.4 --estimator mc:100 --quiet ";
  const auto all = rows(test::probust(base).out), some = rows(test::probust(base + "--offset 7 --limit 2").out);
  ASSERT_EQ(some.size(), 2U);
  EXPECT_EQ(some[0], all[7]);
  EXPECT_EQ(some[1], all[8]);
}

TEST(Cli, FormatsHoldTheSameNumbers) {
  const std::string base = "estimate " + kDigits + " --limit 2 --sigma 0.3 --estimator mc:100 --quiet ";
  const auto lines = lines_of(test::probust(base + "--format csv").out);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0],
            "index,label,predicted,target,noise,sigma,estimator,p,p_fail,std_error,ci_low,ci_high,forwards,backwards,status,"
            "method,note,p_label,p_label_low,p_label_high");
  const json row = rows(test::probust(base).out)[0];
  std::vector<std::string> cells;
  std::istringstream stream(lines[1]);
  for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
  EXPECT_EQ(std::stod(cells[7]), row["p"].get<double>());
  EXPECT_EQ(std::stod(cells[9]), row["std_error"].get<double>());
  EXPECT_EQ(lines_of(test::probust(base + "--format table").out).size(), 3U);
  const Folder folder;
  EXPECT_EQ(test::probust(base + "-o '" + folder / "rows.csv" + "'").status, 0);
  EXPECT_EQ(test::read_whole(folder / "rows.csv"), test::probust(base + "--format csv").out);
}

TEST(Cli, RangesAreSpacedInTheirLogarithms) {
  const auto all = rows(test::probust("estimate " + kDigits + " --limit 1 --sigma 0.01..1:3 --estimator taylor --quiet").out);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_NEAR(all[1]["sigma"].get<double>(), 0.1, 1e-15);
}

// A linear classifier, two points with two features, and files that describe noise.
TEST(Cli, SmoothOptionSmoothsSweeps) {
  const std::string sweep = "estimate " + kDigits + " --limit 3 --sigma 0.1..0.4:5 --estimator probit:24,taylor --quiet";
  const auto plain = rows(test::probust(sweep).out), smooth = rows(test::probust(sweep + " --smooth").out);
  ASSERT_EQ(plain.size(), 30U);
  ASSERT_EQ(smooth.size(), plain.size());
  for (std::size_t i = 0; i < plain.size(); ++i) {
    for (const char* key : {"index", "noise", "estimator", "forwards"}) EXPECT_EQ(plain[i][key], smooth[i][key]);
    const bool sampled = plain[i]["estimator"] == "probit:24";
    EXPECT_TRUE(smooth[i]["status"] == "ok" || (sampled && smooth[i]["status"] == "bound"));
    EXPECT_EQ(smooth[i]["note"], sampled ? json("smoothed over 5 scales") : json(nullptr));
    EXPECT_EQ(smooth[i]["method"], smooth[i]["estimator"]);
    EXPECT_TRUE((plain[i]["p"] == smooth[i]["p"]) == !sampled || plain[i]["p"] == 1.0) << plain[i];
    EXPECT_TRUE(!sampled || smooth[i]["ci_low"] <= smooth[i]["p"]);
  }
}

TEST(Cli, NoiseModelsComeFromTextsAndFiles) {
  const Folder folder;
  test::OnnxBuilder builder;
  builder.input("x", {-1, 2}).weight("w", Tensor({2, 2}, {1, 0, 0, 1})).node("MatMul", {"x", "w"}, {"y"}).output("y", {-1, 2});
  const std::string model = folder.write("m.onnx", builder.bytes()), points = folder.write("x.csv", "1,0\n1,0\n");
  const std::string base = "estimate '" + model + "' '" + points + "' --label-column none --quiet --estimator taylor,mc:20000 ";
  const auto file = [&](const std::string& name, const std::string& text) { return folder.write(name, text); };
  const std::string cov = file("cov.csv", "1,0.5\n0.5,2\n");
  write_npy(cov + ".npy", {2, 2, 2}, std::vector<double>{1, 0, 0, 1, 4, 0, 0, 0});
  const std::string groups = file("g.json", R"({"groups": [{"columns": [0, 1], "transitions": [[0.75, 0.25], [0, 1]]}]})");
  const auto both = [&](const std::string& options) {
    const Finished finished = test::probust(base + options);
    EXPECT_EQ(finished.status, 0) << finished.err;
    return rows(finished.out);
  };
  const auto phi = [](double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); };
  auto r = both("--noise 'gaussian:cov=" + cov + ":0.5,1'");
  ASSERT_EQ(r.size(), 8U);
  EXPECT_NEAR(r[0]["p"], phi(2 / std::sqrt(2.0)), 1e-6);
  EXPECT_NEAR(r[2]["p"], phi(1 / std::sqrt(2.0)), 1e-6);
  EXPECT_NEAR(r[3]["p"], phi(1 / std::sqrt(2.0)), 0.02);
  EXPECT_TRUE(r[2]["sigma"].is_null());
  r = both("--noise 'gaussian:cov=" + cov + ".npy'");
  EXPECT_NEAR(r[0]["p"], phi(1 / std::sqrt(2.0)), 1e-6);
  EXPECT_NEAR(r[2]["p"], phi(0.5), 1e-6);
  r = both("--noise categorical:" + groups);
  EXPECT_TRUE(r[0]["p"].is_null());
  EXPECT_NEAR(r[1]["p"], 0.75, 0.015);
  r = both("--noise uniform:0.5 --clip 0,1 --levels 256");
  EXPECT_EQ(r[0]["noise"], "uniform:0.5|clip:0,1|levels:256");
  EXPECT_EQ(r[0]["sigma"], 0.5);
  EXPECT_EQ(r[0]["status"], "approximate");
  EXPECT_EQ(r[0]["note"].get<std::string>().rfind("uniform noise approximated as Gaussian", 0), 0U) << r[0]["note"];
}

TEST(Cli, BadNoiseIsRefusedInOneLine) {
  const Folder folder;
  const std::string base = "estimate " + kDigits + " --estimator taylor --limit 1 ";
  const std::string small = folder.write("small.csv", "1,0\n0,1\n"), skew = folder.write("skew.csv", "1,0.5\n0.4,1\n");
  expect_refusal(test::probust(base + "--noise gaussian:cov=" + small), 3, "2 elements");
  expect_refusal(test::probust(base + "--noise gaussian:cov=" + skew), 3, "differ");
  expect_refusal(test::probust(base + "--noise gaussian:cov=" + small + ".absent"), 3, "absent");
  expect_refusal(test::probust(base + "--noise categorical:" + small), 3, "categorical features");
  expect_refusal(test::probust(base + "--noise gaussian:0.1@100000"), 2, "does not exist");
  expect_refusal(test::probust(base + "--noise gaussian:0.1@0+uniform:0.1,0.2@1"), 2, "one of its parts");
  expect_refusal(test::probust(base + "--sigma 0.1 --clip 1,0"), 2, "--clip");
  expect_refusal(test::probust(base + "--sigma 0.1 --levels 1"), 2, "--levels");
}

TEST(Cli, TargetsOtherThanThePrediction) {
  const auto fixed =
      rows(test::probust("estimate " + kDigits + " --limit 2 --sigma 0.1 --estimator mc:50 --quiet --target 3").out);
  EXPECT_EQ(fixed.at(0)["target"], 3);
  expect_refusal(test::probust("estimate " + kDigits + " --sigma 0.1 --estimator mc:50 --target 99"), 2, "99");
}

TEST(Cli, TopOptionCountsTheLargestLogits) {
  const std::string base = "estimate " + kDigits + " --limit 6 --sigma 0.6 --quiet --estimator ";
  const auto first = rows(test::probust(base + "mc:300").out), third = rows(test::probust(base + "mc:300,auto:300 --top 3").out);
  ASSERT_EQ(third.size(), 12U);
  double gained = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    gained += third[2 * i]["p"].get<double>() - first[i]["p"].get<double>();
    EXPECT_GE(third[2 * i]["p"], first[i]["p"]);
    EXPECT_EQ(third[2 * i]["p"], third[2 * i + 1]["p"]);
  }
  EXPECT_GT(gained, 0);
  expect_refusal(test::probust(base + "taylor --top 3"), 2, "mc:N");
  expect_refusal(test::probust(base + "mc:10 --top 0"), 2, "--top is '0', which is not a whole number of at least 1");
  for (const char* wrong : {"--top 0", "--top 11", "--top x", "--top 2 --groups 0,1"})
    expect_refusal(test::probust(base + "mc:10 " + wrong), 2, "--top");
}

// f = x_0 + 2 x_1, [N, 1]. Its change under Gaussian noise is normal.
TEST(Cli, RegressionModelsHaveATolerance) {
  const Folder folder;
  test::OnnxBuilder builder;
  builder.input("x", {-1, 2}).weight("w", Tensor({2, 1}, {1, 2})).node("MatMul", {"x", "w"}, {"y"}).output("y", {-1, 1});
  const std::string model = "'" + folder.write("m.onnx", builder.bytes()) + "'";
  const std::string base = "estimate " + model + " '" + folder.write("x.csv", "1,2,9\n3,4,7\n") + "' --quiet --estimator ";
  const Finished finished = test::probust(base + "taylor,mc:20000 --sigma 0.1,0.2 --tolerance 0.4");
  ASSERT_EQ(finished.status, 0) << finished.err;
  const auto all = rows(finished.out);
  ASSERT_EQ(all.size(), 8U);
  for (const json& row : all) {
    const double sigma = row["sigma"].get<double>(), q = std::erfc(0.4 / (sigma * std::sqrt(5.0)) / std::sqrt(2.0));
    EXPECT_NEAR(row["p_fail"].get<double>(), q, row["estimator"] == "taylor" ? 1e-6 : 0.02);
    EXPECT_EQ(row["noise"], sigma == 0.1 ? "gaussian:0.1" : "gaussian:0.2");
    EXPECT_TRUE(row["label"].is_null());
    EXPECT_EQ(row["target"], 2);
  }
  const std::string one = base + "mc:10 --sigma 0.1 --tolerance 0.4 ";
  const auto sides = rows(test::probust(base + "taylor --sigma 0.1 --tolerance 0.4 --per-class").out);
  EXPECT_NEAR(sides.at(0)["classes"][0].get<double>(), sides.at(0)["p_fail"].get<double>() / 2, 1e-6);
  expect_refusal(test::probust(base + "mc:10 --sigma 0.1 --tolerance 0"), 2, "--tolerance");
  for (const char* wrong : {"--target label", "--groups 0,1", "--top 2"})
    expect_refusal(test::probust(one + wrong), 2, "--tolerance");
}

// All points are estimated together, whatever the batch.
TEST(Cli, ATotalBudgetIsSharedAndReported) {
  const std::string base = "estimate " + kDigits + " --sigma 0.3,0.6 --estimator auto,mc:10 --quiet --total-budget ";
  const Finished expected = test::probust(base + "2000 --threads 1");
  ASSERT_EQ(expected.status, 0) << expected.err;
  for (const char* options : {"--threads 3", "--threads 1 --memory 2M"})
    EXPECT_EQ(test::probust(base + "2000 " + options).out, expected.out) << options;
  const auto all = rows(expected.out);
  std::int64_t spent = 0;
  std::set<std::int64_t> different;
  for (const json& row : all) {
    if (row["estimator"] != "auto") continue;
    spent += row["forwards"].get<std::int64_t>() + row["backwards"].get<std::int64_t>();
    different.insert(row["forwards"].get<std::int64_t>());
  }
  EXPECT_EQ(all.size(), 160U);
  EXPECT_LE(spent, 2000);
  EXPECT_GT(spent, 1700);
  EXPECT_GT(different.size(), 2U);
  expect_refusal(test::probust(base + "100"), 2, "--total-budget");
  for (const char* wrong : {"2000 --budget 10", "2000 --smooth", "x", "0"})
    expect_refusal(test::probust(base + wrong), 2, "--total-budget");
  expect_refusal(test::probust("estimate " + kDigits + " --sigma 0.3 --estimator mc:10 --total-budget 2000"), 2, "auto");
}

TEST(Cli, CalibrationIsReported) {
  const std::string base = "estimate " + kDigits + " --sigma 0.6,0.7 --estimator ";
  const Finished plain = test::probust(base + "probit:54,taylor"),
                 finished = test::probust(base + "probit:54,taylor --calibrate");
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_NE(finished.err.find("gaussian:0.7 probit:54: calibrated over 40 points, mean p 0."), std::string::npos) << finished.err;
  EXPECT_EQ(finished.err.find("taylor"), std::string::npos) << finished.err;
  const auto before = rows(plain.out), after = rows(finished.out);
  ASSERT_EQ(after.size(), before.size());
  for (std::size_t i = 0; i < after.size(); ++i) {
    const bool moved = after[i]["estimator"] == "probit:54";
    EXPECT_EQ(after[i]["note"].dump().find("calibrated") != std::string::npos, moved);
    EXPECT_EQ(after[i]["p"] == before[i]["p"], !moved);
    EXPECT_EQ(after[i]["index"], before[i]["index"]);
  }
  EXPECT_EQ(test::probust(base + "probit:54,taylor --calibrate --quiet --threads 3 --memory 600K").out, finished.out);
  const Finished few = test::probust(base + "probit:54 --calibrate --limit 8");
  EXPECT_NE(few.err.find("not calibrated"), std::string::npos) << few.err;
  EXPECT_EQ(rows(few.out).at(0)["status"], "ok");
  expect_refusal(test::probust(base + "mc:10 --calibrate"), 2, "probit:N");
}

TEST(Cli, LogitsAndJacobiansAgreeWithEachOther) {
  const Folder folder;
  ASSERT_EQ(test::probust("logits " + kDigits + " --limit 2 --scale 1 -o '" + folder / "a.npy" + "'").status, 0);
  ASSERT_EQ(test::probust("jacobian " + kDigits + " --limit 2 --quiet -o '" + folder / "j.npy" + "'").status, 0);
  EXPECT_EQ(read_npy(folder / "a.npy")->shape, (Shape{2, 10}));
  EXPECT_EQ(read_npy(folder / "j.npy")->shape, (Shape{2, 10, 256}));
}

TEST(Cli, InspectDescribesTheModel) {
  const Finished finished = test::probust("inspect '" + digits("digits.onnx") + "' --json");
  ASSERT_EQ(finished.status, 0) << finished.err;
  const json info = json::parse(finished.out);
  EXPECT_EQ(info["classes"], 10);
  EXPECT_TRUE(info["runs"]);
  EXPECT_GT(info["flops"], 1000);
  for (const json& use : info["operators"]) EXPECT_TRUE(use["differentiable"]);
  EXPECT_EQ(test::probust("inspect '" + digits("digits.onnx") + "'").status, 0);
}

// Expects only lines of printable text: no control characters, no C1, no invalid UTF-8.
void expect_printable(const std::string& output) {
  for (const std::string& line : lines_of(output)) EXPECT_EQ(printable(line), line);
}

// Names that could control the terminal: ESC, CSI as a byte and in UTF-8, newline, tab, DEL.
TEST(Cli, NamesInAModelDoNotWriteToTheTerminal) {
  const std::string x = "x\x1b[2J", y = "y\n\x7f\xc2\x9b", w = "w\xff\xfe\t";
  const auto model = [&](const std::string& op) {
    test::OnnxBuilder builder;
    builder.input(x, {-1, 2}).weight(w, Tensor({2, 2}, {1, 2, 3, 4})).node("MatMul", {x, w}, {"h\x9b"});
    std::string bytes = builder.node(op, {"h\x9b"}, {y}).output(y, {-1, 2}).bytes();
    for (const auto& [from, to] : {std::pair<std::string, std::string>{"n0", "\x1b\n"}, {"n1", "\t\x9b"}, {"test", "\x1b[7m"}})
      bytes.replace(bytes.find(from), from.size(), to);
    return bytes;
  };
  const Folder folder;
  const std::string good = "'" + folder.write("good.onnx", model("Floor")) + "'";
  const std::string odd = "'" + folder.write("odd.onnx", model("O\x1b]0;d\a")) + "'";
  const std::string data =
      " '" + folder.write("x.csv", "1,2\n") + "' --label-column none --quiet --sigma 0.1 --estimator mc:10,adf";
  for (const std::string& command :
       {"inspect --graph " + good, "inspect " + odd, "estimate " + good + data, "estimate " + odd + data}) {
    const Finished finished = test::probust(command);
    EXPECT_EQ(finished.status, command.find("odd") == std::string::npos ? 0 : 4) << finished.err;
    expect_printable(finished.out);
    expect_printable(finished.err);
  }
  EXPECT_NE(test::probust("inspect " + good).out.find("x\\x1b[2J float32 [?, 2]"), std::string::npos);
  EXPECT_EQ(lines_of(test::probust("inspect " + odd).err).size(), 1U);
  for (const std::string& path : {good, odd}) {
    const json info = json::parse(test::probust("inspect --json " + path).out);
    EXPECT_EQ(info["inputs"][0]["name"], "x\\x1b[2J");
    EXPECT_EQ(info["outputs"][0]["name"], "y\\x0a\\x7f\\u009b");
  }
  // The output can be named as it is printed, or as in the file.
  for (const std::string& name : {std::string("y\\x0a\\x7f\\u009b"), y})
    EXPECT_EQ(test::probust("inspect --output-name '" + name + "' " + good).status, 0);
}

TEST(Cli, AnUnsupportedOperatorIsStatus4AndInspectNamesIt) {
  test::OnnxBuilder builder;
  builder.input("x", {1, 2}).node("Relu", {"x"}, {"r"}).node("Frobnicate", {"r"}, {"y"}).output("y");
  const Folder folder;
  const std::string path = folder.write("odd.onnx", builder.bytes());
  const Finished finished = test::probust("inspect '" + path + "' --json");
  EXPECT_EQ(finished.status, 4);
  EXPECT_EQ(lines_of(finished.err).size(), 1U);
  const json info = json::parse(finished.out);
  EXPECT_TRUE(info["operators"][0]["runs"]);
  EXPECT_FALSE(info["operators"][1]["runs"]);
}

TEST(Cli, VersionReportsTheBuild) {
  const json version = json::parse(test::probust("version --json").out);
  EXPECT_TRUE(version.contains("cuda"));
  EXPECT_TRUE(version["devices"].is_array());
}

// The benchmark at equal cost, with the digits: errors are reproducible, references are cached, and Monte Carlo's own ratio is
// about 1.
TEST(Cli, FrontierComparesEstimatorsAtEqualCost) {
  const Folder folder;
  const std::string kept = folder / "references.jsonl", options = " --limit 10 --reference mc:2000 --quiet --json" +
                                                                  std::string(" --estimator mc:50,probit:24,taylor --seeds 2");
  const std::string command = "bench --frontier " + kDigits + " --sigma 0.3,0.5 --references '" + kept + "'" + options;
  const Finished first = test::probust(command);
  ASSERT_EQ(first.status, 0) << first.err;
  const std::string references = test::read_whole(kept);
  EXPECT_EQ(lines_of(references).size(), 20U);
  const auto before = rows(first.out), again = rows(test::probust(command).out);
  EXPECT_EQ(test::read_whole(kept), references);
  ASSERT_EQ(before.size(), 3U);
  ASSERT_EQ(again.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(before[i]["mae"], again[i]["mae"]);
    EXPECT_EQ(before[i]["estimates"], 40);
    EXPECT_GE(before[i]["cost"].get<double>(), 1);
    EXPECT_EQ(before[i].contains("coverage"), before[i]["intervals"].get<int>() > 0);
  }
  EXPECT_EQ(before[0]["estimator"], "mc:50");
  // The ratio is 1 except for errors of timing and sampling: the reference has only 40 times as many samples, and 40 estimates
  // are few.
  EXPECT_GT(before[0]["ratio"].get<double>(), 0.4);
  EXPECT_LT(before[0]["ratio"].get<double>(), 2.0);
  EXPECT_EQ(before[2]["intervals"], 0);
  const std::string list = folder.write("list", "# a comment\n" + kDigits + " --sigma 0.3\n");
  EXPECT_EQ(rows(test::probust("bench --frontier '" + list + "'" + options).out).size(), 3U);
  expect_refusal(test::probust("bench --frontier '" + folder.write("bad", "nonsense --what\n") + "'" + options), 2, "line 1");
  expect_refusal(test::probust("bench --frontier " + kDigits + " --sigma 0.3 --references '" + list + "'" + options), 3,
                 "not a reference");
}

TEST(Cli, MvnAnswersLineByLine) {
  const Finished finished =
      test::probust("mvn", "{\"id\": 7, \"z\": [0, 0], \"R\": [[1, 0], [0, 1]]}\nnonsense\n{\"z\": [], \"R\": []}\n");
  EXPECT_EQ(finished.status, 0);
  const auto answers = rows(finished.out);
  ASSERT_EQ(answers.size(), 3U);
  EXPECT_EQ(answers[0]["id"], 7);
  EXPECT_NEAR(answers[0]["p"].get<double>(), 0.25, 1e-12);
  EXPECT_TRUE(answers[1]["p"].is_null());
  EXPECT_NE(answers[1]["status"], "ok");
  EXPECT_EQ(answers[2]["p"], 1);
}

TEST(Cli, WrongUsageIsStatus2) {
  expect_refusal(test::probust(""), 2);
  expect_refusal(test::probust("frobnicate"), 2);
  expect_refusal(test::probust("estimate"), 2);
  expect_refusal(test::probust("estimate " + kDigits + " --estimator taylor"), 2, "--sigma");
  for (const char* sigma : {"0", "-1", "nan", "inf", "x", "0.1,", "0.1..0.2", "0.1..0.2:1", "''"}) {
    expect_refusal(test::probust("estimate " + kDigits + " --estimator taylor --sigma " + sigma), 2);
  }
  for (const char* estimator : {"magic", "mc", "mc:0", "taylor:3", "mc:x", "taylor,,mc:3"}) {
    expect_refusal(test::probust("estimate " + kDigits + " --sigma 0.1 --estimator " + estimator), 2);
  }
  for (const char* option :
       {"--format xml", "--device tpu", "--memory lots", "--threads 0", "--layout abc", "--mean 1,2,3", "--std 0", "--limit -3",
        "--unknown", "--target cat", "-o rows.xlsx", "--output-name nothing", "--input-shape 1,2", "--input-shape x"}) {
    expect_refusal(test::probust("estimate " + kDigits + " --sigma 0.1 --estimator mc:10 --quiet " + option), 2);
  }
}

TEST(Cli, AMissingDeviceIsStatus5) {
  const std::string estimate = "estimate " + kDigits + " --sigma 0.1 --estimator mc:10 --limit 1 --quiet --device ";
  const json present = json::parse(test::probust("version --json").out)["devices"];
  const bool any = std::find(present.begin(), present.end(), "cuda:0") != present.end();
  if (!any) expect_refusal(test::probust(estimate + "cuda"), 5, "--device");
  EXPECT_EQ(test::probust(estimate + "cuda").err.find("cannot be loaded"), std::string::npos);
  expect_refusal(test::probust(estimate + "cuda:97"), 5, "--device");
  expect_refusal(test::probust(estimate + "cuda:x"), 2, "--device");
  expect_refusal(test::probust(estimate + "cpu --precision half"), 2, "--precision");
  EXPECT_EQ(test::probust(estimate + "auto").status, 0);
}

TEST(Cli, TooLittleMemoryIsStatus5) {
  expect_refusal(test::probust("estimate " + kDigits + " --sigma 0.1 --estimator mc:10 --quiet --memory 1K"), 5, "memory");
}

struct WrongFile {
  const char* name;
  std::string bytes;
};

// Invalid files instead of data are reported in one line, with status 3.
TEST(Cli, WrongDataFilesAreStatus3) {
  const Folder folder;
  const std::string png("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01", 20);
  for (const WrongFile& wrong :
       {WrongFile{"empty.npy", ""}, WrongFile{"empty.csv", ""}, WrongFile{"empty.npz", ""}, WrongFile{"image.npy", png},
        WrongFile{"image.png", png}, WrongFile{"text.npz", "hello\n"}, WrongFile{"words.csv", "once,upon,a time\nthere,was,a\n"},
        WrongFile{"width.csv", "1,2,3,0\n4,5,6,1\n"}, WrongFile{"ragged.csv", "1,2,3\n4,5\n"},
        WrongFile{"header-only.csv", "a,b,label\n"}, WrongFile{"cifar.bin", std::string(3072, 'x')},
        WrongFile{"a-idx3-ubyte", std::string("\0\0\x08\x03\0\0\0\x02", 8)}}) {
    const std::string path = folder.write(wrong.name, wrong.bytes);
    expect_refusal(test::probust("estimate '" + digits("digits.onnx") + "' '" + path + "' --sigma 0.1 --estimator taylor"), 3,
                   wrong.name);
  }
  write_npy(folder / "none.npy", Tensor({0, 1, 16, 16}));
  expect_refusal(
      test::probust("estimate '" + digits("digits.onnx") + "' '" + folder / "none.npy" + "' --sigma 0.1 --estimator taylor"), 3,
      "none.npy");
  write_npy(folder / "wide.npy", Tensor({2, 1, 28, 28}));
  expect_refusal(
      test::probust("estimate '" + digits("digits.onnx") + "' '" + folder / "wide.npy" + "' --sigma 0.1 --estimator taylor"), 3,
      "784");
  expect_refusal(test::probust("estimate '" + digits("digits.onnx") + "' /nowhere.npy --sigma 0.1 --estimator taylor"), 3,
                 "/nowhere.npy");
}

TEST(Cli, WrongModelFilesAreStatus3) {
  const Folder folder;
  for (const WrongFile& wrong :
       {WrongFile{"empty.onnx", ""}, WrongFile{"text.onnx", "hello\n"}, WrongFile{"image.onnx", "\x89PNG\r\n"}}) {
    expect_refusal(test::probust("inspect '" + folder.write(wrong.name, wrong.bytes) + "'"), 3, wrong.name);
  }
  expect_refusal(test::probust("inspect /nowhere.onnx"), 3);
  expect_refusal(test::probust("inspect /"), 3);
}

// The program reads every truncation of a small model file: it ends with a documented status and one line, and never crashes.
TEST(Cli, EveryTruncationOfAModelIsRefusedInOneLine) {
  test::OnnxBuilder builder;
  builder.input("x", {-1, 1, 2, 2}).weight("w", Tensor({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})).node("Flatten", {"x"}, {"f"});
  builder.node("Gemm", {"f", "w"}, {"y"}, {test::OnnxAttribute::integer("transB", 1)}).output("y", {-1, 2});
  const std::string whole = builder.bytes();
  const Folder folder;
  ASSERT_EQ(test::probust("inspect '" + folder.write("whole.onnx", whole) + "'").status, 0);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const Finished finished = test::probust("inspect '" + folder.write("cut.onnx", whole.substr(0, length)) + "'");
    ASSERT_TRUE(finished.status == 3 || finished.status == 4)
        << "length " << length << ": status " << finished.status << " " << finished.err;
    ASSERT_EQ(lines_of(finished.err).size(), 1U) << "length " << length << ": " << finished.err;
  }
}

TEST(Cli, ANanRowIsNonfiniteAndTheRunContinues) {
  const Folder folder;
  Tensor x({3, 1, 16, 16});
  x.row(1)[5] = std::numeric_limits<float>::quiet_NaN();
  write_npy(folder / "x.npy", x);
  const Finished finished = test::probust("estimate '" + digits("digits.onnx") + "' '" + folder / "x.npy" +
                                          "' --sigma 0.1 --estimator taylor,mc:20 --quiet");
  ASSERT_EQ(finished.status, 0) << finished.err;
  const auto all = rows(finished.out);
  ASSERT_EQ(all.size(), 6U);
  EXPECT_EQ(all[0]["status"], "ok");
  EXPECT_EQ(all[2]["status"], "nonfinite");
  EXPECT_TRUE(all[2]["p"].is_null());
  EXPECT_TRUE(all[2]["label"].is_null());
  EXPECT_EQ(all[4]["status"], "ok");
  write_npy(folder / "bad.npy", Tensor({1, 1, 16, 16}, std::vector<float>(256, std::numeric_limits<float>::infinity())));
  const Finished nothing = test::probust("estimate '" + digits("digits.onnx") + "' '" + folder / "bad.npy" +
                                         "' --sigma 0.1 --estimator taylor --quiet");
  EXPECT_EQ(nothing.status, 6);
  EXPECT_EQ(lines_of(nothing.err).size(), 2U) << nothing.err;
  EXPECT_EQ(lines_of(nothing.err)[0], "probust: warning: no value is finite");
}

// A signal ends a long run with status 130, and the rows that were written remain. The signal is sent after the first row,
// because the time until then depends on the machine.
TEST(Cli, AnInterruptedRunKeepsItsRows) {
  const Folder folder;
  write_npy(folder / "x.npy", Tensor({20000, 1, 16, 16}));
  const std::string run = std::string(PROBUST_PROGRAM) + " estimate '" + digits("digits.onnx") + "' '" + folder / "x.npy" +
                          "' --sigma 0.1 --estimator mc:1000 --threads 1 -o '" + folder / "rows.csv" + "' 2>'" + folder / "err" +
                          "'";
  const std::string rows_written = "[ \"$(wc -l 2>/dev/null <'" + folder / "rows.csv" + "')\" -gt 1 ]";
  const int raw = std::system(
      (run + " & for i in $(seq 1200); do " + rows_written + " 2>/dev/null && break; sleep 0.1; done; kill -INT $!; wait $!")
          .c_str());
  ASSERT_TRUE(WIFEXITED(raw));
  EXPECT_EQ(WEXITSTATUS(raw), 130);
  const std::vector<std::string> lines = lines_of(test::read_whole(folder / "rows.csv"));
  ASSERT_GT(lines.size(), 1U);
  EXPECT_EQ(lines[0].rfind("index,", 0), 0U);
  EXPECT_LT(lines.size(), 20001U);
  const std::string err = test::read_whole(folder / "err");
  EXPECT_NE(err.find("interrupted; " + std::to_string(lines.size() - 1) + " rows were written"), std::string::npos) << err;
}

}  // namespace
}  // namespace probust
