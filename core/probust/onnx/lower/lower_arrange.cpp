// SPDX-License-Identifier: MIT
// Operators that move elements, and those that compute with shapes. Shapes are known at import, so the latter are constants.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "probust/base/error.h"
#include "probust/onnx/lower/lower.h"
#include "probust/ops/build.h"
#include "probust/ops/op.h"

namespace probust::onnx {
namespace {

std::int64_t rank_of(Lowering& l) { return static_cast<std::int64_t>(l.shape(0).size()); }

ValueId integer_tensor(Lowering& l, const std::vector<std::int64_t>& values, Shape shape) {
  Tensor tensor(std::move(shape));
  for (std::size_t i = 0; i < values.size(); ++i) tensor.data[i] = static_cast<float>(values[i]);
  return l.tensor(std::move(tensor));
}

void identity(Lowering& l) { l.set(0, l.in(0), l.integer(0), l.type(0)); }

void dropout(Lowering& l) {
  const bool training = l.has(2) && l.is_constant(2) && l.constant(2).data.at(0) != 0;
  const bool drops = !l.has(1) || !l.is_constant(1) || l.constant(1).data.at(0) != 0;
  if (training && drops) l.unsupported("is in training mode", "export the model for inference");
  identity(l);
  const ValueId kept = l.scalar(1);
  l.set(1, build::broadcast(l.graph, kept, l.shape(0)), true);  // the mask
}

// Casts between floating types do nothing; casts to integers truncate; casts to bool give 0 or 1.
void cast_to(Lowering& l, bool to_integer, bool to_bool) {
  const ValueId x = l.in(0);
  if (to_bool) return l.set(0, l.add_node(Op::step, {l.add_node(Op::absolute, {x})}), true);
  if (!to_integer || l.integer(0)) return l.set(0, x, to_integer);
  const ValueId size = l.add_node(Op::floor, {l.add_node(Op::absolute, {x})});
  l.set(0, l.add_node(Op::multiply, {l.add_node(Op::sign, {x}), size}), true);
}

void cast(Lowering& l) {
  const std::int64_t to = l.attribute("to", std::int64_t{1});
  const bool floating = to == 1 || to == 10 || to == 11 || to == 16;
  if (to == 8) l.unsupported("casts to text");
  if (!floating && to > 13) l.unsupported("casts to the unsupported type " + std::to_string(to));
  cast_to(l, !floating, to == 9);
}

void cast_like(Lowering& l) { cast_to(l, l.integer(1), false); }

void constant(Lowering& l) {
  for (const auto& [name, attribute] : l.node.attributes) {
    const auto count = [](const auto& values) { return Shape{static_cast<std::int64_t>(values.size())}; };
    if (name == "value" && attribute.has_tensor)
      return l.set(0, append(l.graph, Op::constant, {}, ConstantData{attribute.t.values}), attribute.t.integer, attribute.t.type);
    if (name == "value_float") return l.set(0, l.scalar(attribute.f));
    if (name == "value_int") return l.set(0, integer_tensor(l, {attribute.i}, {}), true);
    if (name == "value_floats") return l.set(0, l.tensor(Tensor(count(attribute.floats), attribute.floats)));
    if (name == "value_ints") return l.set(0, integer_tensor(l, attribute.ints, count(attribute.ints)), true);
  }
  l.unsupported("has no value that is a number or a tensor of numbers");
}

void shape(Lowering& l) {
  const Shape all = l.shape(0);
  const auto clamp = [&](std::int64_t value) {
    return std::clamp<std::int64_t>(value < 0 ? value + rank_of(l) : value, 0, rank_of(l));
  };
  const std::int64_t start = clamp(l.attribute("start", std::int64_t{0})), end = clamp(l.attribute("end", rank_of(l)));
  const Shape part(all.begin() + start, all.begin() + std::max(start, end));
  l.set(0, integer_tensor(l, part, {static_cast<std::int64_t>(part.size())}), true);
}

void size(Lowering& l) { l.set(0, integer_tensor(l, {element_count(l.shape(0))}, {}), true); }

void constant_of_shape(Lowering& l) {
  const Shape shape = l.integers(0);
  l.spend(element_count(shape));
  Tensor tensor(shape);
  bool is_integer = false;
  if (l.has_attribute("value")) {
    const HostTensor& value = l.node.attributes.at("value").t;
    if (value.values == nullptr || value.values->size() != 1) l.malformed("has an attribute value that is not a single number");
    std::fill(tensor.data.begin(), tensor.data.end(), value.values->data[0]);
    is_integer = value.integer;
  }
  l.set(0, l.tensor(std::move(tensor)), is_integer);
}

void range(Lowering& l) {
  const float start = l.constant(0).data.at(0), limit = l.constant(1).data.at(0), delta = l.constant(2).data.at(0);
  const double count = delta == 0 ? -1 : std::ceil((double{limit} - double{start}) / double{delta});
  if (!(count >= 0) || count > 1e7)
    l.malformed("has a start, a limit and a delta that give no finite sequence, or one of more than 10000000 numbers");
  l.spend(static_cast<std::int64_t>(count));
  Tensor tensor({static_cast<std::int64_t>(count)});
  for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.data[i] = start + static_cast<float>(i) * delta;
  l.set(0, l.tensor(std::move(tensor)), l.integer(0));
}

void flatten(Lowering& l) {
  const Shape from = l.shape(0);
  std::int64_t axis = l.attribute("axis", std::int64_t{1});
  if (axis < 0) axis += rank_of(l);
  if (axis < 0 || axis > rank_of(l))
    l.malformed("has axis " + std::to_string(l.attribute("axis", std::int64_t{1})) + ", which does not exist in " +
                to_string(from));
  l.set(build::reshape(l.graph, l.in(0),
                       {element_count({from.begin(), from.begin() + axis}), element_count({from.begin() + axis, from.end()})}));
}

// In the target shape, 0 keeps the operand's extent, and -1 stands for the extent to infer.
void reshape(Lowering& l) {
  const Shape from = l.shape(0);
  Shape to = l.is_constant(0) ? l.integers(1) : l.without_batch(l.integers(1));
  const bool zero_is_zero = l.attribute("allowzero", std::int64_t{0}) != 0;
  std::int64_t known = 1, wild = -1;
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (to[i] == 0 && !zero_is_zero) {
      if (i >= from.size())
        l.malformed("copies extent " + std::to_string(i) + ", which its operand of shape " + to_string(from) + " does not have");
      to[i] = from[i];
    }
    if (to[i] < -1 || to[i] > kMaxElements) l.malformed("has an invalid extent, " + std::to_string(to[i]));
    if (to[i] == -1) {
      if (wild >= 0) l.malformed("has -1 for more than one extent");
      wild = static_cast<std::int64_t>(i);
    } else {
      known = element_count({known, to[i]});
    }
  }
  if (wild >= 0) to[wild] = known == 0 ? 0 : element_count(from) / known;
  if (element_count(to) != element_count(from)) {
    l.malformed("reshapes " + to_string(from) + " to " + to_string(to) + ", which has a different number of elements");
  }
  l.set(build::reshape(l.graph, l.in(0), to));
}

void transpose(Lowering& l) {
  Shape reversed(static_cast<std::size_t>(rank_of(l)));
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  const auto permutation = l.attribute("perm", reversed);
  l.set(l.add_node(Op::transpose, {l.in(0)}, PermutationAttribute{permutation}));
}

void squeeze(Lowering& l) {
  const Shape from = l.shape(0);
  const auto axes = l.attribute_or_input("axes", 1);
  std::vector<bool> drop(from.size(), false);
  if (axes) {
    for (const std::int64_t value : *axes) {
      const std::int64_t axis = l.axis(value, rank_of(l));
      if (from[axis] != 1)
        l.malformed("drops axis " + std::to_string(axis) + " of " + to_string(from) + ", whose extent is not 1");
      drop[axis] = true;
    }
  } else {
    for (std::size_t i = 0; i < from.size(); ++i) drop[i] = from[i] == 1;
  }
  Shape to;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (!drop[i]) to.push_back(from[i]);
  }
  l.set(build::reshape(l.graph, l.in(0), to));
}

