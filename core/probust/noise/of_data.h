// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "probust/base/tensor.h"
#include "probust/noise/noise.h"

// Functions for noise that depends on the data (NoiseShape::needs_data).
namespace probust {

/// The mean of each column of the data [N, ...], in double precision; NaN is left out.
std::vector<double> column_means(const Tensor& points);

/// The number of elements of the points of the data [N, ...]; 0 if there are none.
std::int64_t columns_of(const Tensor& points);

/// Throws Error{usage} if the noise was given no data (columns = 0), or data whose points do not have `elements` elements.
void require_columns(const std::string& noise, std::int64_t columns, std::int64_t elements);

}  // namespace probust
