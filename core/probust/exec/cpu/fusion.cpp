// SPDX-License-Identifier: MIT
#include "probust/exec/cpu/fusion.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "probust/exec/cpu/lanes.h"

namespace probust::cpu {
namespace {

// For each value, the node that reads it, if it is read once and is no output.
std::vector<ValueId> only_readers(const Graph& graph) {
  const std::vector<int> uses = use_counts(graph);
  std::vector<ValueId> reader(graph.nodes.size(), kNoValue);
  for (ValueId id = 0; id < static_cast<ValueId>(graph.nodes.size()); ++id) {
    for (const ValueId input : graph[id].inputs) reader[input] = id;
  }
  for (std::size_t id = 0; id < uses.size(); ++id) {
    if (uses[id] != 1) reader[id] = kNoValue;
  }
  return reader;
}

// A constant that is added to a product, one value per channel.
std::optional<std::vector<float>> bias_of(const Graph& graph, const Node& product, ValueId added) {
  if (graph[added].op != Op::constant || product.op == Op::conv_transpose) return std::nullopt;
  const std::size_t rank = product.shape.size(), channels = product.op == Op::conv ? 1 : rank - 1;
  const auto& [shape, values] = constant_value(graph, added);
  if (shape.size() > rank || static_cast<std::int64_t>(values.size()) != product.shape[channels]) return std::nullopt;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != 1 && i + rank - shape.size() != channels) return std::nullopt;
  }
  return values;
}

// Follows the element-wise nodes after a product. `known` has, for each value, the node with whose kernel it becomes known.
class Chain {
 public:
  Chain(const Graph& graph, ValueId product, const std::vector<ValueId>& readers, const std::vector<ValueId>& known)
      : graph_(graph), product_(product), readers_(readers), known_(known), last_(product) {}

  Fusion follow() {
    while (readers_[last_] != kNoValue && take(readers_[last_])) {
      last_ = readers_[last_];
      fusion_.nodes.push_back(last_);
    }
    return std::move(fusion_);
  }

 private:
  bool take(ValueId id) {
    const Node &node = graph_[id], &product = graph_[product_];
    if (node.shape != product.shape || node.extent != product.extent) return false;
    if (node.op == Op::relu) {
      fusion_.fused.push_back({Op::relu});
      return true;
    }
    if (node.op != Op::add && node.op != Op::multiply && node.op != Op::maximum && node.op != Op::minimum) return false;
    const ValueId other = node.inputs[0] == last_ ? node.inputs[1] : node.inputs[0];
    if (node.op == Op::add && fusion_.nodes.empty() && take_bias(other)) return true;
    Fused stage{node.op, product.inputs.size() + fusion_.extra.size(), 1, element_count(product.shape)};
    if (graph_[other].op == Op::constant) {
      if (!place_constant(graph_[other].shape, product.shape, stage)) return false;
    } else if (graph_[other].shape != product.shape || known_[other] >= product_) {
      return false;
    }
    fusion_.fused.push_back(stage);
    fusion_.extra.push_back(other);
    return true;
  }

  // A constant that varies along one axis, or not at all.
  static bool place_constant(const Shape& constant, const Shape& result, Fused& stage) {
    stage.size = element_count(constant);
    stage.inner = 1;
    for (std::size_t i = 0; i < constant.size(); ++i) {
      if (constant[i] == 1) continue;
      const std::size_t axis = result.size() - constant.size() + i;
      if (constant[i] != stage.size || constant[i] != result[axis]) return false;
      stage.inner = row_major_strides(result)[axis];
    }
    return constant.size() <= result.size();
  }

  bool take_bias(ValueId added) {
    auto bias = bias_of(graph_, graph_[product_], added);
    if (!bias || !can_add_bias(graph_, graph_[product_])) return false;
    fusion_.bias = std::move(*bias);
    return true;
  }

  const Graph& graph_;
  ValueId product_;
  const std::vector<ValueId>&readers_, &known_;
  ValueId last_;
  Fusion fusion_;
};

constexpr std::int64_t kRepeated = 1024;  // floats

// y[i] = f(y[i], x[i])
void combine_with(Op op, const float* x, float* y, std::int64_t count) {
  const Eigen::Map<const Eigen::ArrayXf> operand(x, count);
  Eigen::Map<Eigen::ArrayXf> to(y, count);
  with_fused_function(op, [&](auto f) { to = to.binaryExpr(operand, f); });
}

// y[e * lanes + l] = f(y[e * lanes + l], x[e * own + l % own]) for `count` elements, if vectors of N values
// divide `own`.
template <int N>
bool combine_packets(Op op, const float* x, std::int64_t own, float* y, std::int64_t lanes, std::int64_t count) {
  using namespace Eigen::internal;
  using P = typename find_best_packet<float, N>::type;
  constexpr std::int64_t size = unpacket_traits<P>::size;
  if (own % size != 0) return false;
  with_fused_function(op, [&](auto f) {
    for (const float* const end = x + count * own; x < end; x += own) {
      for (const float* const next = y + lanes; y < next; y += own) {
        for (std::int64_t l = 0; l < own; l += size) pstoreu(y + l, f.packetOp(ploadu<P>(y + l), ploadu<P>(x + l)));
      }
    }
  });
  return true;
}

