// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>

#include "probust/exec/cpu/block.h"
#include "probust/exec/cpu/kernel.h"

// Lanes in blocks, for kernels whose operands all differ between lanes.
namespace probust::cpu {

/// Some lanes of a result, at most a block: consecutive examples, beginning with `example`, of one seed.
struct LaneBlock {
  std::int64_t example, seed, count;

  /// The first lane of this block in an operand, or in the result, with `own` lanes.
  std::int64_t first_of(std::int64_t own, const Batch& batch) const { return (seed * batch.examples + example) % own; }
};

/// For each range of examples: calls begin(example, count), then visit(group) for the block of these examples of every seed.
template <class Begin, class Visit>
void each_lane_block(const Call& call, const Begin& begin, const Visit& visit) {
  const std::int64_t examples = std::min(call.batch.examples, call.lanes), seeds = call.lanes / examples;
  for (std::int64_t example = 0; example < examples; example += kBlock) {
    const std::int64_t count = std::min(kBlock, examples - example);
    begin(example, count);
    for (std::int64_t seed = 0; seed < seeds; ++seed) {
      call.stop_if_asked();
      visit(LaneBlock{example, seed, count});
    }
  }
}

}  // namespace probust::cpu
