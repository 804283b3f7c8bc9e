// SPDX-License-Identifier: MIT
// Lowers the operators that sample images at positions.
#include "cuda/lowering.h"

namespace probust::cuda {

void lower_grid_sample(DeviceLowering& l, ValueId id) {
  const Node& node = l.node(id);
  const auto& attributes = std::get<GridAttributes>(node.attributes);
  const Shape &values = l.node(node.inputs[0]).shape, &at = l.node(node.inputs[1]).shape;
  Grid grid{row_axis(attributes), column_axis(attributes), values[0], values[1]};
  grid.pixels = attributes.rows * attributes.columns;
  grid.positions = element_count({at.begin() + 2, at.end()});
  const auto run = node.op == Op::grid_sample ? grid_sample : grid_sample_transpose;
  l.emit(id, {}, {l.plain(node.inputs[0]), l.plain(node.inputs[1])},
         [grid, run](const Call& call) { run(call.device, grid, call.in(0), call.in(1), call.out()); });
}

}  // namespace probust::cuda
