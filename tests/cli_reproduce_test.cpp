// SPDX-License-Identifier: MIT
// probust reproduce: the output of experiments on a small table, resuming, and errors.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <regex>

#include "experiments/answers.h"
#include "experiments/publish.h"
#include "support/command.h"
#include "support/moons.h"

namespace probust {
namespace {

using test::Finished;
using test::Folder;
using test::mentions;

class CliReproduce : public testing::Test {
 protected:
  Finished reproduce(const std::string& experiment, const std::string& more = "") const {
    return test::probust(
        fmt::format("reproduce {} --data '{}' --test '{}' --quick --quiet {} -o '{}'", experiment, train_, test_, more, output_));
  }
  std::string written(const std::string& name) const { return test::read_whole(output_ + "/" + name); }

  Folder folder_;
  std::string train_ = test::moons(folder_, 300, "train.csv"), test_ = test::moons(folder_, 20, "test.csv", 1),
              output_ = folder_ / "out";
};

TEST_F(CliReproduce, AnExperimentWritesRowsTableChartWordsAndReport) {
  const Finished done = reproduce("error");
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_TRUE(mentions(done.out, output_ + "/error/report.html")) << done.out;
  for (const char* name : {"error/absolute.svg", "error/relative.svg", "error/equal-cost.svg", "error/linear.svg",
                           "runs/network.sqlite", "runs/linear.sqlite", "models/linear.onnx"})
    EXPECT_FALSE(written(name).empty()) << name;
  const std::vector<std::string> rows = test::lines_of(written("error/network.csv"));
  ASSERT_EQ(rows.size(), 6U);
  EXPECT_TRUE(rows[0].starts_with("estimator,sigma 0.05")) << rows[0];
  EXPECT_TRUE(rows[1].starts_with("taylor,0.")) << rows[1];
  const std::string words = written("error/findings.txt"), page = written("error/report.html");
  EXPECT_TRUE(mentions(words, "For linear models, taylor and mmse are accurate for every sigma.\nFound: The mean differences"));
  const std::regex verdict("\n(confirmed|not confirmed|not tested)\\.\n");
  EXPECT_EQ(std::distance(std::sregex_iterator(words.begin(), words.end(), verdict), std::sregex_iterator()), 5);
  EXPECT_TRUE(mentions(page, "<section id=\"error\"")) << page.substr(0, 500);
  EXPECT_TRUE(mentions(page, "<pre>probust estimate"));
  EXPECT_FALSE(mentions(page, "\\x0a"));
  EXPECT_FALSE(mentions(page, "<script"));
}

TEST_F(CliReproduce, ModelsAndRunsAreCreatedOnce) {
  ASSERT_EQ(reproduce("distribution").status, 0);
  const std::string model = written("models/mlp:64,64.onnx"), table = written("distribution/distribution.csv");
  ASSERT_FALSE(model.empty());
  const auto before = std::filesystem::last_write_time(output_ + "/models/mlp:64,64.onnx");
  std::filesystem::remove(output_ + "/distribution/distribution.csv");
  ASSERT_EQ(reproduce("distribution").status, 0);
  EXPECT_EQ(std::filesystem::last_write_time(output_ + "/models/mlp:64,64.onnx"), before);
  EXPECT_EQ(written("distribution/distribution.csv"), table);
}

TEST_F(CliReproduce, AModelTrainedWithOtherOptionsIsNotUsed) {
  ASSERT_EQ(reproduce("distribution").status, 0);
  const Finished other = reproduce("distribution", "--seed 1");
  EXPECT_EQ(other.status, static_cast<int>(ErrorCode::conflict));
  EXPECT_TRUE(mentions(other.err, "was trained with different options")) << other.err;
}

TEST_F(CliReproduce, PointsThatAreNotImagesHaveNoGallery) {
  ASSERT_EQ(reproduce("gallery").status, 0);
  EXPECT_TRUE(mentions(written("gallery/findings.txt"), "These points are not images."));
}

TEST_F(CliReproduce, ErrorsNameTheirCause) {
  const Finished experiment = reproduce("frobnicate");
  EXPECT_EQ(experiment.status, 2);
  EXPECT_TRUE(mentions(experiment.err, "cannot be 'frobnicate'; use one of all, noise, ")) << experiment.err;
  const Finished data = test::probust("reproduce error --data nothing -o '" + output_ + "'");
  EXPECT_EQ(data.status, 2);
  EXPECT_TRUE(mentions(data.err, "--data cannot be 'nothing'; use moons, ")) << data.err;
  const Finished alone = test::probust("reproduce error --data '" + train_ + "' -o '" + output_ + "'");
  EXPECT_EQ(alone.status, 2);
  EXPECT_TRUE(mentions(alone.err, "--test is missing")) << alone.err;
  const std::string file = folder_.write("file", "");
  EXPECT_EQ(test::probust("reproduce error --data digits -o '" + file + "'").status, 5);
  const std::string wide = folder_.write("wide.csv", "1,2,3,0\n1,2,3,1\n");
  const Finished shape = test::probust("reproduce error --data '" + train_ + "' --test '" + wide + "' -o '" + output_ + "'");
  EXPECT_EQ(shape.status, 2);
  EXPECT_TRUE(mentions(shape.err, "--test has points of shape")) << shape.err;
}

// ---- what experiments compute from rows

TEST(Reproduce, ErrorsIgnoreUnknownValues) {
  const double nan = std::nan("");
  const std::vector<double> a = {0.5, 0.9, nan, 0.25}, reference = {0.25, 0.9, 0.5, 0};
  const cli::reproduce::ErrorOf error = cli::reproduce::error_of(a, reference);
  EXPECT_NEAR(error.absolute, 0.5 / 3, 1e-12);
  EXPECT_NEAR(error.relative, 0.5, 1e-12);  // 1 and 0; the reference 0 has no relative error
}

TEST(Reproduce, TheErrorOfSamplesIsThatOfABinomialShare) {
  // E|N(0, s²)| = s sqrt(2 / pi) with s² = 0.25 / 100.
  EXPECT_NEAR(cli::reproduce::sampling_error(std::vector<double>{0.5}, 100), 0.05 * 0.7978845608, 1e-9);
  EXPECT_EQ(cli::reproduce::sampling_error(std::vector<double>{0, 1}, 100), 0);
}

}  // namespace
}  // namespace probust
