// SPDX-License-Identifier: MIT
// Student's t: like normal noise, but with tails that fall as a power of the distance. Its variance is f / (f - 2) at scale 1
// for f > 2 degrees of freedom, and infinite otherwise.
#include <cmath>

#include "probust/base/philox.h"
#include "probust/base/text.h"
#include "probust/noise/draw_math.h"
#include "probust/noise/noise.h"

namespace probust {
namespace {

class Student final : public NoiseShape {
 public:
  explicit Student(double freedom)
      : freedom_(freedom), deviation_(freedom > 2 ? static_cast<float>(std::sqrt(freedom / (freedom - 2))) : 0.0F) {}

  std::string name() const override { return "student:df=" + shortest_text(freedom_); }
  std::string text(double scale) const override { return "student:" + shortest_text(scale) + ":df=" + shortest_text(freedom_); }
  bool mirrored() const override { return true; }

  // A call of the generator gives the words of two neighbouring elements.
  void add(const NoiseLanes& lanes, std::int64_t elements, float scale, float* x) const override {
    const auto count = static_cast<std::int64_t>(lanes.points.size());
    const PhiloxKey key{static_cast<std::uint32_t>(lanes.seed), static_cast<std::uint32_t>(lanes.seed >> 32)};
    const auto freedom = static_cast<float>(freedom_);
    for (std::int64_t e = 0; e < elements; e += 2) {
      for (std::int64_t i = 0; i < count; ++i) {
        const PhiloxCounter words =
            philox({static_cast<std::uint32_t>(e / 2), lanes.samples[i], lanes.points[i], lanes.stream}, key);
        x[e * count + i] += scale * draws::student_draw(words[0], words[1], freedom);
        if (e + 1 < elements) x[(e + 1) * count + i] += scale * draws::student_draw(words[2], words[3], freedom);
      }
    }
  }

  std::int64_t whiten(std::span<const std::uint32_t> points, std::int64_t elements, float* gradients) const override {
    multiply(points, elements, deviation_, gradients);
    return deviation_ > 0 ? elements : 0;
  }
  void variances(std::span<const std::uint32_t> points, std::int64_t elements, float* variance) const override {
    multiply(points, elements, deviation_ * deviation_, variance);
  }
  GaussianView gaussian() const override {
    if (deviation_ == 0)
      return {GaussianView::Kind::absent, "student noise with df of at most 2 has no variance and can only be sampled; use mc:N"};
    return {GaussianView::Kind::approximate, "student noise approximated as Gaussian of the same variance"};
  }

 private:
  static void multiply(std::span<const std::uint32_t> points, std::int64_t elements, float factor, float* values) {
    const std::int64_t count = elements * static_cast<std::int64_t>(points.size());
    for (std::int64_t i = 0; i < count; ++i) values[i] *= factor;
  }

  double freedom_;
  float deviation_;
};

}  // namespace

std::shared_ptr<const NoiseShape> student_noise(double freedom) { return std::make_shared<const Student>(freedom); }

}  // namespace probust
