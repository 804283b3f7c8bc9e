// SPDX-License-Identifier: MIT
// probust check, the check that precedes estimates, and the handling of its warnings.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>

#include "datasets/npy.h"
#include "datasets/npz.h"
#include "support/command.h"
#include "support/onnx_builder.h"

namespace probust {
namespace {

using test::Finished;
using test::Folder;
using test::mentions;

// Three classes; the largest input wins.
std::string largest_of_three() {
  test::OnnxBuilder builder;
  Tensor identity({3, 3});
  for (std::int64_t i = 0; i < 3; ++i) identity.row(i)[i] = 1;
  return builder.input("x", {-1, 3}).weight("w", identity).node("MatMul", {"x", "w"}, {"y"}).output("y", {-1, 3}).bytes();
}

// A table whose columns have different means and scales. If they are standardised, the largest one is the label.
std::string table(std::int64_t rows, const std::function<double(std::int64_t, double)>& value,
                  const std::function<std::string(std::int64_t)>& label) {
  std::string text;
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t of_class = i % 3;
    for (std::int64_t c = 0; c < 3; ++c)
      text += fmt::format("{},", value(c, (c == of_class ? 3 : 0) + static_cast<double>(i * 7 % 11) / 11));
    text += label(of_class) + "\n";
  }
  return text;
}

std::string number(std::int64_t of_class) { return std::to_string(of_class); }
double plain(std::int64_t, double unit) { return unit; }
double scaled(std::int64_t column, double unit) { return (column == 0 ? 100 : 1) * (5 + unit); }

struct Files {
  Folder folder;
  std::string model = folder.write("m.onnx", largest_of_three());
  std::string good = folder.write("good.csv", table(90, plain, number));
  std::string bad = folder.write("bad.csv", table(90, scaled, number));
  std::string unlabelled = folder.write("unlabelled.csv", table(90, scaled, [](std::int64_t) { return "1"; }));

