// SPDX-License-Identifier: MIT
// Pictures of images with noise at each sigma.
#include "probust/noise/noise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "experiments/answers.h"
#include "experiments/experiments.h"
#include "experiments/main_run.h"
#include "report/words.h"

namespace probust::cli::reproduce {
namespace {

constexpr std::size_t kImages = 6;

// The first point of each class, for at most kImages classes.
std::vector<std::int64_t> examples(const Dataset& data) {
  std::vector<std::int64_t> points;
  std::set<std::int64_t> classes;
  for (std::size_t i = 0; i < data.labels.size() && points.size() < kImages; ++i) {
    if (classes.insert(data.labels[i]).second) points.push_back(static_cast<std::int64_t>(i));
  }
  return points;
}

Tensor noisy(const Tensor& x, double sigma, std::uint64_t seed, std::int64_t point) {
  Tensor copy = x;
  NoiseStream stream(seed, static_cast<std::uint32_t>(point), 0, 0);
  for (float& value : copy.data) value += static_cast<float>(sigma * stream.normal());
  return copy;
}

}  // namespace

Findings noise(Study& study) {
  const MainRun run = main_run(study);
  Findings findings;
  if (!report::is_image(study.subject().point)) {
    findings.method.push_back("These points are not images.");
    return findings;
  }
  const Answers answers(study.rows(run.of_network));
  const Dataset& data = study.test();
  const std::vector<std::int64_t> points = examples(data);
  const report::Brightness brightness = report::brightness_of(data.x);
  report::PictureGrid grid{.title = "Noisy samples of test images", .side = 72};
  const std::vector<std::string>& names = study.subject().class_names;
  for (const std::int64_t point : points) {
    const std::int64_t label = data.labels[static_cast<std::size_t>(point)];
    grid.columns.push_back(static_cast<std::size_t>(label) < names.size() ? names[static_cast<std::size_t>(label)]
                                                                          : std::to_string(label));
  }
  Sheet sheet{"noise", "Noise relative to the range of pixels, and its effect.",
              columns({"sigma", "peak signal to noise, dB", "mean p", "points with p < 0.5"}, {})};
  std::vector<double> scales = {0};
  scales.insert(scales.end(), study.sigmas().begin(), study.sigmas().end());
  for (const double sigma : scales) {
    report::GridRow row{sigma == 0 ? "no noise" : fmt::format("sigma {}", sigma), {}};
    for (const std::int64_t point : points) {
      report::GridCell cell{report::picture_of(noisy(rows(data.x, point, 1), sigma, study.seed(), point), brightness), ""};
      if (sigma > 0) cell.text = report::rounded(answers.p(run.reference, sigma)[static_cast<std::size_t>(point)]);
      row.cells.push_back(cell);
    }
    grid.rows.push_back(row);
    if (sigma == 0) continue;
    const std::vector<double>& p = answers.p(run.reference, sigma);
    const auto lost = std::count_if(p.begin(), p.end(), [](double each) { return each < 0.5; });
    sheet.rows.push_back(
        {fmt::format("{}", sigma), fmt::format("{:.1f}", 20 * std::log10((brightness.white - brightness.black) / sigma)),
         report::rounded(mean_interval(p).mean), report::percent(static_cast<double>(lost) / static_cast<double>(p.size()))});
  }
  findings.method.push_back(fmt::format("One noisy sample of {} test images at every sigma; below it, p of the image by {}.",
                                        points.size(), run.reference));
  findings.claims = {
      {"The levels of noise in the experiments are visually significant.", "preprint, figures 14 to 17",
       fmt::format(
           "The smallest sigma, {}, is {} dB below the range of pixel values, the largest, {}, {} dB. The reader can judge.",
           scales[1], sheet.rows.front()[1], scales.back(), sheet.rows.back()[1]),
       Verdict::not_tested}};
  findings.figures = {{"noise", "Noisy samples. The number below an image is its p.", grid}};
  findings.sheets = {sheet};
  return findings;
}

}  // namespace probust::cli::reproduce
