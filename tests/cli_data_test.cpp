// SPDX-License-Identifier: MIT
// probust data: generated points, fetched files, interruptions and errors.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "datasets/dataset.h"
#include "datasets/fetch/iris.h"
#include "probust/data/datasets.h"
#include "store/run_file.h"
#include "support/command.h"
#include "support/http_server.h"

namespace probust {
namespace {

namespace fs = std::filesystem;
using test::Finished;
using test::Folder;
using test::HttpServer;
using test::mentions;

Finished data(const std::string& arguments) { return test::probust("data " + arguments); }

TEST(CliData, WritesEveryKindOfGeneratedPoints) {
  const Folder folder;
  for (const MadeDataKind& kind : made_data_kinds()) {
    const MadeData expected = make_data(kind, {.count = 25, .noise = 0.125, .seed = 7});
    for (const std::string ending : {".npz", ".csv"}) {
      if (kind.side != 0 && ending == ".csv") continue;
      const std::string file = folder / (std::string(kind.name) + ending);
      const Finished made = data(fmt::format("{} --count 25 --noise 0.125 --seed 7 --quiet -o {}", kind.name, file));
      ASSERT_EQ(made.status, 0) << made.err;
      EXPECT_TRUE(mentions(made.out, file + ": 25 points of shape")) << made.out;
      const Dataset read = read_dataset(file).value();
      EXPECT_EQ(read.x.shape, expected.x.shape) << file;
      EXPECT_EQ(read.x.data, expected.x.data) << file;
      EXPECT_EQ(read.labels, expected.labels) << file;
    }
  }
}

TEST(CliData, OptionsOfGeneratedPoints) {
  const Folder folder;
  const std::string file = folder / "d.npz";
  const Finished made = data("digits --count 12 --side 12 --json -o " + file);
  ASSERT_EQ(made.status, 0) << made.err;
  const auto record = nlohmann::json::parse(made.out);
  EXPECT_EQ(record["shape"], (std::vector<int>{1, 12, 12}));
  EXPECT_EQ(record["points"], 12);
  EXPECT_EQ(record["classes"], 10);
  EXPECT_EQ(read_dataset(file).value().x.shape, (Shape{12, 1, 12, 12}));
  ASSERT_EQ(data("blobs --classes 4 -o " + file).status, 0);
  const Dataset blobs = read_dataset(file).value();
  EXPECT_EQ(blobs.x.shape, (Shape{1000, 2}));
  EXPECT_EQ(blobs.labels[7], 3);
  // A network can be trained on the points without further options.
  ASSERT_EQ(data("moons --count 100 -o " + (folder / "m.csv")).status, 0);
  EXPECT_EQ(
      test::probust("train --data " + (folder / "m.csv") + " --model linear --epochs 1 --quiet -o " + (folder / "m.onnx")).status,
      0);
}

TEST(CliData, WritesIris) {
  const Folder folder;
  for (const std::string& file : {folder / "iris.csv", folder / "iris.npz"}) {
    const Finished written = data("iris -o " + file);
    ASSERT_EQ(written.status, 0) << written.err;
    EXPECT_TRUE(mentions(written.out, "150 points of shape [4] in 3 classes")) << written.out;
    const Dataset flowers = read_dataset(file).value();
    EXPECT_EQ(flowers.x.data, iris().x.data);
    EXPECT_EQ(flowers.labels, iris().labels);
  }
  EXPECT_EQ(read_dataset(folder / "iris.csv").value().class_names, iris().class_names);
}

TEST(CliData, ErrorsAreOnOneLine) {
  const Folder folder;
  const std::string out = " -o " + (folder / "x.npz");
  folder.write("file", "");
  for (const auto& [arguments, status, problem] : std::vector<std::tuple<std::string, int, std::string>>{
           {"digit" + out, 2, "data cannot generate 'digit'; use moons, blobs"},
           {"digits", 2, "--output is missing"},
           {"digits -o " + (folder / "x.csv"), 2, "x.csv', which does not end in .npz"},
           {"moons -o " + (folder / "x.txt"), 2, "does not end in .npz or .csv"},
           {"moons --side 9" + out, 2, "moons have no side in pixels"},
           {"moons --classes 3" + out, 2, "moons cannot have 3 classes; give 2"},
           {"digits --side 7" + out, 2, "digits cannot have a side of 7 pixels"},
           {"moons --noise -1" + out, 2, "moons cannot have noise of -1"},
           {"moons -o " + (folder / "none/x.npz"), 5, "cannot be written"},
           {"moons --from x" + out, 2, "--from does not apply to generated data"},
           {"moons mnist" + out, 2, "NAME does not apply to generated data"},
           {"iris --count 3" + out, 2, "--count does not apply to iris"},
           {"iris -o " + (folder / "x.txt"), 2, "does not end in .npz or .csv"},
           {"fetch", 2, "data fetch needs the name of a data set; use mnist"},
           {"fetch mnst", 2, "'mnst' is not a published data set; use mnist, fashion-mnist"},
           {"fetch mnist --count 3", 2, "--count does not apply to fetch"},
           {"fetch mnist" + out, 2, "--output does not apply to fetch, which has --cache FOLDER"},
           {"fetch mnist --unverified --cache " + (folder / "c"), 2,
            "--unverified applies only to files in a folder; give --from FOLDER"},
           {"fetch mnist --cache " + (folder / "file/c"), 5,
            "cannot be created: Not a directory; choose another folder with --cache"},
           {"fetch mnist --from " + (folder / "none") + " --cache " + (folder / "c"), 3, "none cannot be searched"},
           {"fetch mnist --from " + (folder / "") + " --cache " + (folder / "c"), 3,
            "has no file for train-images-idx3-ubyte.gz of mnist; give a file whose name ends in images-idx3-ubyte.gz, with "
            "'train' "
            "before"},
           {"fetch mnist --from file://" + (folder / "none") + " --cache " + (folder / "c"), 3,
            "cannot be downloaded: curl: "}}) {
    const Finished wrong = data(arguments + " --quiet");
    EXPECT_EQ(wrong.status, status) << arguments;
    EXPECT_TRUE(mentions(wrong.err, problem)) << wrong.err;
    EXPECT_EQ(test::lines_of(wrong.err).size(), 1U) << wrong.err;
  }
}

TEST(CliData, WithoutCurlTheErrorNamesIt) {
  const Folder folder;
  const std::string before = std::getenv("PATH");
  setenv("PATH", (folder / "none").c_str(), 1);
  const Finished wrong = data("fetch ionosphere --quiet --cache " + (folder / "c"));
  setenv("PATH", before.c_str(), 1);
  EXPECT_EQ(wrong.status, 3);
  EXPECT_TRUE(mentions(wrong.err, "is not installed; install")) << wrong.err;
  EXPECT_EQ(test::lines_of(wrong.err).size(), 1U) << wrong.err;
}

// A file that has the published size but different contents.
TEST(CliData, AWrongChecksumLeavesNothing) {
  const Folder folder;
  folder.write("ionosphere.data", std::string(76467, 'x'));
  const Finished wrong = data("fetch ionosphere --quiet --from file://" + (folder / "") + " --cache " + (folder / "c"));
  EXPECT_EQ(wrong.status, 3);
  EXPECT_TRUE(mentions(wrong.err, "returned a file whose MD5 sum is")) << wrong.err;
  EXPECT_TRUE(fs::is_empty(folder / "c/ionosphere"));
  const Finished other = data("fetch ionosphere --quiet --from " + (folder / "") + " --cache " + (folder / "c"));
  EXPECT_EQ(other.status, 3);
  EXPECT_TRUE(
      mentions(other.err, "is not the published ionosphere.data of ionosphere: its checksum does not match; use --unverified"))
      << other.err;
}

TEST(CliData, UnverifiedFilesAreMarked) {
  const Folder folder;
  fs::create_directory(folder / "from");
  folder.write("from/ionosphere.csv", "1,2,g\n3,4,b\n");
  const std::string how = "fetch ionosphere --quiet --unverified --from " + (folder / "from") + " --cache " + (folder / "c");
  const Finished taken = data(how);
  ASSERT_EQ(taken.status, 0) << taken.err;
  const std::string file = folder / "c/ionosphere/ionosphere.data";
  EXPECT_TRUE(mentions(taken.out, file + ": 12 bytes, NOT as published; copied from " + (folder / "from/ionosphere.csv")))
      << taken.out;
  EXPECT_TRUE(mentions(taken.out, "use: probust train --data " + file)) << taken.out;
  EXPECT_EQ(read_dataset(file).value().labels, (std::vector<std::int64_t>{1, 0}));
  const auto record = nlohmann::json::parse(data(how + " --json").out);
  EXPECT_EQ(record["train"], file);
  EXPECT_TRUE(record["test"].is_null());
  EXPECT_EQ(record["files"][0]["verified"], false);
  EXPECT_EQ(record["files"][0]["origin"], "copied");
}

TEST(CliData, AnInterruptedDownloadLeavesNoFile) {
  const Folder folder;
  // Sends some of the bytes and then stalls.
  const HttpServer server([](const std::string&, int) {
    return HttpServer::Answer{200, std::string(300000, 'x'), 9912422, true};
  });
  const std::string cache = folder / "c", partial = cache + "/mnist/train-images-idx3-ubyte.gz.partial";
  for (const int signal : {SIGINT, SIGTERM, SIGKILL}) {
    const pid_t child = fork();
    if (child == 0) {
      const std::string command = "exec " PROBUST_PROGRAM " data fetch mnist --from " + server.url() + " --cache " + cache +
                                  " 2>'" + (folder / "err") + "'";
      execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      _exit(127);
    }
    for (int k = 0; k < 2000 && !(fs::exists(partial) && fs::file_size(partial) > 0); ++k)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    kill(child, signal);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), signal == SIGKILL ? 128 + SIGKILL : 130);
    EXPECT_FALSE(fs::exists(cache + "/mnist/train-images-idx3-ubyte.gz"));
    EXPECT_EQ(fs::exists(partial), signal == SIGKILL);
    if (signal != SIGKILL) {
      EXPECT_TRUE(mentions(test::read_whole(folder / "err"), "interrupted; complete files are kept"));
    }
  }
}

