// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "support/op_graphs.h"

// Programs for this machine's CPU, and checks that the result of a lane does not depend on other lanes.
namespace probust::test {

#ifdef PROBUST_SANITIZED  // fewer, because sanitizers make programs several times slower
inline constexpr std::int64_t kManyLanes = 49;
#else
inline constexpr std::int64_t kManyLanes = 144;
#endif

struct Compiler {
  const char* name;
  std::unique_ptr<Program> (*compile)(const Graph&);
};

inline constexpr Compiler kCompilers[] = {{"cpu", compile_cpu}, {"eigen", compile_eigen}};

using Values = std::vector<std::vector<float>>;  // of each input or output: [elements][lanes]

inline Values random_inputs(const Graph& graph, const Batch& batch, std::mt19937& random, float low = -1, float high = 1) {
  Values inputs;
  for (const ValueId id : graph.inputs())
    inputs.push_back(random_tensor({element_count(graph[id].shape), batch.lanes(graph[id].extent)}, random, low, high).data);
  return inputs;
}

/// The lanes of `count` examples, beginning with example `first`, with all their seeds.
inline std::vector<float> take_examples(const std::vector<float>& values, std::int64_t examples, std::int64_t first,
                                        std::int64_t count) {
  std::vector<float> part;
  part.reserve(values.size() / examples * count);
  for (std::size_t at = 0; at < values.size(); at += examples) {
    const auto from = values.begin() + static_cast<std::ptrdiff_t>(at) + first;
    part.insert(part.end(), from, from + count);
  }
  return part;
}

/// Runs all examples, then groups of some of them at the beginning, in the middle and at the end. Expects every lane to have
/// the same bits in all runs.
inline void expect_same_bits(const Compiler& compiler, const Graph& graph, const Batch& batch, const Values& inputs,
                             std::initializer_list<std::int64_t> counts, const std::string& what) {
  const auto program = compiler.compile(graph);
  const std::int64_t many = batch.examples, seeds = batch.seeds;
  const Values all = run(*program, graph, batch, inputs);
  for (const std::int64_t count : counts) {
    for (const std::int64_t first : {std::int64_t{0}, (many - count) / 3, many - count}) {
      Values part;
      for (const auto& input : inputs) part.push_back(take_examples(input, many, first, count));
      const Values some = run(*program, graph, {count, seeds}, part);
      for (std::size_t output = 0; output < all.size(); ++output) {
        const std::vector<float> expected = take_examples(all[output], many, first, count);
        ASSERT_EQ(some[output].size(), expected.size());
        const std::size_t bytes = expected.size() * sizeof(float);
        const bool same = bytes == 0 || std::memcmp(some[output].data(), expected.data(), bytes) == 0;
        ASSERT_TRUE(same) << what << ", " << compiler.name << ": " << count << " examples from " << first << " of " << many
                          << ", " << seeds << " seeds, output " << output;
      }
    }
  }
}

}  // namespace probust::test
