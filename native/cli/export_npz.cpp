// SPDX-License-Identifier: MIT
#include "cli/export_npz.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "datasets/npz.h"

namespace probust::cli {
namespace {

constexpr std::int64_t kNoLabel = -1;

// The values of one column, one for each item.
template <class T, class Item, class Value>
std::vector<T> column_of(const std::vector<Item>& items, const Value& value) {
  std::vector<T> values;
  values.reserve(items.size());
  for (const Item& item : items) values.push_back(static_cast<T>(value(item)));
  return values;
}

class ColumnWriter {
 public:
  explicit ColumnWriter(const std::string& path) : file_(path) {}

  template <class Item, class Value>
  void integers(const std::string& name, const std::vector<Item>& items, const Value& value) {
    file_.add(name, {std::ssize(items)}, column_of<std::int64_t>(items, value));
  }
  template <class Item, class Value>
  void texts(const std::string& name, const std::vector<Item>& items, const Value& value) {
    file_.add(name, column_of<std::string>(items, value));
  }
  void numbers(const std::string& name, const std::vector<Row>& rows,
               const std::function<std::optional<double>(const Row&)>& value) {
    file_.add(name, {std::ssize(rows)}, column_of<double>(rows, [&](const Row& row) { return value(row).value_or(NAN); }));
  }
  // [items, C], padded with NaN; nothing if no item has any.
  template <class T, class Item>
  void matrix(const std::string& name, const std::vector<Item>& items, const std::vector<T>& (*values_of)(const Item&)) {
    std::int64_t width = 0;
    for (const Item& item : items) width = std::max(width, std::ssize(values_of(item)));
    if (width == 0) return;
    std::vector<T> values;
    values.reserve(items.size() * static_cast<std::size_t>(width));
    for (const Item& item : items) {
      const std::vector<T>& own = values_of(item);
      values.insert(values.end(), own.begin(), own.end());
      values.insert(values.end(), static_cast<std::size_t>(width - std::ssize(own)), static_cast<T>(NAN));
    }
    file_.add(name, {std::ssize(items), width}, values);
  }
  // Notes are long and most rows have none or the same, so each is stored once.
  void notes(const std::vector<Row>& rows) {
    std::map<std::string, std::int32_t> codes;
    std::vector<std::string> texts;
    const auto code_of = [&](const Row& row) {
      const std::string& note = row.estimate.note;
      if (note.empty()) return std::int32_t{-1};
      const auto [entry, added] = codes.try_emplace(note, static_cast<std::int32_t>(texts.size()));
      if (added) texts.push_back(note);
      return entry->second;
    };
    file_.add("note_code", {std::ssize(rows)}, column_of<std::int32_t>(rows, code_of));
    file_.add("notes", texts);
  }
  void close() { file_.close(); }

 private:
  NpzWriter file_;
};

void write_rows(ColumnWriter& columns, const std::vector<Row>& rows) {
  columns.texts("model", rows, [](const Row& row) { return row.model; });
  columns.integers("index", rows, [](const Row& row) { return row.index; });
  columns.integers("label", rows, [](const Row& row) { return row.label.value_or(kNoLabel); });
  columns.integers("predicted", rows, [](const Row& row) { return row.predicted; });
  columns.integers("target", rows, [](const Row& row) { return row.target; });
  columns.texts("noise", rows, [](const Row& row) { return row.noise; });
  columns.numbers("sigma", rows, [](const Row& row) { return row.sigma; });
  columns.texts("estimator", rows, [](const Row& row) { return row.estimator; });
  columns.numbers("p", rows, [](const Row& row) { return row.estimate.p; });
  columns.numbers("p_fail", rows, [](const Row& row) { return row.estimate.p_fail; });
  columns.numbers("std_error", rows, [](const Row& row) { return row.estimate.std_error; });
  columns.numbers("ci_low", rows, [](const Row& row) { return row.estimate.ci_low; });
  columns.numbers("ci_high", rows, [](const Row& row) { return row.estimate.ci_high; });
  columns.integers("forwards", rows, [](const Row& row) { return row.estimate.forwards; });
  columns.integers("backwards", rows, [](const Row& row) { return row.estimate.backwards; });
  columns.texts("status", rows, [](const Row& row) { return word(row.estimate.status); });
  columns.texts("method", rows, [](const Row& row) { return row.method(); });
  columns.notes(rows);
  columns.numbers("p_label", rows, [](const Row& row) { return row.estimate.p_label; });
  columns.numbers("p_label_low", rows, [](const Row& row) { return row.estimate.p_label_low; });
  columns.numbers("p_label_high", rows, [](const Row& row) { return row.estimate.p_label_high; });
  columns.matrix<double, Row>("classes", rows, [](const Row& row) -> const std::vector<double>& { return row.estimate.classes; });
}

void write_points(ColumnWriter& columns, const std::vector<PointRecord>& points) {
  columns.texts("point_model", points, [](const PointRecord& point) { return point.model; });
  columns.integers("point_index", points, [](const PointRecord& point) { return point.index; });
  columns.integers("point_label", points, [](const PointRecord& point) { return point.label.value_or(kNoLabel); });
  columns.integers("point_predicted", points, [](const PointRecord& point) { return point.predicted; });
  columns.matrix<float, PointRecord>("logits", points,
                                     [](const PointRecord& point) -> const std::vector<float>& { return point.logits; });
}

}  // namespace

void export_npz(const Results& results, const std::string& path) {
  ColumnWriter columns(path);
  write_rows(columns, results.rows);
  write_points(columns, results.points);
  columns.close();
}

}  // namespace probust::cli
