// SPDX-License-Identifier: MIT
#include "report/sample_pictures.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/html.h"
#include "report/words.h"

namespace probust::report {
namespace {

constexpr std::int64_t kSmallImage = 64;  // in pixels; smaller images are enlarged without smoothing

std::string strip_item(const StripCell& cell) {
  std::string html = "<li>" + image_tag(cell.picture, cell.about);
  for (const std::string& line : cell.lines) html += "<span>" + html_text(line) + "</span>";
  return html + "</li>\n";
}

}  // namespace

std::string image_tag(const Picture& picture, const std::string& about) {
  const bool small = std::max(picture.height, picture.width) < kSmallImage;
  return fmt::format("<img{} src=\"{}\" width=\"{}\" height=\"{}\" alt=\"{}\">", small ? " class=\"pixels\"" : "",
                     png_uri(picture), picture.width, picture.height, html_text(about));
}

std::string image_pair(const Picture& original, const std::string& about, const WrongVersion& wrong, const std::string& noise) {
  std::string html = "<div>" + image_tag(original, about);
  if (wrong.picture) html += image_tag(*wrong.picture, "the same image under " + noise);
  return html + "</div>";
}

std::string wrong_text(const WrongVersion& wrong, const std::string& name) {
  if (!wrong.picture) return wrong.samples == 1 ? "stays as it is" : "survives in all of " + counted(wrong.samples);
  if (wrong.samples == 1) return "becomes " + name;
  return fmt::format("becomes {} in {} of {}", name, counted(wrong.count), counted(wrong.samples));
}

std::string strip(const Picture& original, const std::vector<StripCell>& samples) {
  std::string html = "<ul class=\"gallery strip\">\n" + strip_item({original, "the original image", {"original"}});
  for (const StripCell& cell : samples) html += strip_item(cell);
  return html + "</ul>\n";
}

}  // namespace probust::report
