// SPDX-License-Identifier: MIT
// Quantization: numbers on a grid of integers. Rounding is piecewise constant, so quantized values have zero derivative;
// dequantization is linear.
#include <numeric>

#include "probust/base/error.h"
#include "probust/onnx/lower/lower.h"
#include "probust/ops/build.h"

namespace probust::onnx {
namespace {

struct Range {
  float low, high;
};

// The range of an integer type, by ONNX's number; 0 means uint8.
Range range_of(Lowering& l, std::int64_t type) {
  switch (type) {
    case 0:
    case 2:
      return {0, 255};
    case 3:
      return {-128, 127};
    case 4:
      return {0, 65535};
    case 5:
      return {-32768, 32767};
    default:
      l.unsupported("quantises to the unsupported type " + std::to_string(type), "use int8, uint8, int16 or uint16");
  }
}

// Operand i, a scale or zero point, reshaped to broadcast with x: it has one number for all elements, one per entry of `axis`, or
// one per block.
ValueId operand_for(Lowering& l, std::size_t i) {
  const Shape x = l.shape(0), own = l.shape(i);
  if (element_count(own) == 1) return build::reshape(l.graph, l.in(i), {});
  const std::int64_t axis = l.axis(l.attribute("axis", std::int64_t{1}), static_cast<std::int64_t>(x.size()));
  if (own.size() == 1) {
    Shape shape(x.size(), 1);
    shape[axis] = own[0];
    return build::reshape(l.graph, l.in(i), shape);
  }
  const std::int64_t block = l.attribute("block_size", std::int64_t{0});
  if (own.size() != x.size() || block < 1) l.malformed("has a scale " + to_string(own) + " that does not fit " + to_string(x));
  GatherAttributes g{axis, {}, own[axis]};
  l.spend(x[axis]);
  for (std::int64_t e = 0; e < x[axis]; ++e) g.indices.push_back(e / block);
  return l.add_node(Op::gather, {l.in(i)}, g);
}

ValueId clamp(Lowering& l, ValueId x, Range range) {
  return l.add_node(Op::minimum, {l.add_node(Op::maximum, {x, l.scalar(range.low)}), l.scalar(range.high)});
}

// clamp(round(x / scale) + zero point)
void quantize_linear(Lowering& l) {
  const bool shifted = l.has(2);
  const std::int64_t type = l.attribute("output_dtype", std::int64_t{shifted ? l.type(2) : 0});
  ValueId grid = l.add_node(Op::round, {l.add_node(Op::divide, {l.in(0), operand_for(l, 1)})});
  if (shifted) grid = l.add_node(Op::add, {grid, operand_for(l, 2)});
  l.set(0, clamp(l, grid, range_of(l, type)), true, static_cast<std::int32_t>(type));
}

// (x - zero point) scale
void dequantize_linear(Lowering& l) {
  const ValueId centred = l.has(2) ? l.add_node(Op::subtract, {l.in(0), operand_for(l, 2)}) : l.in(0);
  l.set(0, l.add_node(Op::multiply, {centred, operand_for(l, 1)}));
}

// The smallest uint8 grid that covers all elements and zero.
void dynamic_quantize_linear(Lowering& l) {
  const std::int64_t count = element_count(l.shape(0));
  if (count == 0) l.malformed("quantises an empty tensor");
  const Window whole{{count}, {count}, {1}, {1}, {0}, {0}};
  const auto largest = [&](ValueId x) {
    const ValueId image = build::reshape(l.graph, x, {1, 1, count});
    const ValueId best = build::reshape(l.graph, l.add_node(Op::max_pool, {image}, whole), {});
    return l.add_node(Op::maximum, {best, l.scalar(0)});
  };
  const ValueId high = largest(l.in(0)), depth = largest(l.add_node(Op::negate, {l.in(0)}));
  const ValueId scale = l.add_node(Op::multiply, {l.add_node(Op::add, {high, depth}), l.scalar(1 / 255.0F)});
  const ValueId zero = clamp(l, l.add_node(Op::round, {l.add_node(Op::divide, {depth, scale})}), {0, 255});
  const ValueId grid = l.add_node(Op::round, {l.add_node(Op::divide, {l.in(0), scale})});
  l.set(0, clamp(l, l.add_node(Op::add, {grid, zero}), {0, 255}), true, 2);
  l.set(1, scale);
  l.set(2, zero, true, 2);
}

constexpr OnnxOperator kQuantizeOperators[] = {
    {"DequantizeLinear", dequantize_linear, true, 10},
    {"DynamicQuantizeLinear", dynamic_quantize_linear, false, 11},
    {"QuantizeLinear", quantize_linear, false, 10},
};

}  // namespace

std::span<const OnnxOperator> quantize_operators() { return kQuantizeOperators; }

}  // namespace probust::onnx
