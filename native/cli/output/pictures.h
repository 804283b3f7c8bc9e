// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/run/past_run.h"
#include "report/gallery.h"

namespace probust::cli {

/// What to draw of a run.
struct WantedPictures {
  std::vector<const Row*> rows{};               ///< the points, next to their wrong versions under the noise of the row
  std::int64_t samples = 0;                     ///< in which to look for wrong versions; 0: none are drawn
  std::int64_t sheet_point = 0;                 ///< the point of the sheet
  std::vector<std::string> sheet_noises{};      ///< the noises of the sheet, as in rows; none: there is no sheet
  std::map<std::string, std::string> noises{};  ///< the full texts of noises with short names in rows
  std::vector<std::string> class_names{};       ///< may be empty
};

/// Draws points of a run and noisy samples of them, all with the same brightness scale, so that they can be compared. Does not
/// throw: if a file is missing or has changed, the result contains the reason.
report::Pictures pictures_of(const PastRun& run, const WantedPictures& wanted);

}  // namespace probust::cli