void unsqueeze(Lowering& l) {
  const auto axes = l.attribute_or_input("axes", 1);
  if (!axes) l.malformed("has no axes");
  const std::int64_t rank = rank_of(l) + static_cast<std::int64_t>(axes->size());
  std::vector<bool> added(static_cast<std::size_t>(rank), false);
  for (const std::int64_t axis : *axes) added[l.axis(axis, rank)] = true;
  if (std::count(added.begin(), added.end(), true) != static_cast<std::ptrdiff_t>(axes->size()))
    l.malformed("lists an axis twice");
  Shape to;
  std::size_t next = 0;
  for (const bool is_new : added) to.push_back(is_new ? 1 : l.shape(0)[next++]);
  l.set(build::reshape(l.graph, l.in(0), to));
}

void concat(Lowering& l) {
  std::vector<ValueId> operands;
  for (std::size_t i = 0; i < l.inputs(); ++i) operands.push_back(l.in(i));
  l.set(l.add_node(Op::concat, operands, AxisAttribute{l.axis(l.attribute("axis", std::int64_t{0}), rank_of(l))}));
}

// The elements start, start + step, ... before `end` along one axis. A negative step becomes a gather.
ValueId slice_axis(Lowering& l, ValueId x, std::int64_t axis, std::int64_t start, std::int64_t end, std::int64_t step) {
  const Shape from = l.graph[x].shape;
  const std::int64_t extent = from[axis];
  if (step == 0) l.malformed("has a step of 0");
  if (extent == 0) return x;                               // there is nothing to select
  step = std::clamp<std::int64_t>(step, -extent, extent);  // longer steps also select only one element
  if (start < 0) start += extent;
  if (end < 0) end += extent;
  start = std::clamp<std::int64_t>(start, 0, step > 0 ? extent : extent - 1);
  end = std::clamp<std::int64_t>(end, step > 0 ? 0 : -1, extent);
  const std::int64_t reach = step > 0 ? end - start : start - end, stride = std::abs(step);
  const std::int64_t count = reach <= 0 ? 0 : (reach + stride - 1) / stride;
  if (step > 0) {
    SliceAttributes s{Shape(from.size(), 0), from, Shape(from.size(), 1)};
    s.start[axis] = count == 0 ? 0 : start;
    s.size[axis] = count;
    s.step[axis] = stride;
    return l.add_node(Op::slice, {x}, s);
  }
  GatherAttributes g{axis, {}, extent};
  for (std::int64_t i = 0; i < count; ++i) g.indices.push_back(start - i * stride);
  return l.add_node(Op::gather, {x}, g);
}

