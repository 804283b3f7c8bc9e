// SPDX-License-Identifier: MIT
#include "probust/noise/of_data.h"

#include <algorithm>
#include <cmath>

#include "probust/base/error.h"

namespace probust {

std::int64_t columns_of(const Tensor& points) {
  const std::int64_t rows = points.shape.empty() ? 0 : points.shape[0];
  return rows == 0 ? 0 : points.size() / rows;
}

std::vector<double> column_means(const Tensor& points) {
  const std::int64_t columns = columns_of(points), rows = columns == 0 ? 0 : points.shape[0];
  std::vector<double> sums(static_cast<std::size_t>(columns), 0), counts = sums;
  for (std::int64_t n = 0; n < rows; ++n) {
    const auto row = points.row(n);
    for (std::int64_t e = 0; e < columns; ++e) {
      if (std::isnan(row[e])) continue;
      sums[e] += row[e];
      ++counts[e];
    }
  }
  for (std::int64_t e = 0; e < columns; ++e) sums[e] /= counts[e];
  return sums;
}

void require_columns(const std::string& noise, std::int64_t columns, std::int64_t elements) {
  const std::string where = "noise '" + noise + "'";
  if (columns == 0) throw Error{ErrorCode::usage, where, "needs the data, but was given none", "give data with points"};
  if (columns != elements)
    throw Error{ErrorCode::usage, where,
                "was given data whose points have " + std::to_string(columns) + " elements, but these points have " +
                    std::to_string(elements),
                "give the data of these points"};
}

std::vector<std::int64_t> positions_for_noise(std::int64_t count, std::int64_t elements) {
  const std::int64_t most = std::max<std::int64_t>(2, kMostDataValues / std::max<std::int64_t>(1, elements));
  const std::int64_t some = std::min(count, most);
  std::vector<std::int64_t> positions(static_cast<std::size_t>(some));
  for (std::int64_t k = 0; k < some; ++k)
    positions[k] = static_cast<std::int64_t>(static_cast<double>(k) * static_cast<double>(count) / static_cast<double>(some));
  return positions;
}

void use_data(std::span<Noise> noises, const std::function<Tensor()>& points) {
  Tensor data;
  std::shared_ptr<const NoiseShape> before, after;  // consecutive noises with one shape share the result
  for (Noise& noise : noises) {
    if (!noise.shape->needs_data()) continue;
    if (data.shape.empty()) {
      data = points();
      const auto positions = positions_for_noise(data.shape.empty() ? 0 : data.shape[0], columns_of(data));
      if (!data.shape.empty() && std::ssize(positions) < data.shape[0]) data = rows(data, positions);
    }
    if (noise.shape != before) before = noise.shape, after = before->with_data(data);
    noise.shape = after;
  }
}

}  // namespace probust
