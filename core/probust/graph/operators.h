// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdint>

#include "probust/base/host_device.h"

namespace probust {

/// The closed set of core operators. ops/ defines each one, with one file per family. ONNX operators are lowered to these at
/// import (onnx/), derivatives consist of them (autodiff/), and executors support no others.
enum class Op : std::uint8_t {
  // leaves
  input,
  constant,
  // ops/matmul.cpp
  matmul,
  // ops/conv.cpp
  conv,
  conv_transpose,
  conv_filter_grad,
  // ops/pool.cpp
  max_pool,
  max_scatter,
  max_gather,
  sum_pool,
  sum_unpool,
  // ops/grid_sample.cpp
  grid_sample,
  grid_sample_transpose,
  // ops/unary.cpp
  negate,
  absolute,
  sign,
  step,
  relu,
  exp,
  log,
  sqrt,
  reciprocal,
  sigmoid,
  tanh,
  erf,
  softplus,
  sine,
  cosine,
  floor,
  round,
  // ops/binary.cpp
  add,
  subtract,
  multiply,
  divide,
  maximum,
  minimum,
  power,
  greater_equal,
  less,
  // ops/reduce.cpp
  reduce_sum,
  broadcast,
  // ops/arrange.cpp
  reshape,
  transpose,
  slice,
  pad,
  concat,
  gather,
  scatter_add,
  // ops/softmax.cpp
  softmax,
  log_softmax,
  // ops/choice.cpp
  select,
  top_index,
  take,
  put_add,
  // ops/trees.cpp
  tree_ensemble,
  // ops/gaussian.cpp
  relu_mean,
  relu_variance,
  normal_cdf,
  normal_density,
};

/// f(a) or f(a, b) of an element-wise operator (ops/unary.cpp, ops/binary.cpp); a itself for other operators. `parameter` is
/// its attribute, if it has one. The reference evaluation, the CPU's loops and the GPU's kernels call this function. It is always
/// inlined, so that the switch disappears if the operator is known at compile time.
[[gnu::always_inline]] PROBUST_HOST_DEVICE inline float element_value(Op op, float a, float b, [[maybe_unused]] float parameter) {
  switch (op) {
    case Op::negate:
      return -a;
    case Op::absolute:
      return std::fabs(a);
    case Op::sign:
      return static_cast<float>((a > 0) - (a < 0));
    case Op::step:
      return a > 0 ? 1.0F : 0.0F;
    case Op::relu:
      return a < 0 ? 0.0F : a;  // NaN stays NaN
    case Op::exp:
      return std::exp(a);
    case Op::log:
      return std::log(a);
    case Op::sqrt:
      return std::sqrt(a);
    case Op::reciprocal:
      return 1.0F / a;
    case Op::sigmoid: {
      const float e = std::exp(-std::fabs(a));  // never overflows
      return (a >= 0 ? 1.0F : e) / (1.0F + e);
    }
    case Op::tanh:
      return std::tanh(a);
    case Op::erf:
      return std::erf(a);
    case Op::softplus:
      return std::fmax(a, 0.0F) + std::log1p(std::exp(-std::fabs(a)));
    case Op::sine:
      return std::sin(a);
    case Op::cosine:
      return std::cos(a);
    case Op::floor:
      return std::floor(a);
    case Op::round:
      return std::nearbyint(a);  // ties to even
    case Op::add:
      return a + b;
    case Op::subtract:
      return a - b;
    case Op::multiply:
      return a * b;
    case Op::divide:
      return a / b;
    case Op::maximum:
      return b > a || b != b ? b : a;
    case Op::minimum:
      return b < a || b != b ? b : a;
    case Op::power:
      return std::pow(a, b);
    case Op::greater_equal:
      return a >= b ? 1.0F : 0.0F;
    case Op::less:
      return a < b ? 1.0F : 0.0F;
    default:
      return a;
  }
}

}  // namespace probust