  std::string estimate(const std::string& data) const {
    return "estimate " + model + " " + data + " --sigma 0.1,0.2 --estimator mc:100,taylor ";
  }
  std::string run_of(const std::string& data, const std::string& name) const {
    EXPECT_EQ(test::probust(estimate(data) + "--quiet -o " + (folder / name)).status, 0);
    return folder / name;
  }
};

TEST(CliCheck, NamesTheOptionsToAddAndThenNothing) {
  const Files files;
  const Finished first = test::probust("check " + files.model + " " + files.bad);
  EXPECT_EQ(first.status, 0) << first.err;
  EXPECT_TRUE(mentions(first.out, "warning: the accuracy is 33.3% as given and 100.0% with columns standardised")) << first.out;
  const std::string title = "options to add: ";
  const std::size_t at = first.out.find(title);
  ASSERT_NE(at, std::string::npos);
  std::string options = first.out.substr(at + title.size());
  options.pop_back();
  const Finished second = test::probust("check " + files.model + " " + files.bad + " " + options);
  EXPECT_TRUE(second.out.ends_with("nothing suspicious\n")) << second.out << second.err;
  EXPECT_TRUE(test::probust("check " + files.model + " " + files.good).out.ends_with("nothing suspicious\n"));
}

TEST(CliCheck, WritesJson) {
  const Files files;
  const auto parsed = nlohmann::json::parse(test::probust("check " + files.model + " " + files.bad + " --json").out);
  EXPECT_EQ(parsed.at("suspicious"), true);
  EXPECT_EQ(parsed.at("points"), 90);
  EXPECT_TRUE(parsed.at("options").at("add").contains("mean"));
  EXPECT_EQ(parsed.at("findings").at(0).at("severity"), "warning");
}

TEST(CliCheck, TakesPointsFromAllOfTheData) {
  const Files files;
  // Sorted by label, so that the first 30 points have the same class.
  std::string sorted;
  for (int c = 0; c < 3; ++c) {
    for (int i = 0; i < 200; ++i)
      sorted += fmt::format("{},{},{},{}\n", c == 0 ? 3 : i % 7 / 9.0, c == 1 ? 3 : 0, c == 2 ? 3 : 0, c);
  }
  const std::string data = files.folder.write("sorted.csv", sorted);
  const auto parsed = nlohmann::json::parse(test::probust("check " + files.model + " " + data + " --json --limit 30").out);
  EXPECT_EQ(parsed.at("points"), 30);
  EXPECT_EQ(parsed.at("predicted_classes"), 3);
  EXPECT_EQ(parsed.at("suspicious"), false);
}

TEST(CliCheck, ComparesSigmaWithTheData) {
  const Files files;
  EXPECT_TRUE(mentions(test::probust("check " + files.model + " " + files.good + " --sigma 30").out,
                       "noise of 30 is larger than the range"));
  EXPECT_TRUE(mentions(test::probust("check " + files.model + " " + files.good + " --noise laplace:30").out, "noise of 30"));
  EXPECT_FALSE(mentions(test::probust("check " + files.model + " " + files.good + " --sigma 0.3").out, "noise of"));
}

TEST(CliCheck, PrintsTheNotesOfTheData) {
  const Files files;
  std::string text = ",a,b,c,kind\n";
  for (int i = 0; i < 30; ++i)
    text += fmt::format("{},{},{},{},{}\n", i, i % 3 == 0 ? 3 : 0, i % 3 == 1 ? 3 : 0, i % 3 == 2 ? 3 : 0, i % 3);
  const std::string command = "check " + files.model + " " + files.folder.write("index.csv", text);
  const Finished done = test::probust(command);
  EXPECT_TRUE(mentions(done.out, "note: the first column has no name and numbers the rows, so it is left out\n")) << done.out;
  EXPECT_TRUE(mentions(done.out, "accuracy    100.0% as given")) << done.out;
  EXPECT_TRUE(mentions(test::probust(command + " --json").out, "numbers the rows"));
}

TEST(CliCheck, ReportsWhyNoPointCanBeRead) {
  const Files files;
  const std::string data = files.folder.write("i.csv", "a;b;c;kind\n1,5;2,5;3;0\n2,5;3,5;1;1\n");
  const Finished done = test::probust("check " + files.model + " " + data);
  EXPECT_EQ(done.status, 3) << done.err;
  EXPECT_TRUE(mentions(done.err, "write decimals with a point")) << done.err;
}

// If words name only some of the classes, predictions match them only by chance, whatever the accuracy.
TEST(CliCheck, AsksForTheNamesOfAllClasses) {
  const Files files;
  const auto word = [](std::int64_t of_class) { return std::string(of_class == 0 ? "ant" : "bee"); };
  const std::string some = files.folder.write("some.csv", table(90, plain, word));
  for (const char* command : {"check ", "estimate --sigma 0.1 --estimator mc:10 --quiet "}) {
    const Finished done = test::probust(command + files.model + " " + some);
    EXPECT_TRUE(mentions(done.out + done.err,
                         "warning: the 2 class names are numbered in sorted order, but the model has 3 "
                         "classes; list all names in the model's order with --classes"))
        << done.out << done.err;
  }
  const std::string names = files.folder.write("names.txt", "ant\nbee\ncat\n");
  EXPECT_FALSE(mentions(test::probust("check " + files.model + " " + some + " --classes " + names).out, "in sorted order"));
}

// Numeric labels of an array mean the same as the model's own labels.
TEST(CliCheck, MatchesNumbersWithTheNumbersOfTheModel) {
  const Files files;
  test::OnnxBuilder builder;
  Tensor identity({3, 3}), points({30, 3});
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < 3; ++i) identity.row(i)[i] = 1;
  for (std::int64_t i = 0; i < 30; ++i) {
    points.row(i)[i % 3] = 3;
    labels.push_back(std::vector<std::int64_t>{3, 5, 8}[i % 3]);
  }
  builder.input("x", {-1, 3}).weight("w", identity).node("MatMul", {"x", "w"}, {"y"}).integers("table", {3, 5, 8});
  builder.node("ArgMax", {"y"}, {"a"}, {test::OnnxAttribute::integer("axis", 1)}).node("Gather", {"table", "a"}, {"label"});
  const std::string model = files.folder.write("labels.onnx", builder.output("y", {-1, 3}).output("label", {-1, 1}).bytes());
  write_npz(files.folder / "points.npz", points, labels);
  const Finished done = test::probust("check " + model + " " + (files.folder / "points.npz"));
  EXPECT_TRUE(mentions(done.out, "accuracy    100.0% as given")) << done.out << done.err;
  EXPECT_TRUE(mentions(done.out, "note: labels are matched with the class names of the model, which are numbers")) << done.out;
}

