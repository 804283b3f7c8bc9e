// SPDX-License-Identifier: MIT
//
// A table of kinds of noise at several strengths. The smaller p, the redder the cell.
#pragma once

#include <string>
#include <vector>

#include "probust/analysis/statistics.h"

namespace probust::report {

struct StrengthCell {
  std::string number;     ///< the number that sets the strength; may be empty
  MeanInterval p, noisy;  ///< p, and the accuracy under noise, whose count is 0 if there are no labels
};

struct StrengthRow {
  std::string name, about;  ///< `about` is shown in small type below the name
  std::string link;         ///< id of the part of the page to which the name links; empty for no link
  std::vector<StrengthCell> cells{};
};

struct StrengthTable {
  std::string caption, of_rows;  ///< `of_rows` is the title of the column of names
  struct Column {
    std::string title;
    std::size_t cells = 1;  ///< number of cells below the title
  };
  std::vector<Column> columns;
  std::vector<StrengthRow> rows{};  ///< rows with fewer cells than columns end with empty cells
};

/// The table as HTML, in a box that scrolls if the table is wider than the page.
std::string table(const StrengthTable& table);

/// A number such as "0.63"; a dash if it is not finite.
std::string two_digits(double p);

/// The id of the part of a page about a kind of noise.
std::string id_of_kind(const std::string& name);

}  // namespace probust::report
