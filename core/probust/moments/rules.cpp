// SPDX-License-Identifier: MIT
// Moments of each operator's value for independent Gaussian operands with mean m and variance v (s = v^(1/2)). Operators
// that are linear in one random operand apply to its mean and, with squared weights, to its variance. Bilinear
// operators: the variance of a product of independent variables. Rectifiers: exact (Frey and Hinton, "Variational
// learning in nonlinear Gaussian belief networks", 1999). Maxima of several values: Clark, "The greatest of a finite set
// of random variables" (1961), eqs. 2-4, for one value after the other. Smooth functions: five points of Gauss-Hermite
// quadrature. Functions with a singularity and softmax: the first-order expansion at the mean.
#include "probust/moments/rules.h"

#include <algorithm>
#include <array>
#include <utility>

#include "probust/base/error.h"
#include "probust/ops/build.h"
#include "probust/ops/families.h"
#include "probust/ops/op.h"

namespace probust {
namespace {

using build::add;
using build::constant;
using build::multiply;
using build::subtract;
using Operands = std::span<const Moments>;

ValueId square(Graph& g, ValueId x) { return multiply(g, x, x); }

ValueId zeros(Graph& g, const Shape& shape) { return build::broadcast(g, constant(g, 0), shape); }

ValueId variance_or_zeros(Graph& g, const Moments& x) { return x.random() ? x.variance : zeros(g, Shape(g[x.mean].shape)); }

ValueId like(Graph& g, const Node& node, std::vector<ValueId> operands) {
  return append(g, node.op, std::move(operands), node.attributes, node.name);
}

// Operators that sum or move the elements of one operand; each element has weight one.
Moments elementwise_linear(Graph& g, const Node& node, Operands in) {
  return {like(g, node, {in[0].mean}), like(g, node, {in[0].variance})};
}

Moments negate(Graph& g, const Node& node, Operands in) { return {like(g, node, {in[0].mean}), in[0].variance}; }

Moments concat(Graph& g, const Node& node, Operands in) {
  std::vector<ValueId> means, variances;
  for (const Moments& operand : in) {
    means.push_back(operand.mean);
    variances.push_back(variance_or_zeros(g, operand));
  }
  return {like(g, node, means), like(g, node, variances)};
}

// a + b and a - b.
Moments sum(Graph& g, const Node& node, Operands in) {
  const ValueId mean = like(g, node, {in[0].mean, in[1].mean});
  if (in[0].random() && in[1].random()) return {mean, add(g, in[0].variance, in[1].variance)};
  return {mean, build::broadcast(g, in[0].random() ? in[0].variance : in[1].variance, Shape(node.shape))};
}

Moments squared(Graph& g, ValueId m, ValueId v) {
  const ValueId twice = multiply(g, constant(g, 2), v);
  return {add(g, square(g, m), v), multiply(g, twice, add(g, v, multiply(g, constant(g, 2), square(g, m))))};
}

// a b for products of any kind: V = v_a m_b^2 + m_a^2 v_b + v_a v_b.
Moments bilinear(Graph& g, const Node& node, Operands in) {
  if (node.op == Op::multiply && node.inputs[0] == node.inputs[1]) return squared(g, in[0].mean, in[0].variance);
  Moments y{like(g, node, {in[0].mean, in[1].mean}), kNoValue};
  const auto plus = [&](ValueId a, ValueId b) {
    const ValueId term = like(g, node, {a, b});
    y.variance = y.random() ? add(g, y.variance, term) : term;
  };
  if (in[0].random()) plus(in[0].variance, square(g, in[1].mean));
  if (in[1].random()) plus(square(g, in[0].mean), in[1].variance);
  if (in[0].random() && in[1].random()) plus(in[0].variance, in[1].variance);
  return y;
}

// f(m), and v f'(m)^2 with the operator's own derivative with respect to its first operand. The other operands are fixed.
Moments first_order(Graph& g, const Node& node, Operands in) {
  std::vector<ValueId> means;
  means.reserve(in.size());
  for (const Moments& operand : in) means.push_back(operand.mean);
  const ValueId y = like(g, node, std::move(means));
  const ValueId ones = build::broadcast(g, constant(g, 1), Shape(node.shape));
  return {y, multiply(g, in[0].variance, square(g, definition(node.op).vjp(g, y, 0, ones)))};
}

Moments divide(Graph& g, const Node& node, Operands in) {
  Moments inverse{append(g, Op::reciprocal, {in[1].mean}), kNoValue};
  if (in[1].random()) inverse.variance = multiply(g, in[1].variance, square(g, square(g, inverse.mean)));
  Node product = node;
  product.op = Op::multiply;
  return bilinear(g, product, std::array{in[0], inverse});
}

// a^b for a fixed b.
Moments power(Graph& g, const Node& node, Operands in) {
  if (in[1].random())
    throw Error{ErrorCode::unsupported, "operator power", "has an exponent that depends on the model's input",
                "use mc:N instead of adf"};
  return first_order(g, node, in);
}

constexpr std::array<double, 3> kNodes{0, 1.3556261799742659, 2.8569700138728056};
constexpr std::array<double, 3> kWeights{0.53333333333333333, 0.22207592200561264, 0.011257411327720689};

Moments quadrature(Graph& g, const Node& node, Operands in) {
  const ValueId s = append(g, Op::sqrt, {append(g, Op::maximum, {in[0].variance, constant(g, 1e-12F)})});
  std::vector<ValueId> values;
  std::vector<float> weights;
  const auto at = [&](double point, double weight) {
    const ValueId x = point == 0 ? in[0].mean : add(g, in[0].mean, multiply(g, s, constant(g, static_cast<float>(point))));
    values.push_back(like(g, node, {x}));
    weights.push_back(static_cast<float>(weight));
  };
  for (std::size_t i = 0; i < kNodes.size(); ++i) {
    at(kNodes[i], kWeights[i]);
    if (kNodes[i] > 0) at(-kNodes[i], kWeights[i]);
  }
  const auto average = [&](const std::vector<ValueId>& terms) {
    ValueId total = multiply(g, terms[0], constant(g, weights[0]));
    for (std::size_t i = 1; i < terms.size(); ++i) total = add(g, total, multiply(g, terms[i], constant(g, weights[i])));
    return total;
  };
  Moments y{average(values), kNoValue};
  for (ValueId& value : values) value = square(g, subtract(g, value, y.mean));
  y.variance = average(values);
  return y;
}

Moments rectified(Graph& g, const Moments& x) {
  return {append(g, Op::relu_mean, {x.mean, x.variance}), append(g, Op::relu_variance, {x.mean, x.variance})};
}

Moments relu(Graph& g, const Node&, Operands in) { return rectified(g, in[0]); }

// |x| = max(x, 0) + max(-x, 0), whose product is 0: their covariance is minus the product of their means.
Moments absolute(Graph& g, const Node&, Operands in) {
  const Moments above = rectified(g, in[0]), below = rectified(g, {build::negate(g, in[0].mean), in[0].variance});
  const ValueId product = multiply(g, constant(g, 2), multiply(g, above.mean, below.mean));
  const ValueId variance = subtract(g, add(g, above.variance, below.variance), product);
  return {add(g, above.mean, below.mean), append(g, Op::relu, {variance})};
}

// 1 if x > 0, else 0: a Bernoulli variable.
Moments step(Graph& g, const Node&, Operands in) {
  const ValueId p = append(g, Op::normal_cdf, {in[0].mean, in[0].variance});
  return {p, multiply(g, p, subtract(g, constant(g, 1), p))};
}

Moments sign(Graph& g, const Node& node, Operands in) {
  const Moments y = step(g, node, in);
  return {subtract(g, multiply(g, constant(g, 2), y.mean), constant(g, 1)), multiply(g, constant(g, 4), y.variance)};
}

// max(a, b) = a + max(d, 0), d = b - a: Var = v_a (1 - 2 P(d > 0)) + Var max(d, 0).
Moments larger(Graph& g, const Moments& a, const Moments& b) {
  const Moments d{subtract(g, b.mean, a.mean), add(g, a.variance, b.variance)};
  const Moments gain = rectified(g, d);
  const ValueId wins = append(g, Op::normal_cdf, {d.mean, d.variance});
  const ValueId kept = subtract(g, constant(g, 1), multiply(g, constant(g, 2), wins));
  const ValueId variance = add(g, multiply(g, a.variance, kept), gain.variance);
  return {add(g, a.mean, gain.mean), append(g, Op::relu, {variance})};
}

Moments full_size(Graph& g, const Moments& x, const Shape& shape) {
  return {build::broadcast(g, x.mean, shape), build::broadcast(g, variance_or_zeros(g, x), shape)};
}

Moments maximum(Graph& g, const Node& node, Operands in) {
  return larger(g, full_size(g, in[0], node.shape), full_size(g, in[1], node.shape));
}

// -max(-a, -b).
Moments minimum(Graph& g, const Node& node, Operands in) {
  Moments a = full_size(g, in[0], node.shape), b = full_size(g, in[1], node.shape);
  a.mean = build::negate(g, a.mean);
  b.mean = build::negate(g, b.mean);
  const Moments y = larger(g, a, b);
  return {build::negate(g, y.mean), y.variance};
}

constexpr float kNever = -1e6F;  // the mean of a cell in the padding: so low that it is never the maximum

// The image cells in the windows of a max_pool, as one value per tap: the cells under that tap at all output positions.
class Taps {
 public:
  Taps(Graph& g, const Moments& x, const Window& window) : g_(g), window_(window), x_(padded(x)) {}

