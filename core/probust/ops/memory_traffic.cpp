// SPDX-License-Identifier: MIT
#include "probust/ops/memory_traffic.h"

namespace probust {

double memory_traffic(const Graph& graph) {
  const auto bytes_of = [](const Node& node) { return 4.0 * static_cast<double>(element_count(node.shape)); };
  double bytes = 0;
  for (const Node& node : graph.nodes) {
    if (node.extent == Extent::constant || node.op == Op::input || node.op == Op::reshape) continue;
    bytes += bytes_of(node);
    for (const ValueId input : node.inputs) {
      if (graph[input].extent != Extent::constant) bytes += bytes_of(graph[input]);
    }
  }
  return bytes;
}

}  // namespace probust
