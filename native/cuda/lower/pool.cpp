// SPDX-License-Identifier: MIT
// Lowers pooling, with tables of the cells of windows, for images in either order of elements. The positions of the maxima in
// the windows of an image are computed only once.
#include <numeric>

#include "cuda/lowering.h"
#include "probust/exec/programs/gather_offsets.h"

namespace probust::cuda {
namespace {

// Lists of offsets: list e is items[begin[e]] .. items[begin[e + 1] - 1].
struct Rows {
  std::vector<std::int64_t> begin, items;
};

Rows rows_of(const std::vector<std::vector<std::int64_t>>& lists) {
  Rows rows{{0}, {}};
  for (const auto& list : lists) {
    rows.items.insert(rows.items.end(), list.begin(), list.end());
    rows.begin.push_back(static_cast<std::int64_t>(rows.items.size()));
  }
  return rows;
}

// Offsets for all planes of an image [N, C, ...]: the cells of each window, and the windows of each cell.
struct Tables {
  Rows cells, windows;
};

Tables tables_of(const Window& window, const Shape& image, const Shape& output, Order order) {
  const Windows windows = windows_of(window);
  const auto at_cell = positions(image, order), at_window = positions(output, order);
  std::vector<std::vector<std::int64_t>> cells(at_window.size()), seen_by(at_cell.size());
  for (std::int64_t plane = 0; plane < image[0] * image[1]; ++plane) {
    for (std::int64_t q = 0; q < windows.count(); ++q) {
      const std::int64_t own = at_window[plane * windows.count() + q];
      for (const std::int64_t cell : windows.of(q)) {
        const std::int64_t at = at_cell[plane * windows.image + cell];
        cells[own].push_back(at);
        seen_by[at].push_back(own);
      }
    }
  }
  return {rows_of(cells), rows_of(seen_by)};
}

// The storage for the cells that the windows of an image choose. All operators that need them share it.
int chosen(DeviceLowering& l, int image, Extent extent, const Rows& cells) {
  const std::int32_t *begin = l.table(cells.begin), *where = l.table(cells.items);
  const std::vector<std::int64_t> key{image, reinterpret_cast<std::intptr_t>(begin), reinterpret_cast<std::intptr_t>(where)};
  const auto known = l.made_once.find(key);
  if (known != l.made_once.end()) return known->second;
  const auto windows = static_cast<std::int64_t>(cells.begin.size()) - 1;
  static_assert(sizeof(std::int32_t) == sizeof(float), "choices lie in the arena");
  const auto run = [=](const Call& call) {
    choose(call.device, call.in(0), begin, where, static_cast<std::int32_t*>(call.out().data), windows);
  };
  const int which = l.emit_extra(extent, windows, Type::float32, {image}, run, {"largest of windows"});
  l.made_once[key] = which;
  return which;
}

const std::int32_t* as_choices(const Operand& operand) { return static_cast<const std::int32_t*>(operand.data); }

}  // namespace

void lower_pool(DeviceLowering& l, ValueId id) {
  const Node& node = l.node(id);
  const ValueId first = node.inputs[0];
  const Form form = l.form(first);
  const int from = l.as_it_lies(first);
  const bool grows = node.op == Op::max_scatter || node.op == Op::sum_unpool;  // whether the result is an image
  const Shape& image = grows ? node.shape : l.node(first).shape;
  const Shape& output = node.op == Op::sum_unpool ? l.node(first).shape : grows ? l.node(node.inputs[1]).shape : node.shape;
  const Tables tables = tables_of(std::get<Window>(node.attributes), image, output, form.order);
  if (node.op == Op::sum_pool || node.op == Op::sum_unpool) {
    const Rows& rows = grows ? tables.windows : tables.cells;
    const std::int32_t *begin = l.table(rows.begin), *items = l.table(rows.items);
    return l.emit(id, form, {from}, [=](const Call& call) { sum_rows(call.device, call.in(0), begin, items, call.out()); });
  }
  const int which = chosen(l, from, l.node(first).extent, tables.cells);
  if (node.op == Op::max_scatter) {
    const std::int32_t *begin = l.table(tables.windows.begin), *windows = l.table(tables.windows.items);
    return l.emit(id, form, {which, l.in_form(node.inputs[1], form)}, [=](const Call& call) {
      put_chosen(call.device, call.in(1), as_choices(call.in(0)), call.in(0).own, begin, windows, call.out());
    });
  }
  const int values = node.op == Op::max_pool ? from : l.in_form(node.inputs[1], form);
  const float none = node.op == Op::max_pool ? kLargestOfNone : 0.0F;
  l.emit(id, form, {which, values}, [none](const Call& call) {
    take_chosen(call.device, call.in(1), as_choices(call.in(0)), call.in(0).own, none, call.out());
  });
}

}  // namespace probust::cuda
