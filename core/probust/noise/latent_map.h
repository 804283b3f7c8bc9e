// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "probust/noise/noise.h"

namespace probust {

/// The noise bound to the last shape of points. Executors keep what they compile for a map as long as they live, so the points of
/// a run must get the same map.
class LastBound {
 public:
  template <class Make>
  std::shared_ptr<const NoiseShape> at(const Shape& point, const Make& make) const {
    const std::lock_guard lock(mutex_);
    if (point_ != point) {
      shape_ = make();
      point_ = point;
    }
    return shape_;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::optional<Shape> point_;
  mutable std::shared_ptr<const NoiseShape> shape_;
};

/// The map of a graph (x of `elements` elements, z [latents]) -> x', where z has the distribution `latent` and is either the
/// parameters of a perturbation or noise on single elements.
std::shared_ptr<const NoiseMap> map_of_graph(Graph graph, std::int64_t elements, std::int64_t latents,
                                             std::shared_ptr<const NoiseShape> latent, bool parameters, const std::string& name);

/// The map T(x, z) of points of `columns.size()` elements, on these columns of points of shape `point`.
std::shared_ptr<const NoiseMap> map_on_columns(const NoiseShape& shape, const std::vector<std::int64_t>& columns,
                                               const Shape& point, const std::string& name);

}  // namespace probust
