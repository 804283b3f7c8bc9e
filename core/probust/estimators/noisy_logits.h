// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>

#include "probust/base/linear_algebra.h"
#include "probust/exec/executor.h"

namespace probust {

/// Noisy samples as functions of standard normals (NoiseShape::add_normals): sample j is of point which[j], and belongs to row
/// `row` + j of w [.., normals].
Tensor noisy_points(const Points& points, std::span<const std::int64_t> which, const Noise& noise, const Eigen::MatrixXf& w,
                    int threads, std::int64_t row = 0);

/// The logits [samples, C] of the samples for all rows of w, computed in parts that fit the executor's memory.
Tensor noisy_logits(Executor& executor, const Points& points, std::span<const std::int64_t> which, const Noise& noise,
                    const Eigen::MatrixXf& w);

/// The margin of a target over a rival as a finite number: positive if and only if the target wins. NaN becomes the lowest
/// number, because the target does not survive.
float finite_margin(std::span<const float> logits, std::int64_t target, std::int64_t rival);

}  // namespace probust
