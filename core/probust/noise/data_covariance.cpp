// SPDX-License-Identifier: MIT
// Gaussian noise with the covariance of the data, or this covariance divided by its trace (Scher and Trügler, eq. 5), so that
// noise is large along directions in which the data vary.
#include <cmath>

#include "probust/base/error.h"
#include "probust/base/text.h"
#include "probust/noise/arrays.h"
#include "probust/noise/of_data.h"

namespace probust {
namespace {

// The deviations of the data from their means [N, d], times a factor so that their mean product is the covariance.
NoiseArray deviations_of(const Tensor& points, bool unit_trace, const std::string& name) {
  const std::int64_t d = columns_of(points), n = d == 0 ? 0 : points.shape[0];
  const std::string where = "noise '" + name + "'";
  if (n < 2) throw Error{ErrorCode::usage, where, "needs at least two points to compute a covariance", "give more data"};
  const std::vector<double> means = column_means(points);
  NoiseArray deviations{{n, d}, std::vector<double>(points.data.begin(), points.data.end()), where};
  double squares = 0;
  for (std::size_t i = 0; i < deviations.values.size(); ++i) {
    double& value = deviations.values[i];
    value -= means[i % static_cast<std::size_t>(d)];
    squares += value * value;
    if (!std::isfinite(value))
      throw Error{ErrorCode::usage, where, "needs data without missing or infinite values", "fill them first"};
  }
  if (squares == 0) throw Error{ErrorCode::usage, where, "needs data that vary", "give points that differ"};
  const double factor = std::sqrt(static_cast<double>(n) / (unit_trace ? squares : static_cast<double>(n - 1)));
  for (double& value : deviations.values) value *= factor;
  return deviations;
}

class DataCovariance final : public NoiseShape {
 public:
  explicit DataCovariance(bool unit_trace, std::shared_ptr<const NoiseShape> of_data = nullptr, std::int64_t columns = 0)
      : unit_trace_(unit_trace), of_data_(std::move(of_data)), columns_(columns) {}

  std::string name() const override { return unit_trace_ ? "data-covariance:unit-trace" : "data-covariance"; }
  std::string text(double scale) const override {
    return "data-covariance:" + shortest_text(scale) + (unit_trace_ ? ":unit-trace" : "");
  }
  bool in_data_units() const override { return false; }
  bool mirrored() const override { return true; }
  bool needs_data() const override { return of_data_ == nullptr; }
  std::shared_ptr<const NoiseShape> with_data(const Tensor& points) const override {
    if (!needs_data()) return nullptr;
    return std::make_shared<const DataCovariance>(unit_trace_, second_moments(deviations_of(points, unit_trace_, name())),
                                                  columns_of(points));
  }
  void fit(std::int64_t elements, std::int64_t) const override { require_columns(name(), columns_, elements); }

  void add(const NoiseLanes& lanes, std::int64_t elements, float scale, float* x) const override {
    of_data_->add(lanes, elements, scale, x);
  }
  std::int64_t whiten(std::span<const std::uint32_t> points, std::int64_t elements, float* gradients) const override {
    return of_data_->whiten(points, elements, gradients);
  }
  void variances(std::span<const std::uint32_t> points, std::int64_t elements, float* variance) const override {
    of_data_->variances(points, elements, variance);
  }
  std::optional<std::int64_t> normals(std::int64_t elements) const override { return of_data_->normals(elements); }
  void add_normals(std::span<const std::uint32_t> points, std::int64_t elements, float scale, const float* w,
                   float* x) const override {
    of_data_->add_normals(points, elements, scale, w, x);
  }

 private:
  bool unit_trace_;
  std::shared_ptr<const NoiseShape> of_data_;  // null until the data are given
  std::int64_t columns_;
};

}  // namespace

std::shared_ptr<const NoiseShape> data_covariance(bool unit_trace) { return std::make_shared<const DataCovariance>(unit_trace); }

}  // namespace probust
