// SPDX-License-Identifier: MIT
//
// Pieces of HTML. Arguments are text, which is escaped, unless they are called `html`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/plot.h"

namespace probust::report {

/// Text as the content of an element or the value of an attribute. Invisible characters are escaped (printable).
std::string html_text(std::string_view text);

std::string paragraph(std::string_view text);

/// A heading within a section.
std::string heading(std::string_view text);

/// A section with a heading. Links use `id`.
std::string section(std::string_view id, std::string_view title, std::string_view html);

struct Column {
  std::string title;
  bool number = true;  ///< aligned on the right
};

/// Rows begin with a header cell. All cells are text.
struct Table {
  std::string caption;
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows{};
  bool wraps = false;  ///< whether text cells may take several lines
};

/// "<ul>...</ul>".
std::string list(const std::vector<std::string>& items);

/// A table that scrolls in its own box if it is wider than the page. Empty if it has no rows.
std::string table(const Table& table);

/// A chart with a caption below it. A wide one is drawn twice, because its text would be too small on a phone; the style sheet
/// shows one of them.
std::string figure(const Chart& chart, std::string_view caption);

/// A complete document in one file. It loads nothing, and its policy forbids loading.
std::string document(std::string_view title, std::string_view html);

}  // namespace probust::report
