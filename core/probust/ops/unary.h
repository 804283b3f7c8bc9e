// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

#include "probust/base/everywhere.h"

// The scalar functions behind the unary operators, shared by the reference evaluation and the executors.
namespace probust::ops {

PROBUST_EVERYWHERE inline float sigmoid(float x) {
  // Uses exp(-|x|), which never overflows.
  const float e = std::exp(-std::fabs(x));
  return (x >= 0 ? 1.0F : e) / (1.0F + e);
}

PROBUST_EVERYWHERE inline float softplus(float x) { return std::fmax(x, 0.0F) + std::log1p(std::exp(-std::fabs(x))); }

PROBUST_EVERYWHERE inline float sign(float x) { return static_cast<float>((x > 0) - (x < 0)); }

}  // namespace probust::ops
