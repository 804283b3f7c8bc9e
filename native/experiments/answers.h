// SPDX-License-Identifier: MIT
//
// The rows of a run as columns of p, and the statistics that experiments report about them.
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

/// "gaussian:0.1"
std::string gaussian(double sigma);

/// p of each point under a noise model, named by its canonical text. Throws Error{internal} if there are no such rows.
std::vector<double> p_of(const Results& results, const std::string& noise, const std::string& estimator);

/// The rows of each class: by true label, or by prediction for a point without one.
std::map<std::int64_t, RowGroup> by_class(const RowGroup& group);

/// The rows of one model by estimator and scale of Gaussian noise. Owns the results.
class Answers {
 public:
  explicit Answers(Results results);
  // The groups refer to the results.
  Answers(const Answers&) = delete;
  Answers& operator=(const Answers&) = delete;

  /// p of each point, by index; NaN if unknown. Throws Error{internal} if there are no such rows.
  const std::vector<double>& p(const std::string& estimator, double sigma) const;
  const RowGroup& group(const std::string& estimator, double sigma) const;
  const Results& results() const { return results_; }

 private:
  std::size_t find(const std::string& estimator, double sigma) const;

  Results results_;
  std::vector<RowGroup> groups_;
  std::vector<std::vector<double>> p_;
};

/// The means of |a - b| and |a - b| / b over points for which both are known (and b is positive).
struct ErrorOf {
  double absolute = 0, relative = 0;
};
ErrorOf error_of(std::span<const double> a, std::span<const double> reference);

/// The mean |error| that is due to the reference's own `copies` samples: E|N(0, p (1 - p) / copies)|, averaged over the points.
double sampling_error(std::span<const double> p, std::int64_t copies);

/// One line of a chart.
report::Series line(const std::string& name, std::span<const double> x, std::span<const double> y);

/// Numbers as texts of a table.
std::vector<std::string> texts(std::span<const double> values);

/// Columns of numbers, with text at the positions `words`.
std::vector<report::Column> columns(const std::vector<std::string>& titles, std::initializer_list<std::size_t> words = {0});

}  // namespace probust::cli::reproduce
