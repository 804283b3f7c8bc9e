// SPDX-License-Identifier: MIT
#include "report/svg_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "probust/base/text.h"
#include "report/plot.h"

namespace probust::report {

double text_width(const std::string& text, double font) {
  const auto letters =
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80; });
  const auto wide = std::count_if(text.begin(), text.end(), [](char c) { return c == 'm' || c == 'w' || c == 'M' || c == 'W'; });
  return font * (0.56 * static_cast<double>(letters) + 0.35 * static_cast<double>(wide));
}

std::string svg_head(int width, int height, const std::string& title, Surroundings surroundings, std::string_view style) {
  const bool file = surroundings == Surroundings::file;
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\"{2} role=\"img\" "
      "font-family=\"system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif\" font-size=\"{3}\" fill=\"currentColor\" {4}>\n"
      "<title>{5}</title>\n",
      width, height, file ? fmt::format(" width=\"{}\" height=\"{}\"", width, height) : "", kFont,
      file ? "color=\"#222\"" : fmt::format("style=\"{}\"", style), escaped(title));
  if (file) text += fmt::format("<rect width=\"{}\" height=\"{}\" fill=\"#fff\"/>\n", width, height);
  return text;
}

std::string px(double value) {
  std::string text = fmt::format("{:.1f}", value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

std::string shortened(std::string text, double width) {
  if (text_width(text) <= width) return text;
  while (!text.empty() && text_width(text) + kFont > width) {
    while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xc0U) == 0x80) text.pop_back();
    if (!text.empty()) text.pop_back();
  }
  return text + "…";
}

std::vector<std::string> wrapped(const std::string& text, double width, double font) {
  if (text.empty()) return {};
  std::vector<std::string> lines;
  for (const std::string& word : split(text, ' ')) {
    if (!lines.empty() && text_width(lines.back() + " " + word, font) <= width) {
      lines.back() += " " + word;
    } else {
      lines.push_back(word);
    }
  }
  return lines;
}

std::string text_at(double x, double y, const std::string& text, const std::string& attributes) {
  return fmt::format("<text x=\"{}\" y=\"{}\"{}>{}</text>\n", px(x), px(y), attributes, escaped(text));
}

std::string line_from(double x1, double y1, double x2, double y2, const std::string& attributes) {
  return fmt::format("<path d=\"M{} {}L{} {}\"{}/>\n", px(x1), px(y1), px(x2), px(y2), attributes);
}

std::string marker(std::size_t k, double x, double y, double r) {
  switch (k % 4) {
    case 1:
      return fmt::format("M{} {}h{}v{}h{}z", px(x - r), px(y - r), px(2 * r), px(2 * r), px(-2 * r));
    case 2:
      return fmt::format("M{} {}l{} {}h{}z", px(x), px(y - 1.2 * r), px(1.2 * r), px(2.1 * r), px(-2.4 * r));
    case 3:
      return fmt::format("M{} {}l{} {}l{} {}l{} {}z", px(x), px(y - 1.4 * r), px(1.4 * r), px(1.4 * r), px(-1.4 * r), px(1.4 * r),
                         px(-1.4 * r), px(-1.4 * r));
    default:
      return fmt::format("M{0} {1}a{2} {2} 0 1 0 {3} 0a{2} {2} 0 1 0 {4} 0z", px(x - r), px(y), px(r), px(2 * r), px(-2 * r));
  }
}

std::string titled(const std::string& open, const char* tag, const std::string& title) {
  return title.empty() ? open + "/>\n" : fmt::format("{}><title>{}</title></{}>\n", open, escaped(title), tag);
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += c;
    }
  }
  for (const char* forbidden : {"\xef\xbf\xbe", "\xef\xbf\xbf"}) {  // U+FFFE and U+FFFF
    for (std::size_t at; (at = result.find(forbidden)) != std::string::npos;) result.replace(at, 3, " ");
  }
  return result;
}

}  // namespace probust::report
