// SPDX-License-Identifier: MIT
#include "probust/run/fields.h"

#include <cmath>
#include <limits>

namespace probust {
namespace {

constexpr std::int64_t kNoInteger = -1;
constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

std::int64_t stored(std::int64_t field) { return field; }
std::int64_t stored(std::optional<std::int64_t> field) { return field.value_or(kNoInteger); }
double stored(double field) { return field; }
double stored(std::optional<double> field) { return field.value_or(kNoNumber); }
std::string stored(const std::string& field) { return field; }
std::string stored(Status field) { return std::string(word(field)); }
std::string stored(const MethodField<const Row>& field) { return field.text(); }
std::vector<double> stored(const std::vector<double>& field) { return field; }

}  // namespace

FieldValue as_value(std::int64_t field) { return field; }

FieldValue as_value(std::optional<std::int64_t> field) { return field ? FieldValue(*field) : FieldValue(); }

FieldValue as_value(double field) { return std::isfinite(field) ? FieldValue(field) : FieldValue(); }

FieldValue as_value(std::optional<double> field) { return field ? as_value(*field) : FieldValue(); }

FieldValue as_value(const std::string& field) { return field.empty() ? FieldValue() : FieldValue(field); }

FieldValue as_value(const std::vector<double>& field) {
  return field.empty() ? FieldValue() : FieldValue(std::span<const double>(field));
}

FieldValue as_value(Status field) { return std::string(word(field)); }

std::vector<NamedColumn> columns_of(std::span<const Row> rows) {
  std::vector<NamedColumn> columns;
  for_each_column([&](Column column, const auto& field) {
    std::vector<decltype(stored(field))> values;
    values.reserve(rows.size());
    columns.push_back({column, std::move(values)});
  });
  for (const Row& row : rows) {
    auto next = columns.begin();
    for_each_field(row, [&](Column, const auto& field) {
      std::get<std::vector<decltype(stored(field))>>((next++)->values).push_back(stored(field));
    });
  }
  return columns;
}

}  // namespace probust
