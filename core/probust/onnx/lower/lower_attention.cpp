// SPDX-License-Identifier: MIT
// Scaled dot-product attention, softmax(q kᵀ / sqrt(d) + mask) v, with the variants of opsets 23 and 24: several query heads per
// key head, caches of past keys and values, soft caps, and four kinds of masks.
#include <algorithm>
#include <cmath>
#include <limits>

#include "probust/base/error.h"
#include "probust/onnx/lower/lower.h"
#include "probust/ops/build.h"

namespace probust::onnx {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

enum Operand : std::size_t { kQuery, kKey, kValue, kMask, kPastKey, kPastValue, kLengths };

// [B, length, heads * size] as [B, heads, length, size].
ValueId split_heads(Lowering& l, ValueId x, std::int64_t heads) {
  const Shape shape = l.graph[x].shape;
  if (shape.size() == 4) return x;
  if (shape.size() != 3) l.malformed("needs operands of rank 3 or 4, not of shape " + to_string(shape));
  if (heads < 1 || shape[2] % heads != 0)
    l.malformed("has " + std::to_string(heads) + " heads, which do not divide the last extent of " + to_string(shape));
  return build::transpose(l.graph, build::reshape(l.graph, x, {shape[0], shape[1], heads, shape[2] / heads}), {0, 2, 1, 3});
}

ValueId join_heads(Lowering& l, ValueId x) {
  const Shape shape = l.graph[x].shape;
  return build::reshape(l.graph, build::transpose(l.graph, x, {0, 2, 1, 3}), {shape[0], shape[2], shape[1] * shape[3]});
}

ValueId with_past(Lowering& l, Operand past, ValueId present) {
  return l.has(past) ? l.add_node(Op::concat, {l.in(past), present}, AxisAttribute{2}) : present;
}

// Repeats each head once per query head that uses it; the repetitions are adjacent.
ValueId repeat_heads(Lowering& l, ValueId x, std::int64_t heads) {
  const std::int64_t own = l.graph[x].shape[1];
  if (own == heads) return x;
  if (own == 0 || heads % own != 0)
    l.malformed("has " + std::to_string(own) + " key heads, which do not divide its " + std::to_string(heads) + " query heads");
  GatherAttributes g{1, {}, own};
  l.spend(heads);
  for (std::int64_t h = 0; h < heads; ++h) g.indices.push_back(h / (heads / own));
  return l.add_node(Op::gather, {x}, g);
}

// The bias from operand 3: numbers to add to the scores, or booleans that mark the visible keys. If the mask is shorter than the
// keys, the remaining keys are hidden.
ValueId mask_bias(Lowering& l, std::int64_t keys) {
  ValueId bias = l.in(kMask);
  if (l.integer(kMask)) bias = l.add_node(Op::select, {bias, l.scalar(0), l.scalar(-kInfinity)});
  Shape rest = l.graph[bias].shape;
  if (rest.empty() || rest.back() >= keys) return bias;
  rest.back() = keys - rest.back();
  const auto axis = static_cast<std::int64_t>(rest.size()) - 1;
  const ValueId hidden = l.add_node(Op::broadcast, {l.scalar(-kInfinity)}, ShapeAttribute{rest});
  return l.add_node(Op::concat, {bias, hidden}, AxisAttribute{axis});
}

// [B or 1, 1, queries, keys]: 0 where visible(b, query, key), minus infinity elsewhere.
template <class Visible>
ValueId pattern_bias(Lowering& l, std::int64_t batch, std::int64_t queries, std::int64_t keys, Visible visible) {
  const Shape shape{batch, 1, queries, keys};
  l.spend(element_count(shape));
  Tensor bias(shape);
  std::size_t next = 0;
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t q = 0; q < queries; ++q) {
      for (std::int64_t k = 0; k < keys; ++k) bias.data[next++] = visible(b, q, k) ? 0 : -kInfinity;
    }
  }
  return l.tensor(std::move(bias));
}

