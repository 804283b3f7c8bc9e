// SPDX-License-Identifier: MIT
#include "python/accuracies.h"

#include <pybind11/stl.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "probust/analysis/accuracy.h"
#include "probust/estimators/estimator.h"

namespace probust::python {
namespace {

namespace py = pybind11;

py::tuple mean_of(double mean, double low, double high, std::int64_t count) { return py::make_tuple(mean, low, high, count); }

py::tuple mean_of(const MeanInterval& mean) { return mean_of(mean.mean, mean.low, mean.high, mean.count); }

// Aggregates columns of rows: for each noise and estimator, the accuracies without and under noise, and mean p.
py::list accuracies(const std::vector<std::int64_t>& label, const std::vector<std::int64_t>& predicted,
                    const std::vector<std::string>& noise, const std::vector<std::string>& estimator,
                    const std::vector<std::string>& method, const std::vector<double>& p, const std::vector<double>& std_error,
                    const std::vector<double>& p_label, const std::vector<std::string>& status,
                    const std::vector<double>& p_fail) {
  const auto known = [](double value) { return std::isnan(value) ? std::nullopt : std::optional(value); };
  std::vector<Row> rows;
  for (std::size_t i = 0; i < p.size(); ++i) {
    Row row{};
    if (label[i] >= 0) row.label = label[i];
    row.predicted = predicted[i];
    row.noise = noise[i];
    row.estimator = estimator[i];
    row.estimate.p = p[i];
    row.estimate.std_error = known(std_error[i]);
    row.estimate.p_label = known(p_label[i]);
    row.estimate.p_fail = p_fail[i];
    row.estimate.status = status_of(status[i]).value_or(Status::ok);
    if (method[i] != estimator[i]) row.estimate.method = parse_estimator(method[i]);
    rows.push_back(std::move(row));
  }
  py::list result;
  for (const RowGroup& group : grouped(rows)) {
    const Proportion clean = clean_accuracy(group);
    result.append(py::make_tuple(mean_of(clean.share, clean.low, clean.high, clean.of), mean_of(noisy_accuracy(group)),
                                 mean_of(group.mean_p()), group.key.noise));
  }
  return result;
}

}  // namespace

void bind_accuracies(py::module_& module) { module.def("accuracies", &accuracies); }

}  // namespace probust::python
