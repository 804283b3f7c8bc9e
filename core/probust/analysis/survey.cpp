// SPDX-License-Identifier: MIT
#include "probust/analysis/survey.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "probust/analysis/accuracy.h"
#include "probust/analysis/describe.h"
#include "probust/base/text.h"

namespace probust {
namespace {

double medium_p(const SurveyEntry& entry) {
  const double p = entry.strengths[kMedium].p.mean;
  return std::isfinite(p) ? p : 2;  // after all others
}

}  // namespace

Survey survey_of(std::span<const Row> rows, std::vector<SurveyedKind> kinds) {
  const std::vector<RowGroup> groups = grouped(rows);
  Survey survey;
  for (SurveyedKind& kind : kinds) {
    SurveyEntry entry{std::move(kind), {}};
    for (std::size_t k = 0; k < entry.strengths.size(); ++k) {
      SurveyedStrength& strength = entry.strengths[k];
      const auto group = std::find_if(groups.begin(), groups.end(),
                                      [&](const RowGroup& each) { return each.key.noise == entry.kind.noises[k]; });
      if (group != groups.end()) strength.group = *group;
      strength.p = strength.group.mean_p();
      strength.noisy = noisy_accuracy(strength.group);
    }
    survey.entries.push_back(std::move(entry));
  }
  std::stable_sort(survey.entries.begin(), survey.entries.end(),
                   [](const SurveyEntry& a, const SurveyEntry& b) { return medium_p(a) < medium_p(b); });
  return survey;
}

std::vector<const SurveyEntry*> surveyed(const Survey& survey) {
  std::vector<const SurveyEntry*> entries;
  for (const SurveyEntry& entry : survey.entries) {
    if (!entry.kind.reference) entries.push_back(&entry);
  }
  if (!entries.empty()) return entries;
  for (const SurveyEntry& entry : survey.entries) entries.push_back(&entry);
  return entries;
}

MeanInterval paired_difference(const SurveyEntry& a, const SurveyEntry& b) {
  std::map<std::int64_t, double> of_point;
  for (const Row* row : a.strengths[kMedium].group.rows) of_point[row->index] = row->estimate.p;
  std::vector<double> differences;
  for (const Row* row : b.strengths[kMedium].group.rows) {
    const auto own = of_point.find(row->index);
    if (own != of_point.end()) differences.push_back(own->second - row->estimate.p);
  }
  return mean_interval(differences);
}

Document describe(const Survey& survey) {
  return Document::list(survey.entries, [](const SurveyEntry& entry) {
    Document strengths = Document::List{};
    for (std::size_t k = 0; k < entry.strengths.size(); ++k) {
      const SurveyedStrength& strength = entry.strengths[k];
      strengths.push_back(
          Document::Object{{"strength", kStrengthNames[k]},
                           {"number", parse_double(entry.kind.numbers[k])},
                           {"noise", entry.kind.noises[k]},
                           {"p", describe(strength.p)},
                           {"noisy_accuracy", strength.noisy.count == 0 ? Document() : describe(strength.noisy)}});
    }
    return Document::Object{{"name", entry.kind.name},
                            {"summary", entry.kind.summary},
                            {"number", entry.kind.number},
                            {"reference", entry.kind.reference},
                            {"strengths", std::move(strengths)}};
  });
}

}  // namespace probust