TEST(CliCheck, NamesTheFileOfAnArrayOnce) {
  const Files files;
  const std::string path = files.folder / "points.npz";
  NpzWriter writer(path);
  writer.add("x", {2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6});
  writer.add("y", {2}, std::vector<double>{0.5, 1});
  writer.close();
  const Finished done = test::probust("check " + files.model + " " + path);
  EXPECT_TRUE(done.err.starts_with("probust: label 0 of array y of " + path + " is not a whole number; ")) << done.err;
}

TEST(CliFirstCheck, WarnsBeforeTheFirstRowEvenIfQuiet) {
  const Files files;
  for (const char* command : {"estimate", "summary", "bias", "rank", "curve", "agree", "distance"}) {
    const std::string rest = " " + files.model + " " + files.bad + " --sigma 0.1,0.2 --estimator mc:100,taylor --quiet";
    const Finished warned = test::probust(command + rest);
    EXPECT_EQ(warned.status, 0) << warned.err;
    EXPECT_TRUE(warned.err.starts_with("probust: warning: the accuracy is ")) << command << ": " << warned.err;
    EXPECT_FALSE(mentions(test::probust(command + rest + " --no-check").err, "warning")) << command;
  }
  const std::string curvature = "curvature " + files.model + " " + files.bad + " --sigma 0.1 --quiet";
  EXPECT_TRUE(test::probust(curvature).err.starts_with("probust: warning: the accuracy is "));
  EXPECT_EQ(test::probust(files.estimate(files.good) + "--quiet").err, "");
}

TEST(CliFirstCheck, RowsCarryAHint) {
  const Files files;
  for (const auto& row : test::rows(test::probust(files.estimate(files.bad) + "--format jsonl").out)) {
    const std::string note = row.at("note");
    EXPECT_TRUE(mentions(note, "may be wrong: see the warning: give --mean")) << note;
  }
  for (const std::string& options : {std::string("--no-check"), std::string()}) {
    const std::string data = options.empty() ? files.good : files.bad;
    for (const auto& row : test::rows(test::probust(files.estimate(data) + options + " --format jsonl").out))
      EXPECT_TRUE(row.at("note").is_null() || !mentions(row.at("note").get<std::string>(), "may be wrong"));
  }
}

// Labels are checked wherever they come from and whatever has to survive.
TEST(CliFirstCheck, CoversLabelsOfAnotherFileAndOtherTargets) {
  const Files files;
  std::string labels;
  for (int i = 0; i < 90; ++i) labels += std::to_string((i + 1) % 3) + "\n";
  const std::string of_file = files.folder.write("labels.txt", labels);
  EXPECT_TRUE(mentions(test::probust(files.estimate(files.good) + "--labels " + of_file).err,
                       "probust: warning: the accuracy is 0.0% as given"));
  EXPECT_TRUE(mentions(test::probust(files.estimate(files.bad) + "--target label").err, "probust: warning: "));
  EXPECT_FALSE(mentions(test::probust(files.estimate(files.good) + "--target label").err, "warning"));
}

TEST(CliFirstCheck, PointsWithoutLabelsThatAllGetOneClassAreAWarning) {
  const Files files;
  std::string without;
  for (int i = 0; i < 60; ++i) without += fmt::format("{},{},{}\n", 900 + i, i, 2 * i);
  const std::string data = files.folder.write("x.csv", without) + " --label-column none";
  const Finished warned = test::probust(files.estimate(data) + "--quiet");
  EXPECT_TRUE(mentions(warned.err, "points get class 0, so p is meaningless")) << warned.err;
  EXPECT_FALSE(mentions(test::probust(files.estimate(files.good + " --label-column 0")).err, "class 0, so p"));
}

