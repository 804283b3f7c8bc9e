// SPDX-License-Identifier: MIT
// Training with the library's own derivatives: gradients of the objective, steps, noise, and results.
#include <gtest/gtest.h>

#include <cmath>

#include "probust/data/datasets.h"
#include "probust/exec/executor.h"
#include "probust/train/models.h"
#include "probust/train/trainer.h"
#include "support/evaluate.h"
#include "support/refusal.h"

namespace probust {
namespace {

using test::expect_refusal;

MadeData made(const char* kind, std::int64_t count, std::uint64_t seed = 0) {
  return make_data(made_data_kind(kind), {.count = count, .seed = seed});
}

// Options of a perceptron and of its trainer.
struct Setup {
  std::vector<std::int64_t> hidden = {32};
  Activation activation = Activation::relu;
  Optimizer optimizer = Optimizer::adam;
  std::int64_t batch = 32;
  std::uint64_t seed = 0;
  std::int64_t memory = std::int64_t{1} << 30;
};

Trainer trainer_of(const Tensor& x, const std::vector<std::int64_t>& labels, std::int64_t classes, const Setup& setup = {}) {
  const Shape point(x.shape.begin() + 1, x.shape.end());
  return {mlp(point, setup.hidden, classes, setup.activation, {setup.seed, setup.memory}), x, labels,
          TrainerOptions{setup.optimizer, setup.batch, setup.seed, setup.memory}};
}

Trainer trainer_of(const MadeData& data, const Setup& setup) { return trainer_of(data.x, data.labels, data.classes, setup); }

// ---- The objective.

// A random batch, and a network with random weights and biases.
struct Training {
  Network network;
  Activation activation;
  Batched batch;
};

Training problem(Activation activation) {
  std::mt19937 random(7);
  Training p{mlp({3}, {5, 4}, 3, activation), activation, {test::random_tensor({4, 3}, random), Tensor({4, 3})}};
  for (Parameter& weight : p.network.weights) weight.value = test::random_tensor(weight.value.shape, random);
  for (std::int64_t row = 0; row < 4; ++row) p.batch.wanted.row(row)[row % 3] = 1;
  return p;
}

double activated(double x, Activation activation) {
  if (activation == Activation::relu) return std::max(x, 0.0);
  if (activation == Activation::tanh) return std::tanh(x);
  if (activation == Activation::silu) return x / (1 + std::exp(-x));
  return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
}

// The cross-entropy of one point, computed directly in double precision.
double loss_at(Activation activation, const std::vector<std::vector<double>>& weights, std::vector<double> x,
               std::int64_t label) {
  for (std::size_t k = 0; k < weights.size(); k += 2) {
    std::vector<double> y = weights[k + 1];
    for (std::size_t i = 0; i < x.size(); ++i) {
      for (std::size_t o = 0; o < y.size(); ++o) y[o] += x[i] * weights[k][i * y.size() + o];
    }
    if (k + 2 < weights.size()) {
      for (double& value : y) value = activated(value, activation);
    }
    x = y;
  }
  double sum = 0;
  for (const double logit : x) sum += std::exp(logit);
  return std::log(sum) - x[static_cast<std::size_t>(label)];
}

// The mean of l + lambda ||grad_x l||², with the gradient by central differences.
double objective_by_hand(const Training& p, const std::vector<std::vector<double>>& weights, double lambda) {
  constexpr double kStep = 1e-4;
  double total = 0;
  for (std::int64_t row = 0; row < 4; ++row) {
    const std::vector<double> x(p.batch.x.row(row).begin(), p.batch.x.row(row).end());
    total += loss_at(p.activation, weights, x, row % 3) / 4;
    for (std::size_t e = 0; e < 3; ++e) {
      std::vector<double> up = x, down = x;
      up[e] += kStep;
      down[e] -= kStep;
      const double slope =
          (loss_at(p.activation, weights, up, row % 3) - loss_at(p.activation, weights, down, row % 3)) / (2 * kStep);
      total += lambda * slope * slope / 4;
    }
  }
  return total;
}

std::vector<std::vector<double>> as_doubles(const std::vector<Parameter>& weights) {
  std::vector<std::vector<double>> doubles;
  doubles.reserve(weights.size());
  for (const Parameter& weight : weights) doubles.emplace_back(weight.value.data.begin(), weight.value.data.end());
  return doubles;
}

TEST(Objective, ItsGradientIsThatOfFiniteDifferences) {
  constexpr double kStep = 1e-4;
  for (const Activation activation : {Activation::relu, Activation::tanh, Activation::gelu, Activation::silu}) {
    Training p = problem(activation);
    for (const double lambda : {0.0, 0.7}) {
      SCOPED_TRACE(std::to_string(int(activation)) + " at " + std::to_string(lambda));
      std::vector<Tensor> gradients, observed;
      for (const Parameter& weight : p.network.weights) gradients.emplace_back(weight.value.shape);
      Objective objective(p.network, 4, lambda > 0 ? Loss::regularised : Loss::cross_entropy);
      const std::vector<std::vector<double>> weights = as_doubles(p.network.weights);
      EXPECT_NEAR(objective.run(p.batch, p.network.weights, lambda, gradients, observed), objective_by_hand(p, weights, lambda),
                  1e-5);
      for (std::size_t k = 0; k < weights.size(); ++k) {
        for (std::size_t e = 0; e < weights[k].size(); ++e) {
          auto up = weights, down = weights;
          up[k][e] += kStep;
          down[k][e] -= kStep;
          const double slope = (objective_by_hand(p, up, lambda) - objective_by_hand(p, down, lambda)) / (2 * kStep);
          EXPECT_NEAR(gradients[k].data[e], slope, 2e-4 * (1 + std::fabs(slope))) << k << ", " << e;
        }
      }
    }
  }
}

// -log p by taylor_mvs, with gradients by central differences.
double robust_objective_by_hand(const Training& p, const std::vector<std::vector<double>>& weights, double sigma) {
  constexpr double kStep = 1e-4;
  double total = 0;
  for (std::int64_t row = 0; row < 4; ++row) {
    const std::vector<double> x(p.batch.x.row(row).begin(), p.batch.x.row(row).end());
    const std::int64_t label = row % 3;
    double odds = 0;
    for (std::int64_t rival = 0; rival < 3; ++rival) {
      if (rival == label) continue;
      // The margin is the difference of two cross-entropies of the same logits.
      const auto margin = [&](const std::vector<double>& at) {
        return loss_at(p.activation, weights, at, rival) - loss_at(p.activation, weights, at, label);
      };
      double square = 1e-6;
      for (std::size_t e = 0; e < 3; ++e) {
        std::vector<double> up = x, down = x;
        up[e] += kStep;
        down[e] -= kStep;
        square += std::pow((margin(up) - margin(down)) / (2 * kStep), 2);
      }
      odds += std::exp(-margin(x) / (sigma * std::sqrt(square)));
    }
    total += std::log(1 + odds) / 4;
  }
  return total;
}

TEST(Objective, MaximisesPOfTheLabel) {
  constexpr double kStep = 1e-4, kSigma = 0.4;
  for (const Activation activation : {Activation::relu, Activation::tanh, Activation::gelu, Activation::silu}) {
    SCOPED_TRACE(int(activation));
    Training p = problem(activation);
    std::vector<Tensor> gradients, observed;
    for (const Parameter& weight : p.network.weights) gradients.emplace_back(weight.value.shape);
    Objective objective(p.network, 4, Loss::p_robust);
    const std::vector<std::vector<double>> weights = as_doubles(p.network.weights);
    EXPECT_NEAR(objective.run(p.batch, p.network.weights, kSigma, gradients, observed),
                robust_objective_by_hand(p, weights, kSigma), 1e-5);
    double error = 0, norm = 0;
    for (std::size_t k = 0; k < weights.size(); ++k) {
      for (std::size_t e = 0; e < weights[k].size(); ++e) {
        auto up = weights, down = weights;
        up[k][e] += kStep;
        down[k][e] -= kStep;
        const double slope = (robust_objective_by_hand(p, up, kSigma) - robust_objective_by_hand(p, down, kSigma)) / (2 * kStep);
        error += std::pow(gradients[k].data[e] - slope, 2);
        norm += slope * slope;
      }
    }
    EXPECT_LT(std::sqrt(error), 1e-4);
    EXPECT_GT(std::sqrt(norm), 0.1);
  }
}

// Training on p makes p at that scale larger than training on the cross-entropy does.
TEST(Trainer, MaximisesPUnderNoise) {
  const auto loss_after = [](double robust_sigma) {
    const MadeData moons = made("moons", 200, 3);
    Trainer trainer(mlp({2}, {16}, 2, Activation::tanh, {1}), moons.x, moons.labels, {.batch = 50, .seed = 1});
    trainer.epochs(40, {.rate = 0.01, .robust_sigma = robust_sigma});
    EXPECT_GT(trainer.score().accuracy, 0.8);
    Objective robust(trainer.network(), 200, Loss::p_robust);
    Batched all{moons.x, Tensor({200, 2})};
    for (std::int64_t i = 0; i < 200; ++i) all.wanted.row(i)[moons.labels[i]] = 1;
    std::vector<Tensor> gradients, observed;
    for (const Parameter& weight : trainer.network().weights) gradients.emplace_back(weight.value.shape);
    return robust.run(all, trainer.network().weights, 0.5, gradients, observed);
  };
  EXPECT_LT(loss_after(0.5), loss_after(0) - 0.01);
  const MadeData moons = made("moons", 20);
  Trainer trainer(mlp({2}, {4}, 2), moons.x, moons.labels);
  expect_refusal(ErrorCode::usage, [&] { trainer.step({.lambda = 0.1, .robust_sigma = 0.2}); });
  expect_refusal(ErrorCode::usage, [&] { trainer.step({.robust_sigma = -1}); });
}

TEST(Objective, TheClassifierIsTheNetwork) {
  for (const Activation activation : {Activation::relu, Activation::tanh, Activation::gelu}) {
    const Training p = problem(activation);
    BatchLogits logits(p.network, 4);
    Tensor expected({4, 3});
    logits.run(p.batch.x, p.network, expected);
    const Tensor actual = make_executor("cpu", classifier_of(p.network), {}).value()->logits(p.batch.x).value();
    for (std::size_t i = 0; i < expected.data.size(); ++i) EXPECT_NEAR(actual.data[i], expected.data[i], 1e-5);
  }
}

// ---- Training.

TEST(Trainer, LearnsClassesThatAreNotLinearlySeparable) {
  for (const char* kind : {"moons", "spirals", "xor", "rings"}) {
    const MadeData data = made(kind, 400, 1), held_out = made(kind, 1000, 2);
    for (const Activation activation : {Activation::relu, Activation::tanh, Activation::gelu}) {
      Trainer trainer = trainer_of(data, {.hidden = {16, 16}, .activation = activation});
      const double before = trainer.score().loss;
      const std::vector<double> loss = trainer.epochs(80, {.rate = 1e-2});
      EXPECT_EQ(loss.size(), 80U);
      EXPECT_LT(loss.back(), 0.3 * before) << kind;
      EXPECT_GT(trainer.score().accuracy, 0.95) << kind;
      const Tensor logits = make_executor("cpu", trainer.classifier(), {}).value()->logits(held_out.x).value();
      double right = 0;
      for (std::int64_t i = 0; i < 1000; ++i) right += argmax(logits.row(i)) == held_out.labels[i] ? 1e-3 : 0;
      EXPECT_GT(right, 0.93) << kind << " by " << int(activation);
    }
  }
}

TEST(Trainer, GradientDescentLearnsToo) {
  const MadeData data = made("moons", 400);
  Trainer trainer = trainer_of(data, {.hidden = {16}, .activation = Activation::tanh, .optimizer = Optimizer::sgd});
  trainer.epochs(200, {.rate = 0.5});
  EXPECT_GT(trainer.score().accuracy, 0.95);
}

TEST(Trainer, GeneralisesToUnseenDigits) {
  const MadeData data = made("digits", 1500, 1), held_out = made("digits", 500, 2);
  Trainer trainer = trainer_of(data, {.hidden = {64}});
  trainer.epochs(15);
  const auto executor = make_executor("cpu", trainer.classifier(), {}).value();
  EXPECT_EQ(executor->point_shape(), Shape({1, 28, 28}));
  const Tensor logits = executor->logits(held_out.x).value();
  double right = 0;
  for (std::int64_t i = 0; i < 500; ++i) right += argmax(logits.row(i)) == held_out.labels[i] ? 1.0 / 500 : 0;
  EXPECT_GT(right, 0.85);
}

TEST(Trainer, IsDeterministic) {
  const MadeData data = made("moons", 300);
  const auto weights_of = [&](std::uint64_t seed) {
    Trainer trainer = trainer_of(data, {.seed = seed});
    trainer.epochs(3, {.sigma = 0.1, .lambda = 0.01});
    return trainer.network().weights[0].value.data;
  };
  EXPECT_EQ(weights_of(4), weights_of(4));
  EXPECT_NE(weights_of(4), weights_of(5));
}

TEST(Trainer, ARunInPiecesEqualsTheRun) {
  const MadeData data = made("rings", 100);
  Trainer whole = trainer_of(data, {.batch = 30}), pieces = trainer_of(data, {.batch = 30});
  EXPECT_EQ(whole.steps_an_epoch(), 3);
  whole.epochs(4, {.sigma = 0.2});
  TrainingRun run(pieces, 4, {.sigma = 0.2});
  int count = 1;
  for (; !run.step(0); ++count) {
  }
  EXPECT_EQ(count, 12 + 4);  // training steps and scored batches
  EXPECT_EQ(run.planned(), run.done());
  EXPECT_EQ(pieces.network().weights[2].value.data, whole.network().weights[2].value.data);
  EXPECT_EQ(pieces.epoch(), 4);
  EXPECT_EQ(run.score().loss, whole.score().loss);
  EXPECT_EQ(run.score().accuracy, whole.score().accuracy);
}

TEST(Trainer, TheScoreIsThatOfTheClassifier) {
  const MadeData data = made("blobs", 101);
  Trainer trainer = trainer_of(data, {.batch = 30});
  trainer.epochs(1);
  const Tensor logits = make_executor("cpu", trainer.classifier(), {}).value()->logits(data.x).value();
  double right = 0, loss = 0;
  for (std::int64_t i = 0; i < 101; ++i) {
    double sum = 0;
    for (const float logit : logits.row(i)) sum += std::exp(double{logit});
    loss += (std::log(sum) - logits.row(i)[data.labels[i]]) / 101;
    right += argmax(logits.row(i)) == data.labels[i] ? 1.0 / 101 : 0;
  }
  EXPECT_NEAR(trainer.score().loss, loss, 1e-5);
  EXPECT_NEAR(trainer.score().accuracy, right, 1e-12);
}

// The mean of ||grad_x loss||² over the data: the objective with lambda = 1 minus the one with lambda = 0.
double squared_gradients(const Trainer& trainer, const MadeData& data) {
  Batched all{data.x, Tensor({data.size(), data.classes})};
  for (std::int64_t i = 0; i < data.size(); ++i) all.wanted.row(i)[data.labels[i]] = 1;
  std::vector<Tensor> gradients, observed;
  for (const Parameter& weight : trainer.network().weights) gradients.emplace_back(weight.value.shape);
  Objective objective(trainer.network(), data.size(), Loss::regularised);
  const double without = objective.run(all, trainer.network().weights, 0, gradients, observed);
  return objective.run(all, trainer.network().weights, 1, gradients, observed) - without;
}

TEST(Trainer, LambdaMakesGradientsSmaller) {
  const MadeData data = made("moons", 300);
  std::vector<double> squares;
  for (const double lambda : {0.0, 0.01, 0.1}) {
    Trainer trainer = trainer_of(data, {.hidden = {32}, .activation = Activation::tanh});
    trainer.epochs(60, {.lambda = lambda});
    squares.push_back(squared_gradients(trainer, data));
  }
  EXPECT_LT(squares[1], 0.8 * squares[0]);
  EXPECT_LT(squares[2], 0.8 * squares[1]);
}

TEST(Trainer, NoiseIsAFunctionOfSeedAndEpoch) {
  const MadeData data = made("moons", 64);
  // The objective over all points in two epochs. The weights do not change in between.
  const auto losses = [&](double sigma, std::uint64_t seed) {
    Trainer trainer = trainer_of(data, {.batch = 64, .seed = seed});
    return trainer.epochs(2, {.rate = 1e-30, .sigma = sigma});
  };
  const std::vector<double> without = losses(0, 0), with = losses(0.3, 0);
  EXPECT_NEAR(without[0], without[1], 1e-6);  // equal except for the order of summation
  EXPECT_GT(std::fabs(with[0] - without[0]), 1e-4);
  EXPECT_GT(std::fabs(with[1] - with[0]), 1e-4);
  EXPECT_EQ(losses(0.3, 0), with);
  // The noise does not depend on the batch size, so the mean over an epoch is the same.
  Trainer small = trainer_of(data, {.batch = 8});
  EXPECT_NEAR(small.epochs(1, {.rate = 1e-30, .sigma = 0.3})[0], with[0], 1e-6);
}

// Without hidden layers, the first step is known: Adam moves every weight by the rate, against its gradient.
TEST(Trainer, TheFirstStepGoesAgainstTheGradient) {
  const Tensor x({2, 1}, {1, -1});
  Trainer trainer = trainer_of(x, {0, 1}, 2, {.hidden = {}, .batch = 2});
  const auto slope = [&] {
    const Tensor logits = make_executor("cpu", trainer.classifier(), {}).value()->logits(x).value();
    return logits.row(0)[0] - logits.row(0)[1] - (logits.row(1)[0] - logits.row(1)[1]);
  };
  const double before = slope();
  trainer.step({.rate = 0.01});
  EXPECT_NEAR(slope() - before, 4 * 0.01, 1e-4);  // two weights move by 0.01 each, at x = 1 and x = -1
}

TEST(Trainer, OptionsMayChangeWhileItRuns) {
  Trainer trainer = trainer_of(made("moons", 200), {});
  trainer.epochs(2, {.rate = 1e-2});
  const std::vector<float> before = trainer.network().weights[0].value.data;
  trainer.epochs(1, {.rate = 1e-30, .lambda = 0.1});  // too small to have an effect
  EXPECT_EQ(trainer.network().weights[0].value.data, before);
  trainer.epochs(1, {.rate = 1e-30, .decay = 1e28});
  EXPECT_NE(trainer.network().weights[0].value.data, before);
}

TEST(Trainer, DivergenceIsAnErrorAndChangesNothing) {
  Trainer trainer = trainer_of(made("moons", 200), {.optimizer = Optimizer::sgd});
  std::vector<float> before;
  try {
    for (int k = 0; k < 1000; ++k) {
      before = trainer.network().weights[0].value.data;
      trainer.step({.rate = 1e30});
    }
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code, ErrorCode::numerical);
    EXPECT_EQ(trainer.network().weights[0].value.data, before);
  }
}

TEST(Trainer, AStopRequestEndsARunAndChangesNothing) {
  Trainer trainer = trainer_of(made("moons", 200), {});
  TrainingRun run(trainer, 4, {});
  EXPECT_FALSE(run.step(0));
  const std::vector<float> before = trainer.network().weights[0].value.data;
  EXPECT_EQ(&run.stop(), &trainer.stop);
  run.stop() = true;
  expect_refusal(ErrorCode::interrupted, [&] { run.step(0); });
  expect_refusal(ErrorCode::interrupted, [&] { trainer.step({}); });  // during the step
  expect_refusal(ErrorCode::interrupted, [&] { trainer.score(); });
  expect_refusal(ErrorCode::interrupted, [&] { trainer.sums(0, 1); });
  EXPECT_EQ(trainer.network().weights[0].value.data, before);
  EXPECT_EQ(trainer.steps(), 1);
  trainer.stop = false;
  trainer.step({});
  EXPECT_EQ(trainer.steps(), 2);
}

TEST(Trainer, RejectsInvalidArguments) {
  const Tensor x({2, 1}, {1, -1});
  const auto usage = [](const std::function<void()>& body) { expect_refusal(ErrorCode::usage, body); };
  usage([&] { trainer_of(x, {0}, 2); });
  usage([&] { trainer_of(x, {0, 2}, 2); });
  usage([&] { trainer_of(x, {0, -1}, 2); });
  usage([&] { trainer_of(x, {0, 0}, 1); });
  usage([&] { trainer_of(Tensor({2}), {0, 1}, 2); });
  usage([&] { trainer_of(Tensor({0, 2}), {}, 2); });
  usage([&] { trainer_of(Tensor({2, 1}, {1, NAN}), {0, 1}, 2); });
  usage([&] { trainer_of(x, {0, 1}, 2, {.hidden = {4, 0}}); });
  usage([&] { trainer_of(x, {0, 1}, 2, {.batch = 0}); });
  Trainer trainer = trainer_of(x, {0, 1}, 2);
  for (const TrainingOptions& options : {TrainingOptions{.rate = 0}, TrainingOptions{.rate = NAN}, TrainingOptions{.sigma = -1},
                                         TrainingOptions{.lambda = -1}, TrainingOptions{.decay = INFINITY}}) {
    usage([&] { trainer.step(options); });
    usage([&] { TrainingRun(trainer, 1, options); });
  }
  usage([&] { TrainingRun(trainer, -1, {}); });
  usage([] { parse_activation("sigmoid"); });
  usage([] { parse_optimizer("lbfgs"); });
}

TEST(Trainer, ChecksSizesBeforeAllocation) {
  const Tensor x({2, 1}, {1, -1});
  const auto resources = [](const std::function<void()>& body) { expect_refusal(ErrorCode::resources, body); };
  resources([&] { trainer_of(x, {0, 1}, 2, {.hidden = {1 << 20, 1 << 20}}); });
  resources([&] { trainer_of(x, {0, 1}, 2, {.hidden = {std::int64_t{1} << 62}}); });
  resources([&] { trainer_of(x, {0, 1}, std::int64_t{1} << 40, {}); });
  resources([&] { trainer_of(x, {0, 1}, 2, {.hidden = {1000, 1000}, .memory = 1 << 20}); });
}

}  // namespace
}  // namespace probust
