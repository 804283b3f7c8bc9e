// SPDX-License-Identifier: MIT
#include "report/html.h"

#include <fmt/format.h>

#include "probust/base/text.h"
#include "report/style.h"

namespace probust::report {

std::string html_text(std::string_view text) { return escaped(printable(text)); }

std::string paragraph(std::string_view text) { return fmt::format("<p>{}</p>\n", html_text(text)); }

std::string heading(std::string_view text) { return fmt::format("<h3>{}</h3>\n", html_text(text)); }

std::string list(const std::vector<std::string>& items) {
  std::string html = "<ul>\n";
  for (const std::string& item : items) html += fmt::format("<li>{}</li>\n", html_text(item));
  return html + "</ul>\n";
}

std::string section(std::string_view id, std::string_view title, std::string_view html) {
  return fmt::format("<section id=\"{0}\" aria-labelledby=\"{0}-title\">\n<h2 id=\"{0}-title\">{1}</h2>\n{2}</section>\n", id,
                     html_text(title), html);
}

namespace {

std::string cell(std::string_view element, bool number, std::string_view scope, std::string_view text) {
  return fmt::format("<{0}{1}{2}>{3}</{0}>", element, number ? " class=\"number\"" : "", scope, html_text(text));
}

}  // namespace

std::string table(const Table& table) {
  if (table.rows.empty()) return {};
  // A scrollable box must be reachable by keyboard, hence the tabindex.
  std::string html = fmt::format(
      "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{0}\">\n<table{1}>\n"
      "<caption><span>{0}</span></caption>\n<thead><tr>",
      html_text(table.caption), table.wraps ? " class=\"wraps\"" : "");
  for (const Column& column : table.columns) html += cell("th", column.number, " scope=\"col\"", column.title);
  html += "</tr></thead>\n<tbody>\n";
  for (const std::vector<std::string>& row : table.rows) {
    html += "<tr>";
    for (std::size_t k = 0; k < row.size(); ++k)
      html += cell(k == 0 ? "th" : "td", table.columns[k].number, k == 0 ? " scope=\"row\"" : "", row[k]);
    html += "</tr>\n";
  }
  return html + "</tbody>\n</table>\n</div>\n";
}

std::string figure(const Chart& chart, std::string_view caption) {
  constexpr int kPhone = 360;
  std::string html = svg(chart, Surroundings::page);
  if (chart.width > 1.5 * kPhone) {
    Chart narrow = chart;
    narrow.width = narrow.height = kPhone;
    html =
        fmt::format("<div class=\"wide\">\n{}</div>\n<div class=\"narrow\">\n{}</div>\n", html, svg(narrow, Surroundings::page));
  }
  return fmt::format("<figure>\n{}<figcaption>{}</figcaption>\n</figure>\n", html, html_text(caption));
}

std::string document(std::string_view title, std::string_view html) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "img-src data:\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n<style>\n{}</style>\n</head>\n"
      "<body>\n{}</body>\n</html>\n",
      html_text(title), kStyle, html);
}

}  // namespace probust::report
