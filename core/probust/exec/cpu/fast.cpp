// SPDX-License-Identifier: MIT
#include <algorithm>

#include "probust/exec/cpu/direct.h"
#include "probust/exec/cpu/kernel.h"
#include "probust/exec/cpu/rows_matmul.h"
#include "probust/exec/cpu/winograd.h"

namespace probust::cpu {
namespace {

// Whether the result of a node determines which element of a window is the largest. If all pixels of an image are equal, the
// first one must win, as in the reference evaluation, but Winograd's algorithm rounds differently at every pixel of a tile.
bool reaches_maximum(const Graph& graph, const Node& node) {
  std::vector<bool> reached(graph.nodes.size(), false);
  for (std::size_t id = static_cast<std::size_t>(&node - graph.nodes.data()); id < graph.nodes.size(); ++id) {
    const Node& next = graph.nodes[id];
    const bool chooses = next.op == Op::max_pool || next.op == Op::max_scatter || next.op == Op::max_gather;
    if (chooses && reached[next.inputs[0]]) return true;
    const auto of_node = [&](ValueId input) { return reached[input]; };
    reached[id] = &next == &node || std::any_of(next.inputs.begin(), next.inputs.end(), of_node);
  }
  return false;
}

}  // namespace

// The algorithm depends only on the graph, never on the batch, because algorithms round differently.
Product make_fast_product(const Graph& graph, const Node& node, std::vector<float> bias) {
  if (node.op == Op::matmul) {
    if (Product rows = make_rows_matmul(graph, node, bias); rows.kernel) return rows;
  } else {
    if (!reaches_maximum(graph, node)) {
      if (Product winograd = make_winograd_conv(graph, node, bias); winograd.kernel) return winograd;
    }
    if (Product direct = make_direct_conv(graph, node, bias); direct.kernel) return direct;
  }
  return make_product(graph, node, std::move(bias));
}

}  // namespace probust::cpu
