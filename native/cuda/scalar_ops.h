// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

#include "probust/base/host_device.h"
#include "probust/graph/graph.h"

// The element-wise operators of graph/operators.h, ops/choice.cpp and ops/gaussian.cpp, for one element in float32.
namespace probust::cuda {

/// A normal variable with mean a and variance b, and the smaller of its tails beyond 0. The tail is approximation 26.2.17 of
/// Abramowitz and Stegun, "Handbook of Mathematical Functions" (1964), which multiplies the density, with an error of at most
/// 1e-7.
struct NormalVariable {
  float a, b, s, t, density, tail;  ///< s = sqrt(b), t = |a| / s; density and upper tail of the standard normal at t

  PROBUST_HOST_DEVICE NormalVariable(float mean, float variance)
      : a(mean), b(variance > 1e-30F ? variance : 1e-30F), s(std::sqrt(b)) {
    t = std::fabs(a) / s;
    t = t > 30.0F ? 30.0F : t;
    density = 0.39894228F * std::exp(-0.5F * t * t);
    const float u = 1.0F / (1.0F + 0.23164189F * t);
    tail = density * u * (0.31938153F + u * (-0.35656378F + u * (1.7814779F + u * (-1.8212560F + u * 1.3302744F))));
  }

  PROBUST_HOST_DEVICE static float positive(float x) { return x < 0 ? 0.0F : x; }
  PROBUST_HOST_DEVICE float beyond() const { return positive(density - t * tail); }
  PROBUST_HOST_DEVICE float relu_mean() const { return positive(a) + s * beyond(); }
  PROBUST_HOST_DEVICE float relu_variance() const {
    const float mean = beyond(), smaller = b * positive((t * t + 1.0F) * tail - t * density - mean * mean);
    return a > 0 ? smaller + b * (1.0F - 2.0F * tail) : smaller;
  }
  PROBUST_HOST_DEVICE float cdf() const { return a > 0 ? 1.0F - tail : tail; }
  PROBUST_HOST_DEVICE float density_at_zero() const { return b > 1e-30F ? density / s : 0.0F; }
};

/// The value of an operator with one, two or three operands: a, b and c. Returns `a` for an operator that is not element-wise.
PROBUST_HOST_DEVICE inline float apply(Op op, float a, float b, float c, float parameter = 0) {
  switch (op) {
    case Op::select:
      return a > 0 ? b : c;
    case Op::relu_mean:
      return NormalVariable(a, b).relu_mean();
    case Op::relu_variance:
      return NormalVariable(a, b).relu_variance();
    case Op::normal_cdf:
      return NormalVariable(a, b).cdf();
    case Op::normal_density:
      return NormalVariable(a, b).density_at_zero();
    default:
      return element_value(op, a, b, parameter);
  }
}

}  // namespace probust::cuda
