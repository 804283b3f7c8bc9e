// SPDX-License-Identifier: MIT
#include "probust/analysis/families.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "probust/analysis/accuracy.h"

namespace probust {
namespace {

// For each point, the mean of its finite values over the strengths.
std::vector<double> means_of_points(const std::vector<FamilyStrength>& strengths,
                                    std::vector<double> (RowGroup::*values)() const) {
  struct Sum {
    double sum = 0, count = 0;
  };
  std::map<std::int64_t, Sum> points;
  for (const FamilyStrength& strength : strengths) {
    const std::vector<double> of_rows = (strength.group->*values)();
    for (std::size_t i = 0; i < of_rows.size(); ++i) {
      if (!std::isfinite(of_rows[i])) continue;
      Sum& point = points[strength.group->rows[i]->index];
      point.sum += of_rows[i];
      point.count += 1;
    }
  }
  std::vector<double> means;
  means.reserve(points.size());
  for (const auto& [index, point] : points) means.push_back(point.sum / point.count);
  return means;
}

double order_of(const FamilyRows& rows) { return std::isfinite(rows.p.mean) ? rows.p.mean : 2; }  // last if no row has p

}  // namespace

std::vector<FamilyRows> families_of(std::span<const RowGroup* const> groups) {
  std::vector<FamilyRows> families;
  for (const RowGroup* group : groups) {
    NoiseFamily family = family_of_noise(group->key.noise);
    FamilyStrength strength{family.number, group, group->mean_p(), noisy_accuracy(*group)};
    auto own =
        std::find_if(families.begin(), families.end(), [&](const FamilyRows& each) { return each.family.name == family.name; });
    if (own == families.end()) own = families.insert(own, FamilyRows{std::move(family)});
    own->strengths.push_back(std::move(strength));
  }
  for (FamilyRows& rows : families) {
    const bool one = rows.strengths.size() == 1;
    rows.p = one ? rows.strengths[0].p : mean_probability(means_of_points(rows.strengths, &RowGroup::p));
    rows.noisy = one ? rows.strengths[0].noisy : mean_probability(means_of_points(rows.strengths, &RowGroup::p_label));
  }
  std::stable_sort(families.begin(), families.end(),
                   [](const FamilyRows& a, const FamilyRows& b) { return order_of(a) < order_of(b); });
  return families;
}

}  // namespace probust