// The published files, in the folder with the shared test data.
TEST(CliData, TakesThePublishedFilesOfAFolder) {
  const char* shared = std::getenv("PROBUST_SHARED");
  if (shared == nullptr || !fs::exists(std::string(shared) + "/data/train")) GTEST_SKIP() << "PROBUST_SHARED is not set";
  const Folder folder;
  const std::string from = std::string(shared) + "/data";
  const Finished strict = data("fetch mnist --quiet --from " + from + " --cache " + (folder / "c"));
  EXPECT_EQ(strict.status, 3);
  EXPECT_TRUE(mentions(strict.err, "is not the published t10k-images-idx3-ubyte.gz of mnist")) << strict.err;
  const Finished part = data("fetch mnist --quiet --json --unverified --from " + from + " --cache " + (folder / "c"));
  ASSERT_EQ(part.status, 0) << part.err;
  const auto record = nlohmann::json::parse(part.out);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(record["files"][i]["verified"], i < 2);
  EXPECT_EQ(read_dataset(record["train"], {.limit = 10}).value().labels[0], 5);
  ASSERT_EQ(data("fetch ionosphere --quiet --from " + from + " --cache " + (folder / "c")).status, 0);
}

// ---- labels

// Two tables of the same three classes. Their first rows have different classes.
class CliLabels : public testing::Test {
 protected:
  CliLabels() {
    const char* rows[] = {"1,0,pear\n1.1,0.1,pear\n", "-1,0,apple\n-1.1,-0.1,apple\n", "0,9,fig\n0.1,9.1,fig\n"};
    train_ = folder_.write("train.csv", std::string(rows[0]) + rows[1] + rows[2]);
    test_ = folder_.write("test.csv", std::string(rows[2]) + rows[0] + rows[1]);
    folder_.write("names.txt", "pear\nfig\napple\nkiwi\n");
  }

