// SPDX-License-Identifier: MIT
// Training by the library's own derivatives.
#include <gtest/gtest.h>

#include <cmath>

#include "probust/exec/executor.h"
#include "probust/train/mlp.h"

namespace probust {
namespace {

// Two classes, a disc in a ring: no line separates them.
void disc_and_ring(Tensor& x, std::vector<std::int64_t>& labels, std::uint64_t seed) {
  NoiseStream random(seed, 0, 0, 1);
  x = Tensor({400, 2});
  labels.clear();
  for (std::int64_t i = 0; i < 400; ++i) {
    const double angle = 6.283185307 * random.uniform(), radius = (i % 2 == 0 ? 0.0 : 1.0) + 0.8 * random.uniform();
    x.row(i)[0] = static_cast<float>(radius * std::cos(angle));
    x.row(i)[1] = static_cast<float>(radius * std::sin(angle));
    labels.push_back(i % 2);
  }
}

TEST(TrainMlp, SeparatesWhatNoLineDoes) {
  Tensor x, held_out;
  std::vector<std::int64_t> labels, held_out_labels;
  disc_and_ring(x, labels, 1);
  disc_and_ring(held_out, held_out_labels, 2);
  const MlpOptions options{.hidden = {16, 16}, .epochs = 60, .rate = 5e-3};
  const TrainedMlp trained = train_mlp(x, labels, 2, options);
  EXPECT_EQ(trained.loss.size(), 60U);
  EXPECT_GT(trained.loss.front(), 0.4);
  EXPECT_LT(trained.loss.back(), 0.1);
  const Tensor logits = make_executor("cpu", trained.classifier, {}).value()->logits(held_out).value();
  int right = 0;
  for (std::int64_t i = 0; i < 400; ++i) right += argmax(logits.row(i)) == held_out_labels[i] ? 1 : 0;
  EXPECT_GT(right, 380);
  EXPECT_EQ(train_mlp(x, labels, 2, options).loss, trained.loss);  // deterministic
}

// Without hidden layers the first step from given weights is known: Adam moves every weight by the rate against its gradient.
TEST(TrainMlp, TheFirstStepGoesAgainstTheGradient) {
  const Tensor x({2, 1}, {1, -1});
  const std::vector<std::int64_t> labels = {0, 1};
  MlpOptions options{.hidden = {}, .epochs = 0, .batch = 2, .rate = 0.01};
  const auto slope = [&](const MlpOptions& o) {
    const auto executor = make_executor("cpu", train_mlp(x, labels, 2, o).classifier, {}).value();
    const Tensor logits = executor->logits(x).value();
    return logits.row(0)[0] - logits.row(0)[1] - (logits.row(1)[0] - logits.row(1)[1]);
  };
  const double before = slope(options);
  options.epochs = 1;
  EXPECT_NEAR(slope(options) - before, 4 * 0.01, 1e-4);  // two weights, each by 0.01, at x = 1 and x = -1
}

TEST(TrainMlp, RefusesWhatDoesNotFit) {
  const Tensor x({2, 1}, {1, -1});
  EXPECT_THROW(train_mlp(x, {0}, 2, {}), Error);
  EXPECT_THROW(train_mlp(x, {0, 2}, 2, {}), Error);
  EXPECT_THROW(train_mlp(x, {0, 1}, 1, {}), Error);
  EXPECT_THROW(train_mlp(Tensor({2}), {0, 1}, 2, {}), Error);
  EXPECT_THROW(train_mlp(x, {0, 1}, 2, {.rate = 0}), Error);
}

}  // namespace
}  // namespace probust
