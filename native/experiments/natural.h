// SPDX-License-Identifier: MIT
//
// The parts of the experiment `natural`, in the order of the report. It repeats results of Scher and Trügler, "Testing
// robustness of predictions of trained classifiers against naturally occurring perturbations" (2023), whose sections are cited
// below.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "experiments/answers.h"
#include "experiments/experiment.h"
#include "experiments/study.h"
#include "probust/exec/executor.h"

namespace probust::cli::reproduce::scher {

/// A trained classifier, and points that were not used to train it (held out).
struct Table {
  std::string name;         ///< used in file names
  std::string title;        ///< such as "Iris"
  std::string description;  ///< a paragraph
  std::string model, file;  ///< paths of the classifier and of the held-out points
  Tensor x;                 ///< [N, d] the held-out points
  bool forest = false;      ///< whether the classifier is a random forest; otherwise it is a network

  std::int64_t width() const { return x.shape[1]; }
};

/// Section 4.1.1: a random forest for two classes of Iris, `first` and the next one.
Table iris_table(Study& study, std::int64_t first);
/// Section 4.1.2: a network for Ionosphere, or for a generated table of the same shape if Ionosphere is not in the cache.
Table ionosphere_table(Study& study);
/// Section 4.2: a network for generated weather, and ten deviations for each held-out point, [N, 10, d].
struct Weather {
  Table table;
  Tensor deviations;
};
Weather weather_table(Study& study);

/// The results of section 4.1.3 for one table: p compared with the distance, and covariances.
struct Compared {
  Findings findings;
  double best_scale = 1;  ///< the scale at which p and the distance have the largest rank correlation
  /// p with random covariances compared with p with the identity as covariance: the correlation, and the mean absolute change.
  double covariance_correlation = 0, covariance_change = 0;
};
Compared compare_with_distance(Study& study, const Table& table);

/// Sections 4.1.3 and 4.2: the smallest correlation of p between any two of twenty runs with different seeds.
Findings twenty_runs(Study& study, const std::vector<const Table*>& tables, const Weather& weather);

/// Section 6: the exact p of a forest, as the sum of the probabilities of boxes with the same prediction.
Findings integrate_forest(Study& study, const Table& table);

/// Section 4.2: p compared with the distance, with a covariance for each point, and with noise drawn from the deviations
/// themselves.
Findings per_point_covariances(Study& study, const Weather& weather);

/// Section 3.2: noise that changes categories, and regression within a tolerance.
Findings categories(Study& study);
Findings tolerance(Study& study);

/// Section 3.3 and appendix A: classifiers with closed forms of p and the distance.
Findings orientations(Study& study);
Findings linear_plane(Study& study);
Findings right_angle(Study& study);

// ---- Shared.

void append(Findings& to, Findings part);

/// The number of noisy samples for `mc`: 10,000 as in the paper, or fewer with --quick.
std::int64_t copies(const Study& study);

/// Writes points and labels to FOLDER/data/natural-NAME.npz; returns the path.
std::string write_points(Study& study, const std::string& name, const Tensor& x, const std::vector<std::int64_t>& labels);
/// Writes a classifier to FOLDER/models/natural-NAME.onnx; returns the path.
std::string write_model(Study& study, const std::string& name, const Graph& classifier);

/// Reads a model from a file, for points [width].
Graph read_model(const std::string& path, std::int64_t width);
std::unique_ptr<Executor> executor_of(Study& study, const Graph& classifier);

/// The distance from each point to the nearest point with a different prediction. The search uses gradients unless `gradients`
/// is false, as it must be for a forest.
std::vector<double> distances(Executor& executor, const Tensor& x, bool gradients);

/// Distances divided by the largest distance; r in the paper.
std::vector<double> rescaled(std::vector<double> distance);

/// The largest |a - b|.
double largest_difference(std::span<const double> a, std::span<const double> b);

/// The largest difference between a share of `count` samples and its probability p, in standard errors.
double largest_error(std::span<const double> share, std::span<const double> p, std::int64_t count);

/// `reversed`: the number of pairs of points that p and r rank in opposite orders and whose p differ by more than twice the sum
/// of their standard errors, if p is from `count` samples (0: p is exact). `all`: the number of all pairs.
struct Pairs {
  std::int64_t reversed = 0, all = 0;
};
Pairs compare_orders(std::span<const double> p, std::span<const double> r, std::int64_t count);

/// A table of columns of numbers.
Sheet sheet_of(const std::string& name, const std::string& caption, const std::vector<std::string>& titles,
               const std::vector<std::vector<double>>& columns, bool in_report);

}  // namespace probust::cli::reproduce::scher
