// SPDX-License-Identifier: MIT
#include "cli/output/export_npz.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <variant>
#include <vector>

#include "datasets/npz.h"
#include "probust/run/fields.h"

namespace probust::cli {
namespace {

constexpr std::int64_t kNoLabel = -1;

// A column: the value value(item) for each item.
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
  void add(const std::string& name, const std::vector<std::int64_t>& values) { file_.add(name, {std::ssize(values)}, values); }
  void add(const std::string& name, const std::vector<double>& values) { file_.add(name, {std::ssize(values)}, values); }
  // Each distinct note is stored only once, because notes are long and most rows have none or the same one.
  void add(const std::string& name, const std::vector<std::string>& values) {
    name == "note" ? add_codes(name, values) : file_.add(name, values);
  }
  void add(const std::string& name, const std::vector<std::vector<double>>& values) {
    matrix<double, std::vector<double>>(
        name, values, [](const std::vector<double>& own) -> const auto& { return own; });
  }
  // Adds an array [items, C], padded with NaN, unless all items lack values.
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
  void close() { file_.close(); }

 private:
  void add_codes(const std::string& name, const std::vector<std::string>& values) {
    std::map<std::string, std::int32_t> codes;
    std::vector<std::string> texts;
    const auto code_of = [&](const std::string& text) {
      if (text.empty()) return std::int32_t{-1};
      const auto [entry, added] = codes.try_emplace(text, static_cast<std::int32_t>(texts.size()));
      if (added) texts.push_back(text);
      return entry->second;
    };
    file_.add(name + "_code", {std::ssize(values)}, column_of<std::int32_t>(values, code_of));
    file_.add(name + "s", texts);
  }

  NpzWriter file_;
};

void write_rows(ColumnWriter& columns, const std::vector<Row>& rows) {
  for (const NamedColumn& each : columns_of(rows))
    std::visit([&](const auto& values) { columns.add(each.column.name, values); }, each.values);
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
