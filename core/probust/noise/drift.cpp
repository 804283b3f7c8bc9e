// SPDX-License-Identifier: MIT
// A drift: the same numbers are added to every sample, as by a sensor whose zero has moved.
#include <cmath>

#include "probust/noise/arrays.h"
#include "probust/noise/latent_map.h"
#include "probust/noise/sampled.h"
#include "probust/ops/build.h"

namespace probust {
namespace {

class Drift final : public SampledNoise {
 public:
  Drift(PerPoint means, std::string name, const Shape& point = {})
      : SampledNoise("drift noise"), rows_(std::move(means)), name_(std::move(name)) {
    if (!point.empty() && !rows_.varies) map_ = map_of_graph(graph(point), rows_.elements, 1, isotropic_gaussian(), false, name_);
  }

  std::string name() const override { return name_; }
  std::string text(double) const override { return name_; }
  bool one_parameter() const override { return false; }
  bool fixed() const override { return true; }
  bool mirrored() const override { return true; }
  bool additive() const override { return false; }
  bool differs() const override { return rows_.varies; }
  void fit(std::int64_t elements, std::int64_t points) const override { rows_.fit(elements, points); }
  std::shared_ptr<const NoiseMap> map() const override { return map_; }
  std::shared_ptr<const NoiseShape> bound(const Shape& point) const override {
    if (map_ != nullptr || rows_.varies || element_count(point) != rows_.elements) return nullptr;
    return bound_.at(point, [&] { return std::make_shared<const Drift>(rows_, name_, point); });
  }

  void add(const NoiseLanes& lanes, std::int64_t elements, float scale, float* x) const override {
    add_normals(lanes.points, elements, scale, nullptr, x);
  }
  std::optional<std::int64_t> normals(std::int64_t) const override { return 1; }  // which changes nothing
  void add_normals(std::span<const std::uint32_t> points, std::int64_t elements, float, const float*, float* x) const override {
    const auto count = static_cast<std::int64_t>(points.size());
    for (std::int64_t lane = 0; lane < count; ++lane) {
      const auto means = rows_.at(points[lane]);
      for (std::int64_t e = 0; e < elements; ++e) x[e * count + lane] += means[e];
    }
  }

 private:
  Graph graph(const Shape& point) const {
    Graph g;
    const ValueId x = append_input(g, point, Extent::example, "x");
    append_input(g, {1}, Extent::example, "z");
    g.outputs = {build::add(g, x, append_constant(g, Tensor(point, rows_.values)))};
    return g;
  }

  PerPoint rows_;
  std::string name_;
  std::shared_ptr<const NoiseMap> map_;  // null for a drift of each point, which no graph knows
  LastBound bound_;
};

}  // namespace

std::shared_ptr<const NoiseShape> drift_noise(const NoiseArray& means, std::string name) {
  if (means.shape.empty() || means.shape.size() > 2) refuse_shape(means, "give means [d], or [N, d] per point");
  for (const double value : means.values) {
    if (!std::isfinite(static_cast<float>(value)))
      throw Error{ErrorCode::unreadable, means.where, "contains a non-finite value", "give 0 for columns without drift"};
  }
  const std::int64_t d = means.shape.back();
  PerPoint rows{{means.values.begin(), means.values.end()}, d, d, means.shape.size() == 2, means.where};
  return std::make_shared<const Drift>(std::move(rows), std::move(name));
}

}  // namespace probust
