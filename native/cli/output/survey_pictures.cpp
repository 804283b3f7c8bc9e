// SPDX-License-Identifier: MIT
#include "cli/output/survey_pictures.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "cli/output/sample_painter.h"
#include "probust/analysis/ranking.h"
#include "probust/run/row.h"

namespace probust::cli {
namespace {

constexpr std::int64_t kMostPictured = 100;  // the largest number of noisy samples to draw of an image
constexpr std::size_t kMostMisled = 4;       // the largest number of images to show for each kind of noise

// Draws the pictures of a survey. `noises` contains the noise models by their text in rows.
struct SurveyPainter {
  Problem& problem;
  SamplePainter painter;
  std::map<std::string, Noise> noises;
  Event event{};

  report::Strip strip(std::int64_t index, const SurveyEntry& entry) {
    report::Strip strip{index, {}, {}};
    for (std::size_t k = 0; k < strip.noisy.size(); ++k) {
      strip.noisy[k] = painter.typical(index, noises.at(entry.kind.noises[k]), 1).front();
      strip.p[k] = NAN;
      for (const Row* row : entry.strengths[k].group.rows) {
        if (row->index == index) strip.p[k] = row->estimate.p;
      }
    }
    return strip;
  }

  report::Misled misled(const Row& row) {
    return {&row, painter.original(row.index), painter.wrong_version(row, noises.at(row.noise), problem.model, event)};
  }
};

bool right(const Row& row) { return !row.label || *row.label == row.predicted; }

// The rows of an entry at medium strength with the smallest p below 1. Images that the model is known to misclassify are
// excluded.
std::vector<const Row*> lowest(const SurveyEntry& entry) {
  const RowGroup& group = entry.strengths[kMedium].group;
  std::vector<const Row*> rows;
  for (const Row* row : ranking_of(group, std::ssize(group.rows)).least) {
    if (right(*row) && row->estimate.p < 1 && rows.size() < kMostMisled) rows.push_back(row);
  }
  return rows;
}

// The first image that is not known to be misclassified; if there is none, the first image.
std::int64_t example_of(const Survey& survey) {
  const std::vector<const Row*>& rows = survey.entries[0].strengths[kMedium].group.rows;
  const auto found = std::find_if(rows.begin(), rows.end(), [](const Row* row) { return right(*row); });
  return found == rows.end() ? rows[0]->index : (*found)->index;
}

}  // namespace

report::SurveyPictures pictures_of_survey(Problem& problem, const Survey& survey, const std::vector<Noise>& noises,
                                          std::int64_t samples) {
  SurveyPainter draw{
      problem,
      {*problem.data, problem.arguments.data.path, std::min(samples, kMostPictured), problem.arguments.question.seed},
      {}};
  for (const Noise& noise : noises) draw.noises[noise.text()] = noise;
  report::SurveyPictures pictures{example_of(survey), draw.painter.original(example_of(survey)), {}};
  for (const SurveyEntry& entry : survey.entries) {
    report::SurveyPictures::Kind& kind = pictures.kinds[entry.kind.name];
    kind.strip = draw.strip(pictures.index, entry);
    for (const Row* row : lowest(entry)) kind.misled.push_back(draw.misled(*row));
  }
  return pictures;
}

}  // namespace probust::cli
