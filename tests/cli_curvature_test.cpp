// SPDX-License-Identifier: MIT
// probust curvature: what it prints for piecewise linear and for smooth networks, and what it refuses.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/command.h"

namespace probust {
namespace {

using test::Finished;
using test::Folder;
using test::mentions;

Finished curvature(const std::string& arguments) { return test::probust("curvature " + arguments); }

TEST(CliCurvature, AReluNetworkHasOnlySmoothedValues) {
  const std::string how = test::kDigits + " --limit 3 --pairs 20 --sigma 0.1,0.3 --quiet";
  const Finished table = curvature(how);
  ASSERT_EQ(table.status, 0) << table.err;
  EXPECT_TRUE(mentions(table.out, "gaussian:0.1, 3 points")) << table.out;
  EXPECT_TRUE(mentions(table.out, "propositions 1 and 2: - (undefined: the model is piecewise linear")) << table.out;
  EXPECT_TRUE(mentions(table.out, "largest eigenvalue: quartiles")) << table.out;
  const auto printed = nlohmann::json::parse(curvature(how + " --json").out);
  ASSERT_EQ(printed["groups"].size(), 2U);
  EXPECT_TRUE(printed["groups"][0]["no_smoothed"].is_null());
  for (const auto& point : printed["groups"][1]["points"]) {
    EXPECT_TRUE(point["bounds"].is_null());
    EXPECT_GT(point["scatter"], 0.1);
    const auto& smoothed = point["smoothed"];
    EXPECT_NE(smoothed["rival"], point["target"]);
    EXPECT_GE(smoothed["largest"]["value"], smoothed["mean"]["value"]);
    EXPECT_LE(smoothed["smallest"]["value"], smoothed["mean"]["value"]);
    EXPECT_GT(smoothed["largest"]["std_error"], 0);
  }
}

TEST(CliCurvature, ASmoothNetworkHasBoundsToo) {
  const Folder folder;
  const std::string data = folder / "m.csv", model = folder / "m.onnx", plot = folder / "c.svg";
  ASSERT_EQ(test::probust("data moons --count 200 --quiet -o " + data).status, 0);
  ASSERT_EQ(test::probust("train --model mlp:8 --activation tanh --epochs 10 --rate 0.02 --quiet --data " + data + " -o " + model)
                .status,
            0);
  const auto printed = nlohmann::json::parse(
      curvature(
          fmt::format("{} {} --sigma 0.1 --noise uniform:0.1 --limit 4 --pairs 20 --json --quiet --plot {}", model, data, plot))
          .out);
  const auto& gaussian = printed["groups"][0];
  EXPECT_TRUE(gaussian["no_bounds"].is_null());
  for (const auto& point : gaussian["points"]) {
    EXPECT_GT(point["bounds"]["summed"], 0);
    EXPECT_EQ(point["bounds"]["taylor"].is_null(), !point["bounds"]["defined"].get<bool>());
  }
  // For other noise there are no bounds, and its smoothed Hessian is not computed.
  const auto& uniform = printed["groups"][1];
  EXPECT_EQ(uniform["no_bounds"], "defined only for isotropic Gaussian noise");
  EXPECT_TRUE(uniform["points"][0]["bounds"].is_null());
  EXPECT_GT(uniform["points"][0]["scatter"], 0);
  EXPECT_TRUE(mentions(test::read_whole(plot), "largest scatter"));
}

TEST(CliCurvature, ErrorsAreOnOneLine) {
  for (const auto& [arguments, problem] : std::vector<std::pair<std::string, std::string>>{
           {"", "--sigma is missing"},
           {"--sigma 0", "--sigma is '0', which contains a value that is not a positive number"},
           {"--sigma 0.1 --pairs 1", "--pairs"},
           {"--sigma 0.1 --plot x.png", "--plot is 'x.png', which does not end in .svg"},
           {"--sigma 0.1 --target 10", "--target is class 10, which does not exist"}}) {
    const Finished wrong = curvature(test::kDigits + " --limit 2 --quiet " + arguments);
    EXPECT_EQ(wrong.status, 2) << arguments;
    EXPECT_TRUE(mentions(wrong.err, problem)) << wrong.err;
    EXPECT_EQ(test::lines_of(wrong.err).size(), 1U) << wrong.err;
  }
}

}  // namespace
}  // namespace probust
