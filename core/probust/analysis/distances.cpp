// SPDX-License-Identifier: MIT
#include "probust/analysis/distances.h"

namespace probust {

std::vector<PointDistances> distances_of(const RowGroup& group, const GroupCertificates& certificates,
                                         const Boundaries* boundaries) {
  std::map<std::int64_t, const Certificate*> certified;
  for (const Certificate& certificate : certificates.points) certified[certificate.row->index] = &certificate;
  std::vector<PointDistances> points;
  for (const Row* row : group.rows) {
    PointDistances point{row};
    if (const auto found = certified.find(row->index); found != certified.end()) point.certificate = found->second;
    if (boundaries != nullptr) {
      const auto found = boundaries->find(row->index);
      if (found != boundaries->end()) point.boundary = &found->second;
    }
    points.push_back(point);
  }
  return points;
}

Agreement boundary_and_p(const std::vector<PointDistances>& points) {
  std::vector<double> p, distances;
  for (const PointDistances& point : points) {
    if (point.boundary == nullptr) continue;
    p.push_back(point.row->estimate.p);
    distances.push_back(point.boundary->distance);
  }
  return agreement(p, distances);
}

}  // namespace probust
