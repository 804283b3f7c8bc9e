// SPDX-License-Identifier: MIT
// Comma-separated values (RFC 4180): quoted cells, any line ending, with or without a header. Semicolons and tabs separate, too.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>

#include "datasets/formats.h"

namespace probust::datasets {
namespace {

// A cell as a number; "nan" and "inf" are numbers.
std::optional<double> number(std::string_view cell) {
  if (cell.starts_with('+') && !cell.starts_with("+-")) cell.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc() || end != cell.data() + cell.size()) return std::nullopt;
  return value;
}

// A cell as a whole number ("3", "-1", "2.0").
std::optional<std::int64_t> integer(std::string_view cell) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error == std::errc() && end == cell.data() + cell.size()) return value;
  const auto general = number(cell);
  if (!general || !(std::fabs(*general) <= 0x1p53) || *general != std::floor(*general)) return std::nullopt;
  return static_cast<std::int64_t>(*general);
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// The cell for an error message: quoted and shortened.
std::string shown(std::string_view cell) {
  constexpr std::size_t kLongest = 32;
  return cell.size() <= kLongest ? "'" + std::string(cell) + "'" : "'" + std::string(cell.substr(0, kLongest)) + "...'";
}

std::string_view as_text(Bytes file, const std::string& path) {
  const auto foreign = [](std::uint8_t c) { return (c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7f; };
  if (std::any_of(file.begin(), file.end(), foreign))
    refuse(path, "is not text", "give comma-separated numbers in UTF-8 or ASCII");
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  return text.substr(text.starts_with("\xef\xbb\xbf") ? 3 : 0);
}

// "row 3, column 2", both counted from 1; the row is a line of the file.
std::string place(std::size_t line, std::size_t column) {
  return "row " + std::to_string(line) + ", column " + std::to_string(column + 1);
}

// The separator, by the first row that is not blank: a semicolon if there is one outside quotes (the row's commas are then
// decimal marks), else a comma, else a tab.
char separator_of(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of("\r\n"), text.size()));
  bool quoted = false, comma = false, tab = false;
  for (const char c : text) {
    quoted = quoted != (c == '"');
    if (quoted) continue;
    if (c == ';') return ';';
    if (c == '\r' || c == '\n') break;
    comma = comma || c == ',';
    tab = tab || c == '\t';
  }
  return !comma && tab ? '\t' : ',';
}

// Iterates over the rows of cells.
class CsvRows {
 public:
  CsvRows(std::string_view text, const std::string& path)
      : separator_(separator_of(text)), blanks_(separator_ == '\t' ? " " : " \t"), rest_(text), path_(path) {}

  char separator() const { return separator_; }

  /// Reads the next row that is not blank into cells(); false at the end.
  bool next() {
    while (!rest_.empty()) {
      read_row();
      if (cells_.size() > 1 || !cells_[0].empty()) return true;
    }
    return false;
  }

  const std::vector<std::string>& cells() const { return cells_; }

  /// The line of the file on which the row begins, counted from 1.
  std::size_t line() const { return row_line_; }

 private:
  void read_row() {
    row_line_ = next_line_;
    std::size_t count = 0;
    bool more = true;
    while (more) {
      if (count == cells_.size()) cells_.emplace_back();
      more = read_cell(cells_[count++]);
    }
    cells_.resize(count);
  }

  // Reads one cell and what ends it; true if that is a separator.
  bool read_cell(std::string& cell) {
    std::size_t blanks = rest_.find_first_not_of(blanks_);
    blanks = blanks == std::string_view::npos ? rest_.size() : blanks;
    if (blanks < rest_.size() && rest_[blanks] == '"') {
      rest_.remove_prefix(blanks + 1);
      read_quoted(cell);
    } else {
      const std::size_t end = std::min(rest_.find_first_of(ends_), rest_.size());
      cell.assign(trimmed(rest_.substr(0, end)));
      rest_.remove_prefix(end);
    }
    return take_end();
  }

