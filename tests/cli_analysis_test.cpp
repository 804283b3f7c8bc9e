// SPDX-License-Identifier: MIT
// summary, bias, rank, curve, agree and distance, on a run and on a model and data.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "support/command.h"
#include "support/xml.h"

namespace probust {
namespace {

using nlohmann::json;
using test::Finished;
using test::Folder;
using test::kDigits;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// A run of the digits at three scales with two estimators. It is created only once.
class CliAnalysis : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder = new Folder;
    const Finished made =
        test::probust("estimate " + kDigits + " --sigma 0.1,0.2,0.4 --estimator taylor,mc:60 --quiet -o '" + run() + "'");
    ASSERT_EQ(made.status, 0) << made.err;
    const Finished text = test::probust("export '" + run() + "' --format jsonl");
    ASSERT_EQ(text.status, 0) << text.err;
    rows = test::rows(text.out);
  }
  static void TearDownTestSuite() { delete folder; }

  static std::string run() { return *folder / "run.sqlite"; }

  static json object(const std::string& arguments) {
    const Finished done = test::probust(arguments + " --json");
    EXPECT_EQ(done.status, 0) << arguments << ": " << done.err;
    return json::parse(done.out);
  }

  // The p of a group, by index.
  static std::map<int, double> p_of(const json& group) {
    std::map<int, double> p;
    for (const json& row : rows) {
      if (row["noise"] == group["noise"] && row["estimator"] == group["estimator"]) p[row["index"]] = row["p"];
    }
    return p;
  }

  static inline Folder* folder = nullptr;
  static inline std::vector<json> rows;
};

TEST_F(CliAnalysis, SummaryIsTheMeanOfTheRows) {
  const json summary = object("summary '" + run() + "'");
  ASSERT_EQ(summary["groups"].size(), 6U);
  for (const json& group : summary["groups"]) {
    const auto p = p_of(group);
    ASSERT_EQ(p.size(), group["points"]);
    double sum = 0, most = 0;
    for (const auto& [index, value] : p) {
      sum += value;
      most = std::max(most, value);
    }
    EXPECT_NEAR(group["p"]["mean"], sum / static_cast<double>(p.size()), 1e-12);
    EXPECT_EQ(group["quantiles"]["1"], most);
    EXPECT_LE(group["p"]["ci_low"], group["p"]["mean"]);
  }
  std::map<int, bool> correct;
  for (const json& row : rows) correct[row["index"]] = row["label"] == row["predicted"];
  EXPECT_EQ(summary["models"][0]["correct"],
            std::count_if(correct.begin(), correct.end(), [](const auto& one) { return one.second; }));
  EXPECT_EQ(summary["models"][0]["labelled"], correct.size());
  const Finished table = test::probust("summary '" + run() + "'");
  EXPECT_TRUE(has(table.out, "clean accuracy 95.00% (95%: 83.50..98.62%), 38 of 40 labelled points")) << table.out;
  EXPECT_TRUE(has(table.out, "gaussian:0.4")) << table.out;
}

TEST_F(CliAnalysis, BiasHasAllClasses) {
  const json bias = object("bias '" + run() + "' --estimator mc:60 --sigma 0.4");
  ASSERT_EQ(bias["groups"].size(), 1U);
  const json& group = bias["groups"][0];
  EXPECT_EQ(group["by"], "label");
  EXPECT_EQ(group["classes"].size(), 10U);
  EXPECT_NEAR(group["confidence"], 1 - 0.05 / 10, 1e-12);
  double most = 0, least = 1;
  for (const json& one : group["classes"]) {
    most = std::max<double>(most, one["mean"]);
    least = std::min<double>(least, one["mean"]);
  }
  EXPECT_NEAR(group["largest_difference"]["difference"], most - least, 1e-12);
  EXPECT_EQ(group["fragile"][0], group["largest_difference"]["least"]);
  EXPECT_TRUE(has(test::probust("bias '" + run() + "'").out, "intervals adjusted for 10 classes (99.5% each)"));
}