// The same with one lane of x for all of y.
void combine_single_lanes(Op op, const float* x, float* y, std::int64_t lanes, std::int64_t count) {
  using namespace Eigen::internal;
  with_fused_function(op, [&](auto f) {
    for (std::int64_t e = 0; e < count; ++e, y += lanes) {
      std::int64_t l = 0;
      for (; l + kPacket <= lanes; l += kPacket) pstoreu(y + l, f.packetOp(ploadu<Packet>(y + l), pset1<Packet>(x[e])));
      for (; l < lanes; ++l) y[l] = f(y[l], x[e]);
    }
  });
}

}  // namespace

Graph seeded_last(const Graph& graph) {
  Graph result;
  std::vector<ValueId> place(graph.nodes.size());
  for (const bool last : {false, true}) {
    for (std::size_t id = 0; id < graph.nodes.size(); ++id) {
      if ((graph.nodes[id].extent == Extent::seeded && graph.nodes[id].op != Op::input) != last) continue;
      Node node = graph.nodes[id];
      for (ValueId& input : node.inputs) input = place[input];
      place[id] = static_cast<ValueId>(result.nodes.size());
      result.nodes.push_back(std::move(node));
    }
  }
  for (const ValueId id : graph.outputs) result.outputs.push_back(place[id]);
  return result;
}

std::vector<Fusion> find_fusions(const Graph& graph) {
  std::vector<Fusion> fusions(graph.nodes.size());
  const std::vector<ValueId> readers = only_readers(graph);
  std::vector<ValueId> known(graph.nodes.size());
  std::iota(known.begin(), known.end(), ValueId{0});
  for (ValueId id = 0; id < static_cast<ValueId>(graph.nodes.size()); ++id) {
    if (constant_factor(graph, graph[id]) == kNoValue) continue;
    fusions[id] = Chain(graph, id, readers, known).follow();
    for (const ValueId replaced : fusions[id].nodes) known[replaced] = id;
  }
  return fusions;
}

void Call::apply_fused(std::int64_t first, std::int64_t count) const {
  float* const y = out + first;
  for (const Fused& stage : fused) {
    if (stage.op == Op::relu) {
      for (std::int64_t i = 0; i < count; ++i) y[i] = y[i] < 0 ? 0.0F : y[i];  // NaN stays NaN
      continue;
    }
    if (in[stage.operand].extent == Extent::constant) {
      combine_constant(stage, first, count);
    } else if (lanes_of(stage.operand) == lanes) {
      combine_with(stage.op, in[stage.operand].data + first, y, count);
    } else {
      combine_runs(stage, first, count);
    }
  }
}

// Runs of floats that meet the same element of a constant.
void Call::combine_constant(const Fused& stage, std::int64_t first, std::int64_t count) const {
  const std::int64_t together = stage.size == 1 ? first + count : stage.inner * lanes;
  for (std::int64_t at = first, end = first + count; at < end;) {
    const std::int64_t run = std::min(end, (at / together + 1) * together) - at;
    combine_single_lanes(stage.op, in[stage.operand].data + at / lanes / stage.inner % stage.size, out + at, run, 1);
    at += run;
  }
}

// An operand with fewer lanes: runs of lanes read consecutive lanes of the operand, or all the same one.
void Call::combine_runs(const Fused& stage, std::int64_t first, std::int64_t count) const {
  const std::int64_t own = lanes_of(stage.operand);
  if (first % lanes == 0 && count % lanes == 0 && combine_elements(stage, first / lanes, count / lanes)) return;
  const float* x = in[stage.operand].data + first / lanes * own;
  std::int64_t lane = first % lanes;
  for (float *y = out + first, *const end = y + count; y < end;) {
    const std::int64_t begin = own == 1 ? 0 : lane % own, left = own == 1 ? lanes - lane : own - begin;
    const std::int64_t run = std::min<std::int64_t>(end - y, left);
    if (own == 1) {
      combine_single_lanes(stage.op, x, y, run, 1);
    } else {
      combine_with(stage.op, x + begin, y, run);
    }
    y += run;
    lane += run;
    if (lane == lanes) {
      lane = 0;
      x += own;
    }
  }
}

// The same for whole elements. False if there is no faster way than run by run.
bool Call::combine_elements(const Fused& stage, std::int64_t element, std::int64_t count) const {
  const std::int64_t own = lanes_of(stage.operand);
  const float* const x = in[stage.operand].data + element * own;
  float* const y = out + element * lanes;
  if (own == 1) {
    combine_single_lanes(stage.op, x, y, lanes, count);
    return true;
  }
  if (combine_packets<kPacket>(stage.op, x, own, y, lanes, count) ||
      combine_packets<kPacket / 2>(stage.op, x, own, y, lanes, count) ||
      combine_packets<kPacket / 4>(stage.op, x, own, y, lanes, count)) {
    return true;
  }
  if (own >= kBlock || lanes > kRepeated) return false;
  combine_repeated(stage.op, x, own, y, count);
  return true;
}

// Repeats the operand's lanes for some elements, then combines these as one run.
void Call::combine_repeated(Op op, const float* x, std::int64_t own, float* y, std::int64_t count) const {
  const std::int64_t most = kRepeated / lanes;
  float repeated[kRepeated + kBlock];
  for (std::int64_t e = 0; e < count; e += most) {
    const std::int64_t some = std::min(most, count - e);
    repeat_lanes(x + e * own, 1, own, lanes, some, repeated);
    combine_with(op, repeated, y + e * lanes, some * lanes);
  }
}

}  // namespace probust::cpu