  // The rest of a cell after its opening quote, up to the closing quote; doubled quotes become one.
  void read_quoted(std::string& cell) {
    cell.clear();
    while (true) {
      const std::size_t quote = rest_.find('"');
      if (quote == std::string_view::npos)
        refuse(path_, "row " + std::to_string(row_line_) + " has a quote that is never closed");
      cell.append(rest_.substr(0, quote));
      next_line_ += static_cast<std::size_t>(std::count(rest_.begin(), rest_.begin() + static_cast<std::ptrdiff_t>(quote), '\n'));
      rest_.remove_prefix(quote + 1);
      if (!rest_.starts_with('"')) break;
      cell += '"';
      rest_.remove_prefix(1);
    }
    rest_.remove_prefix(std::min(rest_.find_first_not_of(blanks_), rest_.size()));
    if (!rest_.empty() && ends_.find(rest_.front()) == std::string::npos) {
      refuse(path_, "row " + std::to_string(row_line_) + " has text after a closing quote");
    }
  }

  bool take_end() {
    if (rest_.empty()) return false;
    const bool separated = rest_.front() == separator_;
    if (!separated) ++next_line_;
    rest_.remove_prefix(rest_.starts_with("\r\n") ? 2 : 1);
    return separated;
  }

  char separator_;
  std::string_view blanks_;  // around cells
  std::string ends_ = std::string("\r\n") + separator_;
  std::string_view rest_;
  const std::string& path_;
  std::vector<std::string> cells_;
  std::size_t row_line_ = 1, next_line_ = 1;
};

constexpr std::size_t kNone = SIZE_MAX;

// A whole table: the numbers row by row, and the cells of the label column.
class CsvTable {
 public:
  CsvTable(Bytes file, const std::string& label_column, const std::string& path)
      : label_column_(label_column), path_(path), rows_(as_text(file, path), path_) {
    if (!rows_.next()) refuse(path_, "has no rows", "give a row of comma-separated numbers per point");
    width_ = rows_.cells().size();
    choose_label_column();
    if (!first_row_is_header()) add_row();
    while (rows_.next()) add_row();
    drop_header_of_labels();
    if (count_ == 0) refuse(path_, "has a header and no rows", "give a row of comma-separated numbers per point");
  }

  Contents contents() && {
    Contents contents;
    number_labels(contents);
    const auto values = std::make_shared<const std::vector<double>>(std::move(values_));
    const Bytes bytes(reinterpret_cast<const std::uint8_t*>(values->data()), values->size() * sizeof(double));
    const Shape shape{count_, static_cast<std::int64_t>(features())};
    contents.x =
        dense_array({NumberKind::floating, sizeof(double), std::endian::native}, shape, false, {bytes, values}, 0, path_);
    return contents;
  }

 private:
  std::size_t features() const { return width_ - (label_ == kNone ? 0 : 1); }

  void choose_label_column() {
    const std::vector<std::string>& cells = rows_.cells();
    if (label_column_ == "none") return;
    const auto index = integer(label_column_);
    const auto name = std::find(cells.begin(), cells.end(), label_column_);
    if (label_column_ == "last") {
      label_ = width_ - 1;
    } else if (index && *index >= 0 && *index < static_cast<std::int64_t>(width_)) {
      label_ = static_cast<std::size_t>(*index);
    } else if (!index && name != cells.end()) {
      label_ = static_cast<std::size_t>(name - cells.begin());
      label_is_named_ = true;
    } else {
      refuse(path_, "has no column " + shown(label_column_) + " among its " + std::to_string(width_),
             option("label_column") + " is a number from 0, a name in the first row, last or none");
    }
    if (width_ == 1)
      refuse(path_, "has one column, which is taken as the label", "give " + option("label_column") + " none if it is not");
  }

  // The first row is a header if no feature in it is a number.
  bool first_row_is_header() const {
    if (label_is_named_) return true;
    for (std::size_t i = 0; i < width_; ++i) {
      if (i != label_ && number(rows_.cells()[i])) return false;
    }
    return true;
  }