  Finished train(const std::string& options) const {
    return test::probust("train --model mlp:8 --epochs 300 --batch 6 --rate 0.05 --data " + train_ + " --test " + test_ + " -o " +
                         (folder_ / "m.onnx") + options);
  }
  Finished estimate(const std::string& options) const {
    return test::probust("estimate " + (folder_ / "m.onnx") + " " + test_ + " --sigma 0.1 --estimator mc:20" + options);
  }

  const Folder folder_;
  std::string train_, test_;
};

TEST_F(CliLabels, TrainingAndEstimatesAgree) {
  const Finished trained = train("");
  ASSERT_EQ(trained.status, 0) << trained.err;
  EXPECT_TRUE(mentions(trained.out, "on test data 100.00%")) << trained.out;
  const Finished estimated = estimate("");
  ASSERT_EQ(estimated.status, 0) << estimated.err;
  EXPECT_TRUE(mentions(estimated.err, "clean accuracy 100.00% (6 of 6)")) << estimated.err;
  EXPECT_TRUE(mentions(estimated.err, "labels are ") ||
              mentions(estimated.err, "text labels are numbered in sorted order: apple = 0"))
      << estimated.err;
}

TEST_F(CliLabels, ClassesGiveTheOrder) {
  const std::string classes = " --classes " + (folder_ / "names.txt");
  ASSERT_EQ(train(classes + " --quiet").status, 0);
  const Finished estimated = estimate(classes + " -o " + (folder_ / "r.sqlite"));
  ASSERT_EQ(estimated.status, 0) << estimated.err;
  EXPECT_TRUE(mentions(estimated.err, "probust: labels are matched with the class names of --classes\n")) << estimated.err;
  EXPECT_TRUE(mentions(estimated.err, "probust: the data have 3 classes, but the model has 4\n")) << estimated.err;
  EXPECT_TRUE(mentions(estimated.err, "clean accuracy 100.00% (6 of 6)")) << estimated.err;
  const store::RunFile run = store::RunFile::read(folder_ / "r.sqlite");
  EXPECT_EQ(store::value_of(run.information(), "labels"), "labels are matched with the class names of --classes");
  EXPECT_EQ(store::value_of(run.information(), "class_names"), "pear\nfig\napple\nkiwi");
  EXPECT_EQ(run.results().rows.front().label, 1) << "a fig";
}

