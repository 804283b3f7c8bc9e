// SPDX-License-Identifier: MIT
#include "probust/estimators/latent.h"

#include <algorithm>

#include "probust/estimators/tolerance.h"

namespace probust {
namespace {

// Limit on the elements of a block of points with their latents.
constexpr std::int64_t kMostLatentElements = std::int64_t{1} << 28;

}  // namespace

std::optional<LatentProblem> latent_problem(Executor& executor, const Points& points, const Noise& noise) {
  const std::shared_ptr<const NoiseMap> map = noise.shape->map();
  if (map == nullptr) return std::nullopt;
  Executor* composed = executor.after(map).value();
  if (composed == nullptr) return std::nullopt;
  const std::int64_t d = element_count(executor.point_shape()), n = points.size();
  if (n * (d + map->latents) > kMostLatentElements)
    throw Error{ErrorCode::resources, "the block", "has " + std::to_string(n) + " points, which is too many for this noise",
                "give at most " + std::to_string(std::max<std::int64_t>(1, kMostLatentElements / (d + map->latents))) +
                    " points at a time"};
  LatentProblem problem{*composed, points, {}, noise, map->flat};
  problem.points.x = with_outputs(points.x, Tensor({n, map->latents}));  // zeros after each point
  problem.noise.shape = map->on_points;
  problem.logits = composed->logits(problem.points.x).value();
  return problem;
}

}  // namespace probust