  // "0,1,2,label": if only the first label is not a number, the first row is a header with names that look like numbers.
  void drop_header_of_labels() {
    const auto is_number = [](const std::string& cell) { return number(cell).has_value(); };
    if (labels_.size() < 2 || is_number(labels_[0]) || !std::all_of(labels_.begin() + 1, labels_.end(), is_number)) return;
    labels_.erase(labels_.begin());
    values_.erase(values_.begin(), values_.begin() + static_cast<std::ptrdiff_t>(features()));
    label_lines_.erase(label_lines_.begin());
    --count_;
  }

  void add_row() {
    const std::vector<std::string>& cells = rows_.cells();
    if (cells.size() != width_) {
      const bool fewer = cells.size() < width_;
      refuse(path_, place(rows_.line(), fewer ? cells.size() : width_) +
                        (fewer ? " is missing: the row has " : " is one too many: the row has ") + std::to_string(cells.size()) +
                        " cells and the first has " + std::to_string(width_));
    }
    for (std::size_t i = 0; i < width_; ++i) {
      if (i != label_) values_.push_back(feature(i));
    }
    if (label_ != kNone) {
      labels_.push_back(cells[label_]);
      label_lines_.push_back(rows_.line());
    }
    ++count_;
  }

  double feature(std::size_t column) const {
    const std::string& cell = rows_.cells()[column];
    const auto value = number(cell);
    const bool decimal_comma = cell.find(',') != std::string::npos && rows_.separator() != ',';
    if (!value)
      refuse(path_, place(rows_.line(), column) + (cell.empty() ? " is empty" : " is not a number: " + shown(cell)),
             decimal_comma ? "write decimals with a point" : "every feature is a number");
    return *value;
  }

  // Whole numbers are kept; text is numbered in order of first appearance.
  void number_labels(Contents& contents) const {
    const bool numeric =
        std::all_of(labels_.begin(), labels_.end(), [](const std::string& cell) { return number(cell).has_value(); });
    std::map<std::string, std::int64_t> known;
    for (std::size_t i = 0; i < labels_.size(); ++i) {
      if (numeric) {
        contents.labels.push_back(whole_label(i));
        continue;
      }
      const auto [entry, is_new] = known.emplace(labels_[i], std::ssize(known));
      if (is_new) contents.class_names.push_back(labels_[i]);
      contents.labels.push_back(entry->second);
    }
  }

  std::int64_t whole_label(std::size_t i) const {
    const auto label = integer(labels_[i]);
    if (!label)
      refuse(path_, place(label_lines_[i], label_) + " is a label and not a whole number: " + shown(labels_[i]),
             "give " + option("label_column") + " none if there are no labels");
    return *label;
  }

  const std::string& label_column_;
  const std::string& path_;
  CsvRows rows_;
  std::size_t width_ = 0, label_ = kNone;
  bool label_is_named_ = false;
  std::int64_t count_ = 0;
  std::vector<double> values_;
  std::vector<std::string> labels_;
  std::vector<std::size_t> label_lines_;
};

}  // namespace

Contents read_csv_bytes(const Buffer& file, const std::string& label_column, const std::string& path) {
  return CsvTable(file.bytes, label_column, path).contents();
}

std::vector<std::int64_t> read_label_lines(Bytes file, const std::string& path) {
  CsvRows rows(as_text(file, path), path);
  std::vector<std::int64_t> labels;
  while (rows.next()) {
    const auto label = rows.cells().size() == 1 ? integer(rows.cells()[0]) : std::nullopt;
    if (!label) refuse(path, place(rows.line(), 0) + " is not one whole number", "give one label per line");
    labels.push_back(*label);
  }
  return labels;
}

std::vector<std::string> read_name_lines(Bytes file, const std::string& path) {
  std::string_view rest = as_text(file, path);
  std::vector<std::string> names;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find_first_of("\r\n"), rest.size());
    const std::string_view name = trimmed(rest.substr(0, end));
    if (!name.empty()) names.emplace_back(name);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (names.empty()) refuse(path, "has no names", "give one class name per line");
  return names;
}

}  // namespace probust::datasets
