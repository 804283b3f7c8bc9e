// SPDX-License-Identifier: MIT
//
// Kinds of noise at several strengths as a table: the smaller p, the redder the cell.
#pragma once

#include <string>
#include <vector>

#include "probust/analysis/statistics.h"

namespace probust::report {

struct StrengthCell {
  std::string number;     ///< that sets the strength; may be empty
  MeanInterval p, noisy;  ///< p and the accuracy under noise, without values if there are no labels
};

struct StrengthRow {
  std::string name, about;  ///< `about` is smaller, below the name
  std::string link;         ///< the id of a part of the page; empty: none
  std::vector<StrengthCell> cells{};
};

struct StrengthTable {
  std::string caption, of_rows;  ///< the title of the column of names
  struct Column {
    std::string title;
    std::size_t cells = 1;  ///< that it is above
  };
  std::vector<Column> columns;
  std::vector<StrengthRow> rows{};  ///< those with fewer cells end with empty ones
};

/// The table as HTML, in a box that scrolls.
std::string table(const StrengthTable& table);

/// "0.63"; a dash if it is not finite.
std::string two_digits(double p);

/// The id of the part of a page about a kind of noise.
std::string id_of_kind(const std::string& name);

}  // namespace probust::report
