// SPDX-License-Identifier: MIT
#include "probust/exec/cpu/direct.h"
#include "probust/exec/cpu/kernel.h"
#include "probust/exec/cpu/winograd.h"

namespace probust::cpu {

// The choice depends on shapes alone, never on the batch: algorithms round differently.
Kernel make_fast_product(const Graph& graph, const Node& node, std::vector<float> bias) {
  if (node.op != Op::matmul) {
    if (Kernel winograd = make_winograd_conv(graph, node, bias)) return winograd;
    if (Kernel direct = make_direct_conv(graph, node, bias)) return direct;
  }
  return make_product(graph, node, std::move(bias));
}

}  // namespace probust::cpu