  std::int64_t count() const { return element_count(window_.kernel); }

  // Whether the tap is inside the image for every output position.
  bool always_inside(std::int64_t tap) const {
    const Shape output = window_.output();
    for (std::size_t i = output.size(); i-- > 0; tap /= window_.kernel[i]) {
      const std::int64_t first = tap % window_.kernel[i] * window_.dilation[i] - window_.pad_low[i];
      if (first < 0 || first + (output[i] - 1) * window_.stride[i] >= window_.image[i]) return false;
    }
    return true;
  }

  // For every output position, the first of its taps that is inside the image; -1 if there is none.
  std::vector<std::int64_t> first_inside() const {
    std::vector<std::int64_t> first;
    for (std::int64_t q = 0; q < element_count(window_.output()); ++q) {
      std::int64_t tap = 0;
      while (tap < count() && cell(q, tap) < 0) ++tap;
      first.push_back(tap < count() ? tap : -1);
    }
    return first;
  }

  // For each output position q, the moments of the cell under tap taps[q]; of the image's first cell if taps[q] is -1.
  Moments at(const Moments& image, const std::vector<std::int64_t>& taps) const {
    const Shape shape = g_[image.mean].shape, output = window_.output();
    const std::int64_t cells = element_count(window_.image);
    GatherAttributes gather{2, {}, cells};
    for (std::size_t q = 0; q < taps.size(); ++q)
      gather.indices.push_back(taps[q] < 0 ? 0 : cell(static_cast<std::int64_t>(q), taps[q]));
    Shape result{shape[0], shape[1]};
    result.insert(result.end(), output.begin(), output.end());
    const auto gathered = [&](ValueId x) {
      return build::reshape(g_, append(g_, Op::gather, {build::reshape(g_, x, {shape[0], shape[1], cells})}, gather), result);
    };
    return {gathered(image.mean), gathered(image.variance)};
  }

