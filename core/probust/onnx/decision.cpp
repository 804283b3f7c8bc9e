// SPDX-License-Identifier: MIT
#include "probust/onnx/decision.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "probust/base/error.h"
#include "probust/base/text.h"
#include "probust/onnx/log_probability.h"
#include "probust/onnx/order.h"
#include "probust/onnx/threshold.h"
#include "probust/onnx/value_range.h"
#include "probust/ops/build.h"

namespace probust::onnx {
namespace {

constexpr std::string_view kLeftOut = "the final ", kMarginsNeedLogits = " is left out, because margins need logits";

// A note for decisions whose gradients vanish although the class can still change.
constexpr std::string_view kLevel = "; its gradients vanish at some inputs, so prefer auto or mc to taylor";

std::string left_out_note(const std::string& what) { return std::string(kLeftOut).append(what).append(kMarginsNeedLogits); }

// The name of the innermost operator that was left out, if any.
std::string last_left_out(const Deciding& deciding) {
  for (auto note = deciding.notes.rbegin(); note != deciding.notes.rend(); ++note) {
    if (note->starts_with(kLeftOut) && note->ends_with(kMarginsNeedLogits))
      return note->substr(kLeftOut.size(), note->size() - kLeftOut.size() - kMarginsNeedLogits.size());
  }
  return "";
}

// The value before operators that keep the order of a vector. Rounding and clipping are skipped only on probabilities: on logits,
// they create ties, which are part of the model.
ValueId before_monotone(const Graph& graph, ValueId id, Deciding& deciding) {
  ValueId at = before_moves(graph, id), kept = at;
  std::vector<std::string> passed;
  bool rounded = false;
  for (Step step = keeps_order(graph, at); step.operand != kNoValue; step = keeps_order(graph, at)) {
    if (element_count(graph[step.operand].shape) != element_count(graph[id].shape)) break;
    const Op op = graph[at].op;
    if (!onnx_name(op).empty()) passed.push_back(left_out_note(onnx_name(op)));
    rounded = (rounded || !step.strict) && !saturates(op);
    at = before_moves(graph, step.operand);
    if (rounded) continue;
    kept = at;
    deciding.classifies = deciding.classifies || op == Op::softmax || op == Op::log_softmax || op == Op::sigmoid;
    for (const std::string& note : passed) {
      if (std::find(deciding.notes.begin(), deciding.notes.end(), note) == deciding.notes.end()) deciding.notes.push_back(note);
    }
    passed.clear();
  }
  return kept;
}

std::string quoted(const std::string& name) { return "'" + name + "'"; }

Deciding deciding_by(Graph& graph, const Threshold& own, const Threshold& back, const std::string& name) {
  Deciding deciding;
  deciding.threshold = own.at;
  deciding.rule = "class 1 if " + quoted(name) + " > " + shortest_text(own.at);
  if (!back.before.empty()) {
    deciding.rule += ", compared before the " + back.before;
    deciding.notes.push_back("the final " + back.before +
                             " of one number is left out: the margin of the two classes is the number before it");
  }
  if (back.odds) deciding.rule += ", compared as log-odds";
  if (back.level || levels_off(graph, back.value)) deciding.rule += kLevel;
  deciding.classifies = back.odds || back.before == "Sigmoid";
  deciding.logits = two_logits(graph, back);
  return deciding;
}

// If a number is not a function of a single Sigmoid, treats it as a probability and uses its log-odds, if there are any.
Threshold unsaturated(Graph& graph, const Threshold& own, const Threshold& back) {
  if (!back.before.empty()) return back;
  return odds_threshold(graph, own).value_or(back);
}

// The operand of a final ArgMax, or the value itself if there is none.
ValueId before_argmax(const Graph& graph, ValueId id, Deciding& deciding) {
  const ValueId compared = compared_by_argmax(graph, id);
  if (compared == kNoValue) return id;
  deciding.classifies = true;
  deciding.notes.emplace_back("the final ArgMax is left out, because margins need the values that it compares");
  return compared;
}

// Recognises p and 1 - p in either order (class 1 wins if the second is larger), a number and a constant, and s and -s.
std::optional<Threshold> pair_threshold(const Graph& graph, ValueId id) {
  const Node& node = graph[id];
  if (node.op != Op::concat || node.inputs.size() != 2 || !is_single(graph, node.inputs[0])) return std::nullopt;
  const ValueId first = before_moves(graph, node.inputs[0]), second = before_moves(graph, node.inputs[1]);
  // If a = c - b, then b > a if b > c / 2.
  const auto complement = [&](ValueId a, ValueId b) -> std::optional<double> {
    const Node& difference = graph[a];
    if (difference.op == Op::negate && before_moves(graph, difference.inputs[0]) == b) return 0;
    if (difference.op != Op::subtract || before_moves(graph, difference.inputs[1]) != b) return std::nullopt;
    return uniform(graph, difference.inputs[0]);
  };
  if (const auto c = complement(first, second)) return Threshold{second, *c / 2, true, {}};
  if (const auto c = complement(second, first)) return Threshold{first, *c / 2, false, {}};
  if (const auto c = uniform(graph, first)) return Threshold{second, *c, true, {}};
  if (const auto c = uniform(graph, second)) return Threshold{first, *c, false, {}};
  return std::nullopt;
}

// Whether a number is the output of a layer or of a tree ensemble, or a sum of such outputs.
bool is_from_layer(const Graph& graph, ValueId id, int depth = 0) {
  constexpr int kMostSums = 8;
  const Node& node = graph[before_moves(graph, id)];
  switch (node.op) {
    case Op::matmul:
    case Op::conv:
    case Op::tree_ensemble:
    case Op::constant:
      return true;
    case Op::add:
    case Op::subtract:
    case Op::reduce_sum:
      return depth < kMostSums && std::all_of(node.inputs.begin(), node.inputs.end(),
                                              [&](ValueId operand) { return is_from_layer(graph, operand, depth + 1); });
    default:
      return false;
  }
}

// Whether a decision between two values p and 1 - p can be made on the operand of one Sigmoid.
bool decide_by_pair(Graph& graph, ValueId id, Deciding& deciding) {
  const std::optional<Threshold> pair = pair_threshold(graph, id);
  if (!pair) return false;
  Threshold back = *pair;
  go_back(graph, back);
  if (!std::isfinite(back.at) || back.before.empty()) return false;
  deciding.classifies = deciding.classifies || back.before == "Sigmoid";
  deciding.notes.push_back("the final " + back.before + " of two classes is left out: their margin is the number before it");
  deciding.rule += ", compared before the " + back.before;
  deciding.logits = two_logits(graph, back);
  return true;
}

}  // namespace

bool is_vector(const Shape& shape) {
  return std::count_if(shape.begin(), shape.end(), [](std::int64_t extent) { return extent != 1; }) <= 1 &&
         element_count(shape) >= 1;
}

bool is_copy_of_input(const Graph& graph, ValueId id) {
  while (true) {
    const Node& node = graph[id];
    switch (node.op) {
      case Op::input:
        return true;
      case Op::reshape:
      case Op::transpose:
      case Op::slice:
      case Op::negate:
      case Op::broadcast:
      case Op::gather:
        id = node.inputs[0];
        break;
      case Op::add:
      case Op::subtract:
      case Op::multiply:
      case Op::divide:
        if (graph[node.inputs[1]].extent == Extent::constant) {
          id = node.inputs[0];
        } else if (graph[node.inputs[0]].extent == Extent::constant) {
          id = node.inputs[1];
        } else {
          return false;
        }
        break;
      case Op::select:  // an imputer
      case Op::concat: {
        const auto begin = node.inputs.begin() + (node.op == Op::select ? 1 : 0);
        const auto is_constant = [&](ValueId operand) { return graph[operand].extent == Extent::constant; };
        return !std::all_of(begin, node.inputs.end(), is_constant) && std::all_of(begin, node.inputs.end(), [&](ValueId operand) {
          return is_constant(operand) || is_copy_of_input(graph, operand);
        });
      }
      default:
        return false;
    }
  }
}

bool is_largest_value(const Graph& graph, ValueId id) {
  const Node& node = graph[before_moves(graph, id)];
  if (!is_single(graph, id) || (node.op != Op::take && node.op != Op::max_pool)) return false;
  return is_whole_softmax(graph, before_moves(graph, node.inputs[0]));
}

bool holds_sums_of_squares(const Graph& graph, ValueId id) {
  id = before_moves(graph, id);
  if (graph[id].op == Op::sqrt) id = before_moves(graph, graph[id].inputs[0]);
  if (graph[id].op != Op::reduce_sum) return false;
  const Node& term = graph[before_moves(graph, graph[id].inputs[0])];
  return term.op == Op::multiply && term.inputs[0] == term.inputs[1];
}

ValueId compared_by_argmax(const Graph& graph, ValueId id) {
  id = before_moves(graph, id);
  // Labels that do not start at 0, such as ArgMax + 1 or 2 ArgMax - 1.
  while (graph[id].op == Op::add || graph[id].op == Op::subtract || graph[id].op == Op::multiply) {
    const Step step = keeps_order(graph, id);
    if (step.operand == kNoValue) break;
    id = before_moves(graph, step.operand);
  }
  if (graph[id].op == Op::take && has_distinct_values(graph, graph[id].inputs[0])) id = before_moves(graph, graph[id].inputs[1]);
  if (graph[id].op != Op::top_index || element_count(graph[id].shape) != 1) return kNoValue;
  const ValueId compared = graph[id].inputs[0];
  const bool whole =
      graph[compared].shape[std::get<AxisExtent>(graph[id].attributes).axis] == element_count(graph[compared].shape);
  return whole && element_count(graph[compared].shape) > 1 ? compared : kNoValue;
}

bool ends_like_a_classifier(const Graph& graph, ValueId id) {
  return compared_by_argmax(graph, id) != kNoValue || is_whole_softmax(graph, before_moves(graph, id));
}

Deciding before_softmax(const Graph& graph, ValueId id) {
  Deciding deciding;
  deciding.logits = before_argmax(graph, id, deciding);
  const ValueId last = before_moves(graph, deciding.logits);
  if (is_whole_softmax(graph, last)) {
    deciding.notes.push_back(left_out_note(onnx_name(graph[last].op)));
    deciding.logits = graph[last].inputs[0];
    deciding.classifies = true;
  }
  return deciding;
}

ValueId before_ordering(const Graph& graph, ValueId id) {
  Deciding ignored;
  return before_monotone(graph, before_argmax(graph, id, ignored), ignored);
}

Deciding decide_by_largest(Graph& graph, ValueId id, const std::string& name) {
  Deciding deciding;
  id = before_argmax(graph, id, deciding);
  const std::int64_t classes = element_count(graph[id].shape);
  const ValueId at = before_monotone(graph, id, deciding);
  deciding.rule = "the largest of " + std::to_string(classes) + " values of " + quoted(name);
  const std::string last = last_left_out(deciding);
  if (!last.empty()) deciding.rule += ", compared before the " + last;
  deciding.logits = at;
  if (classes == 2 && decide_by_pair(graph, at, deciding)) return deciding;
  if (const ValueId logarithms = log_of_probability(graph, at); logarithms != kNoValue) {
    deciding.rule += ", compared as logarithms";
    deciding.classifies = true;
    Deciding ignored;
    deciding.logits = before_monotone(graph, logarithms, ignored);
  } else {
    deciding.logits = with_finite_logs(graph, at);
    if (levels_off(graph, at)) deciding.rule += kLevel;
  }
  return deciding;
}

bool shows_range(const Graph& graph, ValueId id) {
  const Range range = Ranges(graph).of(id);
  Threshold ignored;
  return std::isfinite(range.low) || std::isfinite(range.high) || behind_sigmoid(graph, id, ignored) != kNoValue;
}

std::optional<Deciding> decide_by_threshold(Graph& graph, ValueId id, const std::string& name,
                                            const std::optional<double>& threshold, bool looks_like_probability, bool integer,
                                            const std::function<bool()>& crosses_zero) {
  // A probability from a Softmax over two classes is replaced by their logits.
  ValueId softmax = kNoValue;
  bool second = true;
  if (!threshold && is_half_of_softmax(graph, before_moves(graph, id), softmax, second)) {
    Deciding deciding = decide_by_largest(graph, softmax, name);
    deciding.rule = "class 1 if " + quoted(name) + " > 0.5, compared before the Softmax";
    if (!second) {
      const ValueId both = build::reshape(graph, deciding.logits, {2});
      deciding.logits = append(graph, Op::gather, {both}, GatherAttributes{0, {1, 0}, 2});
    }
    return deciding;
  }
  Threshold own{id, threshold.value_or(0), true, {}};
  if (threshold) {
    Threshold back = own;
    go_back(graph, back);
    if (!std::isfinite(back.at)) {
      const Range range = Ranges(graph).of(id);
      throw Error{ErrorCode::usage, option("threshold"),
                  "is " + shortest_text(*threshold) + ", which " + quoted(name) + " never crosses: it stays in " +
                      shortest_text(range.low) + ".." + shortest_text(range.high),
                  "give a value in that range"};
    }
    return deciding_by(graph, own, unsaturated(graph, own, back), name);
  }
  const Range range = Ranges(graph).of(id);
  const bool bounded = std::isfinite(range.low) && std::isfinite(range.high);
  const bool unknown = !std::isfinite(range.low) && !std::isfinite(range.high);
  Threshold back;
  if (range.within(0, 1) || (unknown && looks_like_probability) || log_odds(graph, id).value != kNoValue) {
    own.at = 0.5;
  } else if (range.low == 0 && range.high == 100) {
    own.at = 50;
  } else if (range.low < 0 && range.high > 0) {
    own.at = 0;
  } else if (behind_sigmoid(graph, id, back) != kNoValue) {  // the logarithm of a probability, or a multiple of it
    Deciding deciding = deciding_by(graph, own, back, name);
    deciding.threshold.reset();
    deciding.rule = "class 1 if the Sigmoid before " + quoted(name) + " > 0.5, compared before that Sigmoid";
    return deciding;
  } else if (bounded && range.low == std::round(range.low) && range.high == range.low + 1) {  // a label of two values
    own.at = (range.low + range.high) / 2;
  } else if (range.low != 0 || bounded) {  // only an unbounded number that is never negative is compared with 0
    return std::nullopt;
  }
  back = own;
  go_back(graph, back);
  if (!std::isfinite(back.at) || (integer && !back.compared)) return std::nullopt;  // a label of more than two values
  // Distances, ratios and entropies are never negative, so they have no threshold.
  if (own.at == 0 && !back.compared && !is_from_layer(graph, back.value) && !crosses_zero()) return std::nullopt;
  return deciding_by(graph, own, unsaturated(graph, own, back), name);
}

}  // namespace probust::onnx
