// SPDX-License-Identifier: MIT
#include "analysis.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "probust/analysis/agree.h"
#include "probust/analysis/bias.h"
#include "probust/analysis/distances.h"
#include "probust/analysis/ranking.h"
#include "probust/analysis/summary.h"
#include "probust/analysis/sweeps.h"
#include "probust/base/text.h"
#include "probust/run/fields.h"

namespace probust::wasm {
namespace {

// ---- from JavaScript

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::vector<val> objects(const CallArguments& arguments, const char* name) {
  if (!arguments.has(name)) return {};
  if (!arguments[name].isArray()) throw Error{ErrorCode::usage, name, "are no list", "give an array of objects"};
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

void read(const CallArguments& row, const char* name, std::int64_t& field) { field = row.integer(name, 0, -1); }
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
  if (!known) throw Error{ErrorCode::usage, name, "'" + status + "' is not known", "give rows of estimate"};
  field = *known;
}
void read(const CallArguments& row, const char* name, MethodField<Row>& field) { field.set(row.text(name, field.row.estimator)); }

Row read_row(const val& object) {
  if (object.typeOf().as<std::string>() != "object" || object.isNull())
    throw Error{ErrorCode::usage, "rows", "hold something that is no row", "give rows of estimate"};
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
  if (results.rows.empty()) throw Error{ErrorCode::usage, "rows", "are missing", "give rows of estimate"};
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

val whole(std::int64_t value) { return val(static_cast<double>(value)); }

val write_key(const GroupKey& key) {
  val object = val::object();
  if (!key.model.empty()) object.set("model", key.model);
  object.set("noise", key.noise);
  object.set("sigma", number_or_null(key.sigma));
  object.set("estimator", key.estimator);
  return object;
}

val write_mean(const MeanInterval& mean) {
  val object = val::object();
  object.set("mean", number_or_null(mean.mean));
  object.set("ciLow", number_or_null(mean.low));
  object.set("ciHigh", number_or_null(mean.high));
  object.set("count", whole(mean.count));
  return object;
}

val write_accuracy(const CleanAccuracy& model) {
  const Proportion& right = model.accuracy;
  const bool any = right.of > 0;
  val object = val::object();
  object.set("model", model.model);
  object.set("points", whole(model.points));
  object.set("labelled", whole(right.of));
  object.set("correct", whole(right.count));
  object.set("cleanAccuracy", number_or_null(right.share));
  object.set("ciLow", any ? val(right.low) : val::null());
  object.set("ciHigh", any ? val(right.high) : val::null());
  return object;
}

val write_group(const GroupSummary& group) {
  val object = write_key(group.key);
  object.set("points", whole(group.points));
  object.set("noisyAccuracy", write_mean(group.noisy));
  object.set("p", write_mean(group.p));
  val quantiles = val::object();
  for (const auto& [share, value] : std::initializer_list<std::pair<const char*, double>>{{"0", group.least},
                                                                                          {"0.05", group.q05},
                                                                                          {"0.25", group.q25},
                                                                                          {"0.5", group.median},
                                                                                          {"0.75", group.q75},
                                                                                          {"0.95", group.q95},
                                                                                          {"1", group.most}})
    quantiles.set(share, number_or_null(value));
  object.set("quantiles", quantiles);
  val unanswered = val::object();
  for (const auto& [status, count] : group.unanswered) unanswered.set(std::string(word(status)), whole(count));
  object.set("unanswered", unanswered);
  object.set("forwards", whole(group.forwards));
  object.set("backwards", whole(group.backwards));
  return object;
}

val write_bias(const GroupBias& bias) {
  val object = write_key(bias.key);
  object.set("by", std::string(bias.by_label ? "label" : "predicted"));
  object.set("compared", whole(bias.compared));
  object.set("confidence", bias.confidence);
  val classes = val::array();
  for (std::size_t k = 0; k < bias.classes.size(); ++k) {
    val entry = write_mean(bias.p[k]);
    entry.set("class", whole(bias.classes[k]));
    if (!bias.clean.empty()) entry.set("cleanAccuracy", number_or_null(bias.clean[k].share));
    if (!bias.noisy.empty()) entry.set("noisyAccuracy", write_mean(bias.noisy[k]));
    classes.call<void>("push", entry);
  }
  object.set("classes", classes);
  object.set("all", write_mean(bias.all));
  val gap = val::null();
  if (bias.largest) {
    gap = val::object();
    gap.set("most", whole(bias.largest->most));
    gap.set("least", whole(bias.largest->least));
    gap.set("difference", bias.largest->difference);
    gap.set("ciLow", number_or_null(bias.largest->low));
    gap.set("ciHigh", number_or_null(bias.largest->high));
  }
  object.set("largestDifference", gap);
  object.set("fragile", list_of(bias.fragile, whole));
  return object;
}

val write_ranking(const Ranking& ranking) {
  const auto row = [](const Row* one) { return write(*one); };
  val object = write_key(ranking.key);
  object.set("points", whole(ranking.answered));
  object.set("least", list_of(ranking.least, row));
  object.set("most", list_of(ranking.most, row));
  return object;
}

val write_comparison(const Comparison& comparison) {
  val object = val::object();
  if (!comparison.model.empty()) object.set("model", comparison.model);
  object.set("noise", comparison.noise);
  object.set("sigma", number_or_null(comparison.sigma));
  object.set("a", comparison.a);
  object.set("b", comparison.b);
  object.set("count", whole(comparison.p.count));
  object.set("pearson", number_or_null(comparison.p.pearson));
  object.set("spearman", number_or_null(comparison.p.spearman));
  object.set("meanAbsoluteError", number_or_null(comparison.p.mae));
  object.set("meanDifference", number_or_null(comparison.p.bias));
  object.set("largestDifference", number_or_null(comparison.p.largest));
  object.set("relativeError", number_or_null(comparison.relative_p));
  object.set("relativeErrorOfPFail", number_or_null(comparison.relative_fail));
  return object;
}

val write_point(const Row& row) {
  val object = val::object();
  object.set("index", whole(row.index));
  object.set("label", row.label ? whole(*row.label) : val::null());
  object.set("predicted", whole(row.predicted));
  object.set("target", whole(row.target));
  return object;
}

void add_scale(const ToleratedScale& scale, val& object) {
  constexpr const char* kKinds[] = {"within", "below", "above"};
  object.set("kind", std::string(kKinds[static_cast<std::size_t>(scale.kind)]));
  object.set("sigma", scale.sigma);
}

val write_tolerances(const Tolerances& tolerances) {
  val object = val::object();
  object.set("threshold", tolerances.threshold);
  object.set("below", whole(tolerances.below));
  object.set("within", whole(tolerances.within));
  object.set("above", whole(tolerances.above));
  object.set("unanswered", whole(tolerances.unanswered));
  val quantiles = val::object();
  for (std::size_t k = 0; k < tolerances.quantiles.size(); ++k) {
    val scale = val::object();
    add_scale(tolerances.quantiles[k], scale);
    quantiles.set(shortest_text(Tolerances::kShares[k]), scale);
  }
  object.set("quantiles", quantiles);
  object.set("points", list_of(tolerances.points, [](const PointTolerance& point) {
               val entry = write_point(*point.row);
               add_scale(point.scale, entry);
               return entry;
             }));
  return object;
}

val write_sweep(const RowSweep& sweep, double threshold) {
  val object = val::object();
  if (!sweep.model.empty()) object.set("model", sweep.model);
  object.set("noise", sweep.shape);
  object.set("estimator", sweep.estimator);
  object.set("scales", list_of(sweep.scales, [](const SweepScale& scale) {
               val entry = val::object();
               entry.set("sigma", scale.sigma);
               entry.set("p", write_mean(scale.p));
               return entry;
             }));
  object.set("tolerated", write_tolerances(tolerances_of(sweep, threshold)));
  return object;
}

val write_distances(const PointDistances& point) {
  val object = write_point(*point.row);
  object.set("p", number_or_null(point.row->estimate.p));
  object.set("pLow", point.certificate != nullptr ? number_or_null(point.certificate->p_low) : val::null());
  object.set("certifiedRadius", point.certificate != nullptr ? number_or_null(point.certificate->radius) : val::null());
  if (point.boundary == nullptr) return object;
  object.set("boundary", number_or_null(point.boundary->distance));
  object.set("rival", point.boundary->rival >= 0 ? whole(point.boundary->rival) : val::null());
  return object;
}

val write_group_distances(const RowGroup& group, double confidence, const Boundaries& boundaries) {
  const GroupCertificates certificates = certificates_of(group, confidence);
  const std::vector<PointDistances> points = distances_of(group, certificates, &boundaries);
  val object = write_key(certificates.key);
  object.set("confidence", certificates.confidence);
  object.set("noCertificates", text_or_null(certificates.reason));
  object.set("certified", whole(certificates.certified));
  object.set("spearmanOfBoundaryAndP", number_or_null(boundary_and_p(points).spearman));
  object.set("points", list_of(points, write_distances));
  return object;
}

// ---- operations

val summary(const Results& results, const CallArguments&) {
  const Summary made = summarize(results);
  val object = val::object();
  object.set("models", list_of(made.models, write_accuracy));
  object.set("groups", list_of(made.groups, write_group));
  return object;
}

val bias(const Results& results, const CallArguments&) {
  return list_of(grouped(results.rows), [](const RowGroup& group) { return write_bias(bias_of(group)); });
}

val rank(const Results& results, const CallArguments& arguments) {
  const std::int64_t count = arguments.integer("count", 10, 1);
  return list_of(grouped(results.rows), [&](const RowGroup& group) { return write_ranking(ranking_of(group, count)); });
}

val agree(const Results& results, const CallArguments&) { return list_of(compare_estimators(results), write_comparison); }

val curve(const Results& results, const CallArguments& arguments) {
  const double threshold = arguments.number("threshold", 0.9);
  std::vector<RowSweep> sweeps = sweeps_of(results.rows);
  std::erase_if(sweeps, [](const RowSweep& sweep) { return sweep.scales.size() < 2; });
  if (sweeps.empty())
    throw Error{ErrorCode::usage, "rows", "are of a single noise scale",
                "a curve needs two or more, for example of ['gaussian:0.1', 'gaussian:0.2']"};
  return list_of(sweeps, [&](const RowSweep& sweep) { return write_sweep(sweep, threshold); });
}

val distance(const Results& results, const CallArguments& arguments) {
  const double confidence = arguments.number("confidence", 0.999);
  const Boundaries boundaries = read_boundaries(arguments);
  return list_of(grouped(results.rows),
                 [&](const RowGroup& group) { return write_group_distances(group, confidence, boundaries); });
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
  throw Error{ErrorCode::usage, "operation", "'" + operation + "' is not known", ""};
}

}  // namespace probust::wasm
