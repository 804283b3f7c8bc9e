// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "probust/estimators/estimate.h"

namespace probust::cli {

/// A table for a terminal. Columns are as wide as their widest cell. Text is aligned on the left, numbers on the right.
class TextTable {
 public:
  /// A header that starts with '<' marks a column of text.
  explicit TextTable(std::vector<std::string> headers);

  /// Adds a row, with one cell for each header.
  void add(std::vector<std::string> cells);

  /// All lines, each indented by a space.
  std::string text() const;

 private:
  std::vector<bool> left_;
  std::vector<std::vector<std::string>> lines_;
};

/// A probability such as "0.9312" or "1.70e-05"; "-" if it is not finite.
std::string probability_text(double p);

/// A number with four decimals, such as "0.9712" or "-0.0020"; "-" if it is not finite.
std::string four_decimals(double value);

/// The probability of failure with the digits that the estimate's error justifies, or such as "<0.034" if it is a bound.
std::string failure_text(const Estimate& estimate);

/// An interval such as "0.9312..0.9500"; "-" if an end is not finite.
std::string interval_text(double low, double high);

/// A number with three significant digits, such as "0.123"; "-" if it is not finite.
std::string short_number(double value);

}  // namespace probust::cli
