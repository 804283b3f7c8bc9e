// SPDX-License-Identifier: MIT
// Lowers operators along one axis: softmax, the indices of the largest values, and reading and adding at given indices.
#include "cuda/lowering.h"

namespace probust::cuda {
namespace {

std::int64_t axis_of(const Node& node) {
  if (const auto* axis = std::get_if<AxisAttribute>(&node.attributes)) return axis->axis;
  return std::get<AxisExtent>(node.attributes).axis;
}

Lines lines_of(DeviceLowering& l, const Shape& shape, std::int64_t axis) {
  const std::int64_t extent = shape[axis], stride = row_major_strides(shape)[axis];
  std::vector<std::int64_t> start(static_cast<std::size_t>(extent == 0 ? 0 : element_count(shape) / extent));
  for (std::size_t line = 0; line < start.size(); ++line) {
    const auto number = static_cast<std::int64_t>(line);
    start[line] = number / stride * stride * extent + number % stride;
  }
  return {l.table(start), static_cast<std::int64_t>(start.size()), extent, stride};
}

}  // namespace

void lower_lines(DeviceLowering& l, ValueId id) {
  const Node& node = l.node(id);
  std::vector<int> reads;
  std::vector<Lines> lines;
  for (const ValueId input : node.inputs) {
    reads.push_back(l.plain(input));
    lines.push_back(lines_of(l, l.node(input).shape, axis_of(node)));
  }
  const Lines to = lines_of(l, node.shape, axis_of(node));
  l.emit(id, {}, std::move(reads), [op = node.op, lines, to](const Call& call) {
    switch (op) {
      case Op::top_index:
        return top_index(call.device, call.in(0), lines[0], to, call.out());
      case Op::take:
        return take(call.device, call.in(0), lines[0], call.in(1), to, call.out());
      case Op::put_add:
        return put_add(call.device, call.in(0), call.in(1), lines[0], to, call.out());
      default:
        return softmax(call.device, call.in(0), to, op == Op::log_softmax, call.out());
    }
  });
}

}  // namespace probust::cuda
