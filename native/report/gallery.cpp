// SPDX-License-Identifier: MIT
#include "report/gallery.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "report/html.h"
#include "report/words.h"

namespace probust::report {
namespace {

constexpr std::int64_t kSmallPicture = 64;  // in pixels; smaller images are enlarged

// "label 3 (Bag), predicted 5 (Shirt)".
std::string answer_of(const Row& row, const std::vector<std::string>& class_names) {
  const std::string predicted = class_text(row.predicted, class_names);
  if (!row.label) return "predicted " + predicted;
  const std::string label = class_text(*row.label, class_names);
  return *row.label == row.predicted ? "predicted " + predicted + ", correct" : "predicted " + predicted + ", label " + label;
}

std::string item(const Row& row, const Picture& picture, const std::vector<std::string>& class_names) {
  const std::string name = fmt::format("point {}", row.index), answer = html_text(answer_of(row, class_names));
  const bool small = std::max(picture.height, picture.width) < kSmallPicture, wrong = row.label && *row.label != row.predicted;
  return fmt::format(
      "<li><img{} src=\"{}\" width=\"{}\" height=\"{}\" alt=\"{}: {}\"><span>{}</span><span>p = {}</span>"
      "<span{}>{}</span></li>\n",
      small ? " class=\"pixels\"" : "", png_uri(picture), picture.width, picture.height, name, answer, name,
      probability(row.estimate.p), wrong ? " class=\"wrong\"" : "", answer);
}

std::string pictures_in_order(const std::string& title, std::span<const Row* const> points, const Pictures& pictures,
                              const std::vector<std::string>& class_names) {
  std::string items;
  for (const Row* row : points) {
    const auto picture = pictures.of_point.find(row->index);
    if (picture != pictures.of_point.end()) items += item(*row, picture->second, class_names);
  }
  return items.empty() ? "" : heading(title) + "<ul class=\"gallery\">\n" + items + "</ul>\n";
}

}  // namespace

std::vector<std::int64_t> ranked_points(std::span<const Ranking> rankings) {
  std::set<std::int64_t> points;
  for (const Ranking& ranking : rankings) {
    for (const Row* row : ranking.least) points.insert(row->index);
    for (const Row* row : ranking.most) points.insert(row->index);
  }
  return {points.begin(), points.end()};
}

std::string gallery(const Ranking& ranking, const Pictures& pictures, const std::vector<std::string>& class_names) {
  return pictures_in_order("Least robust, from the smallest p", ranking.least, pictures, class_names) +
         pictures_in_order("Most robust, from the largest p", ranking.most, pictures, class_names);
}

std::string gallery_page(const std::string& title, std::span<const Ranking> rankings, const Pictures& pictures,
                         const std::vector<std::string>& class_names) {
  std::string html = fmt::format("<main>\n<h1>{}</h1>\n", html_text(title));
  html += paragraph(
      "p is the probability that the classifier's prediction for a point survives random noise: at 1 it always does, "
      "at 0 never. Wrong predictions are in bold.");
  for (std::size_t k = 0; k < rankings.size(); ++k)
    html += section(fmt::format("ranking-{}", k + 1), text_of(rankings[k].key), gallery(rankings[k], pictures, class_names));
  return document(title, html + "</main>\n");
}

}  // namespace probust::report