  Moments at(std::int64_t tap) const {
    const Shape output = window_.output(), shape = g_[x_.mean].shape;
    SliceAttributes slice{{0, 0}, {shape[0], shape[1]}, {1, 1}};
    slice.start.resize(output.size() + 2);
    slice.size.insert(slice.size.end(), output.begin(), output.end());
    slice.step.insert(slice.step.end(), window_.stride.begin(), window_.stride.end());
    for (std::size_t i = output.size(); i-- > 0; tap /= window_.kernel[i])
      slice.start[i + 2] = tap % window_.kernel[i] * window_.dilation[i];
    return {append(g_, Op::slice, {x_.mean}, slice), append(g_, Op::slice, {x_.variance}, slice)};
  }

 private:
  // The image's cell under a tap of an output position; -1 in the padding.
  std::int64_t cell(std::int64_t q, std::int64_t tap) const {
    const Shape output = window_.output();
    std::int64_t result = 0, stride = 1;
    for (std::size_t i = output.size(); i-- > 0; q /= output[i], tap /= window_.kernel[i]) {
      const std::int64_t at =
          q % output[i] * window_.stride[i] - window_.pad_low[i] + tap % window_.kernel[i] * window_.dilation[i];
      if (at < 0 || at >= window_.image[i]) return -1;
      result += at * stride;
      stride *= window_.image[i];
    }
    return result;
  }

  Moments padded(const Moments& x) const {
    PadAttributes pad{{0, 0}, {0, 0}, Shape(window_.image.size() + 2, 0)};
    pad.low.insert(pad.low.end(), window_.pad_low.begin(), window_.pad_low.end());
    pad.high.insert(pad.high.end(), window_.pad_high.begin(), window_.pad_high.end());
    if (pad.low == pad.interior && pad.high == pad.interior) return x;
    const ValueId image = build::broadcast(g_, constant(g_, -kNever), Shape(g_[x.mean].shape));
    const ValueId outside = add(g_, append(g_, Op::pad, {image}, pad), constant(g_, kNever));
    return {add(g_, append(g_, Op::pad, {x.mean}, pad), outside), append(g_, Op::pad, {x.variance}, pad)};
  }

