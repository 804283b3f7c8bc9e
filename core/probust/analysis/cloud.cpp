// SPDX-License-Identifier: MIT
#include "probust/analysis/cloud.h"

#include "probust/estimators/counts.h"
#include "probust/exec/checks.h"

namespace probust {

Result<Cloud> noisy_cloud(Executor& executor, const Points& points, const Noise& noise, std::int64_t count) {
  return guarded("cloud", [&] {
    check(executor, points, *noise.shape);
    if (points.size() != 1 || count < 1)
      throw Error{ErrorCode::usage, "cloud", std::to_string(count) + " copies of " + std::to_string(points.size()) + " points",
                  "ask for at least one copy of one point"};
    const std::int64_t elements = points.x.size();
    if (count > kMaxElements / elements)
      throw Error{ErrorCode::resources, "cloud",
                  std::to_string(count) + " copies of " + std::to_string(elements) + " elements are too many to keep",
                  "ask for fewer"};
    const auto make_noisy = [&](const NoiseLanes& lanes, float* x) {
      noise.shape->add(lanes, elements, static_cast<float>(noise.scale), x);
    };
    Cloud cloud{noisy_rows(points, 0, count, executor.options().threads, make_noisy), {}};
    const Tensor logits = executor.logits(cloud.x).value();
    cloud.predicted.reserve(static_cast<std::size_t>(count));
    for (std::int64_t j = 0; j < count; ++j) cloud.predicted.push_back(argmax(logits.row(j)));
    return cloud;
  });
}

}  // namespace probust
