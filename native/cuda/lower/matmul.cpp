// SPDX-License-Identifier: MIT
// Matrix products: one library call for all lanes if the operands' matrices are evenly spaced; otherwise one call for each matrix
// of an example, and for each seed if one operand repeats for all seeds. A bias and a rectifier after a product are fused with
// it. cuBLASLt's GELU is not used: it is the tanh approximation, while most models use the exact one, and graphs contain both as
// elementary operators.
#include <algorithm>

#include "cuda/lowering.h"
#include "probust/exec/gather_offsets.h"

namespace probust::cuda {
namespace {

// For each matrix of the result, the matrix of an operand that it reads.
std::vector<std::int64_t> matrices(const Shape& operand, const Shape& result) {
  return broadcast_offsets({operand.begin(), operand.end() - 2}, {result.begin(), result.end() - 2});
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

// The distance between an operand's matrices of neighbouring lanes, and the start of those of seed s.
std::int64_t lane_stride(const Operand& operand) { return operand.own == 1 ? 0 : operand.elements; }
const float* at_seed(const Operand& operand, const Batch& batch, std::int64_t s) {
  return operand.data + (operand.own == batch.examples * batch.seeds ? s * batch.examples * lane_stride(operand) : 0);
}

// For each value, the only operator that reads it; kNoValue if there are several or it is an output of the graph.
std::vector<ValueId> only_readers(const Graph& graph) {
  std::vector<ValueId> reader(graph.nodes.size(), kNoValue);
  std::vector<int> reads(graph.nodes.size(), 0);
  for (ValueId id = 0; id < static_cast<ValueId>(graph.nodes.size()); ++id) {
    for (const ValueId input : graph[id].inputs) {
      reader[input] = ++reads[input] == 1 ? id : kNoValue;
    }
  }
  for (const ValueId output : graph.outputs) reader[output] = kNoValue;
  return reader;
}

// The bias that a constant adds to each of n columns; empty if it differs between rows.
std::vector<float> bias_of_columns(const Tensor& constant, const Shape& shape, std::int64_t n) {
  const auto sources = broadcast_offsets(constant.shape, shape);
  std::vector<float> bias;
  for (std::size_t e = 0; e < sources.size(); ++e) {
    if (sources[e] != sources[e % n]) return {};
    if (bias.size() < static_cast<std::size_t>(n)) bias.push_back(constant.data[sources[e]]);
  }
  return bias;
}

// Adds operator `id` to the epilogue of a product with n columns, if possible; `so_far` is its current result.
bool extend(Epilogue& epilogue, const Graph& graph, ValueId so_far, ValueId id, std::int64_t n) {
  const Node& node = graph[id];
  if (node.extent != graph[so_far].extent || element_count(node.shape) != element_count(graph[so_far].shape)) return false;
  const bool first = epilogue.bias.empty() && epilogue.activation == Activation::none;
  if (node.op == Op::add && first) {
    const ValueId other = node.inputs[0] == so_far ? node.inputs[1] : node.inputs[0];
    if (graph[other].op == Op::constant) epilogue.bias = bias_of_columns(constant_value(graph, other), node.shape, n);
    return !epilogue.bias.empty();
  }
  if (node.op == Op::relu && epilogue.activation == Activation::none) {
    epilogue.activation = Activation::relu;
    return true;
  }
  return node.op == Op::reshape;
}

}  // namespace

std::map<ValueId, Epilogue> plan_epilogues(const Graph& graph) {
  std::map<ValueId, Epilogue> epilogues;
  const std::vector<ValueId> reader = only_readers(graph);
  for (ValueId id = 0; id < static_cast<ValueId>(graph.nodes.size()); ++id) {
    if (graph[id].op != Op::matmul || element_count(graph[id].shape) == 0) continue;
    Epilogue epilogue;
    ValueId so_far = id;
    while (reader[so_far] != kNoValue && extend(epilogue, graph, so_far, reader[so_far], graph[id].shape.back())) {
      so_far = reader[so_far];
      epilogue.operators.push_back(so_far);
    }
    if (!epilogue.operators.empty()) epilogues.emplace(id, std::move(epilogue));
  }
  return epilogues;
}

void lower_matmul(DeviceLowering& l, ValueId id) {
  const Node& node = l.node(id);
  const auto attributes = std::get<MatmulAttributes>(node.attributes);
  const Shape &a_shape = l.node(node.inputs[0]).shape, &b_shape = l.node(node.inputs[1]).shape;
  Product shared;
  shared.transpose_a = attributes.transpose_a;
  shared.transpose_b = attributes.transpose_b;
  shared.m = node.shape[node.shape.size() - 2];
  shared.n = node.shape.back();
  shared.k = attributes.transpose_a ? a_shape[a_shape.size() - 2] : a_shape.back();
  if (const auto epilogue = l.epilogues.find(id); epilogue != l.epilogues.end()) {
    if (!epilogue->second.bias.empty()) shared.bias = l.constant(epilogue->second.bias);
    shared.activation = epilogue->second.activation;
  }
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
