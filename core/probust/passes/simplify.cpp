// SPDX-License-Identifier: MIT
#include "probust/passes/simplify.h"

#include <algorithm>
#include <optional>

#include "probust/ops/build.h"
#include "probust/ops/op.h"

namespace probust {
namespace {

constexpr int kMostPasses = 100;
constexpr std::int64_t kMostAddedElements = std::int64_t{1} << 22;
constexpr double kMostFoldedFlops = 1e9;

// One pass: rebuilds the graph node by node and tries one rule at each.
class Rewriter {
 public:
  explicit Rewriter(const Graph& from)
      : from_(from), uses_(use_counts(from)), map_(from.nodes.size(), kNoValue), live_(live_nodes(from)) {}

  Graph run() {
    for (ValueId id = 0; id < static_cast<ValueId>(from_.nodes.size()); ++id) {
      if (!live_[id]) continue;
      const std::optional<ValueId> better = rewrite(id);
      changed_ = changed_ || better.has_value();
      map_[id] = better ? *better : copy(id);
    }
    for (const ValueId id : from_.outputs) to_.outputs.push_back(map_[id]);
    changed_ = changed_ || to_.nodes.size() != from_.nodes.size();
    return std::move(to_);
  }

  bool changed() const { return changed_; }

 private:
  static std::vector<bool> live_nodes(const Graph& graph) {
    std::vector<bool> live(graph.nodes.size(), false);
    for (const ValueId id : graph.outputs) live[id] = true;
    for (std::size_t id = graph.nodes.size(); id-- > 0;) {
      if (graph.nodes[id].op == Op::input) live[id] = true;
      if (!live[id]) continue;
      for (const ValueId input : graph.nodes[id].inputs) live[input] = true;
    }
    return live;
  }

  ValueId copy(ValueId id) {
    Node node = from_[id];
    for (ValueId& input : node.inputs) input = map_[input];
    to_.nodes.push_back(std::move(node));
    return static_cast<ValueId>(to_.nodes.size()) - 1;
  }

  bool is_constant(ValueId id) const { return from_[id].op == Op::constant; }

  // Applies the first rule that matches. Returns the value in the new graph.
  std::optional<ValueId> rewrite(ValueId id) {
    for (const auto rule :
         {&Rewriter::fold_constant, &Rewriter::join_reshapes, &Rewriter::join_transposes, &Rewriter::drop_neutral,
          &Rewriter::subtract_as_add, &Rewriter::constant_last, &Rewriter::scale_through_shift, &Rewriter::scale_into_filter,
          &Rewriter::scale_into_weights, &Rewriter::join_shifts}) {
      if (const auto value = (this->*rule)(id)) return value;
    }
    return std::nullopt;
  }

  // Whether folding a node takes little memory and time. Other nodes are computed at run time, where memory is planned.
  static bool worth_folding(const Node& node, const std::vector<Shape>& operands) {
    std::int64_t before = 0;
    for (const Shape& shape : operands) before += element_count(shape);
    const std::int64_t after = element_count(node.shape);
    const bool grows = after > kMostAddedElements && after > 4 * before;
    return !grows && definition(node.op).flops(node.attributes, operands, node.shape) <= kMostFoldedFlops;
  }

  std::optional<ValueId> fold_constant(ValueId id) {
    const Node& node = from_[id];
    if (node.inputs.empty() || node.extent != Extent::constant) return std::nullopt;
    std::vector<const Tensor*> operands;
    std::vector<Shape> shapes;
    for (const ValueId input : node.inputs) {
      if (to_[map_[input]].op != Op::constant) return std::nullopt;
      operands.push_back(&constant_value(to_, map_[input]));
      shapes.push_back(operands.back()->shape);
    }
    if (!worth_folding(node, shapes)) return std::nullopt;
    Tensor value(node.shape);
    definition(node.op).eval(node.attributes, operands, value);
    return append_constant(to_, std::move(value), node.name);
  }

