// SPDX-License-Identifier: MIT
#include "probust/onnx/value_range.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <vector>

namespace probust::onnx {
namespace {

constexpr int kDeepestRange = 256;
constexpr double kUnbounded = std::numeric_limits<double>::infinity();
// exp and softplus never reach zero.
constexpr double kAboveZero = std::numeric_limits<float>::denorm_min();

Range hull(Range a, Range b) { return {std::min(a.low, b.low), std::max(a.high, b.high)}; }

Range sum(Range a, Range b) { return {a.low + b.low, a.high + b.high}; }

Range negated(Range a) { return {-a.high, -a.low}; }

// 0 times infinity is 0: the zero is exact, and infinity stands for a finite number of unknown size.
double product_of_ends(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }

Range product(Range a, Range b) {
  const auto ends = {product_of_ends(a.low, b.low), product_of_ends(a.low, b.high), product_of_ends(a.high, b.low),
                     product_of_ends(a.high, b.high)};
  return {std::min(ends), std::max(ends)};
}

Range reciprocal(Range a) {
  if (a.low > 0) return {a.high == kUnbounded ? 0 : 1 / a.high, 1 / a.low};
  if (a.high < 0) return negated(reciprocal(negated(a)));
  return {};
}

Range range_of_constant(const Tensor& tensor) {
  if (tensor.data.empty()) return {};
  const auto [low, high] = std::minmax_element(tensor.data.begin(), tensor.data.end());
  return std::isnan(*low) || std::isnan(*high) ? Range{} : Range{*low, *high};
}

template <class Function>
Range monotone(Range a, Function f) {
  return {f(a.low), f(a.high)};
}

Range absolute_range(Range a) {
  const double most = std::max(std::fabs(a.low), std::fabs(a.high));
  return {a.low <= 0 && a.high >= 0 ? 0 : std::min(std::fabs(a.low), std::fabs(a.high)), most};
}

// The range of the sums over trees, for all targets: each tree adds one of its leaves.
Range range_of_trees(const Trees& trees) {
  if (trees.aggregate != Trees::Aggregate::sum) return {};
  Range total{0, 0};
  for (std::int64_t target = 0; target < trees.targets; ++target) {
    double low = 0, high = 0;
    std::vector<bool> seen(trees.nodes.size(), false);
    for (std::size_t root = 0; root < trees.roots.size(); ++root) {
      double least = kUnbounded, most = -kUnbounded;
      std::vector<std::int32_t> open{trees.roots[root]};
      while (!open.empty()) {
        const std::int32_t at = open.back();
        open.pop_back();
        if (seen[static_cast<std::size_t>(at)]) continue;
        seen[static_cast<std::size_t>(at)] = true;
        const TreeNode& node = trees.nodes[static_cast<std::size_t>(at)];
        if (node.mode != TreeNode::Mode::leaf) {
          open.push_back(node.yes);
          open.push_back(node.no);
          continue;
        }
        double weight = 0;
        for (std::int32_t w = node.first; w < node.first + node.count; ++w) {
          const TreeWeight& each = trees.weights[static_cast<std::size_t>(w)];
          if (each.target == target) weight += static_cast<double>(each.weight);
        }
        least = std::min(least, weight);
        most = std::max(most, weight);
      }
      low += least;
      high += most;
    }
    total = target == 0 ? Range{low, high} : hull(total, {low, high});
  }
  return total;
}

// x W for a bounded x and a constant W [.., k, n], or its transpose [.., n, k].
Range range_of_product(Range x, const Tensor& w, bool transposed) {
  if (w.shape.size() < 2) return {};
  const std::int64_t rows = w.shape[w.shape.size() - 2], columns = w.shape.back();
  const std::int64_t inner = transposed ? columns : rows, outputs = transposed ? rows : columns;
  Range all{kUnbounded, -kUnbounded};
  for (std::int64_t matrix = 0; matrix * rows * columns < w.size(); ++matrix) {
    const float* begin = w.data.data() + matrix * rows * columns;
    for (std::int64_t j = 0; j < outputs; ++j) {
      Range each{0, 0};
      for (std::int64_t i = 0; i < inner; ++i) {
        const double weight = begin[transposed ? j * columns + i : i * columns + j];
        each = sum(each, product(x, {weight, weight}));
      }
      all = hull(all, each);
    }
  }
  return all.low <= all.high ? all : Range{};
}

bool is_finite(Range a) { return std::isfinite(a.low) && std::isfinite(a.high); }

}  // namespace

Range Ranges::of(ValueId id, int depth) {
  if (depth > kDeepestRange) return {};
  const auto known = known_.find(id);
  if (known != known_.end()) return known->second;
  Range range = compute(id, depth + 1);
  if (std::isnan(range.low) || std::isnan(range.high)) range = {};
  return known_[id] = range;
}

Range Ranges::compute(ValueId id, int depth) {
  const Node& node = graph_[id];
  const auto in = [&](std::size_t i) { return of(node.inputs[i], depth); };
  switch (node.op) {
    case Op::constant:
      return range_of_constant(constant_value(graph_, id));
    case Op::sigmoid:
    case Op::normal_cdf:
    case Op::softmax:
    case Op::step:
    case Op::less:
    case Op::greater_equal:
      return {0, 1};
    case Op::tanh:
    case Op::erf:
    case Op::sine:
    case Op::cosine:
    case Op::sign:
      return {-1, 1};
    case Op::log_softmax:
      return {-kUnbounded, 0};
    case Op::relu:
      return monotone(in(0), [](double x) { return std::max(x, 0.0); });
    case Op::exp:
      return monotone(in(0), [](double x) { return std::max(kAboveZero, std::exp(x)); });
    case Op::softplus:
      return monotone(in(0), [](double x) { return std::max(kAboveZero, x > 30 ? x : std::log1p(std::exp(x))); });
    case Op::sqrt:
      return monotone(in(0), [](double x) { return std::sqrt(std::max(x, 0.0)); });
    case Op::log:
      return monotone(in(0), [](double x) { return x > 0 ? std::log(x) : -kUnbounded; });
    case Op::floor:
      return monotone(in(0), [](double x) { return std::floor(x); });
    case Op::round:
      return monotone(in(0), [](double x) { return std::nearbyint(x); });
    case Op::negate:
      return negated(in(0));
    case Op::absolute:
      return absolute_range(in(0));
    case Op::reciprocal:
      return reciprocal(in(0));
    case Op::add:
      return sum(in(0), in(1));
    case Op::subtract:
      return sum(in(0), negated(in(1)));
    case Op::multiply:
      return node.inputs[0] == node.inputs[1] ? product(absolute_range(in(0)), absolute_range(in(0))) : product(in(0), in(1));
    case Op::divide:
      return product(in(0), reciprocal(in(1)));
    case Op::maximum:
      return {std::max(in(0).low, in(1).low), std::max(in(0).high, in(1).high)};
    case Op::minimum:
      return {std::min(in(0).low, in(1).low), std::min(in(0).high, in(1).high)};
    case Op::select:
      return hull(in(1), in(2));
    case Op::reduce_sum: {
      const auto terms = static_cast<double>(element_count(graph_[node.inputs[0]].shape)) /
                         static_cast<double>(std::max<std::int64_t>(1, element_count(node.shape)));
      return product(in(0), {terms, terms});
    }
    case Op::concat: {
      Range all = in(0);
      for (std::size_t i = 1; i < node.inputs.size(); ++i) all = hull(all, in(i));
      return all;
    }
    case Op::reshape:
    case Op::transpose:
    case Op::slice:
    case Op::gather:
    case Op::take:
    case Op::broadcast:
      return in(0);
    case Op::matmul: {
      const auto& attributes = std::get<MatmulAttributes>(node.attributes);
      if (graph_[node.inputs[1]].op != Op::constant || attributes.transpose_a || !is_finite(in(0))) return {};
      return range_of_product(in(0), constant_value(graph_, node.inputs[1]), attributes.transpose_b);
    }
    case Op::tree_ensemble:
      return range_of_trees(*std::get<TreesAttribute>(node.attributes).trees);
    default:
      return {};
  }
}

}  // namespace probust::onnx
