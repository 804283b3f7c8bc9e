// SPDX-License-Identifier: MIT
#include "cuda/noise_on_device.h"

#include "probust/base/transpose.h"

namespace probust::cuda {
namespace {

std::vector<std::uint32_t> keys(std::span<const std::int64_t> index) { return {index.begin(), index.end()}; }

std::vector<std::uint32_t> keys_of_pairs(const std::vector<std::vector<std::int64_t>>& draws) {
  std::vector<std::uint32_t> all;
  for (const std::vector<std::int64_t>& of_pair : draws) all.insert(all.end(), of_pair.begin(), of_pair.end());
  return all;
}

}  // namespace

NoiseOnDevice::NoiseOnDevice(Device& device, const Points& all, const NoiseShape& noise, std::int64_t elements)
    : PlacedPoints(all, noise),
      device_(device),
      elements_(elements),
      x_(device, all.x.data),
      index_(device, keys(all.index)),
      draws_(device, keys_of_pairs(all.draws)),
      by_element_(noise.by_element()) {
  if (by_element_ && !has_kernel(by_element_->draw)) by_element_.reset();
  if (by_element_ && !by_element_->deviations.empty()) deviations_ = Array<float>(device, by_element_->deviations);
}

DeviceRange NoiseOnDevice::on_device(const SampleRange& range) const {
  DeviceRange there;
  there.x = x_.data();
  there.index = index_.data();
  there.draws = range.of_pairs && !points.draws.empty() ? draws_.data() : nullptr;
  there.points = points.size();
  there.elements = elements_;
  there.first = range.first;
  there.count = range.count;
  there.begin = range.begin;
  there.lanes = range.lanes;
  there.stride = static_cast<std::uint32_t>(range.stride);
  there.offset = static_cast<std::uint32_t>(range.offset);
  return there;
}

void NoiseOnDevice::draw(const SampleRange& range, float* to) const {
  if (!by_element_) return draw_on_the_host(range, to);
  DeviceNoise recipe;
  recipe.draw = by_element_->draw;
  recipe.deviations = deviations_.data();
  recipe.varies = by_element_->varies;
  recipe.clips = by_element_->range.has_value();
  if (recipe.clips) recipe.clip = ClipMath(*by_element_->range);
  recipe.scale = static_cast<float>(range.scale);
  recipe.seed = points.seed;
  cuda::draw(device_, on_device(range), recipe, to);
}

void NoiseOnDevice::reflect(const SampleRange& range, float* to) const { cuda::reflect(device_, on_device(range), to); }

void NoiseOnDevice::draw_on_the_host(const SampleRange& range, float* to) const {
  const std::int64_t lanes = range.lanes;
  std::vector<std::uint32_t> index(static_cast<std::size_t>(lanes)), sample(index.size());
  std::vector<float> by_element(static_cast<std::size_t>(lanes * elements_)), by_lane(by_element.size());
  for (std::int64_t lane = 0; lane < lanes; ++lane) {
    const std::int64_t point = range.point(lane);
    index[lane] = static_cast<std::uint32_t>(position(range, lane));
    sample[lane] = static_cast<std::uint32_t>(range.sample(lane));
    for (std::int64_t e = 0; e < elements_; ++e) by_element[e * lanes + lane] = points.x.data[point * elements_ + e];
  }
  shape.add({points.seed, index, sample}, elements_, static_cast<float>(range.scale), by_element.data());
  transpose(by_element.data(), elements_, lanes, by_lane.data());
  device_.upload(to, by_lane.data(), lanes * elements_ * kFloatBytes);
}

void NoiseOnDevice::whiten(std::span<const std::int64_t> index, const std::uint32_t* there, std::int64_t lanes,
                           float* gradients) const {
  if (!by_element_) return whiten_on_the_host(index, lanes, gradients);
  scale_by_deviation(device_, *by_element_, deviations_.data(), there, static_cast<std::int64_t>(index.size()),
                     {gradients, elements_, lanes});
}

void NoiseOnDevice::whiten_on_the_host(std::span<const std::int64_t> index, std::int64_t lanes, float* gradients) const {
  std::vector<float> by_lane(static_cast<std::size_t>(lanes * elements_)), by_element(by_lane.size());
  device_.download(by_lane.data(), gradients, lanes * elements_ * kFloatBytes);
  transpose(by_lane.data(), lanes, elements_, by_element.data());
  std::vector<std::uint32_t> of_lanes;
  of_lanes.reserve(static_cast<std::size_t>(lanes));
  while (static_cast<std::int64_t>(of_lanes.size()) < lanes) of_lanes.insert(of_lanes.end(), index.begin(), index.end());
  shape.whiten(of_lanes, elements_, by_element.data());
  transpose(by_element.data(), elements_, lanes, by_lane.data());
  device_.upload(gradients, by_lane.data(), lanes * elements_ * kFloatBytes);
}

std::vector<float> variances_of(const Noise& noise, std::span<const std::int64_t> index, std::int64_t elements) {
  const auto count = static_cast<std::int64_t>(index.size());
  std::vector<float> by_element(static_cast<std::size_t>(count * elements), static_cast<float>(noise.scale * noise.scale)),
      by_lane(by_element.size());
  noise.shape->variances(keys(index), elements, by_element.data());
  transpose(by_element.data(), elements, count, by_lane.data());
  return by_lane;
}

}  // namespace probust::cuda