  std::optional<ValueId> join_reshapes(ValueId id) {
    const Node& node = from_[id];
    if (node.op != Op::reshape) return std::nullopt;
    const ValueId inner = node.inputs[0];
    if (from_[inner].shape == node.shape) return map_[inner];
    if (from_[inner].op != Op::reshape) return std::nullopt;
    return append(to_, Op::reshape, {map_[from_[inner].inputs[0]]}, node.attributes, node.name);
  }

  std::optional<ValueId> join_transposes(ValueId id) {
    const Node& node = from_[id];
    if (node.op != Op::transpose) return std::nullopt;
    const auto& outer = std::get<PermutationAttribute>(node.attributes).permutation;
    if (std::is_sorted(outer.begin(), outer.end())) return map_[node.inputs[0]];
    const Node& inner = from_[node.inputs[0]];
    if (inner.op != Op::transpose) return std::nullopt;
    const auto& first = std::get<PermutationAttribute>(inner.attributes).permutation;
    std::vector<std::int64_t> both(outer.size());
    for (std::size_t i = 0; i < outer.size(); ++i) both[i] = first[outer[i]];
    return build::transpose(to_, map_[inner.inputs[0]], both);
  }

  bool all_equal(ValueId id, float value) const {
    const Tensor& tensor = constant_value(from_, id);
    return std::all_of(tensor.data.begin(), tensor.data.end(), [value](float x) { return x == value; });
  }

  // Removes x + 0, x * 1 and x / 1, unless the constant broadcasts x to a larger shape.
  std::optional<ValueId> drop_neutral(ValueId id) {
    const Node& node = from_[id];
    const bool additive = node.op == Op::add || node.op == Op::subtract,
               multiplicative = node.op == Op::multiply || node.op == Op::divide;
    if (!additive && !multiplicative) return std::nullopt;
    if (!is_constant(node.inputs[1]) || from_[node.inputs[0]].shape != node.shape) return std::nullopt;
    if (!all_equal(node.inputs[1], additive ? 0.0F : 1.0F)) return std::nullopt;
    return map_[node.inputs[0]];
  }

  std::optional<ValueId> subtract_as_add(ValueId id) {
    const Node& node = from_[id];
    if (node.op != Op::subtract || !is_constant(node.inputs[1])) return std::nullopt;
    return append(to_, Op::add, {map_[node.inputs[0]], negated(node.inputs[1])}, {}, node.name);
  }

  ValueId negated(ValueId id) {
    Tensor tensor = constant_value(from_, id);
    for (float& value : tensor.data) value = -value;
    return append_constant(to_, std::move(tensor), from_[id].name);
  }

  // Puts constants second in sums and products, where the rules below expect them.
  std::optional<ValueId> constant_last(ValueId id) {
    const Node& node = from_[id];
    const bool commutes = node.op == Op::add || node.op == Op::multiply;
    if (!commutes || !is_constant(node.inputs[0]) || is_constant(node.inputs[1])) return std::nullopt;
    return append(to_, node.op, {map_[node.inputs[1]], map_[node.inputs[0]]}, {}, node.name);
  }

  // Whether `id` is a node `outer` with a constant second operand, applied to a node `inner` that no other node reads.
  bool pattern(ValueId id, Op outer, Op inner) const {
    const Node& node = from_[id];
    return node.op == outer && is_constant(node.inputs[1]) && from_[node.inputs[0]].op == inner && uses_[node.inputs[0]] == 1;
  }

  // (u + b) s = u s + b s
  std::optional<ValueId> scale_through_shift(ValueId id) {
    if (!pattern(id, Op::multiply, Op::add)) return std::nullopt;
    const Node &scale = from_[id], &shift = from_[scale.inputs[0]];
    if (!is_constant(shift.inputs[1]) || from_[shift.inputs[0]].shape != scale.shape) return std::nullopt;
    const ValueId s = map_[scale.inputs[1]];
    const ValueId scaled = build::multiply(to_, map_[shift.inputs[0]], s);
    return build::add(to_, scaled, build::multiply(to_, map_[shift.inputs[1]], s));
  }

