// SPDX-License-Identifier: MIT
// Comma-separated values (RFC 4180): quoted cells, any line ending, with or without a header. Semicolons, tabs, vertical bars
// and spaces are also separators.
//
// A first row without numbers is a header. A first row of numbers is also a header if the numbers count the columns, which is
// how pandas names columns, and the rows below it have a different type: decimals below integers, or labels below a word that
// names their column.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "datasets/csv_rows.h"
#include "datasets/formats.h"
#include "probust/base/text.h"

namespace probust::datasets {
namespace {

constexpr std::size_t kNone = SIZE_MAX;

// Whether a column's name indicates that it contains labels. "y" does so only in a file of labels; elsewhere, it may be a
// coordinate.
bool is_label_name(const std::string& name) {
  constexpr std::string_view kNames[] = {"label", "labels", "class", "classes", "target", "species", "category"};
  return std::find(std::begin(kNames), std::end(kNames), lower_case(name)) != std::end(kNames);
}

bool has_decimal_comma(const std::string& cell) {
  const std::size_t at = cell.find(',');
  return at != std::string::npos && csv_number(std::string(cell).replace(at, 1, "."));
}

// Values that pandas also reads as missing. A class is unlikely to have one of these as its name.
bool is_missing(const std::string& cell) {
  constexpr std::string_view kMarks[] = {"", "NA", "N/A", "NaN", "nan", "NULL", "null"};
  return std::find(std::begin(kMarks), std::end(kMarks), cell) != std::end(kMarks);
}

// A whole table: its numbers row by row, and the cells of its label column. Bad rows are stored as zeros.
class CsvTable {
 public:
  CsvTable(const Stored& file, const std::string& label_column, const std::string& path, bool counted_header)
      : label_column_(label_column), path_(path), rows_(file, path) {
    if (!rows_.next()) refuse(path_, "has no rows", "give a row of comma-separated numbers per point");
    first_ = rows_.cells();
    width_ = first_.size();
    decimals_.resize(width_);
    choose_label_column();
    for (std::size_t i = 0; i < width_; ++i) {
      if (i != label_) columns_.push_back(i);
    }
    bool header = first_row_is_header();
    if (!header) add_row(true);
    while (rows_.next()) add_row(false);
    if (!header && counted_header && header_of_numbers()) {
      drop_first_row();
      header = true;
    }
    if (counted_header) find_index_column(header);
    refuse_numbers_as_labels();
    if (counted_header) note_constant_labels();
    if (count_ == 0) refuse(path_, "has a header and no rows", "give a row of comma-separated numbers per point");
  }

  Contents contents() && {
    Contents contents;
    contents.labels = labels();
    contents.notes = std::move(notes_);
    const Shape shape{count_, static_cast<std::int64_t>(columns_.size())};
    const ElementType type{NumberKind::floating, sizeof(double), std::endian::native};
    contents.x = dense_array(type, shape, false, as_buffer(std::move(values_)), 0, path_);
    for (auto& [row, error] : bad_) contents.bad.push_back({row, std::move(error)});
    return contents;
  }

 private:
  std::size_t features() const { return columns_.size(); }

  void choose_label_column() {
    const std::vector<std::string>& cells = rows_.cells();
    if (label_column_ == "none") return;
    const auto index = csv_integer(label_column_);
    const auto name = std::find(cells.begin(), cells.end(), label_column_);
    if (label_column_ == "last") {
      label_ = usual_label_column();
    } else if (index && *index >= 0 && *index < static_cast<std::int64_t>(width_)) {
      label_ = static_cast<std::size_t>(*index);
    } else if (!index && name != cells.end()) {
      label_ = static_cast<std::size_t>(name - cells.begin());
      label_is_named_ = true;
    } else {
      refuse(path_,
             "has no column " + shown(label_column_) + " among its " + std::to_string(width_) +
                 (width_ == 1 ? " column" : " columns"),
             "set " + option("label_column") + " to a number from 0, a name in the first row, last or none");
    }
    if (width_ == 1) refuse_title();
    if (width_ == 1)
      refuse(path_, "has one column, which is read as the labels",
             "set " + option("label_column") + " to none if it is a feature");
  }

