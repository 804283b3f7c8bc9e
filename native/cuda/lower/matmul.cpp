// SPDX-License-Identifier: MIT
// Lowers matrix products, and plans the epilogues of products and convolutions.
//
// A product is one library call for all lanes if the operands' matrices are evenly spaced; otherwise, there is one call for
// each matrix of an example, and for each seed if the lanes of one operand repeat for all seeds. A bias and a rectifier after a
// product or convolution are fused with it; so is a residual sum after a convolution. cuBLASLt's GELU is not used: it is the tanh
// approximation, while most models use the exact function, and graphs contain both as elementary operators.
#include <algorithm>
#include <numeric>

#include "cuda/lowering.h"
#include "probust/exec/programs/gather_offsets.h"
#include "probust/ops/op.h"

namespace probust::cuda {
namespace {

// For each matrix of the result, the index of the operand's matrix that it reads.
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
  std::int64_t size = 0;  ///< number of elements of one matrix
  bool aligned = false;   ///< whether matrix i of the result reads matrix i of the operand
};

Side side_of(const Shape& operand, const Shape& result) {
  const std::int64_t size = operand[operand.size() - 2] * operand.back();
  const std::int64_t available = element_count({operand.begin(), operand.end() - 2});
  Side side{matrices(operand, result), size, false};
  side.aligned = one_by_one(side.which, available);
  return side;
}

// lane_stride: the distance between the matrices of adjacent lanes. at_seed: the address of the matrices of seed s.
std::int64_t lane_stride(const Operand& operand) { return operand.own == 1 ? 0 : operand.elements; }
const float* at_seed(const Operand& operand, const Batch& batch, std::int64_t s) {
  return static_cast<const float*>(operand.data) +
         (operand.own == batch.examples * batch.seeds ? s * batch.examples * lane_stride(operand) : 0);
}

std::string name_of(const Product& product) {
  std::string name = "matrix product";
  if (product.bias != nullptr) name += ", bias";
  if (product.activation == Activation::relu) name += ", relu";
  return name;
}

// The bias [n] that a constant adds to each of n columns or channels, which are `inner` elements apart; empty if the constant
// also varies along other axes.
std::vector<float> bias_of(const Tensor& constant, const Shape& shape, std::int64_t n, std::int64_t inner) {
  const auto sources = broadcast_offsets(constant.shape, shape);
  std::vector<float> bias(static_cast<std::size_t>(n));
  for (std::size_t e = 0; e < sources.size(); ++e) {
    const std::size_t channel = e / inner % n;
    if (sources[e] != sources[channel * inner]) return {};
    bias[channel] = constant.data[sources[e]];
  }
  return bias;
}

// Follows the operators after a product or convolution as long as its epilogue can include them. `known` contains, for each
// value, the node that computes it, which is a product if its epilogue includes the value's operator. It is needed because only
// a value that is computed before the convolution can be its residual.
class EpilogueSearch {
 public:
  EpilogueSearch(const Graph& graph, ValueId product, const std::vector<ValueId>& readers, const std::vector<ValueId>& known)
      : graph_(graph), product_(product), readers_(readers), known_(known), so_far_(product) {}

  Epilogue follow() {
    while (readers_[so_far_] != kNoValue && take(readers_[so_far_])) {
      so_far_ = readers_[so_far_];
      epilogue_.operators.push_back(so_far_);
    }
    return std::move(epilogue_);
  }

 private:
  bool convolves() const { return graph_[product_].op == Op::conv; }

  bool take(ValueId id) {
    const Node &node = graph_[id], &before = graph_[so_far_];
    if (node.extent != before.extent || element_count(node.shape) != element_count(before.shape)) return false;
    if (convolves() && node.shape != before.shape) return false;
    if (epilogue_.activation != Activation::none) return !convolves() && node.op == Op::reshape;
    if (node.op == Op::relu) {
      epilogue_.activation = Activation::relu;
      return true;
    }
    if (node.op != Op::add) return !convolves() && node.op == Op::reshape;
    const ValueId other = node.inputs[0] == so_far_ ? node.inputs[1] : node.inputs[0];
    return graph_[other].op == Op::constant ? take_bias(other, node.shape) : take_residual(other);
  }

  bool take_bias(ValueId other, const Shape& shape) {
    if (!epilogue_.bias.empty() || epilogue_.residual != kNoValue) return false;
    const std::int64_t cells = convolves() ? element_count({shape.begin() + 2, shape.end()}) : 1;
    epilogue_.bias = bias_of(constant_value(graph_, other), shape, convolves() ? shape[1] : graph_[product_].shape.back(), cells);
    return !epilogue_.bias.empty();
  }

  bool take_residual(ValueId other) {
    const Node &product = graph_[product_], &residual = graph_[other];
    const bool fits = convolves() && epilogue_.residual == kNoValue && residual.shape == product.shape &&
                      residual.extent == product.extent && known_[other] < product_;
    if (fits) epilogue_.residual = other;
    return fits;
  }

  const Graph& graph_;
  ValueId product_;
  const std::vector<ValueId>&readers_, &known_;
  ValueId so_far_;
  Epilogue epilogue_;
};

}  // namespace

std::map<ValueId, Epilogue> plan_epilogues(const Graph& graph, const std::map<ValueId, std::string>& refused) {
  std::map<ValueId, Epilogue> epilogues;
  const std::vector<ValueId> readers = only_readers(graph);
  std::vector<ValueId> known(graph.nodes.size());
  std::iota(known.begin(), known.end(), ValueId{0});
  for (ValueId id = 0; id < static_cast<ValueId>(graph.nodes.size()); ++id) {
    const Node& node = graph[id];
    if ((node.op != Op::matmul && node.op != Op::conv) || element_count(node.shape) == 0 || refused.contains(id)) continue;
    Epilogue epilogue = EpilogueSearch(graph, id, readers, known).follow();
    for (const ValueId absorbed : epilogue.operators) known[absorbed] = id;
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
  const auto run = [=](const Call& call) {
    const Operand left = call.in(0), right = call.in(1);
    const Output out = call.out();
    const auto *const of_left = static_cast<const float*>(left.data), *const of_right = static_cast<const float*>(right.data);
    auto* const result = static_cast<float*>(out.data);
    Product p = shared;
    // If all lanes use the same right matrix, multiplies the rows of all lanes by it in one product.
    if (right.own == 1 && one_b && !p.transpose_a && a.aligned && left.own == out.lanes) {
      p.m *= count * out.lanes;
      p.a = of_left;
      p.b = of_right;
      p.c = result;
      return call.device.multiply(p);
    }
    const bool whole = (left.own == 1 || left.own == out.lanes) && (right.own == 1 || right.own == out.lanes);
    const std::int64_t seeds = whole ? 1 : call.batch.seeds, lanes = out.lanes / seeds;
    const bool merged = a.aligned && b.aligned && left.own != 1 && right.own != 1;
    for (std::int64_t s = 0; s < seeds; ++s) {
      const float* from_a = whole ? of_left : at_seed(left, call.batch, s);
      const float* from_b = whole ? of_right : at_seed(right, call.batch, s);
      float* to = result + s * lanes * out.elements;
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
  };
  l.emit(id, {}, {l.plain(node.inputs[0]), l.plain(node.inputs[1])}, run,
         {name_of(shared), StepKind::By::library, definition(node.op).flops(node.attributes, {{a_shape, b_shape}}, node.shape)});
}

}  // namespace probust::cuda
