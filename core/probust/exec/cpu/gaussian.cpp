// SPDX-License-Identifier: MIT
// Rectified normal variables (ops/gaussian.cpp), a block of elements at once. The normal tail is approximation 26.2.17 of
// Abramowitz and Stegun, "Handbook of Mathematical Functions" (1964), with an error of at most 1e-7; it is a multiple of the
// density.
#include <algorithm>

#include "probust/exec/cpu/block.h"
#include "probust/exec/cpu/kernel.h"

namespace probust::cpu {
namespace {

constexpr float kFarthest = 12;    // standard deviations: beyond, densities would lose digits or cost time as subnormal numbers
constexpr float kLeastB = 1e-30F;  // of variances
// Slopes that make steps of ramps: comparisons would not be vectorised.
constexpr float kSteep = 1e30F, kSteeper = 1e38F;

// A variance b.
struct Spread {
  Block b, inverse, s;  ///< 1 / s and s = b^(1/2)

  explicit Spread(const Block& variance) : b(variance.max(kLeastB)), inverse(b.rsqrt()), s(b * inverse) {}
};

// A normal variable of mean a, seen from its smaller side.
struct Normal {
  Block a;
  const Spread& spread;
  Block t, density, tail;  ///< t = |a| / s; density and upper tail of the standard normal at t

  Normal(const Block& mean, const Spread& of) : a(mean), spread(of), t((a.abs() * of.inverse).min(kFarthest)) {
    density = 0.39894228F * (-0.5F * t * t).exp();
    const Block u = 1.0F / (1.0F + 0.23164189F * t);
    tail = density * u * (0.31938153F + u * (-0.35656378F + u * (1.7814779F + u * (-1.8212560F + u * 1.3302744F))));
  }

  Block beyond() const { return (density - t * tail).max(0.0F); }
  /// What the larger side has more of the probability, if the mean is positive; otherwise 0.
  Block excess() const { return (a * kSteep).max(0.0F).min(1.0F) * (1.0F - 2.0F * tail); }
};

Block relu_mean(const Normal& x) { return x.a.max(0.0F) + x.spread.s * x.beyond(); }

Block relu_variance(const Normal& x) {
  const Block mean = x.beyond();
  return x.spread.b * (((x.t * x.t + 1.0F) * x.tail - x.t * x.density - mean * mean).max(0.0F) + x.excess());
}

Block normal_cdf(const Normal& x) { return x.tail + x.excess(); }

Block normal_density(const Normal& x) {
  const Block varies = ((x.spread.b - kLeastB) * kSteeper).min(1.0F);
  return varies * x.density * x.spread.inverse;
}

using Function = Block (*)(const Normal&);

// Whole blocks of `size` values, then the rest. spread(i) is that of the block from i on.
template <Function function, class SpreadFrom>
void in_blocks(const float* a, std::int64_t size, float* out, SpreadFrom spread) {
  std::int64_t i = 0;
  for (; i + kBlock <= size; i += kBlock) Eigen::Map<Block>(out + i) = function({Eigen::Map<const Block>(a + i), spread(i)});
  if (i == size) return;
  Block last = Block::Ones();
  std::copy(a + i, a + size, last.data());
  last = function({last, spread(i)});
  std::copy_n(last.data(), size - i, out + i);
}

template <Function function>
void with_variances(const Call& call) {
  const std::int64_t size = element_count(*call.shape) * call.lanes;
  const float* b = call.in[1].data;
  in_blocks<function>(call.in[0].data, size, call.out, [&](std::int64_t i) {
    if (i + kBlock <= size) return Spread(Eigen::Map<const Block>(b + i));
    Block last = Block::Ones();
    std::copy(b + i, b + size, last.data());
    return Spread(last);
  });
}

// The same variance in all lanes.
template <Function function>
void with_constant_variances(const Call& call) {
  for (std::int64_t e = 0, size = element_count(*call.shape); e < size; ++e) {
    const Spread spread(Block::Constant(call.in[1].data[e]));
    in_blocks<function>(call.in[0].data + e * call.lanes, call.lanes, call.out + e * call.lanes,
                        [&](std::int64_t) -> const Spread& { return spread; });
  }
}

template <Function function>
Kernel kernel_of(bool constant_variances) {
  return constant_variances ? with_constant_variances<function> : with_variances<function>;
}

}  // namespace

Kernel make_gaussian(const Graph& graph, const Node& node) {
  const Extent mean = graph[node.inputs[0]].extent, variance = graph[node.inputs[1]].extent;
  const bool constant = variance == Extent::constant && mean != variance;
  if (mean != node.extent || (variance != mean && !constant)) return make_reference(graph, node);
  switch (node.op) {
    case Op::relu_mean:
      return kernel_of<relu_mean>(constant);
    case Op::relu_variance:
      return kernel_of<relu_variance>(constant);
    case Op::normal_cdf:
      return kernel_of<normal_cdf>(constant);
    case Op::normal_density:
      return kernel_of<normal_density>(constant);
    default:
      return make_reference(graph, node);
  }
}

}  // namespace probust::cpu
