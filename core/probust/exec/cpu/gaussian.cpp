// SPDX-License-Identifier: MIT
// Rectified normal variables (ops/gaussian.cpp), a block of elements at once. The normal tail is approximation 26.2.17 of
// Abramowitz and Stegun, "Handbook of Mathematical Functions" (1964), with an error of at most 1e-7; it is a multiple of the
// density.
#include <algorithm>

#include "probust/exec/cpu/block.h"
#include "probust/exec/cpu/kernel.h"

namespace probust::cpu {
namespace {

constexpr float kFarthest = 12;    // standard deviations; beyond, densities lose digits or are slow subnormal numbers
constexpr float kLeastB = 1e-30F;  // lower limit for variances
// Slopes of ramps that replace steps, because compilers do not vectorise comparisons.
constexpr float kSteep = 1e30F, kSteeper = 1e38F;

// A variance b and its square root s.
struct Spread {
  Block b, inverse, s;  ///< `b` is the variance, `inverse` is 1 / s, `s` is sqrt(b)

  explicit Spread(const Block& variance) : b(variance.max(kLeastB)), inverse(b.rsqrt()), s(b * inverse) {}
};

// A normal variable with mean a, described by its smaller tail.
struct Normal {
  Block a;
  const Spread& spread;
  Block t, density, tail;  ///< t = |a| / s; density and upper tail of the standard normal at t

  Normal(const Block& mean, const Spread& of);

  Block beyond() const { return (density - t * tail).max(0.0F); }
  /// The probability of the larger side minus that of the smaller side if the mean is positive, otherwise 0.
  Block excess() const { return (a * kSteep).max(0.0F).min(1.0F) * (1.0F - 2.0F * tail); }
};

// Not inlined, because it is long and every kernel needs it.
[[gnu::noinline]] Normal::Normal(const Block& mean, const Spread& of)
    : a(mean), spread(of), t((a.abs() * of.inverse).min(kFarthest)) {
  density = 0.39894228F * (-0.5F * t * t).exp();
  const Block u = 1.0F / (1.0F + 0.23164189F * t);
  tail = density * u * (0.31938153F + u * (-0.35656378F + u * (1.7814779F + u * (-1.8212560F + u * 1.3302744F))));
}

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

// The `count` values at `from` as a block, padded with ones.
Block block_of(const float* from, std::int64_t count) {
  if (count >= kBlock) return Eigen::Map<const Block>(from);
  Block block = Block::Ones();
  std::copy_n(from, count, block.data());
  return block;
}

// Applies the function to a row of `size` values. If the variance is `constant`, all of them share b[0].
void run_row(Function function, const float* a, const float* b, bool constant, std::int64_t size, float* out) {
  for (std::int64_t i = 0; i < size; i += kBlock) {
    const Block variance = constant ? Block(Block::Constant(*b)) : block_of(b + i, size - i);
    const Block y = function(Normal(block_of(a + i, size - i), Spread(variance)));
    std::copy_n(y.data(), std::min(kBlock, size - i), out + i);
  }
}

void run(Function function, const Call& call) {
  const bool constant = call.lanes_of(1) != call.lanes;
  const std::int64_t elements = element_count(*call.shape), rows = constant ? elements : 1,
                     size = constant ? call.lanes : elements * call.lanes;
  for (std::int64_t row = 0; row < rows; ++row)
    run_row(function, call.in[0].data + row * size, call.in[1].data + row, constant, size, call.out + row * size);
}

template <Function function>
void run_with(const Call& call) {
  run(function, call);
}

}  // namespace

Kernel make_gaussian(const Graph& graph, const Node& node) {
  const Extent mean = graph[node.inputs[0]].extent, variance = graph[node.inputs[1]].extent;
  if (mean != node.extent || (variance != mean && variance != Extent::constant)) return make_reference(graph, node);
  switch (node.op) {
    case Op::relu_mean:
      return run_with<relu_mean>;
    case Op::relu_variance:
      return run_with<relu_variance>;
    case Op::normal_cdf:
      return run_with<normal_cdf>;
    case Op::normal_density:
      return run_with<normal_density>;
    default:
      return make_reference(graph, node);
  }
}

}  // namespace probust::cpu
