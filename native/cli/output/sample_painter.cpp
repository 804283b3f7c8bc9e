// SPDX-License-Identifier: MIT
#include "cli/output/sample_painter.h"

#include <algorithm>
#include <numeric>

#include "probust/estimators/statistics/counts.h"

namespace probust::cli {

SamplePainter::SamplePainter(PointSource& data, const std::string& where, std::int64_t samples, std::uint64_t seed,
                             std::optional<report::Brightness> brightness)
    : data_(data), image_(image_of(data.point_shape(), where)), samples_(samples), seed_(seed), brightness_(brightness) {}

report::Picture SamplePainter::original(std::int64_t index) {
  const Tensor x = point(index);
  return picture(x, x.row(0));
}

std::vector<report::Picture> SamplePainter::typical(std::int64_t index, const Noise& noise, std::int64_t count) {
  const Tensor x = point(index);
  const NoisySamples samples = samples_of(x, index, noise);
  const std::int64_t all = std::ssize(samples.changes);
  std::vector<std::int64_t> order(samples.changes.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return samples.changes[a] < samples.changes[b]; });
  std::vector<report::Picture> pictures;
  for (std::int64_t k = 0; k < std::min(count, all); ++k)
    pictures.push_back(picture(x, samples.x.row(order[(2 * k + 1) * all / (2 * std::min(count, all))])));
  return pictures;
}

report::WrongVersion SamplePainter::wrong_version(const Row& row, const Noise& noise, LoadedModel& model, const Event& event) {
  const Tensor x = point(row.index);
  const NoisySamples samples = samples_of(x, row.index, noise);
  const Tensor logits = model.logits(samples.x);
  const std::vector<std::int64_t> predicted = predicted_classes(logits);
  const std::int64_t all = std::ssize(predicted);
  std::vector<bool> wrong(predicted.size());
  for (std::int64_t i = 0; i < all; ++i) wrong[i] = !keeps_target(event, logits.row(i), row.target);
  report::WrongVersion version{{}, 0, 0, all};
  const std::optional<std::int64_t> chosen = most_probable(samples, wrong);
  if (!chosen) return version;
  version.picture = picture(x, samples.x.row(*chosen));
  version.predicted = predicted[*chosen];
  for (std::int64_t i = 0; i < all; ++i) version.count += wrong[i] && predicted[i] == version.predicted ? 1 : 0;
  return version;
}

Tensor SamplePainter::point(std::int64_t index) { return data_.read(index - data_.offset(), 1).x; }

report::Picture SamplePainter::picture(const Tensor& x, std::span<const float> values) const {
  return picture_of(image_, values, brightness_ ? *brightness_ : report::brightness_of(x));
}

NoisySamples SamplePainter::samples_of(const Tensor& x, std::int64_t index, const Noise& noise) const {
  const bool same = bound(noise, data_.point_shape()).shape->fixed();
  return noisy_samples(noise, x, index, same ? 1 : samples_, seed_);
}

}  // namespace probust::cli
