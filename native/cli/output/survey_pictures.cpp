// SPDX-License-Identifier: MIT
#include "cli/output/survey_pictures.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "cli/output/noisy_pictures.h"
#include "probust/analysis/ranking.h"
#include "probust/run/row.h"

namespace probust::cli {
namespace {

constexpr std::int64_t kMostPictured = 100;  // the largest number of noisy samples of an image
constexpr std::size_t kMostMisled = 4;       // the largest number of images for each kind of noise

double change(std::span<const float> x, std::span<const float> noisy) {
  double sum = 0;
  for (std::size_t e = 0; e < x.size(); ++e) sum += (double{noisy[e]} - x[e]) * (double{noisy[e]} - x[e]);
  return sum;
}

class Painter {
 public:
  Painter(Problem& problem, const std::vector<Noise>& noises, std::int64_t samples)
      : problem_(problem),
        image_(image_of(problem.data->point_shape(), problem.arguments.data.path)),
        samples_(std::min(samples, kMostPictured)) {
    for (const Noise& noise : noises) noises_[noise.text()] = noise;
  }

  report::Picture original(std::int64_t index) { return picture_of(image_, point(index).row(0), brightness(index)); }

  report::Strip strip(std::int64_t index, const SurveyEntry& entry) {
    report::Strip strip{index, {}, {}};
    for (std::size_t k = 0; k < strip.noisy.size(); ++k) {
      const Tensor x = point(index), noisy = samples_of(index, entry.kind.noises[k]);
      strip.noisy[k] = picture_of(image_, noisy.row(median_change(x, noisy)), brightness(index));
      strip.p[k] = NAN;
      for (const Row* row : entry.strengths[k].group.rows) {
        if (row->index == index) strip.p[k] = row->estimate.p;
      }
    }
    return strip;
  }

  // Finds the most frequent other class among the predictions for noisy samples, and the sample of this class that differs
  // least from the image.
  report::Misled misled(const Row& row) {
    report::Misled one{&row, original(row.index)};
    const Tensor x = point(row.index), noisy = samples_of(row.index, row.noise);
    const std::vector<std::int64_t> predicted = predicted_classes(problem_.model.logits(noisy));
    std::map<std::int64_t, std::int64_t> counts;
    for (const std::int64_t each : predicted) counts[each] += each == row.target ? 0 : 1;
    const auto most =
        std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    one.samples = std::ssize(predicted);
    if (most->second == 0) return one;
    one.wrong = most->first;
    one.count = most->second;
    std::int64_t mildest = -1;
    for (std::int64_t i = 0; i < one.samples; ++i) {
      if (predicted[i] != one.wrong) continue;
      if (mildest < 0 || change(x.row(0), noisy.row(i)) < change(x.row(0), noisy.row(mildest))) mildest = i;
    }
    one.noisy = picture_of(image_, noisy.row(mildest), brightness(row.index));
    return one;
  }

 private:
  Tensor point(std::int64_t index) { return problem_.data->read(index - first_position(problem_), 1).x; }
  report::Brightness brightness(std::int64_t index) { return report::brightness_of(point(index)); }

  Tensor samples_of(std::int64_t index, const std::string& noise) {
    return noisy_samples(noises_.at(noise), point(index), index, samples_, problem_.arguments.question.seed);
  }

  static std::int64_t median_change(const Tensor& x, const Tensor& noisy) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(noisy.shape[0]));
    std::iota(order.begin(), order.end(), 0);
    std::vector<double> changes;
    for (const std::int64_t i : order) changes.push_back(change(x.row(0), noisy.row(i)));
    const auto middle = order.begin() + std::ssize(order) / 2;
    std::nth_element(order.begin(), middle, order.end(), [&](std::int64_t a, std::int64_t b) { return changes[a] < changes[b]; });
    return *middle;
  }

  Problem& problem_;
  Image image_;
  std::int64_t samples_;
  std::map<std::string, Noise> noises_;
};

bool right(const Row& row) { return !row.label || *row.label == row.predicted; }

// The rows of an entry at medium strength with the smallest p below 1. Images that the model is known to classify wrongly are
// excluded.
std::vector<const Row*> lowest(const SurveyEntry& entry) {
  const RowGroup& group = entry.strengths[kMedium].group;
  std::vector<const Row*> rows;
  for (const Row* row : ranking_of(group, std::ssize(group.rows)).least) {
    if (right(*row) && row->estimate.p < 1 && rows.size() < kMostMisled) rows.push_back(row);
  }
  return rows;
}

// The first image that is not known to be classified wrongly; if there is none, the first image.
std::int64_t example_of(const Survey& survey) {
  const std::vector<const Row*>& rows = survey.entries[0].strengths[kMedium].group.rows;
  const auto found = std::find_if(rows.begin(), rows.end(), [](const Row* row) { return right(*row); });
  return found == rows.end() ? rows[0]->index : (*found)->index;
}

}  // namespace

report::SurveyPictures pictures_of_survey(Problem& problem, const Survey& survey, const std::vector<Noise>& noises,
                                          std::int64_t samples) {
  Painter painter(problem, noises, samples);
  report::SurveyPictures pictures{example_of(survey), painter.original(example_of(survey)), {}};
  for (const SurveyEntry& entry : survey.entries) {
    report::SurveyPictures::Kind& kind = pictures.kinds[entry.kind.name];
    kind.strip = painter.strip(pictures.index, entry);
    for (const Row* row : lowest(entry)) kind.misled.push_back(painter.misled(*row));
  }
  return pictures;
}

}  // namespace probust::cli
