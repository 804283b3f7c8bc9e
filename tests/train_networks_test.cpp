// SPDX-License-Identifier: MIT
// Convolutional, residual and attention networks: gradients of the objective, batch statistics, export, and resumed training.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "probust/autodiff/vjp.h"
#include "probust/exec/executor.h"
#include "probust/onnx/export.h"
#include "probust/onnx/import.h"
#include "probust/ops/build.h"
#include "probust/train/checkpoint.h"
#include "probust/train/deep_layers.h"
#include "probust/train/deep_models.h"
#include "support/evaluate.h"
#include "support/lanes.h"
#include "support/refusal.h"

namespace probust {
namespace {

using test::expect_refusal;

// Small networks that together contain every kind of layer. Their activations are smooth, except for maxima.
std::vector<Network> small_networks() {
  const NetworkOptions options{.seed = 4};
  const auto layers = [&](const char* name, const Shape& point, Layers all) {
    return make_network(name, point, 3, std::move(all), options);
  };
  using namespace layer;  // NOLINT(google-build-using-namespace): a list of layers
  return {
      layers("convolutions", {2, 7, 6},
             {conv(3, {.kernel = 3, .pad = 1}), max_pool(2), activate(Activation::tanh), conv(4, {.kernel = 2, .stride = 2}),
              activate(Activation::silu), flatten(), layer::dense(3, 1)}),
      layers("residual", {2, 4, 4},
             {conv(3, {.kernel = 3, .pad = 1, .bias = false}), batch_norm(), activate(Activation::tanh),
              residual({conv(4, {.kernel = 3, .stride = 2, .pad = 1}), batch_norm()}, {conv(4, {.kernel = 1, .stride = 2})}),
              activate(Activation::gelu), average_pixels(), layer::dense(3, 1)}),
      layers("attention", {1, 4, 4},
             {conv(4, {.kernel = 2, .stride = 2, .gain = 1}), tokens(), residual({layer_norm(), attention(2)}), layer_norm(),
              average_tokens(), layer::dense(3, 1)}),
  };
}

struct TrainingProblem {
  Network network;
  Batched batch;
  std::vector<std::int64_t> labels;
};

TrainingProblem training_problem(const Network& network, std::int64_t rows, unsigned seed = 5) {
  std::mt19937 random(seed);
  Shape shape = network.point;
  shape.insert(shape.begin(), rows);
  TrainingProblem p{network, {test::random_tensor(shape, random), Tensor({rows, network.classes})}, {}};
  for (std::int64_t row = 0; row < rows; ++row) {
    p.labels.push_back(row % network.classes);
    p.batch.wanted.row(row)[row % network.classes] = 1;
  }
  // Biases and scales are not all equal, so that each gradient matters.
  for (Parameter& weight : p.network.weights) {
    const Tensor change = test::random_tensor(weight.value.shape, random, -0.3F, 0.3F);
    for (std::size_t e = 0; e < change.data.size(); ++e) weight.value.data[e] += change.data[e];
  }
  return p;
}

std::vector<Tensor> tensors_like(const std::vector<Parameter>& parameters) {
  std::vector<Tensor> tensors;
  for (const Parameter& each : parameters) tensors.emplace_back(each.value.shape);
  return tensors;
}

// Gradients are tested along a random direction, because the objective is computed in float32.
TEST(Networks, GradientsAreThoseOfFiniteDifferences) {
  for (const Network& network : small_networks()) {
    for (const double lambda : {0.0, 0.5}) {
      SCOPED_TRACE(network.name + " at " + std::to_string(lambda));
      const TrainingProblem p = training_problem(network, 6, 8);
      Objective objective(p.network, 6, lambda > 0 ? Loss::regularised : Loss::cross_entropy);
      std::vector<Tensor> gradients = tensors_like(p.network.weights), ignored = gradients,
                          observed = tensors_like(p.network.statistics);
      objective.run(p.batch, p.network.weights, lambda, gradients, observed);
      std::mt19937 random(9);
      for (std::size_t k = 0; k < gradients.size(); ++k) {
        const Tensor direction = test::random_tensor(gradients[k].shape, random);
        const auto along = [&](double step) {
          std::vector<Parameter> moved = p.network.weights;
          for (std::size_t e = 0; e < direction.data.size(); ++e)
            moved[k].value.data[e] += static_cast<float>(step * direction.data[e]);
          return double{objective.run(p.batch, moved, lambda, ignored, observed)};
        };
        double expected = 0;
        for (std::size_t e = 0; e < direction.data.size(); ++e) expected += double{gradients[k].data[e]} * direction.data[e];
        constexpr double kStep = 1e-3;  // longer steps change which cells of a window are largest
        EXPECT_NEAR((along(kStep) - along(-kStep)) / (2 * kStep), expected, 2e-3 * (1 + std::fabs(expected)))
            << p.network.weights[k].name;
      }
    }
  }
}

// Logits, and the gradient of |d sum(logits) / dx|² with respect to every weight, are compared with the definitions of the
// operators.
TEST(Networks, KernelsGiveWhatTheOperatorsDefine) {
  for (const Network& network : small_networks()) {
    const TrainingProblem p = training_problem(network, 5);
    for (const bool training : {false, true}) {
      SCOPED_TRACE(network.name);
      Graph g;
      const auto inputs = [&g](const std::vector<Parameter>& all) {
        std::vector<ValueId> ids;
        for (const Parameter& each : all) ids.push_back(append_input(g, each.value.shape, Extent::example, each.name));
        return ids;
      };
      const ValueId x = append_input(g, p.batch.x.shape, Extent::example, "x");
      const std::vector<ValueId> weights = inputs(p.network.weights);
      LayerGraph layers(g, weights, inputs(p.network.statistics), training);
      const ValueId logits = append_network(layers, p.network, x);
      const Vjp first = vjp(g, std::array{logits}, std::array{x});
      Graph second = first.graph;
      const ValueId squares = build::multiply(second, first.gradients[0], first.gradients[0]);
      second.outputs = {logits, build::reduce_sum(second, squares, {0})};
      const Graph both = vjp(second, std::span(second.outputs).subspan(1), weights).graph;

      test::Values in = {p.batch.x.data};
      for (const auto* all : {&p.network.weights, &p.network.statistics}) {
        for (const Parameter& each : *all) in.push_back(each.value.data);
      }
      for (std::size_t k = in.size(); k < both.inputs().size(); ++k)
        in.emplace_back(static_cast<std::size_t>(element_count(both[both.inputs()[k]].shape)), 0.7F);
      const test::Values expected = test::run(*compile_reference(both), both, {1, 1}, in);
      const test::Values actual = test::run(*compile_eigen(both), both, {1, 1}, in);
      double size = 1;  // some gradients are zero except for rounding, such as those of the biases of keys
      for (const auto& values : expected) {
        for (const float value : values) size = std::max(size, std::fabs(double{value}));
      }
      for (std::size_t k = 0; k < expected.size(); ++k) {
        for (std::size_t e = 0; e < expected[k].size(); ++e) ASSERT_NEAR(actual[k][e], expected[k][e], 3e-5 * size) << k;
      }
    }
  }
}

TEST(Networks, RunningStatisticsFollowTheBatches) {
  const TrainingProblem p = training_problem(small_networks()[1], 8);
  Trainer trainer(p.network, p.batch.x, p.labels, {.batch = 8});
  const std::vector<Parameter> before = trainer.network().statistics;
  EXPECT_EQ(before[0].name, "batch_norm1.mean");
  for (int k = 0; k < 200; ++k) trainer.step({.rate = 1e-9});
  // The first normalization's input is the first convolution of the batch, whose moments can be computed from the data.
  const Tensor& filter = p.network.weights[0].value;
  std::vector<double> sum(3), squares(3);
  for (std::int64_t n = 0; n < 8; ++n) {
    for (std::int64_t o = 0; o < 3; ++o) {
      for (std::int64_t i = 0; i < 4; ++i) {
        for (std::int64_t j = 0; j < 4; ++j) {
          double y = 0;
          for (std::int64_t c = 0; c < 2; ++c) {
            for (std::int64_t a = 0; a < 3; ++a) {
              for (std::int64_t b = 0; b < 3; ++b) {
                const std::int64_t row = i + a - 1, column = j + b - 1;
                if (row < 0 || row > 3 || column < 0 || column > 3) continue;
                y += double{filter.data[((o * 2 + c) * 3 + a) * 3 + b]} * p.batch.x.row(n)[(c * 4 + row) * 4 + column];
              }
            }
          }
          sum[o] += y;
          squares[o] += y * y;
        }
      }
    }
  }
  for (std::size_t o = 0; o < 3; ++o) {
    const double mean = sum[o] / 128, variance = (squares[o] - 128 * mean * mean) / 127;
    EXPECT_NEAR(trainer.network().statistics[0].value.data[o], mean, 1e-4);
    EXPECT_NEAR(trainer.network().statistics[1].value.data[o], variance, 1e-4 * (1 + variance));
  }
}

// The exported file contains no normalization and computes the logits of the trained network.
TEST(Networks, ExportedNetworksComeBackAsTheyWere) {
  std::vector<Network> networks = small_networks();
  networks.push_back(cnn({1, 28, 28}, 10));
  networks.push_back(resnet18({3, 16, 16}, 4, {}, 4));
  networks.push_back(vit({1, 9, 9}, 5, {}, {.patch = 3, .width = 8, .depth = 2, .heads = 2}));
  for (const Network& network : networks) {
    SCOPED_TRACE(network.name);
    const TrainingProblem p = training_problem(network, 6);
    Trainer trainer(p.network, p.batch.x, p.labels, {.batch = 6});
    for (int k = 0; k < 3; ++k) trainer.step({.rate = 1e-3});
    BatchLogits logits(trainer.network(), 6);
    Tensor expected({6, network.classes});
    logits.run(p.batch.x, trainer.network(), expected);
    const std::string bytes = export_onnx(trainer.classifier(), network.name, {{"probust.train", "a record"}}).value();
    EXPECT_NE(bytes.find("a record"), std::string::npos);
    const Model model = import_onnx(std::as_bytes(std::span(bytes)), {}).value();
    EXPECT_EQ(model.summary.inputs[0].shape.front(), -1);
    const Graph classifier = trainer.classifier();
    for (const Graph* graph : {&classifier, &model.graph}) {
      Shape shape = graph == &classifier ? network.point : model.input_shape;
      shape.insert(shape.begin(), 6);
      const Tensor actual = make_executor("cpu", *graph, {}).value()->logits(Tensor(shape, p.batch.x.data)).value();
      for (std::size_t i = 0; i < expected.data.size(); ++i)
        EXPECT_NEAR(actual.data[i], expected.data[i], 1e-4 * (1 + std::fabs(expected.data[i])));
    }
    const bool normalized = bytes.find("/Sqrt") != std::string::npos;
    EXPECT_EQ(normalized, network.name == "attention" || network.name == "vit");  // only layer normalizations remain
  }
}

TEST(Networks, NamesDetermineTheNetwork) {
  const Shape image{1, 28, 28};
  for (const char* name : {"linear", "mlp:64,32", "cnn", "vit"})
    EXPECT_EQ(named_network(name, image, 10, Activation::relu, {}).name, name);
  EXPECT_EQ(named_network("mlp:64,32", image, 10, Activation::relu, {}).weights[2].value.shape, Shape({64, 32}));
  std::int64_t count = 0;
  for (const Parameter& each : resnet18({3, 32, 32}, 10).weights) count += each.value.size();
  EXPECT_EQ(count, 11173962);  // the same as torchvision's with a 3x3 stem
  count = 0;
  for (const Parameter& each : cnn(image, 10).weights) count += each.value.size();
  EXPECT_EQ(count, 21840);
  for (const char* name : {"", "lenet", "mlp:", "mlp:x", "mlp:64,", "mlp:64,,3", "mlp:0", "mlp:-3"})
    expect_refusal(ErrorCode::usage, [&] { named_network(name, image, 10, Activation::relu, {}); });
  expect_refusal(ErrorCode::usage, [] { cnn({4}, 10); });
  expect_refusal(ErrorCode::usage, [] { cnn({1, 8, 8}, 10); });
  expect_refusal(ErrorCode::usage, [] { resnet18({4}, 10); });
  expect_refusal(ErrorCode::usage, [] { vit({1, 8, 8}, 10, {}, {.width = 10, .heads = 4}); });
}

// ---- Optimizers and schedules.

TEST(Optimizers, MomentumAddsUpGradients) {
  std::vector<Parameter> weights = {{"w", Tensor({1}, {1}), true}, {"b", Tensor({1}, {1}), false}};
  const std::vector<Tensor> gradients = {Tensor({1}, {2}), Tensor({1}, {2})};
  OptimizerMoments moments = no_moments(Optimizer::sgd, weights);
  const StepSize size{.rate = 0.1, .decay = 0.5, .momentum = 0.9};
  move(Optimizer::sgd, size, gradients, moments, weights);
  EXPECT_NEAR(weights[0].value.data[0], 1 - 0.1 * (2 + 0.5), 1e-6);
  EXPECT_NEAR(weights[1].value.data[0], 1 - 0.1 * 2, 1e-6);
  move(Optimizer::sgd, size, gradients, moments, weights);
  EXPECT_NEAR(weights[1].value.data[0], 1 - 0.1 * 2 - 0.1 * (0.9 * 2 + 2), 1e-6);
}

TEST(Optimizers, ACosineGoesFromTheRateToZero) {
  EXPECT_EQ(schedule_factor(Schedule::cosine, 0, 100), 1);
  EXPECT_NEAR(schedule_factor(Schedule::cosine, 50, 100), 0.5, 1e-12);
  EXPECT_NEAR(schedule_factor(Schedule::cosine, 75, 100), (1 + std::cos(0.75 * 3.14159265358979)) / 2, 1e-12);
  EXPECT_NEAR(schedule_factor(Schedule::cosine, 100, 100), 0, 1e-12);
  EXPECT_EQ(schedule_factor(Schedule::constant, 70, 100), 1);
}

// ---- Augmentation.

TEST(Augmentation, ImagesMoveAndFlipByKeys) {
  const Shape point{2, 3, 4};
  std::vector<float> image(24);
  for (std::size_t e = 0; e < image.size(); ++e) image[e] = static_cast<float>(e + 1);
  // Pixel (1, 1) of both channels: both move alike, and pixels from outside the image are zero.
  bool flipped = false, straight = false;
  for (std::uint32_t epoch = 0; epoch < 20; ++epoch) {
    std::vector<float> x = image, again = image;
    augment({.flip = true}, 7, 3, epoch, point, x);
    augment({.flip = true}, 7, 3, epoch, point, again);
    EXPECT_EQ(x, again);
    const bool mirrored = x[0] == 4;
    (mirrored ? flipped : straight) = true;
    for (std::size_t e = 0; e < 24; ++e) EXPECT_EQ(x[e], image[mirrored ? e / 4 * 4 + 3 - e % 4 : e]);
  }
  EXPECT_TRUE(flipped && straight);
  std::vector<int> seen(9);
  for (std::uint32_t index = 0; index < 200; ++index) {
    std::vector<float> x = image;
    augment({.crop = 1}, 7, index, 0, point, x);
    for (int down = -1; down <= 1; ++down) {
      for (int right = -1; right <= 1; ++right) {
        bool fits = true;
        for (int c = 0; c < 2; ++c) {
          for (int i = 0; i < 3; ++i) {
            for (int j = 0; j < 4; ++j) {
              const bool inside = i + down >= 0 && i + down < 3 && j + right >= 0 && j + right < 4;
              fits = fits && x[(c * 3 + i) * 4 + j] == (inside ? image[(c * 3 + i + down) * 4 + j + right] : 0.0F);
            }
          }
        }
        seen[(down + 1) * 3 + right + 1] += fits ? 1 : 0;
      }
    }
  }
  for (const int count : seen) EXPECT_GT(count, 5);
}

TEST(Augmentation, FlipsNeedImages) {
  Trainer trainer(mlp({2}, {}, 2), Tensor({2, 2}, {0, 1, 2, 3}), {0, 1});
  expect_refusal(ErrorCode::usage, [&] { trainer.step({.flip = true}); });
  expect_refusal(ErrorCode::usage, [&] { trainer.step({.crop = 1}); });
  expect_refusal(ErrorCode::usage, [&] { trainer.step({.momentum = 1}); });
}

// ---- Checkpoints.

class Checkpoints : public testing::Test {
 protected:
  static Trainer fresh(Optimizer optimizer = Optimizer::adam) {
    const TrainingProblem p = training_problem(small_networks()[1], 21);
    return {p.network, p.batch.x, p.labels, {.optimizer = optimizer, .batch = 4, .seed = 2}};
  }
  static Checkpoint read(const std::string& bytes) { return read_checkpoint(std::as_bytes(std::span(bytes)), "a.checkpoint"); }
};

TEST_F(Checkpoints, AResumedTrainingEqualsTheUninterruptedOne) {
  const TrainingOptions options{.sigma = 0.1, .decay = 0.01, .schedule = Schedule::cosine};
  for (const Optimizer optimizer : {Optimizer::adam, Optimizer::sgd}) {
    Trainer whole = fresh(optimizer);
    TrainingRun(whole, 4, options).finish();
    // The training is interrupted in the middle of an epoch.
    Trainer first = fresh(optimizer);
    TrainingRun interrupted(first, 4, options);
    for (int k = 0; k < 7; ++k) interrupted.step(0);
    const std::string bytes = write_checkpoint({first.state(), "record"});
    Trainer second = fresh(optimizer);
    Checkpoint checkpoint = read(bytes);
    EXPECT_EQ(checkpoint.record, "record");
    second.resume(std::move(checkpoint.state));
    EXPECT_EQ(second.steps(), 7);
    TrainingRun::up_to(second, 4, options).finish();
    EXPECT_EQ(second.steps(), whole.steps());
    for (std::size_t k = 0; k < whole.network().weights.size(); ++k)
      EXPECT_EQ(second.network().weights[k].value.data, whole.network().weights[k].value.data);
    for (std::size_t k = 0; k < whole.network().statistics.size(); ++k)
      EXPECT_EQ(second.network().statistics[k].value.data, whole.network().statistics[k].value.data);
  }
}

TEST_F(Checkpoints, TruncatedAndChangedFilesAreRejected) {
  const std::string bytes = write_checkpoint({fresh().state(), "record"});
  for (std::size_t size = 0; size < bytes.size(); size += 1 + size / 50)
    expect_refusal(ErrorCode::unreadable, [&] { read(bytes.substr(0, size)); });
  for (std::size_t at = 0; at < bytes.size(); at += 1 + at / 50) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 4);
    expect_refusal(ErrorCode::unreadable, [&] { read(changed); });
  }
}

TEST_F(Checkpoints, RejectsStatesOfOtherNetworksAndOptimizers) {
  Trainer trainer = fresh();
  expect_refusal(ErrorCode::usage, [&] { trainer.resume(fresh(Optimizer::sgd).state()); });
  const TrainingProblem other = training_problem(small_networks()[0], 6);
  expect_refusal(ErrorCode::usage, [&] { trainer.resume(Trainer(other.network, other.batch.x, other.labels).state()); });
}

TEST_F(Checkpoints, AreNotWrittenWithoutFiniteWeights) {
  Trainer::State state = fresh().state();
  state.weights[1].value.data[0] = NAN;
  expect_refusal(ErrorCode::numerical, [&] { write_checkpoint({state, ""}); });
}

}  // namespace
}  // namespace probust
