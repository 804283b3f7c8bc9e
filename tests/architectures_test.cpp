// SPDX-License-Identifier: MIT
// Well-known whole networks at reduced size: the CPU's results agree with the operators' definitions and do not depend on
// batches or threads. All kernels are checked for writes to guard zones.
#include "support/architectures.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "probust/onnx/import.h"
#include "probust/perturb/noise_text.h"
#include "probust/run/run.h"
#include "support/evaluate.h"

namespace probust {
namespace {

constexpr std::int64_t kPoints = 2;

#ifdef PROBUST_SANITIZED  // Sanitized kernels are several times slower: then only batch 1 with one thread, and 7 and 64 with two.
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

Model import(const test::Architecture& architecture) {
  test::Scale scale;
  scale.width = 0.25;
  scale.depth = 0.3;
  scale.size = 32;
  const std::string bytes = test::make_onnx(architecture, scale);
  return import_onnx(std::as_bytes(std::span(bytes))).value();
}

std::unique_ptr<Executor> executor_of(const Model& model, std::string_view backend, std::int64_t batch, int threads) {
  ExecutorOptions options;
  options.batch = batch;
  options.threads = threads;
  options.verify = true;
  return make_executor(backend, model.graph, options).value();
}

Tensor random_points(const Model& model, std::int64_t count) {
  std::mt19937 random(5);
  Shape shape = model.input_shape;
  shape[0] = count;
  return test::random_tensor(shape, random, -1.7F, 1.7F);
}

std::vector<float> jacobians(Executor& executor, const Tensor& x) {
  std::vector<float> all;
  executor.jacobian(x, [&](std::int64_t, std::span<const float> part) { all.insert(all.end(), part.begin(), part.end()); })
      .value();
  return all;
}

std::vector<Estimate> estimates(Executor& executor, const Tensor& x) {
  EstimateRequest request;
  request.x = x;
  request.seed = 3;
  request.noises = {parse_noise("gaussian:0.3")};
  for (const char* name : {"mc:70", "probit:16", "regression:16", "adf"}) request.estimators.push_back(parse_estimator(name));
  EstimateRun run(executor, std::move(request));
  while (!run.step(1e9)) continue;
  std::vector<Estimate> all;
  for (const Row& row : run.rows()) all.push_back(row.estimate);
  return all;
}

// |a - b| / |b|
double distance(std::span<const float> a, std::span<const float> b) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    difference += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
    size += double{b[i]} * b[i];
  }
  return std::sqrt(difference / size);
}

class Architectures : public testing::TestWithParam<test::Architecture> {};

TEST_P(Architectures, AgreeWithTheDefinitionsForAnyBatchAndThreads) {
  const Model model = import(GetParam());
  const Tensor x = random_points(model, kPoints);
  const auto reference = executor_of(model, "reference", 8, 1);
  const Tensor expected_logits = reference->logits(x).value();
  const std::vector<float> expected_jacobian = jacobians(*reference, x);

  const auto eigen = executor_of(model, "eigen", 7, 1);
  EXPECT_LT(distance(eigen->logits(x).value().data, expected_logits.data), 1e-5);
  EXPECT_LT(distance(jacobians(*eigen, x), expected_jacobian), 1e-4);

  Tensor logits;
  std::vector<float> jacobian;
  std::vector<Estimate> rows;
  for (const std::int64_t batch : {1, 7, 64}) {
    for (const int threads : {1, 2}) {
      if (kSanitized && (batch == 1) != (threads == 1)) continue;
      SCOPED_TRACE("batches of " + std::to_string(batch) + ", " + std::to_string(threads) + " threads");
      const auto executor = executor_of(model, "cpu", batch, threads);
      const Tensor own_logits = executor->logits(x).value();
      const std::vector<float> own_jacobian = jacobians(*executor, x);
      if (jacobian.empty()) {
        logits = own_logits;
        jacobian = own_jacobian;
        EXPECT_LT(distance(logits.data, expected_logits.data), 1e-5);
        EXPECT_LT(distance(jacobian, expected_jacobian), 1e-4);
      }
      EXPECT_EQ(own_logits.data, logits.data);
      EXPECT_EQ(own_jacobian, jacobian);
      if (batch == 1 && (threads == 2 || kSanitized)) continue;  // runs of single points are slow
      const std::vector<Estimate> own = estimates(*executor, x);
      if (rows.empty()) rows = own;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        EXPECT_EQ(own[i].status, rows[i].status) << i;
        EXPECT_NEAR(own[i].p, rows[i].p, 1e-6) << i;
      }
    }
  }
}

// The network has residuals, which are fused with the later of two products, and uses Winograd's algorithm.
TEST(ResidualNetwork, HasTheSameBitsForAnyThreadsMemoryAndBatch) {
  const Model model = import(test::architecture("resnet18"));
  Points points;
  points.x = random_points(model, 3);
  points.index = {0, 1, 2};
  points.target = {1, 0, 9};
  points.seed = 7;
  const Noise noise{isotropic_gaussian(), 0.2};
  struct Answers {
    std::vector<float> logits, jacobian;
    std::vector<Linearization> taylor, averaged;
    std::vector<std::vector<std::int64_t>> counts;
  };
  const auto ask = [&](std::string_view backend, const ExecutorOptions& options) {
    const auto executor = make_executor(backend, model.graph, options).value();
    return Answers{executor->logits(points.x).value().data, jacobians(*executor, points.x),
                   executor->linearize(points, *noise.shape).value(), executor->linearize_averaged(points, noise, 5).value(),
                   executor->sample(points, noise, 50).value()};
  };
  for (const std::string_view backend : {"cpu", "eigen"}) {
    if (kSanitized && backend != "cpu") continue;
    const Answers expected = ask(backend, {1, std::int64_t{1} << 30, 48, true});
    for (const ExecutorOptions& options :
         {ExecutorOptions{2, std::int64_t{1} << 30, 7, true}, ExecutorOptions{1, std::int64_t{1} << 30, 1, true},
          ExecutorOptions{1, std::int64_t{1} << 30, 0, true}, ExecutorOptions{2, std::int64_t{16} << 20, 0, true},
          ExecutorOptions{1, std::int64_t{4} << 20, 0, true}}) {
      SCOPED_TRACE(std::string(backend) + ": " + std::to_string(options.threads) + " threads, memory " +
                   std::to_string(options.memory) + ", batch " + std::to_string(options.batch));
      const Answers actual = ask(backend, options);
      EXPECT_EQ(actual.logits, expected.logits);
      EXPECT_EQ(actual.jacobian, expected.jacobian);
      EXPECT_EQ(actual.counts, expected.counts);
      for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(actual.taylor[i].margins, expected.taylor[i].margins) << i;
        EXPECT_EQ(actual.taylor[i].gram, expected.taylor[i].gram) << i;
        EXPECT_EQ(actual.averaged[i].margins, expected.averaged[i].margins) << i;
        EXPECT_EQ(actual.averaged[i].gram, expected.averaged[i].gram) << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Architectures, testing::ValuesIn(test::architectures().begin(), test::architectures().end()),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace probust