// All masks as one bias to add; kNoValue if there is none.
ValueId all_biases(Lowering& l, std::int64_t queries, std::int64_t keys) {
  ValueId bias = l.has(kMask) ? mask_bias(l, keys) : kNoValue;
  const auto join = [&](ValueId more) { bias = bias == kNoValue ? more : l.add_node(Op::add, {bias, more}); };
  const std::vector<std::int64_t> lengths = l.has(kLengths) ? l.integers(kLengths) : std::vector<std::int64_t>{};
  const auto batch = std::max<std::int64_t>(1, static_cast<std::int64_t>(lengths.size()));
  if (!lengths.empty())
    join(pattern_bias(l, batch, queries, keys, [&](std::int64_t b, std::int64_t, std::int64_t k) { return k < lengths[b]; }));
  if (l.attribute("is_causal", std::int64_t{0}) != 0) {
    // Earlier keys, those in the cache or those without a query, are visible to every query.
    const std::int64_t past = l.has(kPastKey) ? l.shape(kPastKey).at(2) : 0;
    join(pattern_bias(l, batch, queries, keys, [&](std::int64_t b, std::int64_t q, std::int64_t k) {
      return k <= q + (l.has(kPastKey) || lengths.empty() ? past : lengths[b] - queries);
    }));
  }
  return bias;
}

// Softmax over the keys. A query whose keys are all masked gets zeros.
ValueId masked_softmax(Lowering& l, ValueId scores) {
  const auto axis = static_cast<std::int64_t>(l.graph[scores].shape.size()) - 1;
  const ValueId least = l.scalar(-std::numeric_limits<float>::max());
  const ValueId shares = l.add_node(Op::softmax, {l.add_node(Op::maximum, {scores, least})}, AxisAttribute{axis});
  return l.add_node(Op::select, {l.add_node(Op::greater_equal, {scores, least}), shares, l.scalar(0)});
}

void attention(Lowering& l) {
  const std::int64_t given_heads = l.attribute("q_num_heads", std::int64_t{0});
  const std::int64_t given_key_heads = l.attribute("kv_num_heads", std::int64_t{0});
  const ValueId query = split_heads(l, l.in(kQuery), given_heads);
  const ValueId key = with_past(l, kPastKey, split_heads(l, l.in(kKey), given_key_heads));
  const ValueId value = with_past(l, kPastValue, split_heads(l, l.in(kValue), given_key_heads));
  const Shape q = l.graph[query].shape, k = l.graph[key].shape;
  const float scale = l.attribute("scale", static_cast<float>(1 / std::sqrt(static_cast<double>(q[3]))));
  const ValueId scaled = l.add_node(Op::multiply, {query, l.scalar(scale)});
  const ValueId product = l.add_node(Op::matmul, {scaled, repeat_heads(l, key, q[1])}, MatmulAttributes{false, true});
  ValueId capped = product;
  if (const float cap = l.attribute("softcap", 0.0F); cap > 0) {
    const ValueId bent = l.add_node(Op::tanh, {l.add_node(Op::multiply, {product, l.scalar(1 / cap)})});
    capped = l.add_node(Op::multiply, {bent, l.scalar(cap)});
  }
  const ValueId bias = all_biases(l, q[2], k[2]);
  const ValueId scores = bias == kNoValue ? capped : l.add_node(Op::add, {capped, bias});
  const ValueId shares = bias == kNoValue ? l.add_node(Op::softmax, {scores}, AxisAttribute{3}) : masked_softmax(l, scores);
  const ValueId mixed = l.add_node(Op::matmul, {shares, repeat_heads(l, value, q[1])}, MatmulAttributes{});
  l.set(0, l.shape(kQuery).size() == 3 ? join_heads(l, mixed) : mixed);
  l.set(1, key);
  l.set(2, value);
  const ValueId stages[] = {product, capped, scores, shares};
  l.set(3, stages[std::clamp<std::int64_t>(l.attribute("qk_matmul_output_mode", std::int64_t{0}), 0, 3)]);
}

constexpr OnnxOperator kAttentionOperators[] = {
    {"Attention", attention, true, 23},
};

}  // namespace

std::span<const OnnxOperator> attention_operators() { return kAttentionOperators; }

}  // namespace probust::onnx
