// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/bytes.h"

namespace probust::datasets {

/// A cell as a number; "nan" and "inf" are numbers.
std::optional<double> csv_number(std::string_view cell);

/// Like csv_number, but true and false, in the spellings of pandas, R and JavaScript, are 1 and 0.
std::optional<double> csv_feature(std::string_view cell);

/// A cell as an integer ("3", "-1", "2.0").
std::optional<std::int64_t> csv_integer(std::string_view cell);

/// The cell as shown in an error message: quoted and shortened.
std::string shown(std::string_view cell);

/// A place in the file such as "row 3, column 2", both counted from 1. `line` is the line of the file; `column` is counted from
/// 0.
std::string csv_place(std::size_t line, std::size_t column);

/// The text without leading and trailing blanks.
std::string_view trimmed(std::string_view text);

/// The bytes as text, without a byte order mark. Throws Error{unreadable} if there are control characters.
std::string_view as_text(Bytes bytes, const std::string& path);

/// Iterates over the rows of a CSV file (RFC 4180, with the separators of csv.cpp). Only about a megabyte of the file is in
/// memory.
class CsvRows {
 public:
  /// Throws Error{unreadable} if the file is not text; so does next().
  CsvRows(Stored file, std::string path);
  CsvRows(const CsvRows&) = delete;
  CsvRows& operator=(const CsvRows&) = delete;

  /// The character that separates cells. If it is a blank, any sequence of blanks and tabs separates cells.
  char separator() const { return separator_; }

  /// Reads the next row that is not blank into cells(). Returns false at the end. Throws Error{unreadable} at a quote that is
  /// never closed or is followed by text.
  bool next();

  const std::vector<std::string>& cells() const { return cells_; }

  /// The line of the file on which the row begins, counted from 1.
  std::size_t line() const { return row_line_; }

 private:
  bool all_in_memory() const { return taken_ == file_.size(); }
  void take_more();
  void read_row();
  void read_cells();
  void skip_comments();
  void skip_separator_line();
  bool read_cell(std::string& cell);
  void read_quoted(std::string& cell);
  bool take_end();

  Stored file_;
  std::string path_;
  std::string text_;         // a part of the file
  std::uint64_t taken_ = 0;  // bytes of the file up to the end of text_
  std::string_view rest_;    // the part of text_ that has not been read
  char separator_ = ',';
  std::string_view blanks_;  // characters that are skipped around cells
  std::string ends_;         // characters that end a cell
  std::vector<std::string> cells_;
  std::size_t row_line_ = 1, next_line_ = 1;
};

}  // namespace probust::datasets