  Graph& g_;
  const Window& window_;
  Moments x_;
};

// A mask [1, 1, output]: `result` at output positions whose entry is `value`, 0 elsewhere.
Tensor where(const std::vector<std::int64_t>& entries, std::int64_t value, float result, const Shape& output) {
  Shape shape{1, 1};
  shape.insert(shape.end(), output.begin(), output.end());
  Tensor mask(shape);
  for (std::size_t i = 0; i < entries.size(); ++i) mask.data[i] = entries[i] == value ? result : 0.0F;
  return mask;
}

// Used if no tap is inside the image for every window. Each window's maximum starts with the window's first cell, which must not
// be counted again at its tap. The maximum of a window that lies entirely in the padding is a constant.
Moments max_pool_of_scattered_cells(Graph& g, const Taps& taps, const Moments& image, const Shape& output) {
  const std::vector<std::int64_t> first = taps.first_inside();
  Moments largest = taps.at(image, first);
  for (std::int64_t tap = 0; tap < taps.count(); ++tap) {
    Moments other = taps.at(tap);
    if (std::find(first.begin(), first.end(), tap) != first.end())
      other.mean = add(g, other.mean, append_constant(g, where(first, tap, kNever, output)));
    largest = larger(g, largest, other);
  }
  if (std::find(first.begin(), first.end(), -1) == first.end()) return largest;
  const ValueId empty = append_constant(g, where(first, -1, 1, output));
  return {append(g, Op::select, {empty, constant(g, kLargestOfNone), largest.mean}),
          append(g, Op::select, {empty, constant(g, 0), largest.variance})};
}

Moments max_pool(Graph& g, const Node& node, Operands in) {
  const auto& window = std::get<Window>(node.attributes);
  const Taps taps(g, in[0], window);
  std::int64_t first = 0;
  while (first < taps.count() && !taps.always_inside(first)) ++first;
  if (first == taps.count()) return max_pool_of_scattered_cells(g, taps, in[0], window.output());
  Moments largest = taps.at(first);
  for (std::int64_t tap = 0; tap < taps.count(); ++tap) {
    if (tap != first) largest = larger(g, largest, taps.at(tap));
  }
  return largest;
}

// d y_i / d a_j = y_i ([i = j] - y_j), so V_i = y_i^2 ((1 - 2 y_i) v_i + sum_j y_j^2 v_j). For the logarithm, without y_i^2.
Moments softmax(Graph& g, const Node& node, Operands in) {
  const ValueId value = like(g, node, {in[0].mean});
  const ValueId y = node.op == Op::softmax ? value : append(g, Op::exp, {value});
  const ValueId own = multiply(g, in[0].variance, subtract(g, constant(g, 1), multiply(g, constant(g, 2), y)));
  const ValueId all =
      build::reduce_sum(g, multiply(g, in[0].variance, square(g, y)), {std::get<AxisAttribute>(node.attributes).axis});
  const ValueId variance = append(g, Op::relu, {add(g, own, all)});
  return {value, node.op == Op::softmax ? multiply(g, square(g, y), variance) : variance};
}

using Rule = Moments (*)(Graph&, const Node&, Operands);

// Operators with a rule of their own.
constexpr std::pair<Op, Rule> kRules[] = {
    {Op::concat, concat},     {Op::negate, negate},       {Op::add, sum},          {Op::subtract, sum},
    {Op::divide, divide},     {Op::power, power},         {Op::relu, relu},        {Op::absolute, absolute},
    {Op::step, step},         {Op::sign, sign},           {Op::maximum, maximum},  {Op::minimum, minimum},
    {Op::max_pool, max_pool}, {Op::log, first_order},     {Op::sqrt, first_order}, {Op::reciprocal, first_order},
    {Op::softmax, softmax},   {Op::log_softmax, softmax},
};

// Null for operators without a rule.
Rule rule_of(Op op) {
  if (const Rule rule = function_for(kRules, op)) return rule;
  const OpDefinition& its = definition(op);
  if (its.traits.sums) return elementwise_linear;
  if (its.traits.affine == 0b11) return bilinear;
  return its.traits.unary != nullptr && its.vjp != ops::vjp_zero ? quadrature : nullptr;
}

}  // namespace

Moments moments_of(Graph& g, const Node& node, std::span<const Moments> operands) {
  const Rule rule = rule_of(node.op);
  if (rule == nullptr) {
    const std::string name(definition(node.op).name);
    throw Error{ErrorCode::unsupported, "operator " + name + (node.name.empty() ? "" : " (" + node.name + ")"),
                "has no rule for the propagation of moments", "use mc:N instead of adf"};
  }
  return rule(g, node, operands);
}

}  // namespace probust
