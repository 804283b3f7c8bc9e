// SPDX-License-Identifier: MIT
#include "probust/onnx/log_probability.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "probust/onnx/order.h"
#include "probust/ops/build.h"

namespace probust::onnx {
namespace {

constexpr int kDeepest = 64;
constexpr std::int64_t kMostTerms = 1 << 16;  // limit for the number of classes times the number of groups
constexpr float kLogOfZero = -1e30F;          // exp of it is 0, and differences of it are finite

// log(e^a + e^b) = a + log(1 + e^(b - a)) for the larger a, so that near 0 the contribution of b is not lost to rounding.
ValueId log_add(Graph& g, ValueId a, ValueId b) {
  const ValueId larger = append(g, Op::maximum, {a, b}), smaller = append(g, Op::minimum, {a, b});
  return build::add(g, larger, append(g, Op::softplus, {build::subtract(g, smaller, larger)}));
}

// log sum e^x along an axis, which keeps extent 1: the largest x minus its log_softmax. Exact to rounding if both are near 0.
ValueId log_sum(Graph& g, ValueId x, std::int64_t axis) {
  const ValueId best = append(g, Op::top_index, {x}, AxisExtent{axis, 1});
  const ValueId shares = append(g, Op::log_softmax, {x}, AxisAttribute{axis});
  return build::subtract(g, append(g, Op::take, {x, best}, AxisAttribute{axis}),
                         append(g, Op::take, {shares, best}, AxisAttribute{axis}));
}

// log sigmoid(x) = -log(1 + e^-x)
ValueId log_sigmoid(Graph& g, ValueId x) { return build::negate(g, append(g, Op::softplus, {build::negate(g, x)})); }

// The sum of some of the entries of one Softmax over a vector.
struct Entries {
  ValueId softmax = kNoValue;
  std::set<std::int64_t> chosen;
};

class Logarithms {
 public:
  explicit Logarithms(Graph& graph) : graph_(graph) {}

  /// Whether a Softmax, a Sigmoid or an Exp was found.
  bool squashed() const { return squashed_; }
  /// Whether the logarithm of 1 - v was needed for a mean v.
  bool averaged() const { return averaged_; }

  /// log v
  ValueId of(ValueId id) {
    return remembered(logs_, id, [&] { return compute(id); });
  }
  /// log(1 - v)
  ValueId of_rest(ValueId id) {
    return remembered(rests_, id, [&] { return compute_rest(id); });
  }

 private:
  using Known = std::map<ValueId, ValueId>;

  template <class Compute>
  ValueId remembered(Known& known, ValueId id, Compute compute) {
    if (const auto found = known.find(id); found != known.end()) return found->second;
    if (depth_ >= kDeepest) return kNoValue;
    ++depth_;
    const ValueId result = compute();
    --depth_;
    return known[id] = result;
  }

  Node node(ValueId id) const { return graph_[id]; }  // a copy, because appending moves the nodes

  ValueId constant(ValueId id, double (*function)(double)) {
    Tensor values = constant_value(graph_, id);
    for (float& value : values.data) {
      value = static_cast<float>(function(value));
      if (!std::isfinite(value)) return kNoValue;
    }
    return append_constant(graph_, std::move(values));
  }

  // Applies an operator that only moves elements to another operand.
  ValueId moved(const Node& moves, ValueId operand) {
    return operand == kNoValue ? kNoValue : append(graph_, moves.op, {operand}, moves.attributes);
  }

  // Applies an operator to the logarithms of both operands.
  template <class Combine>
  ValueId both(ValueId a, ValueId b, Combine combine) {
    return a == kNoValue || b == kNoValue ? kNoValue : combine(a, b);
  }

  ValueId concatenated(const Node& concat, const std::function<ValueId(ValueId)>& function) {
    std::vector<ValueId> parts;
    for (const ValueId operand : concat.inputs) {
      parts.push_back(function(operand));
      if (parts.back() == kNoValue) return kNoValue;
    }
    return append(graph_, Op::concat, parts, concat.attributes);
  }

  std::optional<std::int64_t> summed_axis(const Node& sum) const {
    const auto& axes = std::get<AxesAttributes>(sum.attributes).axes;
    std::optional<std::int64_t> only;
    for (const std::int64_t axis : axes) {
      if (graph_[sum.inputs[0]].shape[axis] == 1) continue;
      if (only) return std::nullopt;
      only = axis;
    }
    return only ? only : axes.empty() ? std::nullopt : std::optional(axes[0]);
  }

