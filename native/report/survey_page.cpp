// SPDX-License-Identifier: MIT
#include "report/survey_page.h"

#include <fmt/format.h>

#include <cmath>

#include "probust/base/text.h"
#include "report/sample_pictures.h"
#include "report/sections.h"
#include "report/strength_table.h"
#include "report/words.h"

namespace probust::report {
namespace {

// The name of a class, such as "Cat", or "class 3" if it has none.
std::string class_name(std::int64_t number, const std::vector<std::string>& names) {
  return number >= 0 && number < std::ssize(names) ? names[static_cast<std::size_t>(number)] : "class " + std::to_string(number);
}

std::string capital(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

// The noise in the form that --noise accepts, such as "blur:1".
std::string noise_text(const SurveyedKind& kind, std::size_t strength) { return kind.name + ":" + kind.numbers[strength]; }

// The share of points whose prediction without noise is the label.
MeanInterval clean_of(const SurveyEntry& entry) { return mean_interval(entry.strengths[kMedium].group.correct()); }

// ---- the introduction

std::string title_of_survey(const Run& run) {
  const std::string model = file_name(entry_of(run.information, "model_path"));
  const std::string data = file_name(entry_of(run.information, "data_path"));
  return "Survey of " + model + " on " + data;
}

std::string introduction(const SurveyPage& content) {
  std::string html = fmt::format("<header>\n<h1>{}</h1>\n<p class=\"lead\">{}</p>\n", html_text(title_of_survey(content.run)),
                                 html_text(headline(content.survey)));
  html += paragraph(fmt::format(
      "Each perturbation changes an image at random, {} times at each strength. p is the share of these samples for which the "
      "model "
      "predicts the same class as for the original image: at 1 the prediction never changes, at 0 always. Weak, medium and "
      "strong are usual sizes; the pictures show what they look like.{}{}",
      counted(content.samples), content.clipped ? " Perturbed pixels are clipped to the range from black to white." : "",
      content.notes.empty() ? "" : " " + content.notes));
  return html + "</header>\n";
}

// ---- all perturbations in one table

StrengthRow strength_row_of(const SurveyEntry& entry) {
  StrengthRow row{entry.kind.name, entry.kind.parameter + (entry.kind.reference ? ", for comparison" : ""),
                  id_of_kind(entry.kind.name)};
  for (std::size_t k = 0; k < entry.strengths.size(); ++k)
    row.cells.push_back({entry.kind.numbers[k], entry.strengths[k].p, entry.strengths[k].noisy});
  return row;
}

std::string overview(const SurveyPage& content) {
  std::string html = paragraph(
      "The most dangerous perturbation at medium strength comes first. Each cell gives the number that sets the strength, the "
      "mean of p over the images, its standard error and, if the images have labels, the share of samples that get their label.");
  StrengthTable strengths{"Mean p of each perturbation at three strengths", "perturbation", {}};
  for (const char* name : kStrengthNames) strengths.columns.push_back({name});
  for (const SurveyEntry& entry : content.survey.entries) strengths.rows.push_back(strength_row_of(entry));
  return html + table(strengths) +
         paragraph(
             "Strengths of different perturbations cannot be compared exactly: use the pictures to judge which of them occur "
             "where the model is used. The standard error says how much a mean would differ for other images of the same kind. "
             "Differences between perturbations are more exact, because all use the same images.");
}

// ---- each perturbation

std::string strip_of(const SurveyEntry& entry, const SurveyPictures& pictures, const Strip& own) {
  std::vector<StripCell> cells;
  for (std::size_t k = 0; k < own.noisy.size(); ++k)
    cells.push_back({own.noisy[k],
                     fmt::format("{}, {}", entry.kind.name, kStrengthNames[k]),
                     {fmt::format("{}: {}", kStrengthNames[k], entry.kind.numbers[k]), "p = " + two_digits(own.p[k])}});
  return strip(pictures.original, cells);
}

std::string misled_item(const Misled& one, const SurveyEntry& entry, const std::vector<std::string>& names) {
  const std::string before = class_name(one.row->predicted, names), after = class_name(one.wrong.predicted, names);
  const std::string about = fmt::format("image {}: {}", one.row->index, before);
  return fmt::format("<li>{}<span>image {}, p = {}</span><span>{}</span></li>\n",
                     image_pair(one.original, about, one.wrong, entry.kind.name + ": " + after), one.row->index,
                     two_digits(one.row->estimate.p), html_text(before + " " + wrong_text(one.wrong, after)));
}

std::string kind_part(const SurveyEntry& entry, const SurveyPage& content) {
  const SurveyedKind& kind = entry.kind;
  std::string html = fmt::format("<article id=\"{}\">\n{}", id_of_kind(kind.name), heading(kind.name));
  html += paragraph(capital(kind.summary) + ". The number is the " + kind.number + ".");
  const auto found = content.pictures.kinds.find(kind.name);
  if (found == content.pictures.kinds.end()) return html + "</article>\n";
  html += strip_of(entry, content.pictures, found->second.strip);
  if (found->second.misled.empty())
    return html + paragraph("No sample at medium strength changes a prediction that was right.") + "</article>\n";
  html += "<p class=\"quiet\">Smallest p at medium strength, and the most probable wrong version:</p>\n";
  html += "<ul class=\"pairs\">\n";
  for (const Misled& one : found->second.misled) html += misled_item(one, entry, content.run.class_names);
  return html + "</ul>\n</article>\n";
}

std::string kinds(const SurveyPage& content) {
  std::string html = paragraph(fmt::format(
      "Each strip shows image {} with typical samples: half of all samples change the image more, half less. Below are the "
      "images{} "
      "with the smallest p at medium strength. Next to each is its most probable wrong version. {}",
      content.pictures.index, content.survey.entries[0].strengths[kMedium].noisy.count > 0 ? " that the model gets right" : "",
      kWrongVersion));
  for (const SurveyEntry& entry : content.survey.entries) html += kind_part(entry, content);
  return html;
}

}  // namespace

std::string headline(const Survey& survey) {
  const std::vector<const SurveyEntry*> entries = surveyed(survey);
  const SurveyEntry& first = *entries[0];
  const SurveyedStrength& medium = first.strengths[kMedium];
  if (!std::isfinite(medium.p.mean)) return "No perturbation has p at medium strength.";
  std::string text;
  if (entries.size() > 1)
    text = fmt::format("The most dangerous of {} is {}, which {}. ", counted(std::ssize(entries), "perturbation"),
                       first.kind.name, first.kind.summary);
  text += fmt::format("At medium strength, {}, a prediction survives with probability {}", noise_text(first.kind, kMedium),
                      two_digits(medium.p.mean));
  if (medium.noisy.count > 0)
    text += fmt::format(", and accuracy is {} instead of {}", percent(medium.noisy.mean), percent(clean_of(first).mean));
  text += ".";
  std::vector<std::string> close;
  for (std::size_t k = 1; k < entries.size(); ++k) {
    const MeanInterval more = paired_difference(*entries[k], first);
    if (std::isfinite(more.low) && more.low <= 0)
      close.push_back(fmt::format("{} ({})", entries[k]->kind.name, two_digits(entries[k]->strengths[kMedium].p.mean)));
  }
  if (!close.empty()) text += " About as dangerous: " + join(close) + ".";
  return text;
}

std::string page(const SurveyPage& content) {
  const Material material(content.run);
  std::string html = warnings_box(content.run, nullptr) + introduction(content);
  html += section("overview", "All perturbations", overview(content));
  html += section("kinds", "Each perturbation", kinds(content));
  html += section("statuses", "Estimates that need attention", status_section(material));
  html += section("origin", "How this was made", origin_section(material));
  return document(title_of_survey(content.run), "<main>\n" + html + "</main>\n");
}

}  // namespace probust::report
