// SPDX-License-Identifier: MIT
// The experiment `natural`: runs its parts, and defines the functions that they share.
#include "experiments/natural.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "cli/output/text_file.h"
#include "cli/run/load.h"
#include "datasets/npz.h"
#include "experiments/experiments.h"
#include "probust/analysis/geometry/boundary.h"
#include "probust/base/text.h"
#include "probust/onnx/export.h"
#include "probust/onnx/preprocess.h"
#include "report/words.h"

namespace probust::cli::reproduce {
namespace scher {
namespace {

template <class T>
void move_into(std::vector<T>& to, std::vector<T>& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

void append(Findings& to, Findings part) {
  move_into(to.method, part.method);
  move_into(to.claims, part.claims);
  move_into(to.figures, part.figures);
  move_into(to.sheets, part.sheets);
}

std::int64_t copies(const Study& study) { return study.quick() ? 2000 : 10000; }

std::string write_points(Study& study, const std::string& name, const Tensor& x, const std::vector<std::int64_t>& labels) {
  std::string path = study.path("data/natural-" + name + ".npz");
  write_npz(path, x, labels);
  return path;
}

std::string write_model(Study& study, const std::string& name, const Graph& classifier) {
  std::string path = study.path("models/natural-" + name + ".onnx");
  write_text_file(path, export_onnx_with_trees(classifier, name).value());
  return path;
}

Graph read_model(const std::string& path, std::int64_t width) {
  const std::vector<std::byte> bytes = read_file(path);
  return with_preprocessing(import_onnx(bytes).value(), {width}, {}).value();
}

std::unique_ptr<Executor> executor_of(Study& study, const Graph& classifier) {
  return make_executor("cpu", classifier, {.threads = thread_count(study.arguments().device)}).value();
}

std::vector<double> distances(Executor& executor, const Tensor& x, bool gradients) {
  const Points points = points_of(x, predicted_classes(executor.logits(x).value()), 0, 0);
  const auto nearest = gradients ? nearest_boundary(executor, points) : nearest_boundary_black_box(executor, points);
  std::vector<double> all;
  for (const NearestBoundary& each : nearest.value()) all.push_back(each.distance);
  return all;
}

std::vector<double> rescaled(std::vector<double> distance) {
  const double largest = *std::max_element(distance.begin(), distance.end());
  for (double& each : distance) each /= largest;
  return distance;
}

double largest_difference(std::span<const double> a, std::span<const double> b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::fabs(a[i] - b[i]));
  return largest;
}

// Compares shares on the arcsine scale, where their standard error is about 1 / (2 sqrt(count)) for all p.
double largest_error(std::span<const double> share, std::span<const double> p, std::int64_t count) {
  const auto angle = [](double value) { return std::asin(std::sqrt(std::clamp(value, 0.0, 1.0))); };
  double largest = 0;
  for (std::size_t i = 0; i < share.size(); ++i)
    largest = std::max(largest, 2 * std::sqrt(static_cast<double>(count)) * std::fabs(angle(share[i]) - angle(p[i])));
  return largest;
}

Pairs compare_orders(std::span<const double> p, std::span<const double> r, std::int64_t count) {
  const auto error = [&](double share) {
    return count == 0 ? 0 : 2 * std::sqrt(share * (1 - share) / static_cast<double>(count));
  };
  Pairs pairs;
  for (std::size_t i = 0; i < p.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j, ++pairs.all)
      pairs.reversed += (p[i] - p[j]) * (r[i] - r[j]) < 0 && std::fabs(p[i] - p[j]) > error(p[i]) + error(p[j]) ? 1 : 0;
  }
  return pairs;
}

Sheet sheet_of(const std::string& name, const std::string& caption, const std::vector<std::string>& titles,
               const std::vector<std::vector<double>>& columns, bool in_report) {
  Sheet sheet{name, caption, {}, {}, in_report};
  for (const std::string& title : titles) sheet.columns.push_back({title});
  for (std::size_t i = 0; i < columns[0].size(); ++i) {
    std::vector<std::string> row;
    row.reserve(columns.size());
    for (const std::vector<double>& column : columns)
      row.push_back(in_report ? report::rounded(column[i]) : shortest_text(column[i]));
    sheet.rows.push_back(std::move(row));
  }
  return sheet;
}

namespace {

// Compares results with the paper's claim on covariances. The last table must be Ionosphere.
Claim covariance_claim(const std::vector<const Compared*>& all, const std::vector<const Table*>& tables) {
  std::string found = "With random covariances, p changes on average by ";
  bool confirmed = true;
  for (std::size_t k = 0; k < all.size(); ++k) {
    const bool last = k + 1 == all.size();
    found += fmt::format("{}{} on {} (correlation {})", k == 0 ? "" : (last ? ", and by " : ", by "),
                         report::rounded(all[k]->covariance_change), tables[k]->title,
                         report::rounded(all[k]->covariance_correlation));
    confirmed = confirmed && (last || all[k]->covariance_change > 2 * all.back()->covariance_change);
  }
  return {"Random covariances instead of the identity, with the same trace, hardly change p on Ionosphere, but they do on Iris.",
          "section 4.1.3, figure 5", found + ".", verdict_of(confirmed)};
}

}  // namespace
}  // namespace scher

Findings natural(Study& study) {
  const scher::Table iris = scher::iris_table(study, 0), hard = scher::iris_table(study, 1),
                     ionosphere = scher::ionosphere_table(study);
  const scher::Weather weather = scher::weather_table(study);
  Findings all;
  all.method = {
      fmt::format("p is the share of {} noisy samples of a point with the same prediction, d the distance from the point to the "
                  "nearest one with a different prediction, r = d / max d over the points. The noise is Gaussian; its covariance "
                  "has the trace 1, and its deviations are multiplied by the scale.",
                  report::counted(scher::copies(study))),
      iris.description, hard.description, ionosphere.description, weather.table.description};
  scher::Compared of_iris = scher::compare_with_distance(study, iris), of_hard = scher::compare_with_distance(study, hard),
                  of_ionosphere = scher::compare_with_distance(study, ionosphere);
  scher::append(all, scher::integrate_forest(study, iris));
  scher::append(all, of_iris.findings);
  scher::append(all, scher::integrate_forest(study, hard));
  scher::append(all, of_hard.findings);
  scher::append(all, of_ionosphere.findings);
  all.claims.push_back(scher::covariance_claim({&of_iris, &of_hard, &of_ionosphere}, {&iris, &hard, &ionosphere}));
  scher::append(all, scher::twenty_runs(study, {&iris, &hard, &ionosphere}, weather));
  scher::append(all, scher::per_point_covariances(study, weather));
  scher::append(all, scher::categories(study));
  scher::append(all, scher::tolerance(study));
  scher::append(all, scher::orientations(study));
  scher::append(all, scher::linear_plane(study));
  scher::append(all, scher::right_angle(study));
  return all;
}

}  // namespace probust::cli::reproduce
