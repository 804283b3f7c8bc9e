// SPDX-License-Identifier: MIT
#include "probust/estimators/latent.h"

#include <algorithm>

namespace probust {
namespace {

constexpr std::int64_t kMostLatentElements = std::int64_t{1} << 28;  // of a block of points with its latents

// [N, d] -> [N, d + k], zeros in the last k.
Tensor with_latents(const Tensor& x, std::int64_t points, std::int64_t k) {
  const std::int64_t d = points == 0 ? 0 : x.size() / points;
  if (points * (d + k) > kMostLatentElements)
    throw Error{ErrorCode::resources, "the block", "has too many points for this noise", "give fewer points at a time"};
  Tensor both({points, d + k});
  for (std::int64_t i = 0; i < points; ++i) std::copy_n(x.data.data() + i * d, d, both.data.data() + i * (d + k));
  return both;
}

}  // namespace

std::optional<LatentProblem> latent_problem(Executor& executor, const Points& points, const Noise& noise) {
  const std::shared_ptr<const NoiseMap> map = noise.shape->map();
  if (map == nullptr) return std::nullopt;
  Executor* composed = executor.after(map).value();
  if (composed == nullptr) return std::nullopt;
  LatentProblem problem{*composed, points, {}, noise, map->flat};
  problem.points.x = with_latents(points.x, points.size(), map->latents);
  problem.noise.shape = map->on_points;
  problem.logits = composed->logits(problem.points.x).value();
  return problem;
}

}  // namespace probust