TEST(CliWarnings, ARunShowsThemFirst) {
  const Files files;
  const std::string run = files.run_of(files.bad, "bad.sqlite"), fine = files.run_of(files.good, "good.sqlite");
  for (const char* command : {"summary", "bias", "rank", "curve", "agree"}) {
    EXPECT_TRUE(test::probust(std::string(command) + " " + run).out.starts_with("warning: the accuracy is ")) << command;
    const auto parsed = nlohmann::json::parse(test::probust(std::string(command) + " " + run + " --json").out);
    EXPECT_EQ(parsed.at("warnings").size(), 1U) << command;
    EXPECT_FALSE(mentions(test::probust(std::string(command) + " " + fine).out, "warning")) << command;
  }
  EXPECT_EQ(test::probust("report " + run + " -o " + (files.folder / "r.html")).status, 0);
  const std::string page = test::read_whole(files.folder / "r.html");
  EXPECT_LT(page.find("Warning: the accuracy is "), page.find("<h1>"));
  const std::string other = files.folder / "other.sqlite";
  EXPECT_EQ(test::probust(files.estimate(files.bad) + "--no-check --quiet -o " + other).status, 0);
  EXPECT_TRUE(test::probust("compare " + run + " " + other).out.starts_with("warning: " + run + ": the accuracy is "));
  EXPECT_TRUE(mentions(test::probust("compare " + other + " " + run).out, "warning: " + run));
}

TEST(CliWarnings, FailAGateUnlessTheyAreAccepted) {
  const Files files;
  const std::string run = files.run_of(files.bad, "bad.sqlite"), fine = files.run_of(files.good, "good.sqlite");
  const std::string gate = "gate " + run + " --min-mean 0.1 ", junit = files.folder / "j.xml";
  const Finished failed = test::probust(gate + "--json --junit " + junit);
  EXPECT_EQ(failed.status, 1);
  const auto parsed = nlohmann::json::parse(failed.out);
  EXPECT_EQ(parsed.at("met"), false);
  EXPECT_EQ(parsed.at("checks").back().at("check"), "warnings");
  EXPECT_EQ(parsed.at("checks").back().at("met"), false);
  EXPECT_TRUE(mentions(test::read_whole(junit), "<testcase classname=\"probust\" name=\"warnings\""));
  const Finished accepted = test::probust(gate + "--accept-warnings");
  EXPECT_EQ(accepted.status, 0);
  EXPECT_TRUE(mentions(accepted.err, "warning (accepted): the accuracy is "));
  EXPECT_EQ(test::probust("gate " + fine + " --min-mean 0.1").status, 0);
}

TEST(CliWarnings, SurviveAResume) {
  const Files files;
  const std::string run = files.run_of(files.bad, "bad.sqlite");
  const Finished again = test::probust(files.estimate(files.bad) + "--quiet -o " + run);
  EXPECT_TRUE(again.err.starts_with("probust: warning: the accuracy is "));
  const Finished unchecked = test::probust(files.estimate(files.bad) + "--quiet --no-check -o " + run);
  EXPECT_EQ(unchecked.err, "");
  EXPECT_TRUE(test::probust("summary " + run).out.starts_with("warning: "));
}

TEST(CliWarnings, OfShardsAreJoined) {
  const Files files;
  const std::string data = files.folder.write("long.csv", table(600, scaled, number));
  std::string parts;
  for (int part = 1; part <= 2; ++part) {
    const std::string shard = files.folder / fmt::format("{}.sqlite", part);
    const std::string skip = part == 1 ? "" : " --no-check";
    EXPECT_EQ(test::probust(files.estimate(data) + fmt::format("--quiet --shard {}/2 -o {}{}", part, shard, skip)).status, 0);
    parts += " " + shard;
  }
  for (const std::string& order : {parts, " " + files.folder / "2.sqlite" + " " + files.folder / "1.sqlite"}) {
    const std::string all = files.folder / "all.sqlite";
    EXPECT_EQ(test::probust("merge" + order + " --force-new -o " + all).status, 0);
    EXPECT_TRUE(test::probust("summary " + all).out.starts_with("warning: the accuracy is "));
  }
}

