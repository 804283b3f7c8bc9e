// SPDX-License-Identifier: MIT
// Lowers operators that move or sum elements, with tables of source offsets.
#include <algorithm>
#include <numeric>

#include "cuda/lowering.h"
#include "probust/exec/programs/gather_offsets.h"

namespace probust::cuda {
namespace {

// Whether the operator keeps the axes of an image, so that it can process images that are stored channels-last.
bool keeps_axes(Op op) { return op == Op::slice || op == Op::pad; }

// The form of a result of several operands: channels-last if all operands are, and bf16 if any of them is.
Form form_of_all(const DeviceLowering& l, const std::vector<ValueId>& operands) {
  Form form = l.form(operands[0]);
  for (const ValueId operand : operands) {
    if (l.order(operand) != form.order) return {};
    form = std::max(form, l.form(operand));
  }
  return form;
}

}  // namespace

void lower_move(DeviceLowering& l, ValueId id) {
  const Node& node = l.node(id);
  const ValueId input = node.inputs[0];
  if (node.op == Op::reshape) return l.alias(id, l.plain(input), {});
  const Shape& from = l.node(input).shape;
  const Form form = keeps_axes(node.op) ? l.form(input) : Form{};
  const auto sources = gather_offsets(node.op, node.attributes, from, node.shape);
  const std::int32_t* where = l.table(DeviceLowering::offsets(sources, from, l.order(input), node.shape, form.order));
  const std::int64_t count = element_count(node.shape);
  l.emit(id, form, {l.as_it_lies(input)},
         [=](const Call& call) { move(call.device, call.in(0), where, nullptr, count, call.out()); });
}

void lower_concat(DeviceLowering& l, ValueId id) {
  const Node& node = l.node(id);
  const auto axis = static_cast<std::size_t>(std::get<AxisAttribute>(node.attributes).axis);
  struct Part {
    const std::int32_t *source, *target;
    std::int64_t count;
  };
  std::vector<Part> parts;
  std::vector<int> reads;
  std::int64_t before = 0;
  const Shape strides = row_major_strides(node.shape);
  const Form form = form_of_all(l, node.inputs);
  const auto at = positions(node.shape, form.order);
  for (const ValueId input : node.inputs) {
    const Shape& from = l.node(input).shape;
    const std::int64_t count = element_count(from), row = from[axis] * strides[axis];
    std::vector<std::int64_t> target(static_cast<std::size_t>(count)), source(static_cast<std::size_t>(count));
    std::iota(source.begin(), source.end(), 0);
    const auto own = positions(from, form.order);
    for (std::int64_t e = 0; e < count; ++e)
      target[own[e]] = at[e / row * node.shape[axis] * strides[axis] + before * strides[axis] + e % row];
    before += from[axis];
    if (count == 0) continue;
    reads.push_back(l.as_it_lies(input));
    parts.push_back({l.table(source), l.table(target), count});
  }
  l.emit(id, form, std::move(reads), [parts](const Call& call) {
    for (std::size_t k = 0; k < parts.size(); ++k)
      move(call.device, call.in(k), parts[k].source, parts[k].target, parts[k].count, call.out());
  });
}

// Lowers a sum. The target of each element is its source in the transposed operator, which is a gather or broadcast.
void lower_sum(DeviceLowering& l, ValueId id) {
  const Node& node = l.node(id);
  const ValueId input = node.inputs[0];
  const Shape& from = l.node(input).shape;
  const auto targets = node.op == Op::scatter_add ? gather_offsets(Op::gather, node.attributes, node.shape, from)
                                                  : broadcast_offsets(node.shape, from);
  const auto own = positions(from, l.order(input));
  std::vector<std::int64_t> begin(static_cast<std::size_t>(element_count(node.shape)) + 1, 0), source(targets.size());
  for (const std::int64_t target : targets) ++begin[target + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<std::int64_t> next(begin.begin(), begin.end() - 1);
  for (std::size_t e = 0; e < targets.size(); ++e) source[next[targets[e]]++] = own[e];
  const std::int32_t *first = l.table(begin), *where = l.table(source);
  l.emit(id, {}, {l.as_it_lies(input)}, [=](const Call& call) { sum_rows(call.device, call.in(0), first, where, call.out()); });
}

}  // namespace probust::cuda
