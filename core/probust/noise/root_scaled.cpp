// SPDX-License-Identifier: MIT
// Noise whose scale is divided by sqrt(d), so that the expected length of a deviation does not depend on the number d of
// elements: Gaussian noise of scale S / sqrt(d) has deviations of length about S.
#include <cmath>

#include "probust/base/text.h"
#include "probust/noise/noise.h"

namespace probust {
namespace {

class RootScaled final : public NoiseShape {
 public:
  explicit RootScaled(std::shared_ptr<const NoiseShape> shape, std::int64_t elements = 0)
      : shape_(std::move(shape)), deviations_(static_cast<std::size_t>(elements), root(elements)) {}

  std::string name() const override { return shape_->name() + "/sqrt(d)"; }
  std::string text(double scale) const override { return shape_->text(scale) + "/sqrt(d)"; }
  bool one_parameter() const override { return shape_->one_parameter(); }
  bool in_data_units() const override { return false; }
  void fit(std::int64_t elements, std::int64_t points) const override { shape_->fit(elements, points); }
  bool differs() const override { return shape_->differs(); }
  bool needs_data() const override { return shape_->needs_data(); }
  std::shared_ptr<const NoiseShape> with_data(const Tensor& points) const override {
    auto own = shape_->with_data(points);
    return own == nullptr ? nullptr : std::make_shared<const RootScaled>(std::move(own), std::ssize(deviations_));
  }
  bool mirrored() const override { return shape_->mirrored(); }
  bool additive() const override { return shape_->additive(); }
  GaussianView gaussian() const override { return shape_->gaussian(); }

  void add(const NoiseLanes& lanes, std::int64_t elements, float scale, float* x) const override {
    std::vector<float> moves(static_cast<std::size_t>(elements) * lanes.points.size(), 0.0F);
    shape_->add(lanes, elements, scale, moves.data());
    const float factor = root(elements);  // of the whole move, as on devices
    for (std::size_t i = 0; i < moves.size(); ++i) x[i] += factor * moves[i];
  }
  std::optional<std::int64_t> normals(std::int64_t elements) const override { return shape_->normals(elements); }
  void add_normals(std::span<const std::uint32_t> points, std::int64_t elements, float scale, const float* w,
                   float* x) const override {
    shape_->add_normals(points, elements, scale * root(elements), w, x);
  }
  std::int64_t whiten(std::span<const std::uint32_t> points, std::int64_t elements, float* gradients) const override {
    multiply(points, elements, root(elements), gradients);
    return shape_->whiten(points, elements, gradients);
  }
  void variances(std::span<const std::uint32_t> points, std::int64_t elements, float* variance) const override {
    multiply(points, elements, root(elements) * root(elements), variance);
    shape_->variances(points, elements, variance);
  }

  // A device draws from a deviation for each element, which is known once the shape of the points is.
  std::optional<ElementNoise> by_element() const override {
    std::optional<ElementNoise> noise = shape_->by_element();
    if (!noise || deviations_.empty() || !noise->deviations.empty()) return std::nullopt;
    noise->deviations = deviations_;
    return noise;
  }
  std::shared_ptr<const NoiseShape> bound(const Shape& point) const override {
    auto own = shape_->bound(point);
    if (own == nullptr && !deviations_.empty()) return nullptr;
    return std::make_shared<const RootScaled>(own == nullptr ? shape_ : std::move(own), element_count(point));
  }

 private:
  static float root(std::int64_t elements) {
    return static_cast<float>(1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(1, elements))));
  }
  static void multiply(std::span<const std::uint32_t> points, std::int64_t elements, float factor, float* values) {
    const std::int64_t count = elements * static_cast<std::int64_t>(points.size());
    for (std::int64_t i = 0; i < count; ++i) values[i] *= factor;
  }

  std::shared_ptr<const NoiseShape> shape_;
  std::vector<float> deviations_;  // [elements], once they are known
};

}  // namespace

std::shared_ptr<const NoiseShape> per_root_of_elements(std::shared_ptr<const NoiseShape> shape) {
  return std::make_shared<const RootScaled>(std::move(shape));
}

}  // namespace probust
