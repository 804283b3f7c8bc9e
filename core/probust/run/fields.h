// SPDX-License-Identifier: MIT
//
// The list of the columns of rows. Files, runs, messages between ranks, Python and JavaScript all use it, so a column added here
// appears in all of them. The C struct (native/c/probust.h), JavaScript's file reader (wasm/src/data/rows.ts) and the schema
// (docs/rows.schema.json) have their own lists. docs/rows.md explains each column.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "probust/run/row.h"

namespace probust {

/// The estimator that produced the estimate (Row::method), as text. Must be set after the row's estimator.
template <typename R>
struct MethodField {
  R& row;

  std::string text() const { return row.method(); }
  void set(const std::string& text) const {
    if (text != row.estimator) row.estimate.method = parse_estimator(text);
  }
};

/// A column's name, and whether rows with an empty value omit it instead of writing null.
struct Column {
  const char* name;
  bool left_out_if_empty = false;
};

/// Calls visit(Column, value) for each column, in file order. R is Row or const Row. A value is a reference to one of: an
/// integer, a real number (NaN if unknown), a text (null if empty), a list of numbers, an optional one of these, a Status, or a
/// MethodField.
template <typename R, typename Visit>
requires std::is_same_v<std::remove_const_t<R>, Row>
void for_each_field(R& row, Visit&& visit) {
  auto& e = row.estimate;
  visit(Column{"index"}, row.index);
  visit(Column{"label"}, row.label);
  visit(Column{"predicted"}, row.predicted);
  visit(Column{"target"}, row.target);
  visit(Column{"noise"}, row.noise);
  visit(Column{"sigma"}, row.sigma);
  visit(Column{"estimator"}, row.estimator);
  visit(Column{"p"}, e.p);
  visit(Column{"p_fail"}, e.p_fail);
  visit(Column{"std_error"}, e.std_error);
  visit(Column{"ci_low"}, e.ci_low);
  visit(Column{"ci_high"}, e.ci_high);
  visit(Column{"forwards"}, e.forwards);
  visit(Column{"backwards"}, e.backwards);
  visit(Column{"status"}, e.status);
  visit(Column{"method"}, MethodField<R>{row});
  visit(Column{"note"}, e.note);
  visit(Column{"p_label"}, e.p_label);
  visit(Column{"p_label_low"}, e.p_label_low);
  visit(Column{"p_label_high"}, e.p_label_high);
  visit(Column{"model", true}, row.model);
  visit(Column{"classes", true}, e.classes);
}

/// for_each_field for an empty row, to list the columns.
template <typename Visit>
void for_each_column(Visit&& visit) {
  const Row none{};
  for_each_field(none, visit);
}

/// The value of a field in files; std::monostate is null.
using FieldValue = std::variant<std::monostate, std::int64_t, double, std::string, std::span<const double>>;

/// The value of a field of for_each_field. Numbers that are not finite, and empty texts and lists, are null.
FieldValue as_value(std::int64_t field);
FieldValue as_value(std::optional<std::int64_t> field);
FieldValue as_value(double field);
FieldValue as_value(std::optional<double> field);
FieldValue as_value(const std::string& field);
FieldValue as_value(const std::vector<double>& field);
FieldValue as_value(Status field);
template <typename R>
FieldValue as_value(const MethodField<R>& field) {
  return as_value(field.text());
}

/// All values of a column, as other languages get them: unknown integers are -1, unknown real numbers NaN.
using ColumnValues =
    std::variant<std::vector<std::int64_t>, std::vector<double>, std::vector<std::string>, std::vector<std::vector<double>>>;
struct NamedColumn {
  Column column;
  ColumnValues values;
};

/// All columns, each with one value per row.
std::vector<NamedColumn> columns_of(std::span<const Row> rows);

}  // namespace probust
