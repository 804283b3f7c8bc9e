// SPDX-License-Identifier: MIT
//
// Parts of the experiment of Scher and Trügler, "Testing robustness of predictions of trained classifiers against naturally
// occurring perturbations" (2023), in the order of the report.
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

/// A trained classifier and the points that were held out.
struct Table {
  std::string name;         ///< used in names of files
  std::string title;        ///< "Iris"
  std::string description;  ///< a paragraph
  std::string model, file;  ///< paths of the classifier and of the held-out points
  Tensor x;                 ///< [N, d] the held-out points
  bool forest = false;      ///< a random forest; otherwise a network

  std::int64_t width() const { return x.shape[1]; }
};

/// Section 4.1.1: two classes of Iris, `first` and the next one, and a random forest.
Table iris_table(Study& study, std::int64_t first);
/// Section 4.1.2: Ionosphere, or a generated table of the same shape, and a network.
Table ionosphere_table(Study& study);
/// Section 4.2: generated weather, a network, and ten deviations [N, 10, d] for each held-out point.
struct Weather {
  Table table;
  Tensor deviations;
};
Weather weather_table(Study& study);

/// The results of section 4.1.3 for one table: p compared with the distance, and covariances.
struct Compared {
  Findings findings;
  double best_scale = 1;                                     ///< the scale with the largest rank correlation
  double covariance_correlation = 0, covariance_change = 0;  ///< correlation of p with random covariances and p with the identity
};
Compared compare_with_distance(Study& study, const Table& table);

/// Sections 4.1.3 and 4.2: the smallest correlation between any two of twenty runs.
Findings twenty_runs(Study& study, const std::vector<const Table*>& tables, const Weather& weather);

/// Section 6: the exact p of a forest, by adding the probabilities of boxes with the same prediction.
Findings integrate_forest(Study& study, const Table& table);

/// Section 4.2: p compared with the distance, with a covariance for each point, and with noise drawn from the deviations
/// themselves.
Findings per_point_covariances(Study& study, const Weather& weather);

/// Section 3.2: transitions between categories, and regression.
Findings categories(Study& study);
Findings tolerance(Study& study);

/// Section 3.3 and appendix A.
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

/// Reads the model in a file, for points [d].
Graph read_model(const std::string& path, std::int64_t width);
std::unique_ptr<Executor> executor_of(Study& study, const Graph& classifier);

/// The distance from each point to the nearest different prediction, computed with gradients or, for a forest, without.
std::vector<double> distances(Executor& executor, const Tensor& x, bool gradients);

/// Distances divided by the largest of them: r in the paper.
std::vector<double> rescaled(std::vector<double> distance);

/// The largest |a - b|.
double largest_difference(std::span<const double> a, std::span<const double> b);

/// The largest difference between a share, counted in `count` samples, and its probability p, in standard errors.
double largest_error(std::span<const double> share, std::span<const double> p, std::int64_t count);

/// The number of pairs of points whose p differ by more than twice the standard error of `count` samples (0: no error) and that
/// p and r rank differently, and the number of all pairs.
struct Pairs {
  std::int64_t reversed = 0, all = 0;
};
Pairs compare_orders(std::span<const double> p, std::span<const double> r, std::int64_t count);

/// Columns of numbers as a table.
Sheet sheet_of(const std::string& name, const std::string& caption, const std::vector<std::string>& titles,
               const std::vector<std::vector<double>>& columns, bool in_report);

}  // namespace probust::cli::reproduce::scher
