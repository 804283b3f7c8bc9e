// SPDX-License-Identifier: MIT
//
// Pieces of HTML. All arguments are text, which is escaped, except those called `html`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/plot.h"

namespace probust::report {

/// Text as the content of an element or the value of an attribute. Invisible characters are escaped, too (see printable).
std::string html_text(std::string_view text);

std::string paragraph(std::string_view text);

/// A subheading within a section.
std::string heading(std::string_view text);

/// A section with a heading. `id` is the target for links.
std::string section(std::string_view id, std::string_view title, std::string_view html);

struct Column {
  std::string title;
  bool number = true;  ///< whether cells are aligned on the right, as for numbers
};

/// A table whose cells are all text. The first cell of each row is a header.
struct Table {
  std::string caption;
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows{};
  bool wraps = false;  ///< whether text cells may take several lines
};

/// An unordered list of texts.
std::string list(const std::vector<std::string>& items);

/// The table in a box that scrolls if the table is wider than the page. Empty if the table has no rows.
std::string table(const Table& table);

/// A chart with a caption below it. A wide chart is drawn in two sizes, because its text would be too small on a phone; the
/// style sheet shows one of them.
std::string figure(const Chart& chart, std::string_view caption);

/// A complete document in one file. It loads nothing, and its content security policy forbids loading.
std::string document(std::string_view title, std::string_view html);

}  // namespace probust::report
