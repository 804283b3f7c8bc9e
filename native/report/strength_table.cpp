// SPDX-License-Identifier: MIT
#include "report/strength_table.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>

#include "report/html.h"

namespace probust::report {
namespace {

constexpr std::size_t kFewCells = 3;  // tables with at most this many cells in a row have cells of equal width

std::size_t strength_cells(const StrengthTable& table) {
  std::size_t cells = 0;
  for (const StrengthTable::Column& column : table.columns) cells += column.cells;
  return cells;
}

std::string small_text(const std::string& text) { return text.empty() ? "" : "<small>" + html_text(text) + "</small>"; }

std::string strength_cell(const StrengthCell& cell) {
  std::string html =
      fmt::format("<td style=\"--fail:{:.0f}%\">{}<b>{}</b>", std::isfinite(cell.p.mean) ? 60 * (1 - cell.p.mean) : 0,
                  small_text(cell.number), two_digits(cell.p.mean));
  if (std::isfinite(cell.p.std_error)) html += fmt::format("<small>± {:.3f}</small>", cell.p.std_error);
  if (cell.noisy.count > 0) html += fmt::format("<small>{:.1f}% right</small>", 100 * cell.noisy.mean);
  return html + "</td>";
}

std::string strength_row(const StrengthRow& row, std::size_t cells) {
  const std::string name = html_text(row.name);
  std::string html = "<tr><th scope=\"row\">" +
                     (row.link.empty() ? name : fmt::format("<a href=\"#{}\">{}</a>", row.link, name)) + small_text(row.about) +
                     "</th>";
  for (const StrengthCell& cell : row.cells) html += strength_cell(cell);
  for (std::size_t k = row.cells.size(); k < cells; ++k) html += "<td class=\"none\"></td>";
  return html + "</tr>\n";
}

}  // namespace

std::string table(const StrengthTable& table) {
  const std::size_t cells = strength_cells(table);
  std::string html = fmt::format(
      "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{0}\">\n<table class=\"survey{1}\">\n"
      "<caption><span>{0}</span></caption>\n<thead><tr><th scope=\"col\">{2}</th>",
      html_text(table.caption), cells > kFewCells ? " many" : "", html_text(table.of_rows));
  for (const StrengthTable::Column& column : table.columns)
    html += fmt::format("<th scope=\"col\"{}>{}</th>", column.cells > 1 ? fmt::format(" colspan=\"{}\"", column.cells) : "",
                        html_text(column.title));
  html += "</tr></thead>\n<tbody>\n";
  for (const StrengthRow& row : table.rows) html += strength_row(row, cells);
  return html + "</tbody>\n</table>\n</div>\n";
}

std::string two_digits(double p) { return std::isfinite(p) ? fmt::format("{:.2f}", p) : "–"; }

std::string id_of_kind(const std::string& name) {
  std::string id = "kind-";
  for (const char c : name) id += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '-';
  return id;
}

}  // namespace probust::report
