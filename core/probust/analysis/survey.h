// SPDX-License-Identifier: MIT
//
// Several kinds of noise, each at a weak, a medium and a strong level, from the rows of one run.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "probust/analysis/groups.h"
#include "probust/analysis/statistics.h"
#include "probust/base/document.h"

namespace probust {

inline constexpr std::array<const char*, 3> kStrengthNames = {"weak", "medium", "strong"};
inline constexpr std::size_t kMedium = 1;

/// A kind of noise at three strengths.
struct SurveyedKind {
  std::string name;
  std::string summary;                  ///< what the noise does to a point
  std::string parameter;                ///< the quantity that the numbers set: "share of the image"
  std::string number;                   ///< the meaning of the numbers: "standard deviation of the angle in degrees"
  std::array<std::string, 3> numbers;   ///< the three numbers as texts: "5", "10", "20"
  std::array<std::string, 3> noises{};  ///< the three noise models, as rows name them
  bool reference = false;               ///< whether this is the reference with which the other kinds are compared
};

/// The rows of one kind of noise at one strength.
struct SurveyedStrength {
  RowGroup group{};      ///< rows owned by the caller
  MeanInterval p{};      ///< RowGroup::mean_p
  MeanInterval noisy{};  ///< accuracy under noise (noisy_accuracy)
};

struct SurveyEntry {
  SurveyedKind kind;
  std::array<SurveyedStrength, 3> strengths;
};

struct Survey {
  std::vector<SurveyEntry> entries;  ///< ascending by mean p at medium strength; entries without p are last
};

Survey survey_of(std::span<const Row> rows, std::vector<SurveyedKind> kinds);

/// The entries that are not references, in order; if all are references, all of them.
std::vector<const SurveyEntry*> surveyed(const Survey& survey);

/// The mean of p in `a` minus p in `b` at medium strength, over the points that have both, with its 95% interval.
MeanInterval paired_difference(const SurveyEntry& a, const SurveyEntry& b);

Document describe(const Survey& survey);

}  // namespace probust
