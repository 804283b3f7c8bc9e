// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "probust/exec/plan/lane_loops.h"

namespace probust {

/// The margins of pairs first .. first + count - 1 of noisy samples of each point (Executor::pairs).
std::vector<Pairs> pairs_of(const LaneLoops& loops, const Points& points, const Noise& noise, std::int64_t count,
                            std::int64_t first);

/// The number of pairs of a projection, and the number that the caller already has.
struct AskedPairs {
  std::int64_t count, known;
};

/// Executor::project for as many points as fit one sweep, with one worker. rivals is [points][rows]. If `gradients` [points] is
/// not empty, the gradients [rows, elements] of these margins are written to it.
void project(const LaneLoops& loops, int worker, const Sweep& which, const Points& points,
             std::span<const std::vector<std::int64_t>> rivals, const Noise& noise, AskedPairs asked,
             std::span<Projection> result, std::span<Eigen::MatrixXf> gradients = {});

}  // namespace probust
