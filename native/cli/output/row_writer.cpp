// SPDX-License-Identifier: MIT
#include "cli/output/row_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <variant>

#include "cli/output/text_table.h"
#include "datasets/json.h"
#include "probust/base/error.h"
#include "probust/base/text.h"
#include "probust/run/fields.h"

namespace probust::cli {
namespace {

// Converts a value to JSON.
struct ToJson {
  Document operator()(std::monostate) const { return nullptr; }
  Document operator()(std::span<const double> values) const { return std::vector<double>(values.begin(), values.end()); }
  template <typename T>
  Document operator()(const T& value) const {
    return value;
  }
};

class JsonLines final : public RowWriter {
 public:
  explicit JsonLines(std::FILE* file) : file_(file) {}
  void write(const Row& row) override {
    Document json = Document::object();
    for_each_field(row, [&](Column column, const auto& field) {
      const FieldValue value = as_value(field);
      if (column.left_out_if_empty && std::holds_alternative<std::monostate>(value)) return;
      json[column.name] = std::visit(ToJson{}, value);
    });
    fmt::print(file_, "{}\n", datasets::json_text(json));
  }

 private:
  std::FILE* file_;
};

// A text as a field of CSV (RFC 4180): quoted if it contains a comma, quote or newline.
std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string result = "\"";
  for (const char c : text) result += c == '"' ? "\"\"" : std::string(1, c);
  return result + "\"";
}

// Converts a value to a field of CSV.
struct ToCell {
  std::string operator()(std::monostate) const { return ""; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return shortest_text(value); }
  std::string operator()(const std::string& text) const { return quoted(text); }
  std::string operator()(std::span<const double>) const { return ""; }  // each class has its own column
};

template <typename Field>
std::string cell(const Field& field) {
  return std::visit(ToCell{}, as_value(field));
}

class Csv final : public RowWriter {
 public:
  Csv(const TextForm& form, std::FILE* file, bool goes_on) : file_(file), classes_(form.classes), models_(form.several_models) {
    if (goes_on) return;
    std::vector<std::string> names;
    for_each_column([&](Column column, const auto&) {
      if (!column.left_out_if_empty) names.emplace_back(column.name);
    });
    if (models_) names.emplace_back("model");
    for (std::int64_t c = 0; c < classes_; ++c) names.push_back(fmt::format("p_class_{}", c));
    print(names);
  }
  void write(const Row& row) override {
    std::vector<std::string> cells;
    for_each_field(row, [&](Column column, const auto& field) {
      if (!column.left_out_if_empty) cells.push_back(cell(field));
    });
    if (models_) cells.push_back(cell(row.model));
    const std::vector<double>& classes = row.estimate.classes;  // empty if the estimate has no probabilities per class
    for (std::int64_t c = 0; c < classes_; ++c)
      cells.push_back(classes.empty() ? "" : cell(classes[static_cast<std::size_t>(c)]));
    print(cells);
  }

 private:
  void print(const std::vector<std::string>& cells) { fmt::print(file_, "{}\n", fmt::join(cells, ",")); }

  std::FILE* file_;
  std::int64_t classes_;
  bool models_;
};

// The 95% interval or, if there is none, the standard error.
std::string uncertainty(const Estimate& e) {
  if (e.ci_low) return fmt::format("{:.4f}..{:.4f}", *e.ci_low, *e.ci_high);
  return e.std_error ? "+- " + probability_text(*e.std_error) : "-";
}

// A status such as "ok, by probit:25" or "inexact: known to about 1.2e-05".
std::string explained(const Row& row) {
  const Estimate& e = row.estimate;
  std::string text(word(e.status));
  if (e.method) text += ", by " + e.method->text();
  if (!e.note.empty()) text += ": " + e.note;
  return text;
}

// A table for a terminal of 100 columns. Only .csv and .jsonl have all columns and digits.
class Table final : public RowWriter {
 public:
  Table(const TextForm& form, std::FILE* file, bool goes_on) : file_(file), class_names_(form.class_names) {
    if (goes_on) return;
    fmt::print(file_, kColumns, "index", "label", "predicted", "noise", "estimator", "p", "p_fail", "95% or +- s.e.", "passes",
               "status");
  }
  void write(const Row& row) override {
    const Estimate& e = row.estimate;
    std::string target = row.target == row.predicted ? "" : ", target " + name(row.target);
    if (e.p_label && row.label && row.label != row.target) target += ", p of the label " + probability_text(*e.p_label);
    fmt::print(file_, kColumns, row.index, row.label ? name(*row.label) : "-", name(row.predicted), row.noise, row.estimator,
               probability_text(e.p), failure_text(e), uncertainty(e), e.forwards + e.backwards,
               explained(row) + target + (row.model.empty() ? "" : ", " + row.model));
    if (!e.classes.empty()) fmt::print(file_, "{:>8}{}\n", "", likeliest(e.classes));
  }

 private:
  static constexpr const char* kColumns = "{:>6} {:>10} {:>10} {:>13}  {:<10} {:>8} {:>8} {:>15} {:>7}  {}\n";
  std::string name(std::int64_t c) const {
    if (c < 0 || c >= static_cast<std::int64_t>(class_names_.size())) return std::to_string(c);
    return class_names_[c].substr(0, 10);
  }
  // The most likely classes, such as "Bag 0.9312, Shirt 0.0513, ...". The table has room for five.
  std::string likeliest(const std::vector<double>& classes) const {
    constexpr std::size_t kMost = 5;
    std::vector<std::size_t> order(classes.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return classes[a] > classes[b]; });
    std::vector<std::string> parts;
    for (const std::size_t c : order) {
      if (parts.size() == kMost || !(classes[c] >= 0.00005)) break;
      parts.push_back(name(static_cast<std::int64_t>(c)) + " " + probability_text(classes[c]));
    }
    return "classes: " + join(parts);
  }

  std::FILE* file_;
  std::vector<std::string> class_names_;
};

}  // namespace

std::unique_ptr<RowWriter> make_row_writer(const TextForm& form, std::FILE* file, bool goes_on) {
  if (form.format == "jsonl") return std::make_unique<JsonLines>(file);
  if (form.format == "csv") return std::make_unique<Csv>(form, file, goes_on);
  if (form.format == "table") return std::make_unique<Table>(form, file, goes_on);
  throw Error{ErrorCode::usage, "--format", "cannot be '" + form.format + "'", "use table, csv or jsonl"};
}

}  // namespace probust::cli
