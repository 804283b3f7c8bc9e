// SPDX-License-Identifier: MIT
//
// Pictures of the least and most robust points.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "probust/analysis/ranking.h"
#include "report/picture.h"

namespace probust::report {

/// Points as pictures, or the reason why there are none.
struct Pictures {
  std::map<std::int64_t, Picture> of_point;  ///< by position in the data
  std::string missing;                       ///< a sentence for the user; empty if all points have pictures
};

/// The points that the rankings contain, ascending.
std::vector<std::int64_t> ranked_points(std::span<const Ranking> rankings);

/// The least and the most robust points of a ranking, with their estimates. Points without a picture are omitted.
std::string gallery(const Ranking& ranking, const Pictures& pictures, const std::vector<std::string>& class_names);

/// A page with the galleries of several rankings. `title` is text.
std::string gallery_page(const std::string& title, std::span<const Ranking> rankings, const Pictures& pictures,
                         const std::vector<std::string>& class_names);

}  // namespace probust::report
