// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/output/noisy_pictures.h"
#include "cli/run/problem.h"
#include "probust/run/row.h"
#include "report/sample_pictures.h"

namespace probust::cli {

/// Draws pictures of images and of noisy samples of them: the first samples that `mc` draws with the same seed.
class SamplePainter {
 public:
  /// Draws `samples` noisy samples of each image, or one if all are the same. `where` names the data in errors. Without
  /// `brightness`, each image has its own brightness scale.
  SamplePainter(PointSource& data, const std::string& where, std::int64_t samples, std::uint64_t seed,
                std::optional<report::Brightness> brightness = {});

  /// The image at position `index` of the data.
  report::Picture original(std::int64_t index);

  /// `count` noisy samples of the image, at evenly spaced ranks from the least to the most changed. A single one is the
  /// median: half of the samples change the image more, half less.
  std::vector<report::Picture> typical(std::int64_t index, const Noise& noise, std::int64_t count);

  /// Of the row's noisy samples at which the prediction fails, the most probable one (see most_probable).
  report::WrongVersion wrong_version(const Row& row, const Noise& noise, LoadedModel& model, const Event& event);

 private:
  Tensor point(std::int64_t index);
  report::Picture picture(const Tensor& x, std::span<const float> values) const;
  NoisySamples samples_of(const Tensor& x, std::int64_t index, const Noise& noise) const;

  PointSource& data_;
  Image image_;
  std::int64_t samples_;
  std::uint64_t seed_;
  std::optional<report::Brightness> brightness_;
};

}  // namespace probust::cli
