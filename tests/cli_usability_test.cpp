// SPDX-License-Identifier: MIT
// What users see after a mistake: hints, suggestions, and output that cannot be written.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <thread>

#include "support/command.h"
#include "support/onnx_builder.h"

namespace probust {
namespace {

using test::Finished;
using test::Folder;
using test::kDigits;
using test::lines_of;
using test::mentions;
using test::rows;

// The exit status of a whole shell command, in which PROBUST is the program; its stderr goes to `err` unless the command
// redirects it.
int shell(std::string command, const std::string& err = "/dev/null") {
  command.replace(command.find("PROBUST"), 7, PROBUST_PROGRAM);
  const int raw = std::system(("exec 2>'" + err + "'; " + command).c_str());
  return WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
}

// Two inputs and two classes: y = x w, followed by the operator `last`.
std::string linear_model(const std::string& last) {
  test::OnnxBuilder builder;
  builder.input("x", {-1, 2}).weight("w", Tensor({2, 2}, {1, 0, 0, 1})).node("MatMul", {"x", "w"}, {"y"});
  if (last.empty()) return builder.output("y", {-1, 2}).bytes();
  return builder.node(last, {"y"}, {"z"}).output("z", {-1, 2}).bytes();
}

// ---- output that cannot be written

TEST(CliOutput, AFullDiskIsAnError) {
  const Folder folder;
  for (const std::string& command :
       {"inspect " + test::digits("digits.onnx"), std::string("--help"), std::string("estimate --help"),
        std::string("version --json"), "estimate " + kDigits + " --sigma 0.1 --quiet"}) {
    EXPECT_EQ(shell("PROBUST " + command + " >/dev/full", folder / "err"), 5) << command;
    EXPECT_TRUE(mentions(test::read_whole(folder / "err"), "output could not be written")) << command;
  }
  EXPECT_EQ(shell("echo '{\"z\": [1], \"R\": [[1]]}' | PROBUST mvn >/dev/full"), 5);
  EXPECT_EQ(shell("PROBUST version >&-"), 5);
}

TEST(CliOutput, MessagesMayBeLost) {
  for (const char* lost : {"2>&-", "2>/dev/full"}) {
    EXPECT_EQ(shell(std::string("PROBUST inspect nothing.onnx ") + lost), 3) << lost;
    EXPECT_EQ(shell("PROBUST estimate " + kDigits + " --sigma 0.1 --estimator mc:10 --limit 3 >/dev/null " + lost), 0) << lost;
  }
}

TEST(CliOutput, AnInputIsNotOverwritten) {
  const Folder folder;
  const std::string model = folder.write("m.onnx", linear_model("")), points = folder.write("x.csv", "1,2\n2,1\n");
  const std::string same = folder / "." + "/x.csv";
  const Finished finished = test::probust("estimate " + model + " " + points + " --label-column none --sigma 1 -o " + same);
  EXPECT_EQ(finished.status, 2);
  EXPECT_TRUE(mentions(finished.err, "which is the input ")) << finished.err;
  EXPECT_EQ(test::read_whole(points), "1,2\n2,1\n");
  EXPECT_EQ(test::probust("logits " + model + " " + points + " --label-column none -o " + model).status, 2);
  EXPECT_EQ(test::read_whole(model), linear_model(""));
}

// A folder that does not exist, a file in place of a folder, and a folder in place of a file.
TEST(CliOutput, UnwritableOutputHasItsOwnStatus) {
  const Folder folder;
  const std::string run = folder / "run.sqlite", points = folder.write("x.csv", "1,2,0\n2,1,1\n");
  const std::string estimate = "estimate " + kDigits + " --limit 3 --sigma 0.1 --estimator taylor --quiet";
  ASSERT_EQ(test::probust(estimate + " -o " + run).status, 0);
  ASSERT_EQ(test::probust(estimate + " --shard 1/1 -o " + folder / "shard.sqlite").status, 0);
  const std::pair<std::string, std::string> commands[] = {{estimate + " -o", ".sqlite"},
                                                          {estimate + " -o", ".csv"},
                                                          {"summary " + run + " --plot", ".svg"},
                                                          {"rank " + run + " --gallery", ".html"},
                                                          {"gate " + run + " --min-mean 0 --junit", ".xml"},
                                                          {"report " + run + " -o", ".html"},
                                                          {"export " + run + " -o", ".csv"},
                                                          {"export " + run + " -o", ".npz"},
                                                          {"merge " + folder / "shard.sqlite" + " -o", ".sqlite"},
                                                          {"train --data " + points + " --model linear -o", ".onnx"},
                                                          {"data moons -o", ".npz"},
                                                          {"data moons -o", ".csv"},
                                                          {"logits " + kDigits + " -o", ".npy"},
                                                          {"jacobian " + kDigits + " -o", ".npy"}};
  folder.write("file", "");
  for (const auto& [command, ending] : commands) {
    std::filesystem::create_directory(folder / ("d" + ending));
    for (const std::string& path : {"none/x" + ending, "file/x" + ending, "d" + ending}) {
      const Finished finished = test::probust(command + " " + folder / path);
      EXPECT_EQ(finished.status, 5) << command << " " << path << ": " << finished.err;
      EXPECT_TRUE(mentions(finished.err, folder / path + " cannot be written: ")) << finished.err;
      EXPECT_EQ(lines_of(finished.err).size(), 1U) << finished.err;
    }
  }
  EXPECT_EQ(test::probust("reproduce lambda --data digits --quick -o " + folder / "file").status, 5);
  EXPECT_EQ(test::probust(estimate + " -o " + folder / "none/x.txt").status, 2) << "an ending that is not known";
}

TEST(CliOutput, AHangupEndsARunAsAStopDoes) {
  const Folder folder;
  const std::string run = "PROBUST estimate " + kDigits + " --sigma 0.1 --estimator mc:100000000 --quiet >/dev/null & child=$!; ";
  EXPECT_EQ(shell(run + "sleep 1; kill -HUP $child; wait $child", folder / "err"), 130);
  EXPECT_TRUE(mentions(test::read_whole(folder / "err"), "interrupted")) << test::read_whole(folder / "err");
}

// ---- help

TEST(CliHelp, FitsTheTerminalAndListsExitStatuses) {
  for (const char* command : {"", "estimate", "bench"}) {
    for (const std::size_t width : {60U, 100U}) {
      setenv("COLUMNS", std::to_string(width).c_str(), 1);
      const Finished help = test::probust(std::string(command) + " --help");
      EXPECT_EQ(help.status, 0);
      for (const std::string& line : lines_of(help.out)) {
        const bool one_word = line.find(' ', line.find_first_not_of(' ')) == std::string::npos;
        const bool flag = mentions(line, "  --") || mentions(line, "  -o");  // CLI11 does not break the name of an option
        EXPECT_TRUE(line.size() <= width || one_word || flag || line.rfind("Usage", 0) == 0)
            << command << " " << width << ": " << line;
      }
    }
  }
  unsetenv("COLUMNS");
  const std::string help = test::probust("--help").out;
  EXPECT_TRUE(mentions(help, "Exit status:") && mentions(help, "130  interrupted")) << help;
}

TEST(CliHelp, MistypedWordsGetSuggestions) {
  const auto message = [](const std::string& arguments) {
    const Finished finished = test::probust(arguments);
    EXPECT_EQ(finished.status, 2) << arguments;
    EXPECT_EQ(lines_of(finished.err).size(), 1U) << finished.err;
    return finished.err;
  };
  EXPECT_TRUE(mentions(message("estimtae a b"), "'estimtae' is not a command; did you mean estimate?"));
  EXPECT_TRUE(mentions(message("estimate " + kDigits + " --sgima 0.1"), "did you mean --sigma?"));
  EXPECT_TRUE(mentions(message("estimate " + kDigits + " --sigma 0.1 --estimators=mc:5"), "did you mean --estimator?"));
  EXPECT_TRUE(mentions(message("frobnicate"), "see probust --help"));
  EXPECT_TRUE(mentions(message("estimate " + kDigits + " --sigma 0.1 --zzzzzz"), "see probust estimate --help"));
  EXPECT_TRUE(mentions(message(""), "use inspect"));
}

TEST(CliHelp, UnknownWordsAreErrorsEvenWithHelp) {
  const auto refused = [](const std::string& arguments, const std::string& hint) {
    const Finished finished = test::probust(arguments);
    EXPECT_EQ(finished.status, 2) << arguments;
    EXPECT_TRUE(finished.out.empty()) << arguments;
    EXPECT_TRUE(mentions(finished.err, hint)) << arguments << ": " << finished.err;
  };
  refused("estimat --help", "'estimat' is not a command; did you mean estimate?");
  refused("--help estimat", "'estimat' is not a command; did you mean estimate?");
  refused("foo --help", "'foo' is not a command; use inspect");
  refused("--version foo", "'foo' is not a command");
  refused("estimate --help --sgima", "did you mean --sigma?");
  refused("estimate --sgima --help", "did you mean --sigma?");
  refused("version --help now", "the argument now cannot be used here; see probust version --help");
  EXPECT_EQ(test::probust("--help estimate").status, 0);
  EXPECT_EQ(test::probust("--help estimate").out, test::probust("estimate --help").out);
}

// ---- probust mvn

TEST(CliMvn, EndsWithAnErrorIfNoLineCouldBeAnswered) {
  const std::string good = "{\"z\": [1], \"R\": [[1]]}\n", bad = "{\"z\": [1], \"r\": [[1]]}\n";
  const auto status = [](const std::string& lines) { return test::probust("mvn --threads 2", lines).status; };
  EXPECT_EQ(status(""), 0);
  EXPECT_EQ(status(good), 0);
  EXPECT_EQ(status(bad + good), 0);
  EXPECT_EQ(status(bad), 6);
  EXPECT_EQ(status("\n"), 6);
  const Finished finished = test::probust("mvn", bad + bad);
  EXPECT_EQ(lines_of(finished.out).size(), 2U);
  EXPECT_TRUE(mentions(finished.err, "has no line that could be evaluated")) << finished.err;
}

// ---- hints about data and noise

TEST(CliHints, AccuracyCloseToChanceAndWrongLabels) {
  const Folder folder;
  const std::string model = folder.write("m.onnx", linear_model(""));
  std::string wrong, beyond;
  for (int i = 0; i < 30; ++i) {
    wrong += "1,2,0\n";  // p is 1
    beyond += "1,2,7\n";
  }
  const std::string options = " --sigma 0.1 --estimator taylor";
  const auto messages = [&](const std::string& rows) {
    return test::probust("estimate " + model + " " + folder.write("x.csv", rows) + options).err;
  };
  EXPECT_TRUE(mentions(messages(wrong), "the accuracy is 0.0% as given and 100.0% with labels + 1"));
  EXPECT_TRUE(mentions(messages(beyond), "labels range from 7 to 7, but the model has classes 0 to 1"));
  EXPECT_FALSE(mentions(test::probust("estimate " + kDigits + options).err, "chance"));
}

TEST(CliHints, NoiseLargerThanTheData) {
  const std::string run = "estimate " + kDigits + " --limit 3 --estimator taylor --sigma ";
  EXPECT_TRUE(mentions(test::probust(run + "0.1,30").err, "noise of 30 is larger than the range of the data"));
  EXPECT_FALSE(mentions(test::probust(run + "0.1").err, "larger"));
}

TEST(CliHints, ARangeHasReadableScales) {
  const auto all = rows(test::probust("estimate " + kDigits + " --limit 1 --estimator taylor --sigma 0.01..1:5").out);
  ASSERT_EQ(all.size(), 5U);
  EXPECT_EQ(all[1]["noise"], "gaussian:0.0316228");
  EXPECT_EQ(all[4]["sigma"], 1.0);
  const auto close = rows(test::probust("estimate " + kDigits + " --limit 1 --estimator taylor --sigma 0.1..0.10000001:3").out);
  EXPECT_NE(close[0]["sigma"], close[1]["sigma"]);
}

TEST(CliHints, ToleranceIsNotForClassifiers) {
  const Folder folder;
  const std::string points = folder.write("x.csv", "1,2\n") + " --label-column none --sigma 0.1 --estimator taylor --tolerance 1";
  EXPECT_EQ(test::probust("estimate " + folder.write("m.onnx", linear_model("")) + " " + points).status, 0);
  for (const char* last : {"Softmax", "LogSoftmax"}) {
    const Finished finished = test::probust("estimate " + folder.write("m.onnx", linear_model(last)) + " " + points);
    EXPECT_EQ(finished.status, 2) << last;
    EXPECT_TRUE(mentions(finished.err, "is a classifier")) << finished.err;
  }
}

// ---- tables, classes, separators

TEST(CliRows, EveryFormatHasTheClasses) {
  const std::string run =
      "estimate " + kDigits + " --limit 2 --sigma 0.3 --estimator mc:200,taylor --per-class --quiet --format ";
  const auto records = rows(test::probust(run + "jsonl").out);
  const auto csv = lines_of(test::probust(run + "csv").out);
  ASSERT_EQ(csv.size(), 5U);
  EXPECT_TRUE(mentions(csv[0], ",p_label_high,p_class_0,p_class_1,")) << csv[0];
  const std::size_t columns = std::count(csv[0].begin(), csv[0].end(), ',');
  EXPECT_EQ(columns, 19U + 10U);
  double sum = 0;
  std::string rest = csv[1];
  for (std::size_t c = 10; c-- > 0;) {
    const std::size_t comma = rest.rfind(',');
    const double p = std::stod(rest.substr(comma + 1));
    EXPECT_EQ(p, records[0]["classes"][c].get<double>());
    sum += p;
    rest.resize(comma);
  }
  EXPECT_NEAR(sum, 1, 1e-9);
  EXPECT_TRUE(mentions(test::probust(run + "table").out, "classes: "));
}

// Two samples cannot show a failure probability of 1e-20, whatever a model of the margins implies.
TEST(CliRows, ATableShowsNoMoreThanTheIntervalAllows) {
  const std::string run = "estimate " + kDigits + " --limit 40 --sigma 0.01 --quiet --estimator ";
  const std::string coarse = test::probust(run + "probit:10 --format table").out;
  EXPECT_FALSE(mentions(coarse, "e-1"));
  EXPECT_TRUE(mentions(coarse, " <0."));
  EXPECT_TRUE(mentions(test::probust(run + "taylor --format table").out, "e-1"));
}

TEST(CliRows, AClassMayBeNamed) {
  const Folder folder;
  const std::string model = folder.write("m.onnx", linear_model("")), points = folder.write("x.csv", "2,1,Bag\n1,2,Shirt\n");
  const std::string run = "estimate " + model + " " + points + " --sigma 1 --estimator taylor ";
  const auto named = rows(test::probust(run + "--target Shirt").out), numbered = rows(test::probust(run + "--target 1").out);
  ASSERT_EQ(named.size(), 2U);
  EXPECT_EQ(named, numbered);
  EXPECT_EQ(rows(test::probust(run + "--groups Bag,Shirt").out)[0]["p"], 1.0);
  EXPECT_TRUE(mentions(test::probust(run + "--target Hat").err, "or a class name"));
}

TEST(CliRows, SemicolonsAndTabsSeparate) {
  const Folder folder;
  const std::string model = folder.write("m.onnx", linear_model(""));
  const auto run = [&](const std::string& text) {
    return test::probust("estimate " + model + " " + folder.write("x.csv", text) + " --sigma 1 --estimator taylor --quiet");
  };
  const Finished commas = run("a,b,label\n2,1,0\n1,3,1\n");
  EXPECT_EQ(rows(commas.out).size(), 2U);
  EXPECT_EQ(run("a;b;label\n2;1;0\n1;3;1\n").out, commas.out);
  EXPECT_EQ(run("a\tb\tlabel\n2\t1\t0\n1\t3\t1\n").out, commas.out);
  EXPECT_EQ(run("\"a;x\",b,label\n2,1,0\n1,3,1\n").out, commas.out);
  EXPECT_TRUE(mentions(run("a;b;label\n2,5;1;0\n").err, "write decimals with a point"));
}

TEST(CliRows, CategoricalNoiseTakesItsColumnsFromItsFile) {
  const Folder folder;
  test::OnnxBuilder builder;
  builder.input("x", {-1, 4}).weight("w", Tensor({4, 2}, {1, 0, 0, 1, 1, 0, 0, 1})).node("MatMul", {"x", "w"}, {"y"});
  const std::string model = folder.write("m.onnx", builder.output("y", {-1, 2}).bytes());
  const std::string points = folder.write("x.csv", "1,0,1,0\n0.2,0.1,0,1\n") + " --label-column none";
  const std::string changes = R"("transitions": [[0.7, 0.3], [0.4, 0.6]]}]})";
  const std::string file = folder.write("own.json", R"({"groups": [{"columns": [2, 3], )" + changes);
  const std::string relative = folder.write("relative.json", R"({"groups": [{"columns": [0, 1], )" + changes);
  const auto p = [&](const std::string& noise) {
    const Finished finished = test::probust("estimate " + model + " " + points +
                                            " --estimator mc:2000 --noise 'gaussian:0.5@0,1+categorical:" + noise + "'");
    EXPECT_EQ(finished.status, 0) << finished.err;
    return rows(finished.out).at(1)["p"].get<double>();
  };
  EXPECT_EQ(p(file), p(relative + "@2,3"));
  const Finished overlap =
      test::probust("estimate " + model + " " + points + " --noise 'gaussian:0.5@0..2+categorical:" + file + "'");
  EXPECT_EQ(overlap.status, 2);
  EXPECT_TRUE(mentions(overlap.err, "has column 2 in two parts")) << overlap.err;
}

}  // namespace
}  // namespace probust
