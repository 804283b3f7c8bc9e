// SPDX-License-Identifier: MIT
// Rectified normal variables (ops/gaussian.cpp), a block of elements at once. The normal tail is approximation 26.2.17 of
// Abramowitz and Stegun, "Handbook of Mathematical Functions" (1964), with an error of at most 1e-7; it is a multiple of the
// density.
#include <algorithm>

#include "probust/exec/cpu/block.h"
#include "probust/exec/cpu/kernel.h"

namespace probust::cpu {
namespace {

// A normal variable of mean a and variance b, seen from its smaller side.
struct Normal {
  Block a, b, s, t, density, tail;  ///< t = |a| / s; density and upper tail of the standard normal at t

  Normal(const Block& mean, const Block& variance) : a(mean), b(variance.max(1e-30F)), s(b.sqrt()) {
    t = (a.abs() / s).min(30.0F);
    density = 0.39894228F * (-0.5F * t * t).exp();
    const Block u = 1.0F / (1.0F + 0.23164189F * t);
    tail = density * u * (0.31938153F + u * (-0.35656378F + u * (1.7814779F + u * (-1.8212560F + u * 1.3302744F))));
  }

  Block beyond() const { return (density - t * tail).max(0.0F); }
};

Block relu_mean(const Normal& x) { return (x.a < 0.0F).select(Block::Zero(), x.a) + x.s * x.beyond(); }

Block relu_variance(const Normal& x) {
  const Block mean = x.beyond();
  const Block smaller = x.b * ((x.t * x.t + 1.0F) * x.tail - x.t * x.density - mean * mean).max(0.0F);
  return (x.a > 0.0F).select(smaller + x.b * (1.0F - 2.0F * x.tail), smaller);
}

Block normal_cdf(const Normal& x) { return (x.a > 0.0F).select(1.0F - x.tail, x.tail); }

Block normal_density(const Normal& x) { return (x.b > 1e-30F).select(x.density / x.s, Block::Zero()); }

template <Block (*function)(const Normal&)>
void run(const Call& call) {
  const std::int64_t size = element_count(*call.shape) * call.lanes;
  const float *a = call.in[0].data, *b = call.in[1].data;
  std::int64_t i = 0;
  for (; i + kBlock <= size; i += kBlock)
    Eigen::Map<Block>(call.out + i) = function({Eigen::Map<const Block>(a + i), Eigen::Map<const Block>(b + i)});
  if (i == size) return;
  Block last_a = Block::Ones(), last_b = Block::Ones();
  std::copy(a + i, a + size, last_a.data());
  std::copy(b + i, b + size, last_b.data());
  const Block last = function({last_a, last_b});
  std::copy_n(last.data(), size - i, call.out + i);
}

}  // namespace

Kernel make_gaussian(const Graph& graph, const Node& node) {
  const bool alike = graph[node.inputs[0]].extent == node.extent && graph[node.inputs[1]].extent == node.extent;
  if (!alike) return make_reference(graph, node);
  switch (node.op) {
    case Op::relu_mean:
      return run<relu_mean>;
    case Op::relu_variance:
      return run<relu_variance>;
    case Op::normal_cdf:
      return run<normal_cdf>;
    case Op::normal_density:
      return run<normal_density>;
    default:
      return make_reference(graph, node);
  }
}

}  // namespace probust::cpu