  // (u + a) + b = u + (a + b)
  std::optional<ValueId> join_shifts(ValueId id) {
    if (!pattern(id, Op::add, Op::add)) return std::nullopt;
    const Node &outer = from_[id], &inner = from_[outer.inputs[0]];
    if (!is_constant(inner.inputs[1]) || from_[inner.inputs[0]].shape != outer.shape) return std::nullopt;
    return build::add(to_, map_[inner.inputs[0]], build::add(to_, map_[inner.inputs[1]], map_[outer.inputs[1]]));
  }

  // Whether a constant varies along `axis` of `shape` only (or not at all).
  static bool varies_along(const Shape& constant, const Shape& shape, std::int64_t axis) {
    if (constant.size() > shape.size()) return false;
    for (std::size_t i = 0; i < constant.size(); ++i) {
      const auto position = static_cast<std::int64_t>(shape.size() - constant.size() + i);
      if (constant[i] != 1 && position != axis) return false;
    }
    return true;
  }

  // conv(x, W) s = conv(x, W s), for one factor per output channel.
  std::optional<ValueId> scale_into_filter(ValueId id) {
    if (!pattern(id, Op::multiply, Op::conv)) return std::nullopt;
    const Node &scale = from_[id], &conv = from_[scale.inputs[0]];
    if (!is_constant(conv.inputs[1]) || conv.shape != scale.shape) return std::nullopt;
    const Tensor& factor = constant_value(from_, scale.inputs[1]);
    if (!varies_along(factor.shape, scale.shape, 1)) return std::nullopt;
    Tensor filter = constant_value(from_, conv.inputs[1]);
    for (std::int64_t o = 0; o < filter.shape[0]; ++o) {
      for (float& weight : filter.row(o)) weight *= factor.data[factor.size() == 1 ? 0 : o];
    }
    return append(to_, Op::conv, {map_[conv.inputs[0]], append_constant(to_, std::move(filter), from_[conv.inputs[1]].name)},
                  conv.attributes, conv.name);
  }

  // matmul(x, W) s = matmul(x, W s), for one factor per column.
  std::optional<ValueId> scale_into_weights(ValueId id) {
    if (!pattern(id, Op::multiply, Op::matmul)) return std::nullopt;
    const Node &scale = from_[id], &product = from_[scale.inputs[0]];
    if (!is_constant(product.inputs[1]) || product.shape != scale.shape) return std::nullopt;
    const Tensor& factor = constant_value(from_, scale.inputs[1]);
    Tensor weights = constant_value(from_, product.inputs[1]);
    if (weights.shape.size() != 2 || !varies_along(factor.shape, scale.shape, static_cast<std::int64_t>(scale.shape.size()) - 1))
      return std::nullopt;
    const bool transposed = std::get<MatmulAttributes>(product.attributes).transpose_b;
    for (std::int64_t i = 0; i < weights.size(); ++i) {
      const std::int64_t column = transposed ? i / weights.shape[1] : i % weights.shape[1];
      weights.data[i] *= factor.data[factor.size() == 1 ? 0 : column];
    }
    return append(to_, Op::matmul,
                  {map_[product.inputs[0]], append_constant(to_, std::move(weights), from_[product.inputs[1]].name)},
                  product.attributes, product.name);
  }

  const Graph& from_;
  Graph to_;
  std::vector<int> uses_;
  std::vector<ValueId> map_;
  std::vector<bool> live_;
  bool changed_ = false;
};

}  // namespace

Graph simplify(const Graph& graph) {
  Graph current = graph;
  for (int pass = 0; pass < kMostPasses; ++pass) {
    Rewriter rewriter(current);
    Graph next = rewriter.run();
    check(next);
    const bool changed = rewriter.changed();
    current = std::move(next);
    if (!changed) break;
  }
  return current;
}

}  // namespace probust
