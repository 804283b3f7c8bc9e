// SPDX-License-Identifier: MIT
#include "probust/onnx/threshold.h"

#include <algorithm>
#include <cmath>

#include "probust/onnx/log_probability.h"
#include "probust/onnx/order.h"
#include "probust/onnx/value_range.h"
#include "probust/ops/build.h"

namespace probust::onnx {
namespace {

double logit(double p) { return std::log(p) - std::log1p(-p); }

// The threshold of x that corresponds to the threshold `at` of f(x), for a strictly increasing f with range (low, high) and
// inverse `inverse`.
template <class Inverse>
double inverted(double at, double low, double high, Inverse inverse) {
  if (at < low) return -HUGE_VAL;
  if (at >= high) return HUGE_VAL;
  return inverse(at);
}

void flip(Threshold& t) { t.above = !t.above; }

// Whether the threshold separates two values.
bool splits(const Threshold& t, double low, double high) {
  return t.above ? low <= t.at && t.at < high : low < t.at && t.at <= high;
}

// An infinite threshold: all values are above it, or none.
double beyond(const Threshold& t, double low) { return t.at > low ? HUGE_VAL : -HUGE_VAL; }

// Moves the threshold through a comparison of x with a constant, whose value is 1 if it holds, else 0.
bool through_comparison(const Graph& graph, Threshold& t) {
  const Node& node = graph[t.value];
  const auto left = uniform(graph, node.inputs[0]), right = uniform(graph, node.inputs[1]);
  if (left.has_value() == right.has_value() || !splits(t, 0, 1)) return false;
  // less: a < b. If b is constant, it holds for small a.
  const bool holds_above = left.has_value() == (node.op == Op::less);
  if (!holds_above) flip(t);
  t.at = left ? *left : *right;
  t.value = node.inputs[left ? 1 : 0];
  t.compared = true;
  return true;
}

// Moves the threshold to the operand of one operator. Returns false if the value is not a monotone function of one number.
bool through_unary(const Graph& graph, Threshold& t) {
  const Node& node = graph[t.value];
  double at = 0;
  switch (node.op) {
    case Op::negate:
      at = -t.at;
      flip(t);
      break;
    case Op::sigmoid:
      at = inverted(t.at, 0, 1, logit);
      break;
    case Op::tanh:
      at = inverted(t.at, -1, 1, [](double y) { return std::atanh(y); });
      break;
    case Op::exp:
      at = inverted(t.at, 0, HUGE_VAL, [](double y) { return std::log(y); });
      break;
    case Op::softplus:
      at = inverted(t.at, 0, HUGE_VAL, [](double y) { return y > 30 ? y : std::log(std::expm1(y)); });
      break;
    case Op::log:
      at = std::exp(t.at);
      break;
    case Op::sqrt:
      at = t.at < 0 ? -HUGE_VAL : t.at * t.at;
      break;
    case Op::relu:
      at = splits(t, 0, HUGE_VAL) ? t.at : -HUGE_VAL;
      break;
    case Op::step:
      at = splits(t, 0, 1) ? 0 : beyond(t, 0);
      t.compared = true;
      break;
    case Op::sign:
      at = splits(t, -1, 1) ? 0 : beyond(t, -1);
      t.compared = true;
      break;
    case Op::erf:
      if (t.at != 0) return false;
      break;
    case Op::divide: {  // a Softsign, x / (1 + |x|)
      if (softsign_operand(graph, t.value) == kNoValue) return false;
      at = inverted(t.at, -1, 1, [](double y) { return y / (1 - std::fabs(y)); });
      break;
    }
    case Op::floor:
      at = t.above ? std::floor(t.at) + 1 : std::ceil(t.at);
      break;
    case Op::round:
      at = t.above ? std::floor(t.at) + 0.5 : std::ceil(t.at) - 0.5;
      break;
    case Op::reciprocal:
      if (Ranges(graph).of(node.inputs[0]).low < 0 || t.at < 0) return false;
      at = t.at == 0 ? HUGE_VAL : 1 / t.at;
      flip(t);
      break;
    default:
      return false;
  }
  if (!onnx_name(node.op).empty()) t.before = onnx_name(node.op);
  t.at = at;
  t.value = node.inputs[0];
  return true;
}

bool through_binary(const Graph& graph, Threshold& t) {
  const Node& node = graph[t.value];
  if (node.inputs.size() != 2) return false;
  const auto left = uniform(graph, node.inputs[0]), right = uniform(graph, node.inputs[1]);
  const std::optional<double> c = right ? right : left;
  if (!c || (left && right)) return false;
  const std::size_t operand = right ? 0 : 1;
  switch (node.op) {
    case Op::add:
      t.at -= *c;
      break;
    case Op::subtract:
      if (right) {
        t.at += *c;
      } else {
        t.at = *c - t.at;
        flip(t);
      }
      break;
    case Op::multiply:
      if (*c == 0) return false;
      t.at /= *c;
      if (*c < 0) flip(t);
      break;
    case Op::divide:
      if (right) {
        if (*c == 0) return false;
        t.at *= *c;
        if (*c < 0) flip(t);
      } else {  // c / x, for positive c and x
        if (!(*c > 0) || Ranges(graph).of(node.inputs[1]).low < 0 || t.at < 0) return false;
        t.at = t.at == 0 ? HUGE_VAL : *c / t.at;
        flip(t);
      }
      break;
    case Op::maximum:
      if (t.above ? t.at < *c : t.at <= *c) t.at = -HUGE_VAL;
      break;
    case Op::minimum:
      if (t.above ? t.at >= *c : t.at > *c) t.at = HUGE_VAL;
      break;
    case Op::power:
      if (!right || !(*c > 0) || Ranges(graph).of(node.inputs[0]).low < 0) return false;
      t.at = t.at < 0 ? -HUGE_VAL : std::pow(t.at, 1 / *c);
      break;
    case Op::less:
    case Op::greater_equal:
      return through_comparison(graph, t);
    default:
      return false;
  }
  t.value = node.inputs[operand];
  return true;
}

// Moves the threshold through select(x, b, c), which is b if x > 0, else c, for constants b and c.
bool through_select(const Graph& graph, Threshold& t) {
  const Node& node = graph[t.value];
  if (node.op != Op::select) return false;
  const auto yes = uniform(graph, node.inputs[1]), no = uniform(graph, node.inputs[2]);
  if (!yes || !no || (*yes > t.at) == (*no > t.at)) return false;
  if (*yes < *no) flip(t);
  t.compared = true;
  t.value = before_moves(graph, node.inputs[0]);
  const Op op = graph[t.value].op;
  t.at = op == Op::less || op == Op::greater_equal || op == Op::step ? 0.5 : 0;  // between the two values of a comparison
  return true;
}

bool go_back_once(const Graph& graph, Threshold& t) {
  return std::isfinite(t.at) && (through_unary(graph, t) || through_binary(graph, t) || through_select(graph, t));
}

}  // namespace

// Recognises softmax([a, b])[1] = sigmoid(b - a), and both entries of a Softmax over two classes.
bool is_half_of_softmax(const Graph& graph, ValueId id, ValueId& softmax, bool& second) {
  const Node& node = graph[id];
  std::int64_t position = -1;
  if (node.op == Op::slice) {
    const auto& slice = std::get<SliceAttributes>(node.attributes);
    position = *std::max_element(slice.start.begin(), slice.start.end());
  } else if (node.op == Op::gather) {
    const auto& gather = std::get<GatherAttributes>(node.attributes);
    if (gather.indices.size() == 1) position = gather.indices[0];
  }
  if (position < 0 || position > 1) return false;
  softmax = before_moves(graph, node.inputs[0]);
  second = position == 1;
  return element_count(graph[softmax].shape) == 2 && graph[softmax].op == Op::softmax && is_whole_softmax(graph, softmax);
}

void go_back(const Graph& graph, Threshold& t) {
  do t.value = before_moves(graph, t.value);
  while (go_back_once(graph, t));
}

std::optional<Threshold> odds_threshold(Graph& graph, const Threshold& own) {
  Threshold t = own;
  do {
    t.value = before_moves(graph, t.value);
    if (!(t.at > 0 && t.at < 1)) continue;
    const LogOdds odds = log_odds(graph, t.value);
    if (odds.value == kNoValue) continue;
    t.value = odds.value;
    t.at = logit(t.at);
    t.odds = true;
    t.level = odds.level;
    return t;
  } while (go_back_once(graph, t));
  return std::nullopt;
}

// The operand of a Sigmoid, if the number is a monotone function of that Sigmoid alone; otherwise kNoValue.
ValueId behind_sigmoid(const Graph& graph, ValueId id, Threshold& found) {
  // The thresholds along the path do not matter, so clipping must not end the search: the threshold is replaced by the middle of
  // the range.
  Threshold t{id, 0, true, {}};
  while (true) {
    t.value = before_moves(graph, t.value);
    const Node& node = graph[t.value];
    if (node.op == Op::sigmoid) {
      found = {node.inputs[0], 0, t.above, "Sigmoid"};
      return t.value;
    }
    if (node.op == Op::less || node.op == Op::greater_equal || node.op == Op::step || node.op == Op::sign ||
        node.op == Op::select)
      return kNoValue;  // a comparison has its own threshold
    const Range range = Ranges(graph).of(t.value);
    t.at = std::isfinite(range.low) && std::isfinite(range.high) ? (range.low + range.high) / 2 : 0;
    if (!through_unary(graph, t) && !through_binary(graph, t)) return kNoValue;
  }
}

// The logits [0, s - at], or [0, at - s] if class 1 is below.
ValueId two_logits(Graph& graph, const Threshold& t) {
  ValueId score = build::reshape(graph, t.value, {1});
  if (!t.above) score = build::negate(graph, score);
  const double shift = t.above ? t.at : -t.at;
  if (shift != 0) score = build::subtract(graph, score, build::constant(graph, static_cast<float>(shift)));
  return append(graph, Op::concat, {append_constant(graph, Tensor({1})), score}, AxisAttribute{0});
}

}  // namespace probust::onnx