  ValueId compute(ValueId id) {
    const Node n = node(id);
    const auto in = [&](std::size_t i) { return of(n.inputs[i]); };
    switch (n.op) {
      case Op::constant:
        return constant(id, [](double v) { return std::log(v); });
      case Op::sigmoid:
        squashed_ = true;
        return log_sigmoid(graph_, n.inputs[0]);
      case Op::softmax:
        squashed_ = true;
        return append(graph_, Op::log_softmax, {n.inputs[0]}, n.attributes);
      case Op::exp:
        squashed_ = true;
        return n.inputs[0];
      case Op::multiply:
        return both(in(0), in(1), [&](ValueId a, ValueId b) { return build::add(graph_, a, b); });
      case Op::divide:
        return both(in(0), in(1), [&](ValueId a, ValueId b) { return build::subtract(graph_, a, b); });
      case Op::add:
        return added(id);
      case Op::subtract:
        return uniform(graph_, n.inputs[0]) == 1 ? of_rest(n.inputs[1]) : kNoValue;
      case Op::sqrt:
        return scaled(in(0), 0.5);
      case Op::power:
        return uniform(graph_, n.inputs[1]) ? scaled(in(0), *uniform(graph_, n.inputs[1])) : kNoValue;
      case Op::maximum:
      case Op::minimum:
        return clipped(n);
      case Op::reduce_sum: {
        const auto axis = summed_axis(n);
        const ValueId terms = axis ? in(0) : kNoValue;
        return terms == kNoValue ? kNoValue : build::reshape(graph_, log_sum(graph_, terms, *axis), n.shape);
      }
      case Op::matmul:
        return grouped(n);
      case Op::concat:
        return concatenated(n, [this](ValueId part) { return of(part); });
      default:
        return moves_elements(n.op) ? moved(n, in(0)) : kNoValue;
    }
  }

  // log sum w v = log w_0 + log sum (w / w_0) v. The logarithm of the common factor is added last, and omitted if only the order
  // matters, because a difference of 1e-9 would be lost next to log 0.5.
  ValueId added(ValueId id) {
    std::vector<Term> terms;
    add_terms(id, 1, terms);
    ValueId total = kNoValue;
    for (const Term& term : terms) {
      if (!(term.weight > 0)) return kNoValue;
      const ValueId log = times(of(term.value), term.weight / terms[0].weight);
      if (log == kNoValue) return kNoValue;
      total = total == kNoValue ? log : log_add(graph_, total, log);
    }
    return times(total, terms[0].weight);
  }

  // log(w v), given log v
  ValueId times(ValueId log, double weight) {
    if (log == kNoValue || weight == 1) return log;
    return build::add(graph_, log, build::constant(graph_, static_cast<float>(std::log(weight))));
  }

  ValueId scaled(ValueId log, double factor) {
    return log == kNoValue ? kNoValue : build::multiply(graph_, log, build::constant(graph_, static_cast<float>(factor)));
  }

  // Probabilities are at least 0, so a lower limit of 0 changes nothing; other limits are replaced by their logarithms.
  ValueId clipped(const Node& n) {
    for (const std::size_t i : {0, 1}) {
      const auto limit = uniform(graph_, n.inputs[i]);
      if (limit && *limit <= 0) return n.op == Op::maximum ? of(n.inputs[1 - i]) : kNoValue;
    }
    return both(of(n.inputs[0]), of(n.inputs[1]), [&](ValueId a, ValueId b) { return append(graph_, n.op, {a, b}); });
  }

