// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "probust/exec/plan/lane_loops.h"
#include "probust/passes/affine_prefix.h"

namespace probust {

/// The bytes per point that project_by_draw needs for this number of gradients; 0 if it is not used.
std::int64_t bytes_to_project_by_draw(const Points& points, const Noise& noise, std::int64_t rows);

/// Whether project_by_draw, which holds all gradients in memory, may be used for this number of gradients per point.
bool projects_by_draw(const Points& points, const Noise& noise, std::int64_t rows);

/// Projection::along for pairs 0 .. count - 1 of points that share draws of additive noise, from their gradients [points][rows,
/// elements]. Each pair is drawn once for all points.
void project_by_draw(const LaneLoops& loops, const Points& points, const Noise& noise, std::int64_t count,
                     std::span<const Eigen::MatrixXf> gradients, std::span<Projection> result);

/// Executor::pairs for points that share draws of additive noise and classifiers with an affine prefix
/// (passes/affine_prefix.h). Only for the CPU.
class SharedDraws {
 public:
  /// Null if the device cannot run parts of the classifier. Error{resources} if there is too little memory for them. Passes
  /// through the remaining layers are counted in `progress`.
  static std::unique_ptr<SharedDraws> of(BatchDevice& device, const AffinePrefix& start, Progress& progress);

  std::vector<Pairs> pairs(const Points& points, const Noise& noise, std::int64_t count, std::int64_t first,
                           const StopToken& stop) const;

  /// Calls Executor::release on the executors of both parts.
  void release() const;

 private:
  SharedDraws(std::unique_ptr<Executor> first, std::unique_ptr<Executor> rest)
      : first_(std::move(first)), rest_(std::move(rest)) {}

  std::unique_ptr<Executor> first_, rest_;
};

}  // namespace probust