void slice(Lowering& l) {
  const auto starts = l.attribute_or_input("starts", 1), ends = l.attribute_or_input("ends", 2);
  if (!starts || !ends || starts->size() != ends->size())
    l.malformed("has " + std::to_string(starts ? starts->size() : 0) + " starts, but " + std::to_string(ends ? ends->size() : 0) +
                " ends");
  std::vector<std::int64_t> every(starts->size());
  std::iota(every.begin(), every.end(), 0);
  const auto axes = l.attribute_or_input("axes", 3).value_or(every);
  const auto steps = l.has(4) ? l.integers(4) : std::vector<std::int64_t>(starts->size(), 1);
  if (axes.size() != starts->size() || steps.size() != starts->size())
    l.malformed("has " + std::to_string(axes.size()) + " axes and " + std::to_string(steps.size()) + " steps, but " +
                std::to_string(starts->size()) + " starts");
  ValueId x = l.in(0);
  for (std::size_t i = 0; i < axes.size(); ++i)
    x = slice_axis(l, x, l.axis(axes[i], rank_of(l)), (*starts)[i], (*ends)[i], steps[i]);
  l.set(x);
}

void split(Lowering& l) {
  const std::int64_t axis = l.axis(l.attribute("axis", std::int64_t{0}), rank_of(l)), extent = l.shape(0)[axis];
  const auto parts = static_cast<std::int64_t>(l.node.outputs.size());
  auto sizes = l.attribute_or_input("split", 1).value_or(std::vector<std::int64_t>{});
  if (sizes.empty()) {
    const std::int64_t each = (extent + parts - 1) / parts;
    for (std::int64_t i = 0; i < parts; ++i) sizes.push_back(std::clamp<std::int64_t>(extent - i * each, 0, each));
  }
  if (static_cast<std::int64_t>(sizes.size()) != parts)
    l.malformed("has " + std::to_string(sizes.size()) + " sizes for " + std::to_string(parts) + " outputs");
  std::int64_t start = 0;
  for (std::int64_t i = 0; i < parts; ++i) {
    if (sizes[i] < 0 || sizes[i] > extent - start)
      l.malformed("has sizes that are negative, or that sum to more than the extent " + std::to_string(extent) + " of its axis");
    l.set(static_cast<std::size_t>(i), slice_axis(l, l.in(0), axis, start, start + sizes[i], 1), l.integer(0));
    start += sizes[i];
  }
}

