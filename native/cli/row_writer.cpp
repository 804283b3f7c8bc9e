// SPDX-License-Identifier: MIT
#include "cli/row_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "cli/json_text.h"
#include "cli/text_table.h"
#include "probust/base/error.h"
#include "probust/base/text.h"

namespace probust::cli {
namespace {

std::string or_empty(const std::optional<double>& value) { return value && std::isfinite(*value) ? shortest_text(*value) : ""; }

nlohmann::ordered_json or_null(const std::optional<double>& value) {
  if (!value || !std::isfinite(*value)) return nullptr;
  return *value;
}

class JsonLines final : public RowWriter {
 public:
  explicit JsonLines(std::FILE* file) : file_(file) {}
  void write(const Row& row) override {
    nlohmann::ordered_json json;
    json["index"] = row.index;
    json["label"] = row.label ? nlohmann::ordered_json(*row.label) : nlohmann::ordered_json(nullptr);
    json["predicted"] = row.predicted;
    json["target"] = row.target;
    json["noise"] = row.noise;
    json["sigma"] = or_null(row.sigma);
    json["estimator"] = row.estimator;
    json["p"] = or_null(row.estimate.p);
    json["p_fail"] = or_null(row.estimate.p_fail);
    json["std_error"] = or_null(row.estimate.std_error);
    json["ci_low"] = or_null(row.estimate.ci_low);
    json["ci_high"] = or_null(row.estimate.ci_high);
    json["forwards"] = row.estimate.forwards;
    json["backwards"] = row.estimate.backwards;
    json["status"] = word(row.estimate.status);
    json["method"] = row.method();
    json["note"] = row.estimate.note.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(row.estimate.note);
    json["p_label"] = or_null(row.estimate.p_label);
    json["p_label_low"] = or_null(row.estimate.p_label_low);
    json["p_label_high"] = or_null(row.estimate.p_label_high);
    if (!row.model.empty()) json["model"] = row.model;
    if (!row.estimate.classes.empty()) json["classes"] = row.estimate.classes;
    fmt::print(file_, "{}\n", json_text(json));
  }

 private:
  std::FILE* file_;
};

// A field in RFC 4180 form: quoted if it contains a comma, quote or newline.
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

class Csv final : public RowWriter {
 public:
  Csv(const TextForm& form, std::FILE* file, bool goes_on) : file_(file), classes_(form.classes), models_(form.several_models) {
    if (goes_on) return;
    fmt::print(file_,
               "index,label,predicted,target,noise,sigma,estimator,p,p_fail,std_error,ci_low,ci_high,forwards,backwards,status,"
               "method,note,p_label,p_label_low,p_label_high{}",
               models_ ? ",model" : "");
    for (std::int64_t c = 0; c < classes_; ++c) fmt::print(file_, ",p_class_{}", c);
    fmt::print(file_, "\n");
  }
  void write(const Row& row) override {
    const Estimate& e = row.estimate;
    fmt::print(file_, "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}", row.index,
               row.label ? std::to_string(*row.label) : "", row.predicted, row.target, field(row.noise), or_empty(row.sigma),
               field(row.estimator), or_empty(e.p), or_empty(e.p_fail), or_empty(e.std_error), or_empty(e.ci_low),
               or_empty(e.ci_high), e.forwards, e.backwards, word(e.status), field(row.method()), field(e.note),
               or_empty(e.p_label), or_empty(e.p_label_low), or_empty(e.p_label_high));
    if (models_) fmt::print(file_, ",{}", field(row.model));
    for (std::int64_t c = 0; c < classes_; ++c)  // none if the estimate has none
      fmt::print(file_, ",{}", e.classes.empty() ? "" : or_empty(e.classes[static_cast<std::size_t>(c)]));
    fmt::print(file_, "\n");
  }

 private:
  std::FILE* file_;
  std::int64_t classes_;
  bool models_;
};

// The 95% interval, or else the standard error.
std::string uncertainty(const Estimate& e) {
  if (e.ci_low) return fmt::format("{:.4f}..{:.4f}", *e.ci_low, *e.ci_high);
  return e.std_error ? "+- " + probability_text(*e.std_error) : "-";
}

// "ok, by probit:25", "inexact: known to about 1.2e-05".
std::string explained(const Row& row) {
  const Estimate& e = row.estimate;
  std::string text(word(e.status));
  if (e.method) text += ", by " + e.method->text();
  if (!e.note.empty()) text += ": " + e.note;
  return text;
}

// For people, on a terminal of 100 columns; .csv and .jsonl have all columns and digits.
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
  // "Bag 0.9312, Shirt 0.0513, ...": the five likeliest classes that a table can show.
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
  throw Error{ErrorCode::usage, "--format", "'" + form.format + "' is not known", "use table, csv or jsonl"};
}

}  // namespace probust::cli
