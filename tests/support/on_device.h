// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "cuda/program.h"
#include "probust/exec/executor.h"
#include "support/evaluate.h"
#include "support/lanes.h"

// Runs of graphs on a device of the CUDA backend: the GPU or the emulated one, whichever the test is linked with.
namespace probust::test {

inline std::vector<float> transposed_matrix(const std::vector<float>& from, std::int64_t rows) {
  const auto columns = static_cast<std::int64_t>(from.size()) / rows;
  std::vector<float> to(from.size());
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) to[j * rows + i] = from[i * columns + j];
  }
  return to;
}

// Shared by all tests, because creating a device is slow.
inline cuda::Device& shared_device() {
  static auto& device = *new cuda::Device(0, cuda::Precision::float32);
  return device;
}

// Runs a graph on the device. Inputs and outputs are [elements][lanes]; outputs have all lanes.
inline std::vector<std::vector<float>> run_on_device(const Graph& graph, const Batch& batch,
                                                     const std::vector<std::vector<float>>& inputs,
                                                     cuda::Device& device = shared_device()) {
  using namespace cuda;
  const DeviceProgram program(device, graph);
  Extent largest = Extent::example;
  for (const ValueId id : graph.inputs()) largest = std::max(largest, graph[id].extent);
  std::vector<Array<float>> placed;
  std::vector<const float*> addresses;
  const std::vector<ValueId> ids = graph.inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    placed.emplace_back(device, transposed_matrix(inputs[i], std::max<std::int64_t>(1, element_count(graph[ids[i]].shape))));
    addresses.push_back(placed.back().data());
  }
  Array<float> arena;
  std::vector<std::vector<float>> outputs;
  const auto values = program.run(batch, addresses, arena);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t elements = element_count(graph[graph.outputs[i]].shape), lanes = batch.lanes(largest);
    std::vector<float> own(static_cast<std::size_t>(elements * values[i].lanes));
    device.download(own.data(), values[i].data, static_cast<std::int64_t>(own.size() * sizeof(float)));
    std::vector<float>& all = outputs.emplace_back(static_cast<std::size_t>(elements * lanes));
    for (std::int64_t e = 0; e < elements; ++e) {
      for (std::int64_t lane = 0; lane < lanes; ++lane) all[e * lanes + lane] = own[lane % values[i].lanes * elements + e];
    }
  }
  return outputs;
}

inline void expect_near(const std::vector<float>& actual, const std::vector<float>& expected, double tolerance,
                        const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (std::size_t e = 0; e < expected.size(); ++e)
    ASSERT_NEAR(actual[e], expected[e], tolerance * (1 + std::fabs(expected[e]))) << what << ", element " << e;
}

// Random points, each with a target. Their positions in the data differ from their indices in the batch.
inline Points some_points(std::int64_t count, const Shape& shape, std::int64_t classes) {
  std::mt19937 random(8);
  Points points;
  Shape all = shape;
  all.insert(all.begin(), count);
  points.x = random_tensor(all, random);
  points.seed = 0x1234567890abcdef;
  for (std::int64_t i = 0; i < count; ++i) {
    points.index.push_back(3 * i);
    points.target.push_back(i % classes);
  }
  return points;
}

}  // namespace probust::test
