// SPDX-License-Identifier: MIT
// Comma-separated values (RFC 4180): quoted cells, any line ending, with or without a header. Semicolons and tabs separate, too.
#include <algorithm>
#include <map>
#include <optional>

#include "datasets/csv_rows.h"
#include "datasets/formats.h"

namespace probust::datasets {
namespace {

constexpr std::size_t kNone = SIZE_MAX;

// A whole table: the numbers row by row, and the cells of the label column. A bad row takes its place among them, with zeros.
class CsvTable {
 public:
  CsvTable(const Stored& file, const std::string& label_column, const std::string& path)
      : label_column_(label_column), path_(path), rows_(file, path) {
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
    const Shape shape{count_, static_cast<std::int64_t>(features())};
    const ElementType type{NumberKind::floating, sizeof(double), std::endian::native};
    contents.x = dense_array(type, shape, false, as_buffer(std::move(values_)), 0, path_);
    for (auto& [row, error] : bad_) contents.bad.push_back({row, std::move(error)});
    return contents;
  }

 private:
  std::size_t features() const { return width_ - (label_ == kNone ? 0 : 1); }

  void choose_label_column() {
    const std::vector<std::string>& cells = rows_.cells();
    if (label_column_ == "none") return;
    const auto index = csv_integer(label_column_);
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
      if (i != label_ && csv_number(rows_.cells()[i])) return false;
    }
    return true;
  }

  // "0,1,2,label": if only the first label is not a number, the first row is a header with names that look like numbers.
  void drop_header_of_labels() {
    if (labels_.size() < 2 || csv_number(labels_[0]) || bad_.count(0) != 0 || !labels_are_numbers(1)) return;
    labels_.erase(labels_.begin());
    values_.erase(values_.begin(), values_.begin() + static_cast<std::ptrdiff_t>(features()));
    label_lines_.erase(label_lines_.begin());
    std::map<std::int64_t, Error> moved;
    for (auto& [row, error] : bad_) moved.emplace(row - 1, std::move(error));
    bad_ = std::move(moved);
    --count_;
  }

  // Whether all labels from a row on are numbers, and there are some. Bad rows and empty cells do not count.
  bool labels_are_numbers(std::size_t from) const {
    bool any = false;
    for (std::size_t i = from; i < labels_.size(); ++i) {
      if (labels_[i].empty() || bad_.count(static_cast<std::int64_t>(i)) != 0) continue;
      if (!csv_number(labels_[i])) return false;
      any = true;
    }
    return any;
  }

  void add_row() {
    const std::size_t begin = values_.size();
    try {
      add_values();
    } catch (Error& error) {
      bad_.emplace(count_, std::move(error));
      values_.resize(begin);
      values_.resize(begin + features());
    }
    const std::vector<std::string>& cells = rows_.cells();
    if (label_ != kNone) {
      labels_.push_back(label_ < cells.size() ? cells[label_] : "");
      label_lines_.push_back(rows_.line());
    }
    ++count_;
  }

  void add_values() {
    const std::vector<std::string>& cells = rows_.cells();
    if (cells.size() != width_) {
      const bool fewer = cells.size() < width_;
      refuse(path_, csv_place(rows_.line(), fewer ? cells.size() : width_) +
                        (fewer ? " is missing: the row has " : " is one too many: the row has ") + std::to_string(cells.size()) +
                        " cells and the first has " + std::to_string(width_));
    }
    for (std::size_t i = 0; i < width_; ++i) {
      if (i != label_) values_.push_back(feature(i));
    }
  }

  double feature(std::size_t column) const {
    const std::string& cell = rows_.cells()[column];
    const auto value = csv_number(cell);
    const bool decimal_comma = cell.find(',') != std::string::npos && rows_.separator() != ',';
    if (!value)
      refuse(path_, csv_place(rows_.line(), column) + (cell.empty() ? " is empty" : " is not a number: " + shown(cell)),
             decimal_comma ? "write decimals with a point" : "every feature is a number");
    return *value;
  }

  // Whole numbers are kept; text is numbered in order of first appearance.
  void number_labels(Contents& contents) {
    const bool numeric = labels_are_numbers(0);
    std::map<std::string, std::int64_t> known;
    for (std::size_t i = 0; i < labels_.size(); ++i) {
      contents.labels.push_back(PointSource::kNoLabel);
      if (bad_.count(static_cast<std::int64_t>(i)) != 0) continue;
      if (numeric) {
        contents.labels.back() = whole_label(i);
        continue;
      }
      const auto [entry, is_new] = known.emplace(labels_[i], std::ssize(known));
      if (is_new) contents.class_names.push_back(labels_[i]);
      contents.labels.back() = entry->second;
    }
  }

  std::int64_t whole_label(std::size_t i) {
    const auto label = csv_integer(labels_[i]);
    if (label) return *label;
    const std::string place = csv_place(label_lines_[i], label_);
    bad_.emplace(
        static_cast<std::int64_t>(i),
        Error{ErrorCode::unreadable, path_,
              place + (labels_[i].empty() ? " is an empty label" : " is a label and not a whole number: " + shown(labels_[i])),
              "give " + option("label_column") + " none if there are no labels"});
    return PointSource::kNoLabel;
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
  std::map<std::int64_t, Error> bad_;  // by row
};

}  // namespace

Contents read_csv(const Stored& file, const std::string& label_column, const std::string& path) {
  return CsvTable(file, label_column, path).contents();
}

std::vector<std::int64_t> read_label_lines(const Stored& file, const std::string& path) {
  CsvRows rows(file, path);
  std::vector<std::int64_t> labels;
  while (rows.next()) {
    const auto label = rows.cells().size() == 1 ? csv_integer(rows.cells()[0]) : std::nullopt;
    if (!label) refuse(path, csv_place(rows.line(), 0) + " is not one whole number", "give one label per line");
    labels.push_back(*label);
  }
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