  // The last column or, if it is a different one, the only column whose name indicates labels.
  std::size_t usual_label_column() {
    const auto usual = [](const std::string& cell) { return is_label_name(cell); };
    const auto named = std::find_if(first_.begin(), first_.end(), usual);
    const std::size_t last = width_ - 1;
    if (std::count_if(first_.begin(), first_.end(), usual) != 1 || csv_feature(first_[last]) || named == first_.end() - 1)
      return last;
    label_is_named_ = true;
    notes_.push_back("labels are in column " + shown(*named) + "; if they are in the last one, give " + option("label_column") +
                     " " + std::to_string(last));
    return static_cast<std::size_t>(named - first_.begin());
  }

  // Rejects a file with a line of text above the table.
  void refuse_title() {
    if (!rows_.next()) return;
    const std::vector<std::string>& cells = rows_.cells();
    if (cells.size() > 1 || cells[0].find_first_of(",;\t|") != std::string::npos)
      refuse(path_, "has one cell in its first row, " + shown(first_[0]) + ", but more in the next",
             "remove the first row, or give each column a name");
  }

  // Omits the first column if it has a different integer in each row and no name in the header: pandas and R write row numbers
  // in this way. If the column has a name, or if the table has no header, it may be a feature.
  void find_index_column(bool header) {
    if (columns_.size() < 2 || columns_[0] != 0 || count_ < 2) return;
    std::set<double> distinct;
    bool counting = true;
    const double start = values_[0];
    for (std::int64_t i = 0; i < count_; ++i) {
      if (bad_.count(i) != 0) continue;
      const double value = values_[static_cast<std::size_t>(i) * features()];
      if (value != std::floor(value) || !distinct.insert(value).second) return;
      counting = counting && value == start + static_cast<double>(i);
    }
    const bool unnamed = first_[0].empty() || first_[0].starts_with("Unnamed");
    if (header && unnamed && !distinct.empty()) {
      notes_.emplace_back("the first column has no name and numbers the rows, so it is left out");
      return drop_first_column();
    }
    constexpr std::int64_t kMany = 10;
    if (counting && (start == 0 || start == 1) && count_ >= kMany)
      notes_.push_back(
          "the first column numbers the rows, but is read as a feature; if it is an index, remove it (index=False in pandas)");
  }

  void drop_first_column() {
    std::vector<double> rest;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (i % features() != 0) rest.push_back(values_[i]);
    }
    values_ = std::move(rest);
    columns_.erase(columns_.begin());
  }

  // Warns if all labels are the same and the first column has several different integers.
  void note_constant_labels() {
    if (label_column_ != "last" || label_ != width_ - 1 || count_ < 2 || columns_[0] != 0 || !labels_are_numbers(0)) return;
    if (std::set<std::string>(labels_.begin(), labels_.end()).size() > 1 || !first_column_may_be_labels()) return;
    notes_.push_back(
        "the last column, which has the same value in every row, is read as the labels; if they are in the first, give " +
        option("label_column") + " 0");
  }

  // Whether the first column consists of a few different non-negative integers.
  bool first_column_may_be_labels() const {
    std::set<double> distinct;
    for (std::size_t i = 0; i < values_.size(); i += features()) {
      if (values_[i] < 0 || values_[i] != std::floor(values_[i])) return false;
      distinct.insert(values_[i]);
    }
    constexpr std::size_t kMany = 1000;
    return distinct.size() > 1 && distinct.size() <= kMany;
  }

  // The first row is a header if no feature in it is a number.
  bool first_row_is_header() const {
    if (label_is_named_) return true;
    for (std::size_t i = 0; i < width_; ++i) {
      if (i != label_ && csv_feature(first_[i])) return false;
    }
    return true;
  }

