// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "cli/run/problem.h"
#include "report/survey_page.h"

namespace probust::cli {

/// The pictures of a survey, which must have points. `noises` are the noise models of the rows. `samples` is the number of
/// noisy samples of each estimate; pictures show the same samples. Throws Error.
report::SurveyPictures pictures_of_survey(Problem& problem, const Survey& survey, const std::vector<Noise>& noises,
                                          std::int64_t samples);

}  // namespace probust::cli
