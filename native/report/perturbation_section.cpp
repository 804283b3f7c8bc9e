// SPDX-License-Identifier: MIT
// The section on p by family of noise, with pictures of the perturbations, for runs with perturbations of images.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "probust/analysis/families.h"
#include "report/sample_pictures.h"
#include "report/sections.h"
#include "report/strength_table.h"
#include "report/words.h"

namespace probust::report {
namespace {

constexpr std::size_t kMostStrengths = 6;  // the largest number of strengths shown for a family

// At most kMostStrengths of the strengths, including the first and the last.
std::vector<const FamilyStrength*> shown_strengths(const FamilyRows& rows) {
  std::vector<const FamilyStrength*> shown;
  const std::size_t all = rows.strengths.size(), count = std::min(all, kMostStrengths);
  for (std::size_t k = 0; k < count; ++k) shown.push_back(&rows.strengths[count < 2 ? 0 : k * (all - 1) / (count - 1)]);
  return shown;
}

// A row with the mean of the family and, if it has several strengths, a cell for each strength that is shown.
StrengthRow row_of_family(const FamilyRows& rows, bool linked) {
  StrengthRow row{rows.family.name, rows.family.summary, linked ? id_of_kind(rows.family.name) : ""};
  const bool one = rows.strengths.size() == 1;
  row.cells.push_back({one ? rows.strengths.front().number : "", rows.p, rows.noisy});
  if (one) return row;
  for (const FamilyStrength* strength : shown_strengths(rows))
    row.cells.push_back({strength->number, strength->p, strength->noisy});
  return row;
}

std::string table_of_families(const std::vector<FamilyRows>& families, const std::string& caption, bool linked) {
  std::size_t most = 0;
  for (const FamilyRows& rows : families) most = std::max(most, shown_strengths(rows).size());
  StrengthTable strengths{caption, "noise", {{"mean p"}}};
  if (most > 1) strengths.columns.push_back({"each strength", most});
  for (const FamilyRows& rows : families) strengths.rows.push_back(row_of_family(rows, linked));
  return table(strengths);
}

// A sentence such as "The most dangerous is rotate, which turns the image about its centre: a prediction survives with
// probability 0.61, and accuracy is 55.0% instead of 80.0%."
std::string most_dangerous(const std::vector<FamilyRows>& families) {
  const FamilyRows& first = families.front();
  if (!std::isfinite(first.p.mean)) return "p could not be computed for any noise.";
  const NoiseFamily& family = first.family;
  std::string text = (families.size() > 1 ? "The most dangerous is " : "The noise is ") + family.name;
  if (!family.summary.empty()) text += ", which " + family.summary;
  text += ": a prediction survives with probability " + two_digits(first.p.mean);
  if (first.noisy.count > 0) {
    const MeanInterval clean = mean_interval(first.strengths.front().group->correct());
    text += fmt::format(", and accuracy is {} instead of {}", percent(first.noisy.mean), percent(clean.mean));
  }
  return text + ".";
}

double p_of(const RowGroup& group, std::int64_t index) {
  const auto row = std::find_if(group.rows.begin(), group.rows.end(), [&](const Row* each) { return each->index == index; });
  return row == group.rows.end() ? NAN : (*row)->estimate.p;
}

std::string strip_of_family(const FamilyRows& rows, const SampleSheet& sheet) {
  std::vector<StripCell> cells;
  for (const FamilyStrength* strength : shown_strengths(rows)) {
    const auto found = sheet.of_noise.find(strength->group->key.noise);
    if (found == sheet.of_noise.end()) continue;
    for (const Picture& picture : found->second)
      cells.push_back({picture,
                       "the image under " + strength->group->key.noise,
                       {strength->number, "p = " + two_digits(p_of(*strength->group, sheet.index))}});
  }
  if (cells.empty()) return "";
  std::string html = fmt::format("<article id=\"{}\">\n{}", id_of_kind(rows.family.name), heading(rows.family.name));
  return html + strip(sheet.original, cells) + "</article>\n";
}

std::string sheet_of_families(const std::vector<FamilyRows>& families, const SampleSheet& sheet) {
  std::string html = paragraph(fmt::format(
      "The strips show point {} under each noise. The p below a sample is that of the point under the same noise. If several "
      "samples of a noise are shown, they are ordered by how much they change the image. If only one is shown, half of all "
      "samples change the image more, and half change it less.",
      sheet.index));
  for (const FamilyRows& rows : families) html += strip_of_family(rows, sheet);
  return html;
}

}  // namespace

std::string perturbation_section(const Material& material, const Pictures& pictures) {
  if (noises_on_sheet(material.run).empty()) return "";
  std::string html;
  for (const Focus& focus : material.focuses) {
    const std::vector<FamilyRows> families = families_of(focus.noises);
    const bool first = &focus == material.focuses.data();
    html += paragraph((material.several_models() ? focus.model + ": " : "") + most_dangerous(families));
    if (first)
      html += paragraph(
          "The noise with the smallest mean p comes first. Each cell gives the number that sets the strength, the mean of p "
          "over the points, its standard error and, if there are labels, the accuracy under noise. Strengths of different "
          "perturbations cannot be compared exactly: use the pictures to judge which of them occur where the model is used.");
    html += table_of_families(families, fmt::format("Mean p by noise {}by {}", material.of_model(focus.model), focus.estimator),
                              pictures.sheet && first);
  }
  if (pictures.sheet) html += sheet_of_families(families_of(material.focuses.front().noises), *pictures.sheet);
  return html;
}

std::vector<std::string> noises_on_sheet(const Run& run) {
  std::set<std::string> seen;
  std::vector<std::string> noises;
  bool perturbs = false;
  for (const Row& row : run.results.rows) {
    if (!seen.insert(row.noise).second) continue;
    noises.push_back(row.noise);
    perturbs = perturbs || family_of_noise(row.noise).perturbs;
  }
  return perturbs ? noises : std::vector<std::string>{};
}

std::int64_t point_on_sheet(const Run& run) {
  std::map<std::int64_t, bool> right;
  for (const Row& row : run.results.rows) {
    const bool own = !row.label || *row.label == row.predicted;
    const auto [entry, added] = right.try_emplace(row.index, own);
    entry->second = entry->second && own;
  }
  const auto found = std::find_if(right.begin(), right.end(), [](const auto& entry) { return entry.second; });
  return (found == right.end() ? right.begin() : found)->first;
}

}  // namespace probust::report
