// SPDX-License-Identifier: MIT
// Noisy samples clipped to a range, as for images, and optionally rounded to the values of a byte.
#include <algorithm>
#include <cmath>

#include "probust/base/error.h"
#include "probust/base/text.h"
#include "probust/noise/clip_math.h"
#include "probust/noise/noise.h"

namespace probust {
namespace {

class Clipped final : public NoiseShape {
 public:
  Clipped(std::shared_ptr<const NoiseShape> shape, Quantization range) : shape_(std::move(shape)), range_(range) {}

  std::string name() const override { return shape_->name() + suffix(); }
  std::string text(double scale) const override { return shape_->text(scale) + suffix(); }
  bool one_parameter() const override { return shape_->one_parameter(); }
  bool in_data_units() const override { return shape_->in_data_units(); }
  void fit(std::int64_t elements, std::int64_t points) const override { shape_->fit(elements, points); }
  bool fixed() const override { return shape_->fixed(); }
  std::shared_ptr<const NoiseShape> bound(const Shape& point) const override {
    auto own = shape_->bound(point);
    return own == nullptr ? nullptr : std::make_shared<const Clipped>(std::move(own), range_);
  }

  void add(const NoiseLanes& lanes, std::int64_t elements, float scale, float* x) const override {
    shape_->add(lanes, elements, scale, x);
    clip(elements * static_cast<std::int64_t>(lanes.points.size()), x);
  }

  std::optional<ElementNoise> by_element() const override {
    std::optional<ElementNoise> noise = shape_->by_element();
    if (!noise || noise->range) return std::nullopt;
    noise->range = range_;
    return noise;
  }

  std::optional<std::vector<ElementLaw>> laws(std::uint32_t point, std::int64_t elements) const override {
    auto laws = shape_->laws(point, elements);
    for (std::size_t e = 0; laws && e < laws->size(); ++e) {
      if ((*laws)[e].range) return std::nullopt;
      (*laws)[e].range = range_;
    }
    return laws;
  }

  bool mirrored() const override { return shape_->mirrored(); }
  bool additive() const override { return false; }
  bool differs() const override { return shape_->differs(); }
  std::optional<std::int64_t> normals(std::int64_t elements) const override { return shape_->normals(elements); }
  std::vector<std::int64_t> parameters(std::int64_t elements) const override { return shape_->parameters(elements); }
  bool continuous() const override { return shape_->continuous() && range_.levels <= 1; }
  void add_normals(std::span<const std::uint32_t> points, std::int64_t elements, float scale, const float* w,
                   float* x) const override {
    shape_->add_normals(points, elements, scale, w, x);
    clip(elements * static_cast<std::int64_t>(points.size()), x);
  }

  std::int64_t whiten(std::span<const std::uint32_t> points, std::int64_t elements, float* gradients) const override {
    return shape_->whiten(points, elements, gradients);
  }

  void variances(std::span<const std::uint32_t> points, std::int64_t elements, float* variance) const override {
    shape_->variances(points, elements, variance);
  }

  GaussianView gaussian() const override {
    GaussianView view = shape_->gaussian();
    if (view.kind == GaussianView::Kind::absent) return view;
    const std::string own = range_.levels > 1 ? "clipping and rounding ignored" : "clipping ignored";
    return {GaussianView::Kind::approximate, view.reason.empty() ? own : view.reason + ", " + own};
  }

 private:
  void clip(std::int64_t count, float* x) const {
    const ClipMath clip(range_);
    for (std::int64_t i = 0; i < count; ++i) x[i] = clip(x[i]);
  }

  std::string suffix() const {
    const std::string levels = range_.levels > 1 ? "|levels:" + std::to_string(range_.levels) : "";
    return "|clip:" + shortest_text(range_.low) + "," + shortest_text(range_.high) + levels;
  }

  std::shared_ptr<const NoiseShape> shape_;
  Quantization range_;
};

}  // namespace

std::string without_clipping(const std::string& noise) { return noise.substr(0, noise.rfind("|clip:")); }

std::shared_ptr<const NoiseShape> clipped(std::shared_ptr<const NoiseShape> shape, Quantization range) {
  if (!std::isfinite(range.low) || !std::isfinite(range.high) || range.low >= range.high) {
    throw Error{ErrorCode::usage, option("clip"), "cannot be " + shortest_text(range.low) + "," + shortest_text(range.high),
                "give the smaller value first, as in 0,1"};
  }
  if (range.levels < 0 || range.levels == 1 || range.levels > (1 << 24)) {
    throw Error{ErrorCode::usage, option("levels"), "cannot be " + std::to_string(range.levels), "try 256"};
  }
  if (auto own = shape->clipped_to(range)) return own;
  return std::make_shared<const Clipped>(std::move(shape), range);
}

}  // namespace probust
