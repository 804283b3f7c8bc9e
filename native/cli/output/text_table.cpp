// SPDX-License-Identifier: MIT
#include "cli/output/text_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "probust/base/text.h"

namespace probust::cli {
namespace {

// The number of characters in a text. In UTF-8, a character may have several bytes.
std::size_t characters(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80; }));
}

}  // namespace

TextTable::TextTable(std::vector<std::string> headers) {
  for (std::string& header : headers) {
    left_.push_back(header.starts_with('<'));
    if (left_.back()) header.erase(0, 1);
  }
  lines_.push_back(std::move(headers));
}

void TextTable::add(std::vector<std::string> cells) {
  cells.resize(left_.size());
  for (std::string& cell : cells) cell = printable(cell);
  lines_.push_back(std::move(cells));
}

std::string TextTable::text() const {
  std::vector<std::size_t> widths(left_.size(), 0);
  for (const auto& line : lines_) {
    for (std::size_t k = 0; k < line.size(); ++k) widths[k] = std::max(widths[k], characters(line[k]));
  }
  std::string text;
  for (const auto& line : lines_) {
    std::string row;
    for (std::size_t k = 0; k < line.size(); ++k) {
      const std::string room(widths[k] - characters(line[k]), ' ');
      row += (k == 0 ? " " : "  ") + (left_[k] ? line[k] + room : room + line[k]);
    }
    text += row.substr(0, row.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string probability_text(double p) {
  if (!std::isfinite(p)) return "-";
  return p != 0 && p < 1e-3 ? fmt::format("{:.2e}", p) : fmt::format("{:.4f}", p);
}

std::string four_decimals(double value) {
  if (!std::isfinite(value)) return "-";
  const std::string text = fmt::format("{:.4f}", value);
  return text == "-0.0000" ? "0.0000" : text;
}

std::string failure_text(const Estimate& estimate) {
  if (estimate.bounded() || estimate.status == Status::bound)
    return "<" + (estimate.p_fail < 1e-3 ? fmt::format("{:.1e}", estimate.p_fail) : fmt::format("{:.2g}", estimate.p_fail));
  const double error = estimate.ci_low ? 1 - *estimate.ci_low : 2 * estimate.std_error.value_or(0);
  return estimate.p_fail < 0.01 * error && estimate.p_fail < 1e-3 ? fmt::format("{:.0e}", estimate.p_fail)
                                                                  : probability_text(estimate.p_fail);
}

std::string interval_text(double low, double high) {
  return std::isfinite(low) && std::isfinite(high) ? four_decimals(low) + ".." + four_decimals(high) : "-";
}

std::string short_number(double value) { return std::isfinite(value) ? fmt::format("{:.3g}", value) : "-"; }

}  // namespace probust::cli
