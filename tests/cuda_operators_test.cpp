// SPDX-License-Identifier: MIT
// Compares every operator of the table in support/op_cases.h on a device with its definition.
#include <gtest/gtest.h>

#include "cuda/lowering.h"
#include "probust/ops/op.h"
#include "support/on_device.h"
#include "support/op_graphs.h"

namespace probust::cuda {
namespace {

TEST(CudaOperators, AgreeWithTheirDefinitionsForAllExtents) {
  std::mt19937 random(3);
  for (const test::OpCase& row : test::op_cases()) {
    for (const auto& extents : test::extent_choices(row.operands.size())) {
      const Graph graph = test::with_constants(row, extents, random);
      const Batch batch{5, 3};
      std::vector<std::vector<float>> inputs;
      for (const ValueId id : graph.inputs()) {
        const std::int64_t lanes = batch.lanes(graph[id].extent);
        inputs.push_back(test::random_tensor({element_count(graph[id].shape), lanes}, random, row.low, row.high).data);
      }
      const auto expected = test::run(*compile_reference(graph), graph, batch, inputs);
      test::expect_near(test::run_on_device(graph, batch, inputs)[0], expected[0], 2e-5, test::describe(row));
    }
  }
}

TEST(CudaOperators, FunctionsOfElementsRunOnTheDevice) {
  std::mt19937 random(4);
  for (const test::OpCase& row : test::op_cases()) {
    const Traits& traits = definition(row.op).traits;
    if (traits.unary == nullptr && traits.binary == nullptr) continue;
    const Graph graph = test::with_constants(row, std::vector<Extent>(row.operands.size(), Extent::example), random);
    EXPECT_TRUE(DeviceLowering(test::shared_device(), graph).finish().on_the_host.empty()) << test::describe(row);
  }
}

}  // namespace
}  // namespace probust::cuda
