// SPDX-License-Identifier: MIT
//
// The distances at which the prediction changes, for comparison with p: certified radii (certificate.h) and nearest boundaries
// (boundary.h) of a group.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "probust/analysis/certificate.h"
#include "probust/analysis/geometry/boundary.h"
#include "probust/analysis/statistics.h"

namespace probust {

/// The nearest boundary for each position in the data.
using Boundaries = std::map<std::int64_t, NearestBoundary>;

/// A point's certificate and nearest boundary.
struct PointDistances {
  const Row* row = nullptr;                  ///< owned by the caller
  const Certificate* certificate = nullptr;  ///< one of the group's certificates
  const NearestBoundary* boundary = nullptr;
};

/// One entry per row of the group, in order. `boundaries` may be null. The result points into the arguments, which must
/// outlive it.
std::vector<PointDistances> distances_of(const RowGroup& group, const GroupCertificates& certificates,
                                         const Boundaries* boundaries);

/// Correlation of p and the distance to the nearest boundary, over points that have one.
Agreement boundary_and_p(const std::vector<PointDistances>& points);

}  // namespace probust