  // Whether the first row is a header although it has numbers.
  bool header_of_numbers() {
    if (count_ < 2) return false;
    const bool number_label = label_ != kNone && csv_number(labels_[0]);
    if (label_ != kNone && !number_label && bad_.count(0) == 0 && labels_are_numbers(1)) return true;
    const Counting counting = counting_of_first_row();
    if (counting.numbers == 0) return false;
    if (bad_.count(0) != 0) return is_header(counting.by_position && counting.numbers > 1);
    const bool decimals = std::find(decimals_.begin(), decimals_.end(), true) != decimals_.end();
    constexpr std::size_t kMany = 4;  // with fewer integers, the row may be a point
    if (label_ != kNone && !number_label) return is_header(names_the_labels() && (decimals || counting.numbers >= kMany));
    if (!counting.from_start || !label_counts() || width_ < 2) return false;
    if (decimals || (number_label && no_label_is_number())) return is_header(true);
    constexpr std::size_t kSuspicious = 3;
    if (width_ >= kSuspicious) notes_.push_back(first_row_text() + " and is read as a point; if it names the columns, remove it");
    return false;
  }

  // The beginning of a note about the first row, such as "the first row is 0, 1, 2, ...".
  std::string first_row_text() const {
    constexpr std::size_t kShown = 3;
    const std::vector<std::string> begin(first_.begin(), first_.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, width_)));
    return "the first row is " + join(begin) + (width_ > kShown ? ", ..." : "");
  }

  bool is_header(bool header) {
    if (header) notes_.push_back(first_row_text() + " and is read as a header");
    return header;
  }

  // Whether the first row's cell in the label column is a word that occurs in no other row, while the words of other rows
  // repeat.
  bool names_the_labels() const {
    const auto others = labels_.begin() + 1;
    if (labels_[0].empty() || csv_feature(labels_[0])) return false;
    if (std::find(others, labels_.end(), labels_[0]) != labels_.end()) return false;
    return std::set<std::string>(others, labels_.end()).size() + 1 < labels_.size();
  }

  bool no_label_is_number() const {
    return std::none_of(labels_.begin() + 1, labels_.end(), [](const std::string& label) { return csv_number(label); });
  }

  // Describes the integers among the first row's features. `numbers` is their number, or zero if they do not increase in equal
  // steps.
  struct Counting {
    std::size_t numbers = 0;
    bool from_start = false;   // whether they are 0, 1, 2, ... or 1, 2, 3, ...
    bool by_position = false;  // whether each is the position of its column, or one less if the first column has no name
  };
  Counting counting_of_first_row() const {
    Counting counting{0, true, true};
    double step = 0, last = 0;
    std::size_t last_column = 0;
    for (std::size_t i = 0; i < width_; ++i) {
      if (i == label_) continue;
      const auto whole = csv_integer(first_[i]);
      if (!whole && csv_feature(first_[i])) return {};
      if (!whole) continue;
      const auto number = static_cast<double>(*whole);
      if (counting.numbers == 0) {
        constexpr std::size_t kMany = 4;  // "1,2" may be a point
        counting.from_start = number == 0 || (number == 1 && (label_ == 0 || width_ >= kMany));
      } else {
        // If the label column is between features, the numbering may include it.
        const double columns = i - last_column == 2 && label_ == i - 1 && number - last != step ? 2 : 1;
        if (counting.numbers == 1) step = (number - last) / columns;
        if (step <= 0 || number - last != columns * step) return {};
        counting.from_start = counting.from_start && step == 1;
      }
      counting.by_position = counting.by_position && number == static_cast<double>(i) - (first_[0].empty() ? 1 : 0);
      last = number;
      last_column = i;
      ++counting.numbers;
    }
    return counting;
  }

  // Whether the first row's cell in the label column continues the numbering of the features, as in "0,1,2,3,4".
  bool label_counts() const {
    if (label_ == kNone) return true;
    const auto own = csv_integer(first_[label_]), other = csv_integer(first_[label_ == 0 ? 1 : 0]);
    return own && other && *own - *other == (label_ == 0 ? -1 : static_cast<std::int64_t>(label_));
  }

  // Rejects labels with decimals, which are probably the last column of a table without labels.
  void refuse_numbers_as_labels() {
    refuse_decimal_commas();
    if (label_ == kNone || !labels_are_numbers(0)) return;
    std::int64_t odd = 0, first = -1;
    for (std::int64_t i = 0; i < count_; ++i) {
      const std::string& cell = labels_[static_cast<std::size_t>(i)];
      if (is_missing(cell) || csv_integer(cell) || bad_.count(i) != 0) continue;
      if (first < 0) first = i;
      ++odd;
    }
    if (2 * odd <= count_) return;
    (void)whole_label(static_cast<std::size_t>(first));
    throw bad_.at(first);
  }

  // Rejects decimal commas, because labels such as "1,5" could also be read as numbers.
  void refuse_decimal_commas() {
    const auto is_number = [](const std::string& cell) { return has_decimal_comma(cell) || csv_number(cell); };
    if (!std::all_of(labels_.begin(), labels_.end(), is_number)) return;
    const auto found = std::find_if(labels_.begin(), labels_.end(), has_decimal_comma);
    if (found != labels_.end()) {
      (void)whole_label(static_cast<std::size_t>(found - labels_.begin()));
      throw bad_.at(found - labels_.begin());
    }
  }

  void drop_first_row() {
    if (!labels_.empty()) {
      labels_.erase(labels_.begin());
      label_lines_.erase(label_lines_.begin());
    }
    values_.erase(values_.begin(), values_.begin() + static_cast<std::ptrdiff_t>(features()));
    bad_.erase(0);
    std::map<std::int64_t, Error> moved;
    for (auto& [row, error] : bad_) moved.emplace(row - 1, std::move(error));
    bad_ = std::move(moved);
    --count_;
  }

  // Whether all labels from row `from` on are numbers. Bad rows and missing labels are ignored; at least one label must remain.
  bool labels_are_numbers(std::size_t from) const {
    bool any = false;
    for (std::size_t i = from; i < labels_.size(); ++i) {
      if (is_missing(labels_[i]) || bad_.count(static_cast<std::int64_t>(i)) != 0) continue;
      if (!csv_number(labels_[i])) return false;
      any = true;
    }
    return any;
  }

  void add_row(bool first) {
    const std::size_t begin = values_.size();
    try {
      add_values();
    } catch (Error& error) {
      bad_.emplace(count_, std::move(error));
      values_.resize(begin);
      values_.resize(begin + features());
    }
    if (!first) note_decimals(begin);
    const std::vector<std::string>& cells = rows_.cells();
    if (label_ != kNone) {
      labels_.push_back(label_ < cells.size() ? cells[label_] : "");
      label_lines_.push_back(rows_.line());
    }
    ++count_;
  }

  // Records which features of a row have decimals. `begin` is the position of the row in values_.
  void note_decimals(std::size_t begin) {
    for (std::size_t i = 0; i < features(); ++i) {
      const double value = values_[begin + i];
      if (std::isfinite(value) && value != std::floor(value)) decimals_[i] = true;
    }
  }

  void add_values() {
    const std::vector<std::string>& cells = rows_.cells();
    if (cells.size() != width_) {
      refuse("row " + std::to_string(rows_.line()) + " of " + path_,
             "has " + std::to_string(cells.size()) + (cells.size() == 1 ? " cell" : " cells") + ", but the first row has " +
                 std::to_string(width_),
             "give every row as many cells as the first");
    }
    for (const std::size_t column : columns_) values_.push_back(feature(column));
  }

  double feature(std::size_t column) const {
    const std::string& cell = rows_.cells()[column];
    const auto value = csv_feature(cell);
    if (value) return *value;
    const std::string labels = label_column_ == "last" ? ", or give " + option("label_column") + " " + std::to_string(column) +
                                                             " if the labels are in it"
                                                       : "";
    refuse(csv_place(rows_.line(), column) + " of " + path_, cell.empty() ? "is empty" : "is not a number: " + shown(cell),
           has_decimal_comma(cell) ? "write decimals with a point"
           : cell.empty()          ? "give every feature a number"
                                   : "remove the column, because every feature must be a number" + labels);
  }

  // The labels, as integers or strings. Bad rows have no label.
  StoredLabels labels() {
    StoredLabels stored;
    const bool numeric = labels_are_numbers(0);
    for (std::size_t i = 0; i < labels_.size(); ++i) {
      const bool bad = bad_.count(static_cast<std::int64_t>(i)) != 0;
      if (numeric) {
        stored.numbers.push_back(bad ? PointSource::kNoLabel : whole_label(i));
      } else {
        const bool missing = is_missing(labels_[i]);
        if (!bad && missing) (void)whole_label(i);
        stored.texts.push_back(bad || missing ? "" : labels_[i]);
      }
    }
    return stored;
  }

  std::int64_t whole_label(std::size_t i) {
    const auto label = csv_integer(labels_[i]);
    if (label) return *label;
    const std::string place = csv_place(label_lines_[i], label_);
    bad_.emplace(static_cast<std::int64_t>(i),
                 Error{ErrorCode::unreadable, place + " of " + path_,
                       labels_[i].empty()       ? "is an empty label"
                       : is_missing(labels_[i]) ? "is a missing label: " + shown(labels_[i])
                                                : "is not a whole-number label: " + shown(labels_[i]),
                       hint_for_labels(labels_[i])});
    return PointSource::kNoLabel;
  }

  std::string hint_for_labels(const std::string& cell) const {
    if (cell.find(',') != std::string::npos) return "write decimals with a point";
    if (!cell.empty() && is_missing(cell)) return "remove the row, or rename the class";
    std::string none = "give " + option("label_column") + " none if there are no labels";
    if (label_ == 0 || columns_[0] != 0 || values_.empty() || !first_column_may_be_labels()) return none;
    return none + ", or 0 if they are in the first column";
  }

  const std::string& label_column_;
  const std::string& path_;
  CsvRows rows_;
  std::size_t width_ = 0, label_ = kNone;
  bool label_is_named_ = false;
  std::vector<std::string> first_, notes_;  // the cells of the first row; notes for the user
  std::vector<std::size_t> columns_;        // by feature: its column
  std::vector<bool> decimals_;              // by feature: whether a row after the first has a decimal
  std::int64_t count_ = 0;
  std::vector<double> values_;
  std::vector<std::string> labels_;
  std::vector<std::size_t> label_lines_;
  std::map<std::int64_t, Error> bad_;  // by row
};

