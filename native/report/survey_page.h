// SPDX-License-Identifier: MIT
//
// A survey as one HTML page that needs no other file.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "probust/analysis/survey.h"
#include "report/page.h"
#include "report/picture.h"
#include "report/sample_pictures.h"

namespace probust::report {

/// One image at the three strengths of a kind of noise.
struct Strip {
  std::int64_t index = 0;
  std::array<Picture, 3> noisy{};
  std::array<double, 3> p{};  ///< NaN if unknown
};

/// An image, and a noisy sample of it that the model takes for another class.
struct Misled {
  const Row* row = nullptr;  ///< of the medium strength
  Picture original{};
  WrongVersion wrong{};
};

struct SurveyPictures {
  std::int64_t index = 0;  ///< of the image in all strips
  Picture original{};
  struct Kind {
    Strip strip{};
    std::vector<Misled> misled{};  ///< the smallest p first
  };
  std::map<std::string, Kind> kinds{};  ///< by name
};

struct SurveyPage {
  Run run;
  Survey survey;  ///< of the run's rows
  SurveyPictures pictures;
  std::int64_t samples = 0;  ///< of each image at each strength
  std::string notes{};       ///< sentences on the data; may be empty
  bool clipped = false;      ///< samples of perturbations are clipped to 0..1
};

/// The most dangerous perturbation, in a sentence or two; also for the terminal.
std::string headline(const Survey& survey);

std::string page(const SurveyPage& content);

}  // namespace probust::report
