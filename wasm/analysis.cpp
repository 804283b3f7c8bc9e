// SPDX-License-Identifier: MIT
#include "analysis.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <tuple>
#include <utility>

#include "probust/analysis/describe.h"
#include "probust/base/text.h"
#include "probust/run/fields.h"

namespace probust::wasm {
namespace {

// ---- from JavaScript

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::vector<val> objects(const CallArguments& arguments, const char* name) {
  if (!arguments.has(name)) return {};
  if (!arguments[name].isArray()) throw Error{ErrorCode::usage, name, "are not a list", "give an array of objects"};
  return emscripten::vecFromJSArray<val>(arguments[name]);
}

std::optional<double> number_if_any(const CallArguments& object, const char* name) {
  return object.has(name) ? std::optional(object.number(name, 0)) : std::nullopt;
}

std::vector<double> numbers_with_null(const CallArguments& object, const char* name) {
  std::vector<double> numbers;
  for (const val& entry : objects(object, name)) numbers.push_back(entry.isNumber() ? entry.as<double>() : kNaN);
  return numbers;
}

void read(const CallArguments& row, const char* name, std::int64_t& field) {
  const bool of_class = std::string_view(name) == "predicted" || std::string_view(name) == "target";
  field = row.integer(name, 0, of_class ? -1 : 0);
}
void read(const CallArguments& row, const char* name, std::optional<std::int64_t>& field) {
  if (row.has(name)) field = row.integer(name, 0, -kMostInteger);
}
void read(const CallArguments& row, const char* name, double& field) { field = row.number(name, kNaN); }
void read(const CallArguments& row, const char* name, std::optional<double>& field) { field = number_if_any(row, name); }
void read(const CallArguments& row, const char* name, std::string& field) { field = row.text(name, ""); }
void read(const CallArguments& row, const char* name, std::vector<double>& field) { field = numbers_with_null(row, name); }
void read(const CallArguments& row, const char* name, Status& field) {
  const std::string status = row.text(name, "ok");
  const auto known = status_of(status);
  if (!known) throw Error{ErrorCode::usage, name, "cannot be '" + status + "'", "pass the rows that estimate() returned"};
  field = *known;
}
void read(const CallArguments& row, const char* name, MethodField<Row>& field) { field.set(row.text(name, field.row.estimator)); }

Row read_row(const val& object) {
  if (object.typeOf().as<std::string>() != "object" || object.isNull())
    throw Error{ErrorCode::usage, "rows", "contain an entry that is not a row", "pass the rows that estimate() returned"};
  const CallArguments arguments(object);
  Row row{};
  for_each_field(row, [&](Column column, auto&& field) { read(arguments, in_javascript(column.name).c_str(), field); });
  if (!arguments.has("pFail")) row.estimate.p_fail = 1 - row.estimate.p;
  return row;
}

PointRecord read_record(const val& object) {
  const CallArguments point(object);
  const std::vector<double> logits = point.numbers("logits");
  PointRecord record{point.text("model", ""), point.integer("index", 0, 0), std::nullopt, 0, {logits.begin(), logits.end()}};
  if (point.has("label")) record.label = point.integer("label", 0, -kMostInteger);
  record.predicted = predicted_class(record.logits);
  return record;
}

template <class T>
void sort_by_point(std::vector<T>& list) {
  std::stable_sort(list.begin(), list.end(),
                   [](const T& a, const T& b) { return std::tie(a.model, a.index) < std::tie(b.model, b.index); });
}

Results read_results(const CallArguments& arguments) {
  Results results;
  for (const val& row : objects(arguments, "rows")) results.rows.push_back(read_row(row));
  if (results.rows.empty()) throw Error{ErrorCode::usage, "rows", "are missing", "pass the rows that estimate() returned"};
  for (const val& point : objects(arguments, "points")) results.points.push_back(read_record(point));
  sort_by_point(results.rows);
  sort_by_point(results.points);
  return results;
}

Boundaries read_boundaries(const CallArguments& arguments) {
  Boundaries boundaries;
  for (const val& object : objects(arguments, "boundaries")) {
    const CallArguments boundary(object);
    NearestBoundary nearest;
    nearest.distance = boundary.number("distance", kNaN);
    nearest.rival = boundary.integer("rival", -1, -1);
    boundaries.emplace(boundary.integer("index", 0, 0), std::move(nearest));
  }
  return boundaries;
}

// ---- to JavaScript

template <class List, class Write>
val list_of(const List& list, Write write_one) {
  val array = val::array();
  for (const auto& entry : list) array.call<void>("push", write_one(entry));
  return array;
}

// For JavaScript, a ranked point is its whole row.
val write_ranking(const Ranking& ranking) {
  const auto row = [](const Row* one) { return write(*one); };
  val object = write(describe(ranking.key));
  object.set("points", static_cast<double>(ranking.answered));
  object.set("least", list_of(ranking.least, row));
  object.set("most", list_of(ranking.most, row));
  return object;
}

// ---- operations

val summary(const Results& results, const CallArguments&) {
  const Summary made = summarize(results);
  val object = val::object();
  const auto described = [](const auto& each) { return write(describe(each)); };
  object.set("models", list_of(made.models, described));
  object.set("groups", list_of(made.groups, described));
  return object;
}

val bias(const Results& results, const CallArguments&) {
  return list_of(grouped(results.rows), [](const RowGroup& group) { return write(describe(bias_of(group))); });
}

val rank(const Results& results, const CallArguments& arguments) {
  const std::int64_t count = arguments.integer("count", 10, 1);
  return list_of(grouped(results.rows), [&](const RowGroup& group) { return write_ranking(ranking_of(group, count)); });
}

val agree(const Results& results, const CallArguments&) {
  return list_of(compare_estimators(results), [](const Comparison& each) { return write(describe(each)); });
}

val curve(const Results& results, const CallArguments& arguments) {
  const double threshold = arguments.number("threshold", 0.9);
  std::vector<RowSweep> sweeps = sweeps_of(results.rows);
  std::erase_if(sweeps, [](const RowSweep& sweep) { return sweep.scales.size() < 2; });
  if (sweeps.empty())
    throw Error{ErrorCode::usage, "rows", "have a single noise scale, but a curve needs two",
                "estimate with, say, ['gaussian:0.1', 'gaussian:0.2']"};
  return list_of(sweeps, [&](const RowSweep& sweep) { return write(describe(sweep, threshold)); });
}

val distance(const Results& results, const CallArguments& arguments) {
  const double confidence = arguments.number("confidence", 0.999);
  const Boundaries boundaries = read_boundaries(arguments);
  return list_of(grouped(results.rows), [&](const RowGroup& group) {
    const GroupCertificates certificates = certificates_of(group, confidence);
    return write(describe(certificates, distances_of(group, certificates, &boundaries)));
  });
}

struct Analysis {
  const char* name;
  val (*make)(const Results&, const CallArguments&);
};

constexpr Analysis kAnalyses[] = {{"summary", summary}, {"bias", bias},   {"rank", rank},
                                  {"agree", agree},     {"curve", curve}, {"distance", distance}};

}  // namespace

val analyse(const std::string& operation, const CallArguments& arguments) {
  for (const Analysis& entry : kAnalyses) {
    if (operation == entry.name) return entry.make(read_results(arguments), arguments);
  }
  throw Error{ErrorCode::usage, "operation", "cannot be '" + operation + "'", ""};
}

}  // namespace probust::wasm
