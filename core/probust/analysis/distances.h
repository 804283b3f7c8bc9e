// SPDX-License-Identifier: MIT
//
// How far away the answer changes, next to p: certified radii (certificate.h) and nearest boundaries (boundary.h) of a group.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "probust/analysis/certificate.h"
#include "probust/analysis/geometry/boundary.h"
#include "probust/analysis/statistics.h"

namespace probust {

/// By position of the point in the data.
using Boundaries = std::map<std::int64_t, NearestBoundary>;

/// What is known of a point.
struct PointDistances {
  const Row* row = nullptr;                  ///< the caller's
  const Certificate* certificate = nullptr;  ///< of the group's certificates
  const NearestBoundary* boundary = nullptr;
};

/// One for each row of the group, in its order. `boundaries` may be null. What is returned refers to all three.
std::vector<PointDistances> distances_of(const RowGroup& group, const GroupCertificates& certificates,
                                         const Boundaries* boundaries);

/// Of p and the distance to the nearest boundary, over the points that have one.
Agreement boundary_and_p(const std::vector<PointDistances>& points);

}  // namespace probust