  // softmax(x) W for W >= 0, as for groups of classes and for mixtures: log sum_i e^(log p_i + log W_ik).
  ValueId grouped(const Node& n) {
    const auto& attributes = std::get<MatmulAttributes>(n.attributes);
    if (attributes.transpose_a || graph_[n.inputs[1]].op != Op::constant) return kNoValue;
    if (!is_whole_softmax(graph_, before_moves(graph_, n.inputs[0]))) return kNoValue;
    Tensor w = constant_value(graph_, n.inputs[1]);
    if (w.shape.size() != 2 || w.size() > kMostTerms) return kNoValue;
    for (float& value : w.data) {
      if (!(value >= 0)) return kNoValue;
      value = value > 0 ? std::log(value) : kLogOfZero;
    }
    ValueId weights = append_constant(graph_, w);
    if (attributes.transpose_b) weights = build::transpose(graph_, weights, {1, 0});
    const Shape shape = graph_[weights].shape;  // [classes, groups]
    if (has_empty_column(constant_value(graph_, n.inputs[1]), attributes.transpose_b)) return kNoValue;
    const ValueId logs = of(n.inputs[0]);
    if (logs == kNoValue) return kNoValue;
    const ValueId column = build::broadcast(graph_, build::reshape(graph_, logs, {shape[0], 1}), shape);
    return build::reshape(graph_, log_sum(graph_, build::add(graph_, column, weights), 0), n.shape);
  }

  static bool has_empty_column(const Tensor& w, bool transposed) {
    const std::int64_t rows = w.shape[0], columns = w.shape[1], groups = transposed ? rows : columns;
    std::vector<bool> used(static_cast<std::size_t>(groups), false);
    for (std::int64_t i = 0; i < rows * columns; ++i) {
      if (w.data[i] > 0) used[static_cast<std::size_t>(transposed ? i / columns : i % columns)] = true;
    }
    return std::find(used.begin(), used.end(), false) != used.end();
  }

  // log(1 - v), for v in 0..1.
  ValueId compute_rest(ValueId id) {
    if (const auto entries = softmax_entries(id)) return other_entries(*entries, id);
    const Node n = node(id);
    const auto rest = [&](std::size_t i) { return of_rest(n.inputs[i]); };
    switch (n.op) {
      case Op::constant:
        return constant(id, [](double v) { return v < 0 ? std::nan("") : std::log1p(-v); });
      case Op::sigmoid:
        squashed_ = true;
        return log_sigmoid(graph_, build::negate(graph_, n.inputs[0]));
      case Op::subtract:
        return uniform(graph_, n.inputs[0]) == 1 ? of(n.inputs[1]) : kNoValue;
      case Op::maximum:
      case Op::minimum:
        return both(rest(0), rest(1), [&](ValueId a, ValueId b) {
          return append(graph_, n.op == Op::maximum ? Op::minimum : Op::maximum, {a, b});
        });
      case Op::multiply:
        // 1 - a b = (1 - a) + a (1 - b), unless a factor is constant: it is then the weight of a sum
        if (!uniform(graph_, n.inputs[0]) && !uniform(graph_, n.inputs[1]))
          return both(rest(0), both(of(n.inputs[0]), rest(1), [&](ValueId a, ValueId b) { return build::add(graph_, a, b); }),
                      [&](ValueId a, ValueId b) { return log_add(graph_, a, b); });
        return rest_of_mean(id);
      case Op::divide:
        return uniform(graph_, n.inputs[1]) ? rest_of_mean(id) : rest_of_share(n);
      case Op::add:
      case Op::reduce_sum:
        return rest_of_mean(id);
      case Op::concat:
        return concatenated(n, [this](ValueId part) { return of_rest(part); });
      default:
        return moves_elements(n.op) ? moved(n, rest(0)) : kNoValue;
    }
  }

  // One entry of a Softmax over a vector, or the sum of several.
  std::optional<Entries> softmax_entries(ValueId id, int depth = 0) const {
    constexpr int kMostSums = 12;
    if (!is_single(graph_, id) || depth > kMostSums) return std::nullopt;
    id = before_moves(graph_, id);
    const Node& n = graph_[id];
    if (n.op == Op::slice || n.op == Op::gather) return picked_entries(id);
    if (n.op == Op::reduce_sum) return picked_entries(before_moves(graph_, n.inputs[0]));
    if (n.op != Op::add) return std::nullopt;
    auto left = softmax_entries(n.inputs[0], depth + 1);
    const auto right = softmax_entries(n.inputs[1], depth + 1);
    if (!left || !right || left->softmax != right->softmax) return std::nullopt;
    for (const std::int64_t i : right->chosen) {
      if (!left->chosen.insert(i).second) return std::nullopt;
    }
    return left;
  }

