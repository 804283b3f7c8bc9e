// SPDX-License-Identifier: MIT
// Matrix products: one call of the library for all lanes where the operands' matrices are evenly spaced, otherwise one for each
// matrix of an example, and for each seed where one operand repeats for all seeds.
#include <algorithm>

#include "cuda/lowering.h"
#include "probust/exec/sources.h"

namespace probust::cuda {
namespace {

// Which matrix of an operand each matrix of the result reads.
std::vector<std::int64_t> matrices(const Shape& operand, const Shape& result) {
  return broadcast_sources({operand.begin(), operand.end() - 2}, {result.begin(), result.end() - 2});
}

bool one_by_one(const std::vector<std::int64_t>& which, std::int64_t available) {
  for (std::size_t i = 0; i < which.size(); ++i) {
    if (which[i] != static_cast<std::int64_t>(i)) return false;
  }
  return static_cast<std::int64_t>(which.size()) == available;
}

struct Side {
  std::vector<std::int64_t> which;
  std::int64_t size = 0;  ///< of one matrix
  bool aligned = false;   ///< matrix i of the result reads its matrix i
};

Side side_of(const Shape& operand, const Shape& result) {
  const std::int64_t size = operand[operand.size() - 2] * operand.back();
  const std::int64_t available = element_count({operand.begin(), operand.end() - 2});
  Side side{matrices(operand, result), size, false};
  side.aligned = one_by_one(side.which, available);
  return side;
}

// How far apart an operand's matrices of neighbouring lanes are, and where those of seed s begin.
std::int64_t lane_stride(const Operand& operand) { return operand.own == 1 ? 0 : operand.elements; }
const float* at_seed(const Operand& operand, const Batch& batch, std::int64_t s) {
  return operand.data + (operand.own == batch.examples * batch.seeds ? s * batch.examples * lane_stride(operand) : 0);
}

}  // namespace

void lower_matmul(Lowering& l, ValueId id) {
  const Node& node = l.node(id);
  const auto attributes = std::get<MatmulAttributes>(node.attributes);
  const Shape &a_shape = l.node(node.inputs[0]).shape, &b_shape = l.node(node.inputs[1]).shape;
  Product shared;
  shared.transpose_a = attributes.transpose_a;
  shared.transpose_b = attributes.transpose_b;
  shared.m = node.shape[node.shape.size() - 2];
  shared.n = node.shape.back();
  shared.k = attributes.transpose_a ? a_shape[a_shape.size() - 2] : a_shape.back();
  const Side a = side_of(a_shape, node.shape), b = side_of(b_shape, node.shape);
  const auto count = static_cast<std::int64_t>(a.which.size());
  const bool one_b = element_count({b_shape.begin(), b_shape.end() - 2}) == 1;
  l.emit(id, Order::plain, {l.plain(node.inputs[0]), l.plain(node.inputs[1])}, [=](const Call& call) {
    const Operand left = call.in(0), right = call.in(1);
    const Output out = call.out();
    Product p = shared;
    // The rows of all lanes times one matrix.
    if (right.own == 1 && one_b && !p.transpose_a && a.aligned && left.own == out.lanes) {
      p.m *= count * out.lanes;
      p.a = left.data;
      p.b = right.data;
      p.c = out.data;
      return call.device.multiply(p);
    }
    const bool whole = (left.own == 1 || left.own == out.lanes) && (right.own == 1 || right.own == out.lanes);
    const std::int64_t seeds = whole ? 1 : call.batch.seeds, lanes = out.lanes / seeds;
    const bool merged = a.aligned && b.aligned && left.own != 1 && right.own != 1;
    for (std::int64_t s = 0; s < seeds; ++s) {
      const float* from_a = whole ? left.data : at_seed(left, call.batch, s);
      const float* from_b = whole ? right.data : at_seed(right, call.batch, s);
      float* to = out.data + s * lanes * out.elements;
      p.batch = merged ? lanes * count : lanes;
      p.stride_a = merged ? a.size : lane_stride(left);
      p.stride_b = merged ? b.size : lane_stride(right);
      p.stride_c = merged ? p.m * p.n : out.elements;
      for (std::int64_t i = 0; i < (merged ? 1 : count); ++i) {
        p.a = from_a + a.which[i] * a.size;
        p.b = from_b + b.which[i] * b.size;
        p.c = to + i * p.m * p.n;
        call.device.multiply(p);
      }
    }
  });
}

}  // namespace probust::cuda