TEST_F(CliAnalysis, RankShowsTheEnds) {
  const json rank = object("rank '" + run() + "' --count 3 --sigma 0.4 --estimator taylor");
  const json& group = rank["groups"][0];
  const auto p = p_of(group);
  ASSERT_EQ(group["least"].size(), 3U);
  const auto least = std::min_element(p.begin(), p.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  EXPECT_EQ(group["least"][0]["index"], least->first);
  EXPECT_EQ(group["least"][0]["p"], least->second);
  EXPECT_LE(group["least"][0]["p"], group["least"][1]["p"]);
  EXPECT_GE(group["most"][0]["p"], group["most"][1]["p"]);
  EXPECT_EQ(object("rank '" + run() + "'")["groups"][0]["most"].size(), 10U);
  // If all sixty samples agree, up to 1 - 0.025^(1/60) failures are possible.
  EXPECT_TRUE(has(test::probust("rank '" + run() + "' --sigma 0.1 --estimator mc:60").out, "<0.06  0.9404..1.0000"));
}

TEST_F(CliAnalysis, CurveInterpolatesBetweenScales) {
  const json curve = object("curve '" + run() + "' --threshold 0.8");
  ASSERT_EQ(curve["curves"].size(), 2U);
  for (const json& one : curve["curves"]) {
    EXPECT_EQ(one["noise"], "gaussian");
    EXPECT_EQ(one["scales"].size(), 3U);
    const json& tolerated = one["tolerated"];
    const int points = tolerated["below"].get<int>() + tolerated["within"].get<int>() + tolerated["above"].get<int>();
    EXPECT_EQ(points, static_cast<int>(tolerated["points"].size()));
    for (const json& point : tolerated["points"]) {
      std::map<double, double> p;
      for (const json& row : rows) {
        if (row["index"] == point["index"] && row["estimator"] == one["estimator"]) p[row["sigma"]] = row["p"];
      }
      const double sigma = point["sigma"];
      const auto after = p.upper_bound(sigma);
      if (point["kind"] == "above") {
        EXPECT_GT(p.rbegin()->second, 0.8);
      } else if (point["kind"] == "below") {
        EXPECT_LT(p.begin()->second, 0.8);
      } else {
        EXPECT_GE(std::prev(after)->second, 0.8) << point;
        EXPECT_LE((after == p.end() ? std::prev(after) : after)->second, 0.8) << point;
      }
    }
  }
  const Finished table = test::probust("curve '" + run() + "'");
  EXPECT_TRUE(has(table.out, "sigma at which p falls to 0.9")) << table.out;
}

TEST_F(CliAnalysis, AgreeComparesWithTheSoftmax) {
  const json agree = object("agree '" + run() + "'");
  ASSERT_EQ(agree["pairs"].size(), 9U);
  const json& first = agree["pairs"][0];
  EXPECT_EQ(first["a"], "taylor");
  EXPECT_EQ(first["b"], "mc:60");
  const auto a = p_of({{"noise", first["noise"]}, {"estimator", "taylor"}}),
             b = p_of({{"noise", first["noise"]}, {"estimator", "mc:60"}});
  double sum = 0;
  for (const auto& [index, p] : a) sum += std::fabs(p - b.at(index));
  EXPECT_NEAR(first["mean_absolute_error"], sum / static_cast<double>(a.size()), 1e-12);
  EXPECT_EQ(agree["pairs"][1]["b"], "softmax of the logits");
}

TEST_F(CliAnalysis, DistanceOfARunIsCertified) {
  const json distance = object("distance '" + run() + "' --quiet");
  EXPECT_TRUE(distance["boundary"].is_null());
  for (const json& group : distance["groups"]) {
    const bool counted = group["estimator"] == "mc:60";
    EXPECT_EQ(group["no_certificates"].is_null(), counted);
    for (const json& point : group["points"]) {
      EXPECT_EQ(point["certified_radius"].is_null(), !counted);
      // If all sixty samples agree, they certify sigma Phi^-1(0.001^(1/60)) = 1.233208 sigma.
      if (!counted || point["p"] != 1) continue;
      EXPECT_NEAR(point["certified_radius"], 1.233208 * group["sigma"].get<double>(), 1e-6);
    }
  }
  EXPECT_TRUE(has(test::probust("distance '" + run() + "'").err, "give MODEL DATA"));
}

TEST_F(CliAnalysis, DistanceOfAModelIsThatOfItsBoundary) {
  const json distance = object("distance " + kDigits + " --sigma 0.2 --estimator mc:60 --limit 6 --quiet");
  EXPECT_EQ(distance["boundary"], "gradients");
  ASSERT_EQ(distance["groups"][0]["points"].size(), 6U);
  for (const json& point : distance["groups"][0]["points"]) {
    EXPECT_GT(point["boundary"], 0);
    EXPECT_NE(point["rival"], point["predicted"]);
  }
}

TEST_F(CliAnalysis, AModelAndDataGiveTheResultsOfTheirRun) {
  for (const std::string command : {"summary", "bias", "rank", "curve", "agree"}) {
    json of_run = object(command + " '" + run() + "'"),
         direct = object(command + " " + kDigits + " --sigma 0.1,0.2,0.4 --estimator taylor,mc:60 --quiet");
    of_run.erase("information");
    direct.erase("information");
    EXPECT_EQ(of_run, direct) << command;
  }
}

TEST_F(CliAnalysis, EveryCommandDraws) {
  for (const std::string command : {"summary", "bias", "rank", "curve", "agree", "distance"}) {
    const std::string picture = *folder / (command + ".svg");
    const Finished done = test::probust(command + " '" + run() + "' --quiet --plot '" + picture + "'");
    EXPECT_EQ(done.status, 0) << done.err;
    EXPECT_FALSE(done.out.empty());
    const std::string text = test::read_whole(picture);
    EXPECT_EQ(test::xml_problem(text), "") << command;
    EXPECT_TRUE(has(text, "<svg")) << command;
    EXPECT_FALSE(has(text, "no values")) << command;
  }
}

TEST_F(CliAnalysis, MistakesAreNamed) {
  const std::string given = "'" + run() + "'";
  const std::pair<std::string, std::string> mistakes[] = {
      {"curve " + given + " --sigma 0.1", "single noise scale"},
      {"curve " + given + " --threshold 1", "--threshold is not between 0 and 1"},
      {"distance " + given + " --confidence 1", "--confidence is not between"},
      {"summary " + given + " --estimator adf",
       "choose among the noise models gaussian:0.1, gaussian:0.2, gaussian:0.4 and the estimators mc:60, taylor"},
      {"rank " + given + " --count 0", "--count"},
      {"summary " + given + " --mean 0.5", "--mean applies only when estimating"},
      {"agree " + given + " --quiet --per-class --threads 1", "--threads applies only when estimating"},
      {"bias " + given + " --plot a.png", "does not end in .svg"},
  };
  for (const auto& [arguments, expected] : mistakes) {
    const Finished done = test::probust(arguments);
    EXPECT_EQ(done.status, 2) << arguments;
    EXPECT_TRUE(has(done.err, expected)) << done.err;
    EXPECT_TRUE(done.out.empty()) << done.out;
  }
  EXPECT_EQ(test::probust("summary '" + *folder / "nothing.sqlite" + "'").status, 3);
  EXPECT_EQ(test::probust("summary " + given + " --plot /nowhere/a.svg").status, 5);
  std::filesystem::create_symlink("/dev/full", *folder / "full.svg");
  EXPECT_EQ(test::probust("summary " + given + " --plot '" + *folder / "full.svg" + "'").status, 5);
}

TEST_F(CliAnalysis, NamesNeedNotBeUtf8) {
  std::string names = "caf\xe9\n";
  for (int c = 1; c < 10; ++c) names += std::to_string(c) + "\n";
  const std::string classes = folder->write("latin.txt", names);
  const Finished done =
      test::probust("bias " + test::kDigits + " --sigma 0.1 --estimator taylor --quiet --json --classes '" + classes + "'");
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_TRUE(has(done.out, "caf\xef\xbf\xbd")) << done.out;
}

TEST_F(CliAnalysis, APlotDoesNotOverwriteARun) {
  const std::string copy = folder->write("copy.svg", test::read_whole(run()));
  const std::string link = *folder / "linked.sqlite";
  std::filesystem::create_symlink(copy, link);
  const Finished done = test::probust("summary '" + link + "' --plot '" + copy + "'");
  EXPECT_EQ(done.status, 2);
  EXPECT_TRUE(has(done.err, "--plot")) << done.err;
  EXPECT_EQ(test::read_whole(copy), test::read_whole(run()));
}

// Points without labels, all of one class, and one of them not finite.
TEST_F(CliAnalysis, MissingValuesAreDashes) {
  const std::string lonely = *folder / "lonely.sqlite", data = folder->write("points.csv", "0.1,0.2\n0.3,nan\n");
  const Finished model =
      test::probust("estimate " + kDigits + " --sigma 0.1 --estimator mc:10 --limit 1 --quiet -o '" + lonely + "'");
  ASSERT_EQ(model.status, 0) << model.err;
  const Finished bias = test::probust("bias '" + lonely + "'"), agree = test::probust("agree '" + lonely + "' --json");
  EXPECT_EQ(bias.status, 0) << bias.err;
  EXPECT_TRUE(has(bias.out, "largest difference: - (fewer than two classes")) << bias.out;
  EXPECT_TRUE(json::parse(agree.out)["pairs"][0]["pearson"].is_null());
  for (const std::string command : {"summary", "rank", "distance"})
    EXPECT_EQ(test::probust(command + " '" + lonely + "' --quiet --plot '" + *folder / "lonely.svg" + "'").status, 0) << command;
}

}  // namespace
}  // namespace probust
