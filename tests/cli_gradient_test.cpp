// SPDX-License-Identifier: MIT
// probust gradient-of-p and jacobian --smooth: the arrays and pictures that they write, and what they refuse.
#include <gtest/gtest.h>

#include <cmath>

#include "datasets/npy.h"
#include "support/command.h"

namespace probust {
namespace {

using test::Finished;
using test::Folder;
using test::mentions;

Finished gradient(const std::string& arguments) { return test::probust("gradient-of-p " + arguments); }

TEST(CliGradient, WritesArraysShapedLikeTheData) {
  const Folder folder;
  const std::string out = folder / "g.npy", errors = folder / "e.npy", maps = folder / "m.png";
  const Finished taylor = gradient(test::kDigits + " --sigma 0.3 --limit 5 --quiet -o " + out + " --maps " + maps);
  ASSERT_EQ(taylor.status, 0) << taylor.err;
  const Tensor all = read_npy(out).value();
  EXPECT_EQ(all.shape, (Shape{5, 1, 16, 16}));
  EXPECT_TRUE(mentions(test::read_whole(maps), "PNG"));
  ASSERT_EQ(gradient(test::kDigits + " --sigma 0.3 --limit 2 --offset 3 --quiet -o " + out).status, 0);
  const Tensor part = read_npy(out).value();
  EXPECT_TRUE(std::equal(part.data.begin(), part.data.end(), all.row(3).begin()));
  const Finished sampled =
      gradient(test::kDigits + " --sigma 0.3 --limit 2 --estimator mc:200 --quiet -o " + out + " --std-error " + errors);
  ASSERT_EQ(sampled.status, 0) << sampled.err;
  EXPECT_EQ(read_npy(errors).value().shape, (Shape{2, 1, 16, 16}));
  const Finished uniform = gradient(test::kDigits + " --noise uniform:0.3 --limit 1 --quiet -o " + out);
  EXPECT_TRUE(mentions(uniform.err, "uniform noise approximated as Gaussian")) << uniform.err;
}

TEST(CliGradient, ErrorsAreOnOneLine) {
  const Folder folder;
  const std::string out = " --limit 2 --quiet -o " + folder / "g.npy";
  for (const auto& [arguments, problem] : std::vector<std::pair<std::string, std::string>>{
           {out, "--sigma is missing"},
           {"--sigma 0.1 --limit 2 -o g.csv", "--output is 'g.csv', which does not end in .npy"},
           {"--sigma 0.1,0.2" + out, "gradient-of-p needs one noise model, not 2"},
           {"--sigma 0.1 --estimator probit:24" + out, "estimator probit:24 has no gradient of p; use one of mc:N, taylor"},
           {"--sigma 0.1 --std-error e.npy" + out, "--std-error applies only to mc:N"},
           {"--sigma 0.1 --maps m.svg" + out, "--maps is 'm.svg', which does not end in .png"}}) {
    const Finished wrong = gradient(test::kDigits + " " + arguments);
    EXPECT_EQ(wrong.status, 2) << arguments;
    EXPECT_TRUE(mentions(wrong.err, problem)) << wrong.err;
    EXPECT_EQ(test::lines_of(wrong.err).size(), 1U) << wrong.err;
  }
  const Finished rotated = gradient(test::kDigits + " --noise rotate:10" + out);
  EXPECT_EQ(rotated.status, 4);
  EXPECT_TRUE(mentions(rotated.err, "the gradient of p needs additive noise, not rotate:10")) << rotated.err;
}

// With little noise, the averaged Jacobian of a piecewise linear network is the one at the point; with more, it is not.
TEST(CliJacobian, IsAveragedOverNoisySamples) {
  const Folder folder;
  const auto jacobian = [&](const std::string& options) {
    const std::string out = folder / "j.npy";
    const Finished done = test::probust("jacobian " + test::kDigits + " --limit 2 --quiet -o " + out + options);
    EXPECT_EQ(done.status, 0) << done.err;
    return read_npy(out).value();
  };
  const Tensor plain = jacobian(""), near = jacobian(" --smooth 1e-6:3"), far = jacobian(" --smooth 0.3:20"),
               other = jacobian(" --smooth 0.3:20 --seed 1");
  ASSERT_EQ(plain.shape, (Shape{2, 10, 256}));
  ASSERT_EQ(near.shape, plain.shape);
  double difference = 0;
  for (std::size_t e = 0; e < plain.data.size(); ++e) difference += std::abs(near.data[e] - plain.data[e]);
  EXPECT_LT(difference, 1e-3);
  EXPECT_NE(far.data, plain.data);
  EXPECT_NE(far.data, other.data);
  for (const std::string wrong : {"0.1", "0:5", "0.1:0", "x:5", "0.1:5:6"}) {
    const Finished refused = test::probust("jacobian " + test::kDigits + " --quiet -o j.npy --smooth " + wrong);
    EXPECT_EQ(refused.status, 2) << wrong;
    EXPECT_TRUE(mentions(refused.err, "--smooth cannot be '" + wrong + "'; give a standard deviation")) << refused.err;
  }
}

}  // namespace
}  // namespace probust
