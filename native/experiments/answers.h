// SPDX-License-Identifier: MIT
//
// Columns of p from the rows of a run, statistics of them, and their conversion for charts and tables.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "experiments/experiment.h"
#include "probust/analysis/groups.h"
#include "probust/analysis/results.h"
#include "probust/analysis/statistics.h"

namespace probust::cli::reproduce {

/// The name of Gaussian noise, such as "gaussian:0.1".
std::string gaussian(double sigma);

/// The p of each point, from an estimator under the noise model with this canonical text. Throws Error{internal} if there are
/// no such rows.
std::vector<double> p_of(const Results& results, const std::string& noise, const std::string& estimator);

/// The rows of a group by class. The class of a point is its label or, if it has none, its prediction.
std::map<std::int64_t, RowGroup> by_class(const RowGroup& group);

/// Finds the rows of one model by estimator and scale of Gaussian noise. Owns the results.
class Answers {
 public:
  explicit Answers(Results results);
  // Not copied, because the groups refer to the results.
  Answers(const Answers&) = delete;
  Answers& operator=(const Answers&) = delete;

  /// The p of each point, in order; NaN if it is unknown. Throws Error{internal} if there are no such rows.
  const std::vector<double>& p(const std::string& estimator, double sigma) const;
  const RowGroup& group(const std::string& estimator, double sigma) const;
  const Results& results() const { return results_; }

 private:
  std::size_t find(const std::string& estimator, double sigma) const;

  Results results_;
  std::vector<RowGroup> groups_;
  std::vector<std::vector<double>> p_;
};

/// The mean of |a - reference| over the points for which both are known, and the mean of |a - reference| / reference over those
/// of these points whose reference is positive.
struct ErrorOf {
  double absolute = 0, relative = 0;
};
ErrorOf error_of(std::span<const double> a, std::span<const double> reference);

/// The mean absolute error of a reference that is estimated from `copies` noisy samples: E|N(0, p (1 - p) / copies)|, averaged
/// over the points.
double sampling_error(std::span<const double> p, std::int64_t copies);

/// A line of a chart through the points (x[i], y[i]).
report::Series line(const std::string& name, std::span<const double> x, std::span<const double> y);

/// Numbers as the cells of a table.
std::vector<std::string> texts(std::span<const double> values);

/// The columns of a table. Those at the positions `words` contain text, the others contain numbers.
std::vector<report::Column> columns(const std::vector<std::string>& titles, std::initializer_list<std::size_t> words = {0});

}  // namespace probust::cli::reproduce
