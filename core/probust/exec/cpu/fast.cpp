// SPDX-License-Identifier: MIT
#include "probust/exec/cpu/direct.h"
#include "probust/exec/cpu/kernel.h"
#include "probust/exec/cpu/rows_matmul.h"
#include "probust/exec/cpu/winograd.h"

namespace probust::cpu {

// The choice depends on shapes alone, never on the batch: algorithms round differently.
Product make_fast_product(const Graph& graph, const Node& node, std::vector<float> bias) {
  if (node.op == Op::matmul) {
    const bool many_rows = node.shape.size() > 1 && node.shape[node.shape.size() - 2] > 1;  // with one, lanes are the rows
    if (many_rows && constant_factor(graph, node) == node.inputs[1]) return make_rows_matmul(graph, node, std::move(bias));
  } else {
    if (Product winograd = make_winograd_conv(graph, node, bias); winograd.kernel) return winograd;
    if (Product direct = make_direct_conv(graph, node, bias); direct.kernel) return direct;
  }
  return make_product(graph, node, std::move(bias));
}

}  // namespace probust::cpu
