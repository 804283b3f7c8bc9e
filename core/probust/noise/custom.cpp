// SPDX-License-Identifier: MIT
// A sampler supplied by the user, and the random numbers for it.
#include "probust/base/philox.h"
#include "probust/noise/draws.h"
#include "probust/noise/sampled.h"

namespace probust {
namespace {

class Custom final : public SampledNoise {
 public:
  Custom(std::string name, Sampler draw) : SampledNoise("custom noise"), name_(std::move(name)), draw_(std::move(draw)) {}

  std::string name() const override { return name_; }

  void add(const NoiseLanes& lanes, std::int64_t elements, float scale, float* x) const override {
    const auto count = static_cast<std::int64_t>(lanes.points.size());
    std::vector<float> point(static_cast<std::size_t>(elements));
    for (std::int64_t lane = 0; lane < count; ++lane) {
      for (std::int64_t e = 0; e < elements; ++e) point[e] = x[e * count + lane];
      NoiseStream random(lanes.seed, lanes.points[lane], lanes.samples[lane], lanes.stream);
      draw_(random, scale, point);
      for (std::int64_t e = 0; e < elements; ++e) x[e * count + lane] = point[e];
    }
  }

 private:
  std::string name_;
  Sampler draw_;
};

}  // namespace

std::uint32_t NoiseStream::word() {
  const std::uint32_t at = used_++;
  if (at % 4 == 0) {
    const PhiloxKey key{static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32)};
    block_ = philox({at / 4, sample_, point_, stream_}, key);
  }
  return block_[at % 4];
}

double NoiseStream::uniform() { return (word() + 0.5) / 4294967296.0; }

double NoiseStream::normal() {
  const std::uint32_t radius = word();
  float z0 = 0, z1 = 0;
  draws::box_muller(radius, word(), z0, z1);
  return z0;
}

std::shared_ptr<const NoiseShape> custom_noise(std::string name, Sampler draw) {
  return std::make_shared<const Custom>(std::move(name), std::move(draw));
}

}  // namespace probust
