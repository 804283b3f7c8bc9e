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

  /// One cell for each header.
  void add(std::vector<std::string> cells);

  /// All lines, each indented by a space.
  std::string text() const;

 private:
  std::vector<bool> left_;
  std::vector<std::vector<std::string>> lines_;
};

/// "0.9312", "1.70e-05", "-" if it is not finite.
std::string probability_text(double p);

/// "0.9712", "-0.0020"; "-" if it is not finite.
std::string four_decimals(double value);

/// The probability of failure: "<0.034" if it is a bound, otherwise with the digits that the estimate's error justifies.
std::string failure_text(const Estimate& estimate);

/// "0.9312..0.9500", "-" if an end is not finite.
std::string interval_text(double low, double high);

/// Three digits: "0.123", "-" if it is not finite.
std::string short_number(double value);

}  // namespace probust::cli
