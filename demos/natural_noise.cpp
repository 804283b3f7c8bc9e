// SPDX-License-Identifier: MIT
// Does the distance to the nearest counterfactual tell how likely a prediction is to survive noise? Scher and Trügler, "Testing
// robustness of predictions of trained classifiers against naturally occurring perturbations" (2023), ask this question. This
// program repeats their experiment on the Iris data, with random forests that it trains. `probust reproduce natural` repeats
// their other experiments.
//
// Usage: natural_noise [--check FILE]. Prints a table in Markdown; with --check, checks that the file contains this table.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "datasets/fetch/iris.h"
#include "probust/analysis/geometry/boundary.h"
#include "probust/analysis/statistics.h"
#include "probust/estimators/estimator.h"
#include "probust/run/row.h"
#include "probust/train/forest.h"

namespace {

using namespace probust;  // NOLINT(google-build-using-namespace): a small program that uses one library

constexpr const char* kCopies = "mc:10000";
constexpr std::int64_t kPerClass = 50, kFeatures = 4;

// The rows of two classes, beginning with row `first`, with each feature scaled to mean 0 and variance 1.
Tensor standardized(const Tensor& flowers, std::int64_t first) {
  const std::int64_t n = 2 * kPerClass;
  Tensor z = rows(flowers, first, n);
  for (std::int64_t e = 0; e < kFeatures; ++e) {
    double mean = 0, variance = 0;
    for (std::int64_t i = 0; i < n; ++i) mean += z.row(i)[e] / static_cast<double>(n);
    for (std::int64_t i = 0; i < n; ++i) variance += std::pow(z.row(i)[e] - mean, 2) / static_cast<double>(n);
    for (std::int64_t i = 0; i < n; ++i) z.row(i)[e] = static_cast<float>((z.row(i)[e] - mean) / std::sqrt(variance));
  }
  return z;
}

// Gaussian noise whose covariance is AᵀA for a random normal A, or the identity; either is scaled to trace 1.
std::shared_ptr<const NoiseShape> covariance(bool random) {
  NoiseArray C{{kFeatures, kFeatures}, std::vector<double>(kFeatures * kFeatures, 0.0), "covariance"};
  NoiseStream stream(2023, 0, 0, 0);
  std::vector<double> A(C.values.size());
  for (double& a : A) a = stream.normal();
  double trace = 0;
  for (std::int64_t i = 0; i < kFeatures; ++i) {
    for (std::int64_t j = 0; j < kFeatures; ++j) {
      for (std::int64_t k = 0; random && k < kFeatures; ++k)
        C.values[i * kFeatures + j] += A[k * kFeatures + i] * A[k * kFeatures + j];
    }
    if (!random) C.values[i * kFeatures + i] = 1;
    trace += C.values[i * kFeatures + i];
  }
  for (double& c : C.values) c /= trace;
  return covariance_gaussian(C, random ? "gaussian:random" : "gaussian:identity");
}

std::vector<double> kept(Evaluation& evaluation, const std::shared_ptr<const NoiseShape>& shape, double scale) {
  std::vector<double> p;
  for (const Estimate& each : estimate(evaluation, {shape, scale}, parse_estimator(kCopies)).value()) p.push_back(each.p);
  return p;
}

// The table for two classes, with one row per noise scale.
std::string table_of(const Dataset& flowers, std::int64_t first_class) {
  const Tensor x = standardized(flowers.x, first_class * kPerClass);
  std::vector<std::int64_t> training, held_out, labels;
  for (std::int64_t i = 0; i < x.shape[0]; ++i) {
    (i % 3 == 2 ? held_out : training).push_back(i);
    if (i % 3 != 2) labels.push_back(i / kPerClass);
  }
  const auto executor = make_executor("cpu", random_forest(rows(x, training), labels, 2, {.trees = 10, .depth = 3}), {}).value();
  const Tensor points = rows(x, held_out), logits = executor->logits(points).value();
  Evaluation evaluation(*executor, points_of(points, predicted_classes(logits), 0, 0), logits);
  std::vector<double> distance;
  for (const NearestBoundary& each : nearest_boundary_black_box(*executor, evaluation.points()).value())
    distance.push_back(each.distance);
  const auto identity = covariance(false), random = covariance(true);
  std::string text;
  for (const double scale : {0.25, 0.5, 1.0, 2.0, 4.0}) {
    const std::vector<double> p = kept(evaluation, identity, scale), other = kept(evaluation, random, scale);
    const auto sure = std::count_if(p.begin(), p.end(), [](double each) { return each > 0.95; });
    text +=
        fmt::format("| {}, {} | {} | {:.3f} | {:.0f}% | {:.3f} | {:.3f} |\n", flowers.class_names[first_class],
                    flowers.class_names[first_class + 1], scale, mean_interval(p).mean,
                    100.0 * static_cast<double>(sure) / static_cast<double>(p.size()), spearman(p, distance), pearson(p, other));
  }
  return text;
}

std::string whole_table() {
  const Dataset flowers = iris();
  return "| Iris | scale | mean p | p > 0.95 | Spearman's rho(p, d) | r(p identity, p random covariance) "
         "|\n|---|---|---|---|---|---|\n" +
         table_of(flowers, 0) + table_of(flowers, 1);
}

int check_file(const char* path, const std::string& table) {
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (text.find(table) != std::string::npos) return 0;
  std::fprintf(stderr, "natural_noise: %s does not have this table\n", path);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const bool checks = argc == 3 && std::strcmp(argv[1], "--check") == 0;
  if (argc != 1 && !checks) return std::fprintf(stderr, "usage: natural_noise [--check FILE]\n"), 2;
  try {
    const std::string table = whole_table();
    std::printf("%s", table.c_str());
    return checks ? check_file(argv[2], table) : 0;
  } catch (const Error& error) {
    return std::fprintf(stderr, "natural_noise: %s\n", error.message().c_str()), 3;
  }
}