void expand(Lowering& l) {
  l.set(0, build::broadcast(l.graph, l.in(0), broadcast_shapes(l.shape(0), l.without_batch(l.integers(1)), l.where())),
        l.integer(0));
}

void tile(Lowering& l) {
  const auto repeats = l.integers(1);
  if (static_cast<std::int64_t>(repeats.size()) != rank_of(l))
    l.malformed("has " + std::to_string(repeats.size()) + " repeats for an input of rank " + std::to_string(rank_of(l)));
  ValueId x = l.in(0);
  for (std::int64_t axis = 0; axis < rank_of(l); ++axis) {
    if (repeats[axis] < 0 || repeats[axis] > kMaxElements)
      l.malformed("repeats an axis " + std::to_string(repeats[axis]) + " times");
    if (repeats[axis] == 1) continue;
    Shape larger = l.graph[x].shape;
    const std::int64_t extent = larger[axis];
    larger[axis] = element_count({extent, repeats[axis]});
    element_count(larger);
    l.spend(larger[axis]);
    GatherAttributes g{axis, {}, extent};
    for (std::int64_t i = 0; i < larger[axis]; ++i) g.indices.push_back(i % extent);
    x = l.add_node(Op::gather, {x}, g);
  }
  l.set(x);
}

// Source index of each padded position along one axis, for modes that repeat the image.
std::int64_t padded_source(std::int64_t position, std::int64_t extent, const std::string& mode) {
  if (mode == "edge") return std::clamp<std::int64_t>(position, 0, extent - 1);
  if (mode == "wrap") return ((position % extent) + extent) % extent;
  const std::int64_t period = std::max<std::int64_t>(1, 2 * (extent - 1));  // reflect
  const std::int64_t folded = ((position % period) + period) % period;
  return folded < extent ? folded : period - folded;
}

// Removes the cells that negative pads crop, and sets these pads to zero.
ValueId crop(Lowering& l, ValueId x, std::vector<std::int64_t>& low, std::vector<std::int64_t>& high) {
  for (std::size_t i = 0; i < low.size(); ++i) {
    const std::int64_t extent = l.graph[x].shape[i];
    if (low[i] < 0 || high[i] < 0)
      x = slice_axis(l, x, static_cast<std::int64_t>(i), std::max<std::int64_t>(0, -low[i]),
                     extent - std::max<std::int64_t>(0, -high[i]), 1);
    low[i] = std::max<std::int64_t>(0, low[i]);
    high[i] = std::max<std::int64_t>(0, high[i]);
  }
  return x;
}