// Whether the first word is the name of the column: a common name for labels that occurs in no other row.
bool is_label_header(const std::vector<std::string>& words, std::size_t different) {
  if (words.size() < 2 || different == 1) return false;
  return (is_label_name(words[0]) || lower_case(words[0]) == "y") &&
         std::find(words.begin() + 1, words.end(), words[0]) == words.end();
}

}  // namespace

Contents read_csv(const Stored& file, const std::string& label_column, const std::string& path, bool counted_header) {
  return CsvTable(file, label_column, path, counted_header).contents();
}

StoredLabels read_label_lines(const Stored& file, const std::string& path) {
  CsvRows rows(file, path);
  StoredLabels labels;
  bool all_numbers = true;
  std::size_t header_line = 0, text_line = 0;  // 0: none
  while (rows.next()) {
    const std::string place = csv_place(rows.line(), 0) + " of " + path;
    if (rows.cells().size() != 1) refuse(place, "is not a single label", "give one label per line");
    if (is_missing(rows.cells()[0]))
      refuse(place, "is a missing label: " + shown(rows.cells()[0]), "remove the point, or rename the class");
    labels.texts.push_back(rows.cells()[0]);
    if (csv_integer(rows.cells()[0])) continue;
    (labels.texts.size() == 1 ? header_line : text_line) = rows.line();
    all_numbers = false;
  }
  const bool any_number =
      std::any_of(labels.texts.begin(), labels.texts.end(), [](const std::string& text) { return csv_integer(text); });
  if (any_number && text_line > 0)
    refuse(csv_place(text_line, 0) + " of " + path, "is not a whole number",
           "give one label per line: only numbers, or only words");
  const std::set<std::string> words(labels.texts.begin(), labels.texts.end());
  const bool first_is_header = any_number ? header_line > 0 : is_label_header(labels.texts, words.size());
  if (first_is_header) labels.texts.erase(labels.texts.begin());
  if (!all_numbers && !any_number) return labels;
  for (const std::string& text : labels.texts) labels.numbers.push_back(*csv_integer(text));
  labels.texts.clear();
  return labels;
}

std::vector<std::string> read_name_lines(const Stored& file, const std::string& path) {
  const Buffer bytes = file.all();
  std::string_view rest = as_text(bytes.bytes, path);
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
