// SPDX-License-Identifier: MIT
// The experiment `natural`: the parts with known results, and the code that they share. The whole experiment would take too
// long for a test.
#include <gtest/gtest.h>

#include <cmath>

#include "datasets/fetch/iris.h"
#include "experiments/natural.h"
#include "support/command.h"

namespace probust::cli::reproduce::scher {
namespace {

using probust::test::Folder;
using probust::test::mentions;

class Natural : public testing::Test {
 protected:
  static Arguments arguments(const Folder& folder) {
    Arguments arguments;
    arguments.data.path = "moons";
    arguments.output = folder / "out";
    arguments.quiet = arguments.reproduce.quick = true;
    arguments.reproduce.cache = folder / "no-cache";
    return arguments;
  }

  Folder folder_;
  Study study_{arguments(folder_)};
};

void expect_verdicts(const Findings& findings, Verdict verdict) {
  for (const Claim& claim : findings.claims) EXPECT_EQ(claim.verdict, verdict) << claim.paper << "\n" << claim.found;
}

TEST_F(Natural, DirectionsOfTheNoiseHaveTheirClosedForm) {
  const Findings findings = orientations(study_);
  expect_verdicts(findings, Verdict::confirmed);
  EXPECT_TRUE(mentions(findings.claims[0].found, "0.8413 towards it")) << findings.claims[0].found;  // Phi(1)
}

TEST_F(Natural, ALinearBoundaryHasItsClosedForm) {
  const Findings findings = linear_plane(study_);
  EXPECT_EQ(findings.claims.size(), 3U);
  expect_verdicts(findings, Verdict::confirmed);
  ASSERT_EQ(findings.figures.size(), 2U);
  const auto& chart = std::get<report::Chart>(findings.figures[0].content);
  EXPECT_EQ(chart.mark, report::Mark::map);
  for (std::size_t cell = 0; cell < 20; ++cell)  // the lowest row, 2.85 below the boundary
    EXPECT_NEAR(chart.grid.values[cell], 0.5 * std::erfc(-2.85 / std::sqrt(2.0)), 1e-6);
}

TEST_F(Natural, ARegressionHasItsClosedForm) { expect_verdicts(tolerance(study_), Verdict::confirmed); }

// Compares p of mc and searched distances with sums over the boxes of the forest, which are computed independently.
TEST_F(Natural, AForestIsIntegratedOverItsBoxes) {
  const Findings findings = integrate_forest(study_, iris_table(study_, 0));
  EXPECT_EQ(findings.claims[0].verdict, Verdict::confirmed) << findings.claims[0].found;
}

TEST_F(Natural, IrisIsDividedAndStandardized) {
  const Table table = iris_table(study_, 1);
  EXPECT_EQ(table.title, "Iris (versicolor, virginica)");
  EXPECT_EQ(table.x.shape, Shape({33, 4}));
  double mean = 0;
  for (const float value : table.x.data) mean += value / 132.0;
  EXPECT_NEAR(mean, 0, 0.1);
}

TEST(NaturalParts, ErrorsOfSharesAreInStandardErrors) {
  // 10 of 100 instead of 0.16: the arcsines of the square roots, 0.3218 and 0.4115, differ by this much when multiplied by 20.
  const std::vector<double> share = {0.10, 1}, p = {0.16, 1};
  EXPECT_NEAR(largest_error(share, p, 100), 20 * (0.41152 - 0.32175), 1e-3);
  EXPECT_EQ(largest_difference(share, p), 0.06);
}

TEST(NaturalParts, OrdersDifferByMoreThanTheErrorOfP) {
  const std::vector<double> p = {0.5, 0.6, 0.9}, r = {3, 2, 1};
  EXPECT_EQ(compare_orders(p, r, 0).reversed, 3);
  EXPECT_EQ(compare_orders(p, r, 0).all, 3);
  EXPECT_EQ(compare_orders(p, r, 100).reversed, 2);  // the pair 0.5 and 0.6 may be equal
  EXPECT_EQ(compare_orders(p, p, 0).reversed, 0);
}

}  // namespace
}  // namespace probust::cli::reproduce::scher