void pad(Lowering& l) {
  const auto given = l.attribute_or_input("pads", 1);
  const auto rank = static_cast<std::size_t>(rank_of(l));
  std::vector<std::int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (l.has(3)) axes = l.integers(3);
  if (!given || given->size() != 2 * axes.size())
    l.malformed("has " + std::to_string(given ? given->size() : 0) + " pads instead of two for each of " +
                std::to_string(axes.size()) + " axes");
  std::vector<std::int64_t> low(rank, 0), high(rank, 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t axis = l.axis(axes[i], rank_of(l));
    low[axis] = (*given)[i];
    high[axis] = (*given)[axes.size() + i];
    for (const std::int64_t cells : {low[axis], high[axis]}) {
      if (cells < -kMaxElements || cells > kMaxElements)
        l.malformed("has " + std::to_string(cells) + " cells of padding, which is out of range");
    }
  }
  ValueId x = crop(l, l.in(0), low, high);
  const std::string mode = l.attribute("mode", std::string("constant"));
  if (mode != "constant") {
    for (std::size_t i = 0; i < rank; ++i) {
      const std::int64_t extent = l.graph[x].shape[i];
      if (low[i] == 0 && high[i] == 0) continue;
      if (extent == 0) l.malformed("pads axis " + std::to_string(i) + " with its own elements, but it has none");
      GatherAttributes g{static_cast<std::int64_t>(i), {}, extent};
      l.spend(extent + low[i] + high[i]);
      for (std::int64_t p = -low[i]; p < extent + high[i]; ++p) g.indices.push_back(padded_source(p, extent, mode));
      x = l.add_node(Op::gather, {x}, g);
    }
    return l.set(0, x, l.integer(0));
  }
  const float value = l.has(2) && l.constant(2).size() == 1 ? l.constant(2).data[0] : l.attribute("value", 0.0F);
  const PadAttributes zeros{low, high, Shape(rank, 0)};
  const Shape inner = l.graph[x].shape;
  ValueId y = l.add_node(Op::pad, {x}, zeros);
  if (value != 0) {
    // The frame has the pad value everywhere except where the operand is. It is not computed by subtraction, because the pad
    // value may be infinite.
    l.spend(element_count(l.graph[y].shape) + element_count(inner));
    Tensor ones(inner), frame(l.graph[y].shape);
    std::fill(ones.data.begin(), ones.data.end(), 1.0F);
    const Tensor* operand = &ones;
    definition(Op::pad).eval(zeros, std::span(&operand, 1), frame);
    for (float& cell : frame.data) cell = cell != 0 ? 0.0F : value;
    y = l.add_node(Op::add, {y, l.tensor(std::move(frame))});
  }
  l.set(0, y, l.integer(0));
}

// Blocks of channels become blocks of pixels. In CRD order, the block index comes after the channel, in DCR order before it.
void depth_to_space(Lowering& l) {
  const Shape from = l.shape(0);
  const std::int64_t b = l.attribute("blocksize", std::int64_t{0});
  if (from.size() != 4 || b < 1 || b > (1 << 15) || from[1] % (b * b) != 0)
    l.malformed("has blocksize " + std::to_string(b) + ", which does not fit an input of shape " + to_string(from));
  const std::int64_t n = from[0], c = from[1] / (b * b), h = from[2], w = from[3];
  const bool channel_first = l.attribute("mode", std::string("DCR")) == "CRD";
  const ValueId split = build::reshape(l.graph, l.in(0), channel_first ? Shape{n, c, b, b, h, w} : Shape{n, b, b, c, h, w});
  const std::vector<std::int64_t> order =
      channel_first ? std::vector<std::int64_t>{0, 1, 4, 2, 5, 3} : std::vector<std::int64_t>{0, 3, 4, 1, 5, 2};
  l.set(build::reshape(l.graph, build::transpose(l.graph, split, order), {n, c, h * b, w * b}));
}