TEST_F(CliLabels, AnUnknownNameIsAnError) {
  ASSERT_EQ(train(" --quiet").status, 0);
  folder_.write("names.txt", "apple\nfigs\npear\n");
  const Finished estimated = estimate(" --classes " + (folder_ / "names.txt"));
  EXPECT_EQ(estimated.status, 3);
  EXPECT_EQ(estimated.err,
            "probust: " + test_ + " has the label 'fig', which is not a class name of --classes; the nearest name is 'figs'\n");
}

TEST_F(CliLabels, QuietHidesNotes) {
  ASSERT_EQ(train(" --quiet").err, "");
  EXPECT_EQ(estimate(" --quiet").err, "");
}

TEST_F(CliLabels, TheModelKeepsTheNames) {
  ASSERT_EQ(train(" --quiet").status, 0);
  EXPECT_TRUE(mentions(test::read_whole(folder_ / "m.onnx"), R"(["apple","fig","pear"])"));
}

TEST(CliData, AGitLfsPointerIsNamedAsOne) {
  const Folder folder;
  const std::string text = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
  const std::string model = folder.write("m.onnx", text), points = folder.write("x.npz", text);
  const std::string words = " is a Git LFS pointer, not the file itself; run git lfs pull\n";
  for (const std::string& command :
       {"estimate " + model + " '" + test::digits("points.npz") + "' --sigma 0.1", "inspect " + model}) {
    const Finished finished = test::probust(command);
    EXPECT_EQ(finished.status, 3) << command;
    EXPECT_TRUE(mentions(finished.err + finished.out, model + words)) << command << finished.err;
  }
  EXPECT_EQ(test::probust("estimate '" + test::digits("digits.onnx") + "' " + points + " --sigma 0.1").err,
            "probust: " + points + words);
}

}  // namespace
}  // namespace probust