  std::optional<Entries> picked_entries(ValueId id) const {
    const Node& n = graph_[id];
    Entries entries;
    if (n.op == Op::slice) {
      const auto& slice = std::get<SliceAttributes>(n.attributes);
      entries.softmax = before_moves(graph_, n.inputs[0]);
      for (std::size_t axis = 0; axis < slice.size.size(); ++axis) {
        if (graph_[n.inputs[0]].shape[axis] == 1) continue;
        for (std::int64_t i = 0; i < slice.size[axis]; ++i) entries.chosen.insert(slice.start[axis] + i * slice.step[axis]);
      }
    } else if (n.op == Op::gather) {
      const auto& gather = std::get<GatherAttributes>(n.attributes);
      entries.softmax = before_moves(graph_, n.inputs[0]);
      entries.chosen = {gather.indices.begin(), gather.indices.end()};
      if (entries.chosen.size() != gather.indices.size()) return std::nullopt;
    } else {
      return std::nullopt;
    }
    const bool whole = is_whole_softmax(graph_, entries.softmax) && graph_[entries.softmax].op == Op::softmax;
    return whole && !entries.chosen.empty() ? std::optional(entries) : std::nullopt;
  }

  ValueId other_entries(const Entries& entries, ValueId id) {
    const Shape shape = graph_[id].shape;  // a copy, because appending moves the nodes
    squashed_ = true;
    const std::int64_t classes = element_count(graph_[entries.softmax].shape);
    GatherAttributes others{0, {}, classes};
    for (std::int64_t i = 0; i < classes; ++i) {
      if (entries.chosen.count(i) == 0) others.indices.push_back(i);
    }
    if (others.indices.empty()) return kNoValue;
    const ValueId logs = build::reshape(graph_, of(entries.softmax), {classes});
    return build::reshape(graph_, log_sum(graph_, append(graph_, Op::gather, {logs}, others), 0), shape);
  }

  // A term of a sum: a value times a weight.
  struct Term {
    ValueId value;
    double weight;
  };

  void add_terms(ValueId id, double weight, std::vector<Term>& terms) const {
    const Node& n = graph_[id];
    if (n.op == Op::add && terms.size() < kDeepest) {
      add_terms(n.inputs[0], weight, terms);
      return add_terms(n.inputs[1], weight, terms);
    }
    if (n.op == Op::multiply) {
      for (const std::size_t i : {0, 1}) {
        if (const auto factor = uniform(graph_, n.inputs[i])) return add_terms(n.inputs[1 - i], weight * *factor, terms);
      }
    }
    if (n.op == Op::divide) {
      if (const auto divisor = uniform(graph_, n.inputs[1])) return add_terms(n.inputs[0], weight / *divisor, terms);
    }
    terms.push_back({id, weight});
  }

  // 1 - sum w v = (1 - sum w) + sum w (1 - v), for weights with a sum of at most 1.
  ValueId rest_of_mean(ValueId id) {
    constexpr double kRounding = 1e-5;
    std::vector<Term> terms;
    add_terms(id, 1, terms);
    averaged_ = true;
    double left = 1;
    ValueId total = kNoValue;
    for (const Term& term : terms) {
      if (!(term.weight > 0)) return kNoValue;
      const ValueId rest = rest_of_term(term, left);
      if (rest == kNoValue) return kNoValue;
      total = total == kNoValue ? rest : log_add(graph_, total, rest);
    }
    if (left < -kRounding || total == kNoValue) return kNoValue;
    if (left > kRounding) total = log_add(graph_, total, build::constant(graph_, static_cast<float>(std::log(left))));
    return total;
  }

  // log of w (1 - v), or of the sum of w (1 - v_i) if the term is itself a sum of v_i. Subtracts the weights used from `left`.
  ValueId rest_of_term(const Term& term, double& left) {
    const Node n = node(term.value);
    ValueId rest = kNoValue;
    if (n.op == Op::reduce_sum) {
      const auto axis = summed_axis(n);
      if (!axis) return kNoValue;
      left -= term.weight * static_cast<double>(element_count(graph_[n.inputs[0]].shape)) /
              static_cast<double>(element_count(n.shape));
      const ValueId terms = of_rest(n.inputs[0]);
      if (terms != kNoValue) rest = build::reshape(graph_, log_sum(graph_, terms, *axis), n.shape);
    } else {
      left -= term.weight;
      if (n.op != Op::add) rest = of_rest(term.value);
    }
    return times(rest, term.weight);
  }

