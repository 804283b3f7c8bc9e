// SPDX-License-Identifier: MIT
//
// Writes a survey as one HTML page that needs no other file.
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

/// Noisy samples of one image, at the three strengths of a kind of noise.
struct Strip {
  std::int64_t index = 0;
  std::array<Picture, 3> noisy{};
  std::array<double, 3> p{};  ///< p at each strength; NaN if unknown
};

/// An image, and a noisy sample of it for which the model predicts another class.
struct Misled {
  const Row* row = nullptr;  ///< the image's row at the medium strength
  Picture original{};
  WrongVersion wrong{};
};

struct SurveyPictures {
  std::int64_t index = 0;  ///< the index of the image that all strips show
  Picture original{};
  struct Kind {
    Strip strip{};
    std::vector<Misled> misled{};  ///< the smallest p first
  };
  std::map<std::string, Kind> kinds{};  ///< by name
};

struct SurveyPage {
  Run run;
  Survey survey;  ///< the evaluation of the run's rows
  SurveyPictures pictures;
  std::int64_t samples = 0;  ///< number of noisy samples of each image at each strength
  std::string notes{};       ///< sentences about the data; may be empty
  bool clipped = false;      ///< whether perturbed samples are clipped to 0..1
};

/// One or two sentences on the perturbation with the smallest p. The command also prints them.
std::string headline(const Survey& survey);

std::string page(const SurveyPage& content);

}  // namespace probust::report
