// SPDX-License-Identifier: MIT
// Noise that multiplies: x' = x f(S z) with standard normals z and f(t) = 1 + t or e^t, for each value or for each row along
// the last axis. Gaussian estimators linearise the model of x', as a function of z (NoiseShape::map).
#include <algorithm>
#include <numeric>

#include "probust/base/text.h"
#include "probust/noise/draw_math.h"
#include "probust/noise/draws.h"
#include "probust/noise/latent_map.h"
#include "probust/noise/sampled.h"
#include "probust/ops/build.h"

namespace probust {
namespace {

class Factors final : public SampledNoise {
 public:
  enum class Link : std::uint8_t { one_plus, exponential };

  /// `point` is empty until the noise is bound.
  Factors(std::string name, Link link, bool by_row, const Shape& point = {})
      : SampledNoise(name + " noise"), name_(std::move(name)), link_(link), by_row_(by_row) {
    if (point.empty()) return;
    row_ = by_row ? point.back() : 1;
    map_ = map_of_graph(graph(point), element_count(point), *normals(element_count(point)), isotropic_gaussian(), by_row, name_);
  }

  std::string name() const override { return name_; }
  bool in_data_units() const override { return false; }
  bool mirrored() const override { return true; }
  bool additive() const override { return false; }  // the noise of one point is not that of another
  std::shared_ptr<const NoiseMap> map() const override { return map_; }
  std::shared_ptr<const NoiseShape> bound(const Shape& point) const override {
    if (map_ != nullptr || point.empty()) return nullptr;
    return bound_.at(point, [&] { return std::make_shared<const Factors>(name_, link_, by_row_, point); });
  }

  void add(const NoiseLanes& lanes, std::int64_t elements, float scale, float* x) const override {
    std::vector<float> z(static_cast<std::size_t>(*normals(elements)) * lanes.points.size(), 0.0F);
    draws::add_normal(lanes, *normals(elements), 1, z.data());
    add_normals(lanes.points, elements, scale, z.data(), x);
  }

  std::optional<std::int64_t> normals(std::int64_t elements) const override {
    return (elements + row(elements) - 1) / row(elements);
  }
  std::vector<std::int64_t> parameters(std::int64_t elements) const override {
    std::vector<std::int64_t> all(by_row_ ? static_cast<std::size_t>(*normals(elements)) : 0);
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  void add_normals(std::span<const std::uint32_t> points, std::int64_t elements, float scale, const float* w,
                   float* x) const override {
    const auto lanes = static_cast<std::int64_t>(points.size());
    for (std::int64_t e = 0; e < elements; ++e) {
      const float* of_row = w + e / row(elements) * lanes;
      for (std::int64_t i = 0; i < lanes; ++i) {
        const float t = scale * of_row[i];
        x[e * lanes + i] *= link_ == Link::exponential ? draws::exponential(t) : 1 + t;
      }
    }
  }

 private:
  // Without a shape, a point is one row.
  std::int64_t row(std::int64_t elements) const { return std::max<std::int64_t>(1, row_ > 0 ? row_ : by_row_ ? elements : 1); }

  Graph graph(const Shape& point) const {
    Graph g;
    Shape rows = point;
    if (by_row_) rows.back() = 1;
    const ValueId x = append_input(g, point, Extent::example, "x");
    const ValueId z = append_input(g, {element_count(rows)}, Extent::example, "z");
    const ValueId t = build::broadcast(g, build::reshape(g, z, rows), point);
    const ValueId factor = link_ == Link::exponential ? append(g, Op::exp, {t})
                                                      : build::add(g, t, build::broadcast(g, build::constant(g, 1), point));
    g.outputs = {build::multiply(g, x, factor)};
    return g;
  }

  std::string name_;
  Link link_;
  bool by_row_;
  std::int64_t row_ = 0;  // values that share a factor; 0: not bound
  std::shared_ptr<const NoiseMap> map_;
  LastBound bound_;
};

}  // namespace

std::shared_ptr<const NoiseShape> speckle_noise() {
  return std::make_shared<const Factors>("speckle", Factors::Link::one_plus, false);
}
std::shared_ptr<const NoiseShape> lognormal_noise() {
  return std::make_shared<const Factors>("lognormal", Factors::Link::exponential, false);
}
std::shared_ptr<const NoiseShape> gain_noise() { return std::make_shared<const Factors>("gain", Factors::Link::one_plus, true); }

}  // namespace probust