  // 1 - a / (a + b) = b / (a + b)
  ValueId rest_of_share(const Node& n) {
    const Node whole = node(before_moves(graph_, n.inputs[1]));
    if (whole.op != Op::add) return kNoValue;
    const ValueId part = before_moves(graph_, n.inputs[0]);
    for (const std::size_t i : {0, 1}) {
      if (before_moves(graph_, whole.inputs[i]) != part) continue;
      const ValueId other = of(whole.inputs[1 - i]), all = of(n.inputs[1]);
      return both(other, all, [&](ValueId a, ValueId b) { return build::subtract(graph_, a, b); });
    }
    return kNoValue;
  }

  Graph& graph_;
  bool squashed_ = false, averaged_ = false;
  int depth_ = 0;
  Known logs_, rests_;
};

// Rewrites logarithms of probabilities that occur in sums or with constant factors.
class FiniteLogarithms {
 public:
  explicit FiniteLogarithms(Graph& graph) : graph_(graph) {}

  ValueId of(ValueId id) {
    if (const auto found = known_.find(id); found != known_.end()) return found->second;
    if (depth_ >= kDeepest) return id;
    ++depth_;
    const ValueId result = compute(id);
    --depth_;
    return known_[id] = result;
  }

 private:
  bool is_constant(ValueId id) const { return graph_[id].extent == Extent::constant; }

  ValueId compute(ValueId id) {
    const Node n = graph_[id];  // a copy, because appending moves the nodes
    switch (n.op) {
      case Op::log: {
        const ValueId log = log_of_probability(graph_, n.inputs[0]);
        return log == kNoValue ? id : log;
      }
      case Op::multiply:
      case Op::divide:
        if (!is_constant(n.inputs[1]) && (n.op == Op::divide || !is_constant(n.inputs[0]))) return id;
        [[fallthrough]];
      case Op::add:
      case Op::subtract:
      case Op::negate:
        return on_operands(n, id);
      default:
        return moves_elements(n.op) ? on_operands(n, id) : id;
    }
  }

  ValueId on_operands(const Node& n, ValueId id) {
    std::vector<ValueId> inputs;
    for (const ValueId operand : n.inputs) inputs.push_back(of(operand));
    return inputs == n.inputs ? id : append(graph_, n.op, std::move(inputs), n.attributes);
  }

  Graph& graph_;
  int depth_ = 0;
  std::map<ValueId, ValueId> known_;
};

}  // namespace

ValueId log_of_probability(Graph& graph, ValueId v) {
  Logarithms logarithms(graph);
  const ValueId log = logarithms.of(v);
  return logarithms.squashed() ? log : kNoValue;
}

LogOdds log_odds(Graph& graph, ValueId v) {
  Logarithms logarithms(graph);
  const ValueId log = logarithms.of(v);
  const ValueId rest = log == kNoValue ? kNoValue : logarithms.of_rest(v);
  if (rest == kNoValue || !logarithms.squashed()) return {};
  return {build::subtract(graph, log, rest), logarithms.averaged()};
}

bool levels_off(const Graph& graph, ValueId v) {
  std::set<ValueId> seen;
  std::vector<ValueId> open{v};
  const auto read = [&](ValueId operand) {
    if (seen.insert(operand).second) open.push_back(operand);
  };
  while (!open.empty()) {
    const Node& node = graph[open.back()];
    open.pop_back();
    switch (node.op) {
      case Op::sigmoid:
      case Op::softmax:
      case Op::tanh:
      case Op::erf:
        return true;
      case Op::add:
      case Op::subtract:
      case Op::multiply:
      case Op::divide:
      case Op::negate:
      case Op::maximum:
      case Op::minimum:
      case Op::reduce_sum:
      case Op::concat:
        std::for_each(node.inputs.begin(), node.inputs.end(), read);
        break;
      case Op::matmul:  // expected costs of the classes
        if (is_whole_softmax(graph, before_moves(graph, node.inputs[0]))) return true;
        break;
      default:  // also the entry with the largest value
        if (moves_elements(node.op) || node.op == Op::take) read(node.inputs[0]);
        break;
    }
  }
  return false;
}

ValueId with_finite_logs(Graph& graph, ValueId v) { return FiniteLogarithms(graph).of(v); }

}  // namespace probust::onnx
