// SPDX-License-Identifier: MIT
#include "report/gallery.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/html.h"
#include "report/words.h"

namespace probust::report {
namespace {

// A text such as "label 3 (Bag), predicted 5 (Shirt)".
std::string answer_of(const Row& row, const std::vector<std::string>& class_names) {
  const std::string predicted = class_text(row.predicted, class_names);
  if (!row.label) return "predicted " + predicted;
  const std::string label = class_text(*row.label, class_names);
  return *row.label == row.predicted ? "predicted " + predicted + ", correct" : "predicted " + predicted + ", label " + label;
}

// The image of a point, next to its wrong version if `wrong` is not null.
std::string gallery_item(const Row& row, const Picture& picture, const WrongVersion* wrong,
                         const std::vector<std::string>& class_names) {
  const std::string name = fmt::format("point {}", row.index), answer = answer_of(row, class_names);
  const std::string about = name + ": " + answer;
  const std::string becomes = wrong == nullptr ? "" : wrong_text(*wrong, class_text(wrong->predicted, class_names));
  const bool error = row.label && *row.label != row.predicted;
  std::string html =
      "<li>" + (wrong == nullptr ? image_tag(picture, about) : image_pair(picture, about, *wrong, row.noise + ": " + becomes));
  html += fmt::format("<span>{}</span><span>p = {}</span><span{}>{}</span>", name, probability(row.estimate.p),
                      error ? " class=\"wrong\"" : "", html_text(answer));
  if (wrong != nullptr) html += "<span>" + html_text(becomes) + "</span>";
  return html + "</li>\n";
}

std::string pictures_in_order(const std::string& title, std::span<const Row* const> points, const Pictures& pictures,
                              const std::vector<std::string>& class_names) {
  std::string items;
  bool pairs = false;
  for (const Row* row : points) {
    const auto picture = pictures.of_point.find(row->index);
    if (picture == pictures.of_point.end()) continue;
    const auto wrong = pictures.wrong.find(noisy_point_of(*row));
    pairs = pairs || wrong != pictures.wrong.end();
    items += gallery_item(*row, picture->second, wrong == pictures.wrong.end() ? nullptr : &wrong->second, class_names);
  }
  return items.empty() ? "" : heading(title) + "<ul class=\"" + (pairs ? "pairs" : "gallery") + "\">\n" + items + "</ul>\n";
}

}  // namespace

NoisyPoint noisy_point_of(const Row& row) { return {row.model, row.noise, row.index}; }

std::vector<const Row*> ranked_rows(std::span<const Ranking> rankings) {
  std::map<NoisyPoint, const Row*> rows;
  for (const Ranking& ranking : rankings) {
    for (const std::vector<const Row*>* end : {&ranking.least, &ranking.most}) {
      for (const Row* row : *end) rows.try_emplace(noisy_point_of(*row), row);
    }
  }
  std::vector<const Row*> result;
  result.reserve(rows.size());
  for (const auto& [point, row] : rows) result.push_back(row);
  return result;
}

std::string explanation(const Pictures& pictures) {
  std::string text = "Wrong predictions are in bold.";
  if (!pictures.wrong.empty()) text += std::string(" Next to each image is its most probable wrong version. ") + kWrongVersion;
  return pictures.wrong_missing.empty() ? text : text + " " + pictures.wrong_missing;
}

std::string gallery(const Ranking& ranking, const Pictures& pictures, const std::vector<std::string>& class_names) {
  return pictures_in_order("Least robust, from the smallest p", ranking.least, pictures, class_names) +
         pictures_in_order("Most robust, from the largest p", ranking.most, pictures, class_names);
}

std::string gallery_page(const std::string& title, std::span<const Ranking> rankings, const Pictures& pictures,
                         const std::vector<std::string>& class_names) {
  std::string html = fmt::format("<main>\n<h1>{}</h1>\n", html_text(title));
  html += paragraph(
      "p is the probability that the classifier's prediction for a point survives random noise: at 1 it always does, at 0 "
      "never. " +
      explanation(pictures));
  for (std::size_t k = 0; k < rankings.size(); ++k)
    html += section(fmt::format("ranking-{}", k + 1), text_of(rankings[k].key), gallery(rankings[k], pictures, class_names));
  return document(title, html + "</main>\n");
}

}  // namespace probust::report
