// SPDX-License-Identifier: MIT
//
// Batches: the same bits for any number of threads, and failures that do not affect other problems.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cstring>
#include <limits>
#include <vector>

#include "normal_problems.h"
#include "probust/normal/batch.h"

namespace {

using namespace probust::normal;  // NOLINT(google-build-using-namespace): the code under test
bool same_bits(const Probability& a, const Probability& b) {
  return std::memcmp(&a.p, &b.p, sizeof a.p) == 0 && std::memcmp(&a.p_fail, &b.p_fail, sizeof a.p) == 0 && a.error == b.error &&
         a.error_fail == b.error_fail && a.method == b.method && a.points == b.points && a.status == b.status;
}

TEST(NormalBatch, TheSameBitsAsOneByOneForAnyThreads) {
  const auto owned = probust::test::mixed_problems();
  const auto problems = probust::test::views(owned);
  for (const int threads : {1, 2, 5}) {
    std::vector<Probability> answers(problems.size());
    BatchSolver(threads).solve(problems, answers);
    for (std::size_t i = 0; i < owned.size(); ++i) {
      const Probability alone =
          owned[i].factor ? mvn_cdf_factor(owned[i].z, owned[i].matrix) : mvn_cdf(owned[i].z, owned[i].matrix);
      EXPECT_TRUE(same_bits(answers[i], alone)) << i << " with " << threads << " threads";
    }
  }
}

TEST(NormalBatch, AnInvalidProblemDoesNotAffectOthers) {
  const std::vector<double> z = {1.0, 2.0}, one = {1.0}, nan = {1.0, std::numeric_limits<double>::quiet_NaN()};
  const std::vector<double> R = {1.0, 0.5, 0.5, 1.0}, indefinite = {1.0, 2.0, 2.0, 1.0}, U = {1.0, 1.0};
  const std::vector<Problem> problems = {{z, R, 0},  {one, R, 0}, {nan, R, 0}, {z, indefinite, 0},
                                         {z, {}, 0}, {z, R, 3},   {z, U, 1},   {z, R, -1}};
  std::vector<Probability> answers(problems.size() + 1, {-1, -1, -1, -1, "untouched", 0, Status::ok});
  BatchSolver(2).solve(problems, answers);
  EXPECT_EQ(answers[0].status, Status::ok);
  EXPECT_EQ(answers[1].status, Status::size_mismatch);
  EXPECT_EQ(answers[2].status, Status::nonfinite);
  EXPECT_EQ(answers[3].status, Status::indefinite);
  EXPECT_EQ(answers[4].status, Status::size_mismatch);
  EXPECT_EQ(answers[5].status, Status::size_mismatch);
  EXPECT_EQ(answers[6].status, Status::ok);
  EXPECT_NEAR(answers[6].p, 0.8413447460685429, 1e-15);
  EXPECT_EQ(answers[7].status, Status::size_mismatch);
  EXPECT_EQ(answers[8].method, "untouched");
}

}  // namespace
