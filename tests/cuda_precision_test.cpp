// SPDX-License-Identifier: MIT
// tf32 and bf16 on the CUDA backend: what is rounded, what is exact, and that nothing depends on the batch.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "cuda/cuda_executor.h"
#include "probust/ops/op.h"
#include "support/networks.h"
#include "support/on_device.h"
#include "support/op_graphs.h"

namespace probust::cuda {
namespace {

constexpr Precision kLower[] = {Precision::tf32, Precision::bf16};

bool rounds(Op op) { return op == Op::matmul || op == Op::conv || op == Op::conv_transpose; }

// The relative precision of operands and, with bf16, also of results of convolutions.
double unit(Precision precision) { return precision == Precision::tf32 ? 0x1p-10 : 0x1p-7; }

TEST(CudaPrecision, OnlyProductsAndConvolutionsRound) {
  std::mt19937 random(3);
  Device exact(0, Precision::float32);
  for (const Precision precision : kLower) {
    Device device(0, precision);
    int rounded = 0;
    for (const test::OpCase& row : test::op_cases()) {
      for (const auto& extents : test::extent_choices(row.operands.size())) {
        const Graph graph = test::with_constants(row, extents, random);
        const Batch batch{3, 2};
        std::vector<std::vector<float>> inputs;
        for (const ValueId id : graph.inputs()) {
          const std::int64_t lanes = batch.lanes(graph[id].extent);
          inputs.push_back(test::random_tensor({element_count(graph[id].shape), lanes}, random, row.low, row.high).data);
        }
        const std::vector<float> expected = test::run_on_device(graph, batch, inputs, exact)[0],
                                 actual = test::run_on_device(graph, batch, inputs, device)[0];
        const std::string what = test::describe(row) + ", " + name_of(precision);
        ASSERT_EQ(actual.size(), expected.size()) << what;
        if (actual.empty()) continue;
        if (!rounds(row.op)) {
          ASSERT_EQ(std::memcmp(actual.data(), expected.data(), actual.size() * sizeof(float)), 0) << what;
          continue;
        }
        double largest = 0;  // terms may cancel
        for (const float one : expected) largest = std::max(largest, std::fabs(static_cast<double>(one)));
        for (std::size_t e = 0; e < expected.size(); ++e)
          ASSERT_NEAR(actual[e], expected[e], 8 * unit(precision) * (1 + largest)) << what << ", element " << e;
        rounded += actual != expected ? 1 : 0;
      }
    }
#ifdef PROBUST_CUDA_EMULATED  // on a GPU, such small problems may not run on tensor cores
    EXPECT_GT(rounded, 20) << name_of(precision);
#endif
  }
}

std::unique_ptr<Executor> executor(Precision precision, const ExecutorOptions& options = {}) {
  CudaOptions cuda;
  cuda.precision = precision;
  return make_cuda_executor(test::small_cnn(), options, cuda).value();
}

void expect_close(const Eigen::MatrixXd& actual, const Eigen::MatrixXd& expected, double tolerance, const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  EXPECT_LE((actual - expected).norm(), tolerance * expected.norm()) << what;
}

// Compares every coarse call with that in float32, within the effect of rounding operands in this network.
TEST(CudaPrecision, CoarseCallsAgreeWithFloat32) {
  const Points points = test::some_points(6, {1, 8, 8}, 4);
  const Noise noise{isotropic_gaussian(), 0.3};
  const std::vector<std::vector<std::int64_t>> rivals{{1, 2}, {2, 3}, {3, 0}, {0, 1}, {1, 2}, {2, 3}};
  const auto exact = executor(Precision::float32);
  for (const Precision precision : kLower) {
    const auto rounded = executor(precision);
    const double tolerance = precision == Precision::tf32 ? 0.02 : 0.1;
    const std::string what = name_of(precision);
    const auto counts = rounded->sample(points, noise, 1000).value(), exact_counts = exact->sample(points, noise, 1000).value();
    for (std::size_t i = 0; i < counts.size(); ++i) {
      for (std::size_t c = 0; c < counts[i].size(); ++c)
        EXPECT_NEAR(static_cast<double>(counts[i][c]), static_cast<double>(exact_counts[i][c]), 1000 * tolerance) << what;
    }
    const auto check = [&](const auto& call) {
      const auto own = call(*rounded), theirs = call(*exact);
      for (std::size_t i = 0; i < own.size(); ++i) {
        expect_close(own[i].gram, theirs[i].gram, 2 * tolerance, what);
        EXPECT_NE(own[i].gram, theirs[i].gram) << what;
      }
    };
    check([&](Executor& one) { return one.linearize(points, *noise.shape).value(); });
    check([&](Executor& one) { return one.linearize_averaged(points, noise, 5).value(); });
    check([&](Executor& one) { return one.project(points, rivals, noise, 7, 2, LinearizeAt::input).value(); });
    check([&](Executor& one) { return one.project(points, rivals, noise, 7, 2, LinearizeAt::noise_mean).value(); });
  }
}

// On a GPU, they may depend on it, because the libraries choose algorithms by the batch (docs/cuda.md).
#ifdef PROBUST_CUDA_EMULATED
TEST(CudaPrecision, ResultsDoNotDependOnMemoryOrBatch) {
  const Points points = test::some_points(5, {1, 8, 8}, 4);
  const Noise noise{isotropic_gaussian(), 0.3};
  for (const Precision precision : kLower) {
    const auto expected = executor(precision);
    const auto counts = expected->sample(points, noise, 50).value();
    const auto averaged = expected->linearize_averaged(points, noise, 9).value();
    for (const ExecutorOptions& options :
         {ExecutorOptions{1, 60 << 10, 0}, ExecutorOptions{1, 1 << 30, 3}, ExecutorOptions{2, 1 << 30, 1}}) {
      const auto one = executor(precision, options);
      EXPECT_EQ(one->sample(points, noise, 50).value(), counts) << name_of(precision);
      const auto own = one->linearize_averaged(points, noise, 9).value();
      for (std::size_t i = 0; i < own.size(); ++i) expect_close(own[i].gram, averaged[i].gram, 1e-6, name_of(precision));
    }
  }
}
#endif

// The smallest amount of memory with which a classifier can run.
std::int64_t least_memory(const Graph& graph, Precision precision) {
  CudaOptions cuda;
  cuda.precision = precision;
  std::int64_t least = 1, enough = std::int64_t{1} << 24;
  while (least < enough) {
    const std::int64_t given = (least + enough) / 2;
    if (make_cuda_executor(graph, {1, given, 0}, cuda)) {
      enough = given;
    } else {
      least = given + 1;
    }
  }
  return enough;
}

// The report of a precision's error uses memory that is left. If one example does not fit, the run continues without a report.
TEST(CudaPrecision, TheReportOfItsErrorTakesNoMemoryOfItsOwn) {
  const Points points = test::some_points(6, {1, 8, 8}, 4);
  const std::int64_t of_float32 = least_memory(test::small_cnn(), Precision::float32);
  for (const Precision precision : kLower) {
    const std::int64_t least = least_memory(test::small_cnn(), precision);
    EXPECT_LE(least, of_float32) << name_of(precision);
    std::vector<std::string> told;
    CudaOptions cuda;
    cuda.precision = precision;
    cuda.warn = [&](const std::string& text) { told.push_back(text); };
    EXPECT_TRUE(make_cuda_executor(test::small_cnn(), {1, least, 0}, cuda).value()->logits(points.x)) << name_of(precision);
    ASSERT_EQ(told.size(), 1U) << name_of(precision);
    const bool measured = told[0].find(" changes the logits of the first 1 points by up to ") != std::string::npos;
    EXPECT_EQ(measured, precision == Precision::tf32) << told[0];
    EXPECT_EQ(told[0] == "there is too little memory to measure how much bf16 changes the logits", precision == Precision::bf16)
        << told[0];
  }
}

}  // namespace
}  // namespace probust::cuda
