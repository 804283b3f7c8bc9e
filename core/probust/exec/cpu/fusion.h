// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "probust/exec/cpu/kernel.h"

namespace probust::cpu {

/// The same graph with the values that depend on the seed after all others, so that masks of rectifiers, for example, are known
/// when a backward product is computed. Inputs keep their order.
Graph seeded_last(const Graph& graph);

/// What the kernel of a product with a constant does in addition to the product, instead of the nodes that follow it.
struct Fusion {
  std::vector<float> bias;     ///< per channel, or none; the initial value of the sums
  std::vector<Fused> fused;    ///< in this order
  std::vector<ValueId> extra;  ///< operands of `fused`, after the product's own
  std::vector<ValueId> nodes;  ///< the nodes replaced, in order
};

/// One entry per node; empty for nodes that are not such products.
std::vector<Fusion> find_fusions(const Graph& graph);

}  // namespace probust::cpu