TEST(CliWarnings, OfSeveralModelsNameTheModel) {
  const Files files;
  const std::string second = files.folder.write("second.onnx", largest_of_three());
  const Finished both = test::probust(files.estimate(files.bad) + "--quiet --model " + second);
  EXPECT_TRUE(mentions(both.err, "probust: warning: m.onnx: the accuracy is "));
  EXPECT_TRUE(mentions(both.err, "probust: warning: second.onnx: the accuracy is "));
}

// ---- layout

// Two classes of points [3, 2, 4], decided by a linear function that depends on every element.
std::string image_model() {
  test::OnnxBuilder builder;
  Tensor weights({24, 2});
  for (std::int64_t i = 0; i < 24; ++i) weights.row(i)[0] = static_cast<float>(i * i % 7) - 3;
  return builder.input("x", {1, 3, 2, 4})
      .node("Flatten", {"x"}, {"f"})
      .weight("w", weights)
      .node("MatMul", {"f", "w"}, {"y"})
      .output("y", {1, 2})
      .bytes();
}

TEST(CliLayout, DataOfBothOrdersGiveTheSameNumbers) {
  const Folder folder;
  Tensor first({20, 3, 2, 4}), last({20, 2, 4, 3});
  for (std::int64_t n = 0; n < 20; ++n) {
    for (std::int64_t c = 0; c < 3; ++c) {
      for (std::int64_t p = 0; p < 8; ++p) {
        const float value = static_cast<float>((n * 31 + c * 17 + p * 7) % 23) / 23;
        first.row(n)[c * 8 + p] = last.row(n)[p * 3 + c] = value;
      }
    }
  }
  write_npy(folder / "first.npy", first);
  write_npy(folder / "last.npy", last);
  const std::string model = folder.write("m.onnx", image_model());
  const auto p_of = [&](const std::string& data, const std::string& options) {
    const Finished done =
        test::probust("estimate " + model + " " + folder / data + " --sigma 0.5 --estimator taylor --format jsonl " + options);
    EXPECT_EQ(done.status, 0) << done.err;
    std::vector<double> p;
    for (const auto& row : test::rows(done.out)) p.push_back(row.at("p"));
    return p;
  };
  for (const std::string options :
       {"", "--layout nchw", "--mean=0.1,0.2,0.3 --std 1,2,3", "--mean=0.1,0.2,0.3 --std 1,2,3 --layout nchw"}) {
    const std::vector<double> expected = p_of("first.npy", options), actual = p_of("last.npy", options);
    ASSERT_EQ(actual.size(), 20U) << options;
    for (std::size_t i = 0; i < 20; ++i) EXPECT_NEAR(actual[i], expected[i], 1e-6) << options;
  }
  EXPECT_TRUE(mentions(test::probust("estimate " + model + " " + folder / "last.npy --sigma 0.5 --estimator taylor").err,
                       "are transposed to the input's shape [3, 2, 4]"));
}

TEST(CliLayout, SwappedExtentsAreRefused) {
  const Folder folder;
  const std::string model = folder.write("m.onnx", image_model());
  for (const Shape& shape : {Shape{5, 3, 4, 2}, Shape{5, 4, 2, 3}, Shape{5, 4, 6}}) {
    write_npy(folder / "x.npy", Tensor(shape));
    for (const char* command : {"estimate ", "check "}) {
      const Finished refused = test::probust(command + model + " " + folder / "x.npy --sigma 0.5");
      EXPECT_EQ(refused.status, 3) << to_string(shape);
      EXPECT_TRUE(mentions(refused.err, "--layout")) << refused.err;
      EXPECT_TRUE(mentions(refused.err, "[3, 2, 4]")) << refused.err;
    }
  }
  write_npy(folder / "x.npy", Tensor({5, 3, 4, 2}));
  EXPECT_EQ(test::probust("estimate " + model + " " + folder / "x.npy --sigma 0.5 --estimator taylor --layout whcn").status, 0);
}

}  // namespace
}  // namespace probust