void space_to_depth(Lowering& l) {
  const Shape from = l.shape(0);
  const std::int64_t b = l.attribute("blocksize", std::int64_t{0});
  if (from.size() != 4 || b < 1 || b > (1 << 15) || from[2] % b != 0 || from[3] % b != 0)
    l.malformed("has blocksize " + std::to_string(b) + ", which does not fit an input of shape " + to_string(from));
  const std::int64_t n = from[0], c = from[1], h = from[2] / b, w = from[3] / b;
  const ValueId split = build::reshape(l.graph, l.in(0), {n, c, h, b, w, b});
  l.set(build::reshape(l.graph, build::transpose(l.graph, split, {0, 3, 5, 1, 2, 4}), {n, c * b * b, h, w}));
}

// A constant condition selects a branch at import; otherwise both branches are computed, and the condition selects between
// their values.
void if_else(Lowering& l) {
  if (l.is_constant(0)) {
    if (l.constant(0).size() != 1)
      l.malformed("has a condition of " + std::to_string(l.constant(0).size()) + " values instead of one");
    const std::vector<Named> chosen = l.branch(l.constant(0).data[0] != 0 ? "then_branch" : "else_branch");
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      if (chosen[i].id != kNoValue) l.set(i, chosen[i].id, chosen[i].integer);
    }
    return;
  }
  const std::vector<Named> yes = l.branch("then_branch"), no = l.branch("else_branch");
  if (yes.size() != no.size())
    l.malformed("has " + std::to_string(yes.size()) + " outputs in then_branch, but " + std::to_string(no.size()) +
                " in else_branch");
  for (std::size_t i = 0; i < yes.size(); ++i) {
    if (yes[i].id == kNoValue || no[i].id == kNoValue) continue;
    if (l.graph[yes[i].id].shape != l.graph[no[i].id].shape)
      l.unsupported("has a condition that depends on the input, and branches of different shapes");
    const ValueId condition = build::reshape(l.graph, l.in(0), {});
    l.set(i, l.add_node(Op::select, {condition, yes[i].id, no[i].id}), yes[i].integer && no[i].integer);
  }
}

void eye_like(Lowering& l) {
  const Shape shape = l.shape(0);
  if (shape.size() != 2) l.malformed("needs a matrix, not " + to_string(shape));
  l.spend(element_count(shape));
  Tensor eye(shape);
  const std::int64_t k = l.attribute("k", std::int64_t{0});
  for (std::int64_t i = 0; i < eye.size(); ++i) eye.data[i] = i % shape[1] - i / shape[1] == k ? 1.0F : 0.0F;
  l.set(0, l.tensor(std::move(eye)), l.integer(0));
}

constexpr OnnxOperator kArrangeOperators[] = {
    {"Cast", cast, true},
    {"CastLike", cast_like, true, 15},
    {"Concat", concat, true},
    {"Constant", constant, true},
    {"ConstantOfShape", constant_of_shape, true, 9},
    {"DepthToSpace", depth_to_space, true},
    {"Dropout", dropout, true},
    {"Expand", expand, true, 8},
    {"EyeLike", eye_like, true, 9},
    {"Flatten", flatten, true},
    {"Identity", identity, true},
    {"If", if_else, true},
    {"Pad", pad, true},
    {"Range", range, true, 11},
    {"Reshape", reshape, true},
    {"Shape", shape, true},
    {"Size", size, true},
    {"Slice", slice, true},
    {"SpaceToDepth", space_to_depth, true},
    {"Split", split, true},
    {"Squeeze", squeeze, true},
    {"Tile", tile, true},
    {"Transpose", transpose, true},
    {"Unsqueeze", unsqueeze, true},
};

}  // namespace

std::span<const OnnxOperator> arrange_operators() { return kArrangeOperators; }

}  // namespace probust::onnx
